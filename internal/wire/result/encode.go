package result

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/wire/zpack"
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

// Encode returns the value to store, packed: all results as internal, and custom, which has a
// text for each result or is empty. The first result is also the default, see Expand.
func Encode(results []Result, custom []string) ([]byte, error) {
	if len(results) == 0 {
		return nil, fmt.Errorf("encode a processed content: there is no result")
	}
	if custom == nil {
		custom = []string{}
	}
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	b.WriteString(`{"custom":`)
	if err := appendJSON(b, custom); err != nil {
		return nil, err
	}
	b.WriteString(`,"internal":[`)
	for i := range results {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := results[i].appendJSON(b); err != nil {
			return nil, fmt.Errorf("encode result %d of %s: %w", i, results[i].ID, err)
		}
	}
	b.WriteString(`]}`)
	return zpack.Pack(b.Bytes()), nil
}

// buffers are *bytes.Buffer for texts that are copied at the end.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// appendJSON appends the JSON of v, as json.Marshal returns it.
func appendJSON(b *bytes.Buffer, v any) error {
	err := json.NewEncoder(b).Encode(v)
	if err == nil {
		b.Truncate(b.Len() - 1) // the line feed
	}
	return err
}

// Expand returns the JSON of a stored value, {"custom":…,"default":…,"internal":…}. Values
// that Encode has not written, such as base64 of the original service, are returned as they are.
func Expand(stored []byte) ([]byte, error) {
	if !zpack.Is(stored) {
		return stored, nil
	}
	text, err := zpack.Unpack(stored, zpack.MaxContent)
	if err != nil {
		return nil, err
	}
	var value struct {
		Custom   json.RawMessage   `json:"custom"`
		Internal []json.RawMessage `json:"internal"`
	}
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, fmt.Errorf("expand a processed content: %w", err)
	}
	if value.Custom == nil || len(value.Internal) == 0 {
		return text, nil // not written by Encode
	}
	first := value.Internal[0]
	out := make([]byte, 0, len(text)+len(first)+len(`"default":,`))
	out = append(append(out, `{"custom":`...), value.Custom...)
	out = append(append(out, `,"default":`...), first...)
	rest := text[len(`{"custom":`)+len(value.Custom):]
	return append(out, rest...), nil
}

// EncodeDefault returns {"default":…} of one result: what URL_CONTENT answers for a content
// without custom texts (docs/spec/processing.md 4.2).
func (r *Result) EncodeDefault() ([]byte, error) {
	b := bytes.NewBufferString(`{"default":`)
	if err := r.appendJSON(b); err != nil {
		return nil, fmt.Errorf("encode the result of %s: %w", r.ID, err)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
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

// appendJSON appends the JSON of the result.
func (r *Result) appendJSON(b *bytes.Buffer) error {
	metrics, err := r.MetricsText()
	if err != nil {
		return err
	}
	out := resultJSON[tagJSON]{ErrorCode: r.Code, ErrorMessage: r.Message, Metrics: metrics, Time: r.TimeText()}
	out.Published, out.Modified, out.Assumed = r.Published, r.Modified, r.Assumed
	tags := make([]tagJSON, len(r.Tags))
	for i := range r.Tags {
		tags[i] = r.Tags[i].toJSON()
	}
	out.Data.ResID, out.Data.TagList = r.ID, [][]tagJSON{tags}
	return appendJSON(b, out)
}

func (t *Tag) toJSON() tagJSON {
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

// Decode reads a stored value, its JSON or base64 of that. Parts that cannot be read are empty.
func Decode(stored []byte) Content {
	text := plainJSON(stored)
	var value struct {
		Default  resultJSON[storedTag]   `json:"default"`
		Internal []resultJSON[storedTag] `json:"internal"`
		Custom   []string                `json:"custom"`
	}
	if json.Unmarshal(text, &value) != nil {
		return Content{}
	}
	c := Content{Default: resultFromJSON(value.Default), Custom: value.Custom}
	for _, r := range value.Internal {
		c.Internal = append(c.Internal, resultFromJSON(r))
	}
	return c
}

// plainJSON returns the JSON of a stored value, or nil if it is damaged.
func plainJSON(stored []byte) []byte {
	text, err := Expand(stored)
	if err != nil {
		return nil
	}
	if data, err := base64.StdEncoding.DecodeString(string(text)); err == nil {
		return data
	}
	return text
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

func resultFromJSON(j resultJSON[storedTag]) Result {
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
