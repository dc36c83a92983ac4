package result

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// aliases are older names of the metrics (docs/spec/processing.md 2.7).
var aliases = map[string]string{"TAGS_COUNT": "TAGS_NUMBER", "WORDS_COUNT": "WORDS_NUMBER"}

// MetricName returns the name of a metric without its older forms.
func MetricName(name string) string {
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

// Metric returns the value of a metric: the stored one, or that of the tags. The error says
// that the name is unknown (docs/spec/processing.md 2.7).
func (r *Result) Metric(name string) (float64, error) {
	plain := MetricName(name)
	if value, ok := r.Metrics[plain]; ok {
		return value, nil
	}
	value, whole := 0, 0
	base, percent := strings.CutSuffix(plain, "_PERCENT")
	for _, t := range r.Tags {
		text := t.Text()
		switch base {
		case "TAGS_NUMBER":
			whole++
			if strings.TrimSpace(text) != "" {
				value++
			}
		case "WORDS_NUMBER":
			for word := range strings.FieldsSeq(text) {
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
