package realtimeresponse

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/result"
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
	stored := result.Decode(content)
	r := &stored.Default
	text := strings.TrimSpace(findProperty(item, site, "FINALIZER_METRICS"))
	var problem error
	if text != "" {
		var l limits
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			problem = fmt.Errorf("FINALIZER_METRICS: %w", err)
		} else if met, err := l.isMetBy(r); err != nil {
			problem = fmt.Errorf("FINALIZER_METRICS: %w", err)
		} else {
			g.Enough = met
			return g, nil
		}
	}
	if tags, ok := r.Metrics["TAGS_NUMBER"]; ok {
		g.Enough = tags >= defaultTags
	} else {
		g.Enough = g.Tags-countCopies(r) > defaultTags
	}
	return g, problem
}

// isMetBy reports whether r meets the limits.
func (l limits) isMetBy(r *result.Result) (bool, error) {
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
		value, err := r.Metric(m.Name)
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

// countCopies counts tags that repeat another tag in another format. defaultTags does not
// include them.
func countCopies(r *result.Result) (n int64) {
	if r.Tag("content_markdown") != nil {
		return 1
	}
	return 0
}
