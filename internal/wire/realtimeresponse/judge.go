package realtimeresponse

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hce/dc/internal/wire"
)

// Grade is the quality of the result of an item.
type Grade struct {
	Failed bool  `json:"failed"` // there is no content
	Enough bool  `json:"enough"` // the result meets FINALIZER_METRICS
	Tags   int64 `json:"tags"`
}

// Better reports whether g is better than other.
func (g Grade) Better(other Grade) bool {
	switch {
	case g.Failed != other.Failed:
		return other.Failed
	case g.Enough != other.Enough:
		return g.Enough
	}
	return g.Tags > other.Tags
}

// Types of FINALIZER_METRICS: which limits a result must meet.
const (
	first = 0
	anyOf = 1
	allOf = 2
)

// limits is the value of FINALIZER_METRICS.
type limits struct {
	Type    number  `json:"type"`
	Metrics []limit `json:"contentMetrics"`
}

type limit struct {
	Name string  `json:"NAME"`
	Min  *number `json:"LIMIT_MIN"`
	Max  *number `json:"LIMIT_MAX"`
}

// number is a JSON number, with or without quotes.
type number float64

// UnmarshalJSON reads both forms.
func (n *number) UnmarshalJSON(b []byte) error {
	text := strings.TrimSpace(strings.Trim(string(b), `"`))
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("%s is not a number", b)
	}
	*n = number(f)
	return nil
}

// defaultTags applies to sites without FINALIZER_METRICS. A result with the metric
// TAGS_NUMBER needs at least so many tags, any other result needs more
// (docs/spec/crawling.md 6.3, docs/spec/processing.md 2.7).
const defaultTags = 3

// Judge grades the result of an item. content is the processed content in its stored form;
// nil: there is no content. site may be nil. The error reports an invalid
// FINALIZER_METRICS; the grade is then that of a site without the property.
func Judge(item wire.BatchItem, site *wire.Site, content []byte) (Grade, error) {
	g := Grade{Failed: content == nil, Tags: item.URL.TagsCount}
	if g.Failed {
		return g, nil
	}
	r := readResult(content)
	text := strings.TrimSpace(property(item, site, "FINALIZER_METRICS"))
	var problem error
	if text != "" {
		var l limits
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			problem = fmt.Errorf("FINALIZER_METRICS: %w", err)
		} else if met, err := l.met(r); err != nil {
			problem = fmt.Errorf("FINALIZER_METRICS: %w", err)
		} else {
			g.Enough = met
			return g, nil
		}
	}
	if tags, ok := r.metrics["TAGS_NUMBER"]; ok {
		g.Enough = tags >= defaultTags
	} else {
		g.Enough = g.Tags-r.copies() > defaultTags
	}
	return g, problem
}

// met reports whether r meets the limits.
func (l limits) met(r result) (bool, error) {
	list := l.Metrics
	if len(list) == 0 {
		return false, errors.New("contentMetrics is empty")
	}
	switch l.Type {
	case first:
		list = list[:1]
	case anyOf, allOf:
	default:
		return false, fmt.Errorf("type is %g, must be 0, 1 or 2", float64(l.Type))
	}
	count := 0
	for _, m := range list {
		value, err := r.metric(m.Name)
		if err != nil {
			return false, err
		}
		if (m.Min == nil || value >= float64(*m.Min)) && (m.Max == nil || value <= float64(*m.Max)) {
			count++
		}
	}
	if l.Type == anyOf {
		return count > 0, nil
	}
	return count == len(list), nil
}

// result is a decoded processed content.
type result struct {
	metrics map[string]float64 // computed by the processor, by plainName; may be nil
	tags    []tag
}

type tag struct {
	Name string          `json:"name"`
	Data json.RawMessage `json:"data"`
}

// copies counts tags that repeat another tag in another format. defaultTags does not
// include them.
func (r result) copies() (n int64) {
	for _, t := range r.tags {
		if t.Name == "content_markdown" {
			n++
		}
	}
	return n
}

// readResult decodes a processed content, which may be base64. An invalid content gives an
// empty result.
func readResult(content []byte) result {
	if data, err := base64.StdEncoding.DecodeString(string(content)); err == nil {
		content = data
	}
	var stored struct {
		Default struct {
			Data struct {
				TagList [][]tag `json:"tagList"`
			} `json:"data"`
			Metrics string `json:"metrics"`
		} `json:"default"`
	}
	r := result{}
	if json.Unmarshal(content, &stored) != nil {
		return r
	}
	if lists := stored.Default.Data.TagList; len(lists) > 0 {
		r.tags = lists[0]
	}
	var metrics map[string]number
	if json.Unmarshal([]byte(stored.Default.Metrics), &metrics) == nil && len(metrics) > 0 {
		r.metrics = map[string]float64{}
		for name, value := range metrics {
			r.metrics[plainName(name)] = float64(value)
		}
	}
	return r
}

// aliases are older names of the metrics (docs/spec/processing.md 2.7).
var aliases = map[string]string{"TAGS_COUNT": "TAGS_NUMBER", "WORDS_COUNT": "WORDS_NUMBER"}

func plainName(name string) string {
	name = strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(name)), "METRIC_")
	base, percent := strings.CutSuffix(name, "_PERCENT")
	if plain, ok := aliases[base]; ok {
		base = plain
	}
	if percent {
		base += "_PERCENT"
	}
	return base
}

// metric returns the value of a metric: of the processor, or computed here
// (docs/spec/processing.md 2.7).
func (r result) metric(name string) (float64, error) {
	plain := plainName(name)
	if value, ok := r.metrics[plain]; ok {
		return value, nil
	}
	value, whole := 0, 0
	base, percent := strings.CutSuffix(plain, "_PERCENT")
	for _, t := range r.tags {
		text := t.text()
		switch base {
		case "TAGS_NUMBER":
			whole++
			if strings.TrimSpace(text) != "" {
				value++
			}
		case "WORDS_NUMBER":
			for _, word := range strings.Fields(text) {
				whole++
				if !percent || isWord(word) {
					value++
				}
			}
		case "CONTENT_SIZE":
			for _, c := range text {
				whole++
				if !percent || unicode.IsLetter(c) || unicode.IsDigit(c) {
					value++
				}
			}
		}
	}
	switch base {
	case "TAGS_NUMBER", "WORDS_NUMBER", "CONTENT_SIZE":
	default:
		return 0, fmt.Errorf("metric %.60q is unknown", name)
	}
	if percent {
		return float64(100 * value / max(whole, 1)), nil
	}
	return float64(value), nil
}

// text returns the values of the tag, joined by spaces.
func (t tag) text() string {
	var list []string
	if json.Unmarshal(t.Data, &list) == nil {
		return strings.Join(list, " ")
	}
	var one string
	_ = json.Unmarshal(t.Data, &one) // "" for any other type
	return one
}

// shortestWord is the minimum length of a word. In scripts without upper and lower case,
// one character may be a word.
const shortestWord = 3

func isWord(word string) bool {
	long := utf8.RuneCountInString(word) >= shortestWord
	for _, c := range word {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
		if unicode.In(c, unicode.Lo, unicode.Lm, unicode.Lt) {
			long = true
		}
	}
	return long
}
