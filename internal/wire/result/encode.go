package result

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// tagJSON is a Tag as it is stored. Fields of feed entries have no type; service tags and
// fields of feed entries have no language.
type tagJSON struct {
	Name       string           `json:"name"`
	Data       any              `json:"data"`
	XPath      *string          `json:"xpath"`
	Extractor  string           `json:"extractor"`
	Type       *json.RawMessage `json:"type,omitempty"`
	Lang       string           `json:"lang,omitempty"`
	LangSuffix string           `json:"lang_suffix,omitempty"`
}

type resultJSON[T any] struct {
	Data struct {
		ResID   string `json:"resId"`
		TagList [][]T  `json:"tagList"`
	} `json:"data"`
	ErrorCode    int    `json:"error_code"`
	ErrorMessage string `json:"error_message"`
	Time         string `json:"time"`
	Metrics      string `json:"metrics"`
	Published    string `json:"published,omitempty"`
	Modified     string `json:"modified,omitempty"`
	Assumed      bool   `json:"pubdate_assumed,omitempty"`
}

// Encode returns the value to store: the first result as default, all results as internal,
// and custom, which has a text for each result or is empty.
func Encode(results []Result, custom []string) ([]byte, error) {
	if len(results) == 0 {
		return nil, fmt.Errorf("encode a processed content: there is no result")
	}
	if custom == nil {
		custom = []string{}
	}
	texts := make([][]byte, len(results))
	for i := range results {
		var err error
		if texts[i], err = results[i].encode(); err != nil {
			return nil, fmt.Errorf("encode result %d of %s: %w", i, results[i].ID, err)
		}
	}
	head, err := json.Marshal(custom)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(`{"custom":`)
	b.Write(head)
	b.WriteString(`,"default":`)
	b.Write(texts[0]) // the result occurs twice; encoding it again would cost as much again
	b.WriteString(`,"internal":[`)
	b.Write(bytes.Join(texts, []byte{','}))
	b.WriteString(`]}`)
	return b.Bytes(), nil
}

// EncodeDefault returns {"default":…} of one result: what URL_CONTENT answers for a content
// without custom texts (docs/spec/processing.md 4.2).
func (r *Result) EncodeDefault() ([]byte, error) {
	text, err := r.encode()
	if err != nil {
		return nil, fmt.Errorf("encode the result of %s: %w", r.ID, err)
	}
	return append(append([]byte(`{"default":`), text...), '}'), nil
}

// EncodeRaw returns the value to store for the algorithm raw-data: the page as base64 is the
// custom text of r, so that URL_CONTENT answers with it (docs/spec/processing.md 2.8, 6.2 #26).
func EncodeRaw(r Result, raw []byte) ([]byte, error) {
	return Encode([]Result{r}, []string{base64.StdEncoding.EncodeToString(raw)})
}

// TimeText returns Time in seconds, with four digits after the point.
func (r *Result) TimeText() string { return strconv.FormatFloat(r.Time.Seconds(), 'f', 4, 64) }

// MetricsText returns the metrics as the JSON text of the stored form, "{}" without metrics.
func (r *Result) MetricsText() (string, error) {
	if len(r.Metrics) == 0 {
		return "{}", nil
	}
	text, err := json.Marshal(r.Metrics)
	return string(text), err
}

var noType = json.RawMessage("null")

func (r *Result) encode() ([]byte, error) {
	metrics, err := r.MetricsText()
	if err != nil {
		return nil, err
	}
	out := resultJSON[tagJSON]{ErrorCode: r.Code, ErrorMessage: r.Message, Metrics: metrics, Time: r.TimeText()}
	out.Published, out.Modified, out.Assumed = r.Published, r.Modified, r.Assumed
	tags := make([]tagJSON, len(r.Tags))
	for i := range r.Tags {
		tags[i] = r.Tags[i].encoded()
	}
	out.Data.ResID, out.Data.TagList = r.ID, [][]tagJSON{tags}
	return json.Marshal(out)
}

func (t *Tag) encoded() tagJSON {
	j := tagJSON{Name: t.Name, Data: t.Data, Extractor: t.Extractor, Lang: t.Lang, LangSuffix: t.LangSuffix}
	if t.Plain {
		j.Data = t.Text()
	}
	if t.XPath != "" {
		j.XPath = &t.XPath
	}
	if t.Extractor != Feed {
		j.Type = &noType
		if t.Type != "" {
			kind, _ := json.Marshal(t.Type)
			j.Type = (*json.RawMessage)(&kind)
		}
	}
	return j
}

// Content is a stored processed content.
type Content struct {
	Default  Result
	Internal []Result
	Custom   []string
}

// Decode reads a stored value, which may be base64. Parts that cannot be read are empty.
func Decode(text []byte) Content {
	if data, err := base64.StdEncoding.DecodeString(string(text)); err == nil {
		text = data
	}
	var stored struct {
		Default  resultJSON[storedTag]   `json:"default"`
		Internal []resultJSON[storedTag] `json:"internal"`
		Custom   []string                `json:"custom"`
	}
	if json.Unmarshal(text, &stored) != nil {
		return Content{}
	}
	c := Content{Default: decoded(stored.Default), Custom: stored.Custom}
	for _, r := range stored.Internal {
		c.Internal = append(c.Internal, decoded(r))
	}
	return c
}

// storedTag is a tag with data of any shape: values of the original service may be a string.
type storedTag struct {
	Name       string          `json:"name"`
	Data       json.RawMessage `json:"data"`
	XPath      any             `json:"xpath"`
	Extractor  string          `json:"extractor"`
	Type       any             `json:"type"`
	Lang       string          `json:"lang"`
	LangSuffix string          `json:"lang_suffix"`
}

func decoded(j resultJSON[storedTag]) Result {
	r := Result{ID: j.Data.ResID, Code: j.ErrorCode, Message: j.ErrorMessage, Published: j.Published, Modified: j.Modified, Assumed: j.Assumed}
	if s, err := strconv.ParseFloat(j.Time, 64); err == nil {
		r.Time = time.Duration(s * float64(time.Second))
	}
	if len(j.Data.TagList) > 0 {
		for _, s := range j.Data.TagList[0] {
			t := Tag{Name: s.Name, Extractor: s.Extractor, Lang: s.Lang, LangSuffix: s.LangSuffix}
			t.XPath, _ = s.XPath.(string)
			t.Type, _ = s.Type.(string)
			if json.Unmarshal(s.Data, &t.Data) != nil {
				var one string
				_ = json.Unmarshal(s.Data, &one) // "" for any other type
				t.Data, t.Plain = []string{one}, true
			}
			r.Tags = append(r.Tags, t)
		}
	}
	var metrics map[string]any
	if json.Unmarshal([]byte(j.Metrics), &metrics) == nil {
		for name, value := range metrics {
			if v, err := strconv.ParseFloat(strings.TrimSpace(fmt.Sprint(value)), 64); err == nil {
				if r.Metrics == nil {
					r.Metrics = map[string]float64{}
				}
				r.Metrics[MetricName(name)] = v
			}
		}
	}
	return r
}
