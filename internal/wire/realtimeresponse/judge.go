package realtimeresponse

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hce/dc/internal/wire"
)

// Grade says how good the result of an item is.
type Grade struct {
	Failed bool  `json:"failed"` // it has no content
	Enough bool  `json:"enough"` // FINALIZER_METRICS are met
	Tags   int64 `json:"tags"`
}

// Better reports whether g is the grade of a better result than other.
func (g Grade) Better(other Grade) bool {
	switch {
	case g.Failed != other.Failed:
		return other.Failed
	case g.Enough != other.Enough:
		return g.Enough
	}
	return g.Tags > other.Tags
}

// How the limits of FINALIZER_METRICS are joined, its field type.
const (
	first = 0 // the first one alone
	anyOf = 1
	allOf = 2
)

// limits are FINALIZER_METRICS.
type limits struct {
	Type    number  `json:"type"`
	Metrics []limit `json:"contentMetrics"`
}

type limit struct {
	Name string  `json:"NAME"`
	Min  *number `json:"LIMIT_MIN"`
	Max  *number `json:"LIMIT_MAX"`
}

// number is a JSON number, or a text of one, as hand-written properties have it.
type number float64

// UnmarshalJSON reads both.
func (n *number) UnmarshalJSON(b []byte) error {
	text := strings.TrimSpace(strings.Trim(string(b), `"`))
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("%s is not a number", b)
	}
	*n = number(f)
	return nil
}

// defaultTags is TAGS_NUMBER, at least, of a result that has metrics where the site
// names no limits; without metrics more tags than that are needed (docs/spec/crawling.md 6.3,
// docs/spec/processing.md 2.7).
const defaultTags = 3

// Judge grades the result of an item. Content is the processed content as it would
// be stored, nil for none. An error says what is wrong with FINALIZER_METRICS; the
// grade is that of a site without it.
func Judge(item wire.BatchItem, site *wire.Site, content []byte) (Grade, error) {
	g := Grade{Failed: content == nil, Tags: item.URL.TagsCount}
	if g.Failed {
		return g, nil
	}
	r := read(content)
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
		g.Enough = g.Tags-r.twins() > defaultTags
	}
	return g, problem
}

// met reports whether r keeps within the limits.
func (l limits) met(r result) (bool, error) {
	list := l.Metrics
	if len(list) == 0 {
		return false, fmt.Errorf("contentMetrics is empty")
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

// result is what a processed content tells of itself.
type result struct {
	metrics map[string]float64 // that the processor was asked for
	tags    []tag
}

type tag struct {
	Name string          `json:"name"`
	Data json.RawMessage `json:"data"`
}

// twins are tags that only say again what another one says: the number of tags that
// is enough was chosen without them.
func (r result) twins() (n int64) {
	for _, t := range r.tags {
		if t.Name == "content_markdown" {
			n++
		}
	}
	return n
}

// read takes a content apart; what has not the shape of one tells nothing.
func read(content []byte) result {
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

// metric is the value of one metric: the processor's, else counted here (docs/spec/processing.md
// 2.7).
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

// text is the tag's values, one after the other.
func (t tag) text() string {
	var list []string
	if json.Unmarshal(t.Data, &list) == nil {
		return strings.Join(list, " ")
	}
	var one string
	_ = json.Unmarshal(t.Data, &one) // neither: nothing is there
	return one
}

// shortestWord is what a word of letters that have cases needs; in other writings
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
