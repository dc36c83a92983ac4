// Package ranking measures results by the metrics that a site asks for, and puts the best one
// first (docs/spec/processing.md 2.7).
//
//	names, err := ranking.ParseMetrics(`{"WORDS_NUMBER":null}`) // SCRAPER_METRICS
//	ranking.Measure(results, names)
//	err = ranking.Sort(results, "WORDS_NUMBER") // DEFAULT_METRIC: results[0] becomes default
package ranking

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/result"
)

// ParseMetrics reads SCRAPER_METRICS, or the key metrics of PROCESSOR_PROPERTIES, which it
// overrides: an object, whose names are metrics, or its JSON text. "", 0, null and {} ask for
// none. It returns the plain names (result.MetricName), each once, in the order of the text.
// An error names the metric that is unknown; the known ones are still returned.
func ParseMetrics(text string) ([]string, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal([]byte(text), &text); err != nil {
			return nil, fmt.Errorf("is not valid JSON: %w", err)
		}
	}
	if text == "" || text == "0" {
		return nil, nil
	}
	var members prop.Members
	if err := prop.Decode(text, &members); err != nil {
		return nil, err
	}
	var names []string
	var failed error
	for _, m := range members {
		name, err := CheckMetric(m.Name)
		if err != nil {
			failed = err
		} else if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, failed
}

// CheckMetric returns the plain name of a metric: the value of DEFAULT_METRIC, for example.
func CheckMetric(name string) (string, error) {
	if _, err := (&result.Result{}).Metric(name); err != nil {
		return "", fmt.Errorf("has %q; expected TAGS_NUMBER, WORDS_NUMBER or CONTENT_SIZE, or one of them with _PERCENT", prop.Clip(name))
	}
	return result.MetricName(name), nil
}

// Measure sets the metrics of each result to the named ones, which are plain names. Without
// names the results have no metrics.
func Measure(results []result.Result, names []string) {
	for i := range results {
		results[i].Metrics = nil // a stored value would be used instead of the tags
		values := make(map[string]float64, len(names))
		for _, name := range names {
			if v, err := results[i].Metric(name); err == nil {
				values[name] = v
			}
		}
		if len(values) > 0 {
			results[i].Metrics = values
		}
	}
}

// Sort puts results with a higher value of the metric first, and those without the metric last.
// Equal ones keep their order. If no result has the metric, because the site did not ask for it,
// the tags are measured; the results' metrics do not change.
func Sort(results []result.Result, metric string) error {
	metric, err := CheckMetric(metric)
	if err != nil {
		return err
	}
	type ranked struct {
		result result.Result
		value  float64
		has    bool
	}
	list := make([]ranked, len(results))
	some := slices.ContainsFunc(results, func(r result.Result) bool { _, has := r.Metrics[metric]; return has })
	for i, r := range results {
		list[i].result = r
		if list[i].value, list[i].has = r.Metrics[metric]; !some {
			list[i].value, _ = r.Metric(metric) // the name is known
			list[i].has = true
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		switch {
		case a.has != b.has && a.has, a.has && b.has && a.value > b.value:
			return -1
		case a.has != b.has, a.value < b.value:
			return 1
		}
		return 0
	})
	for i := range list {
		results[i] = list[i].result
	}
	return nil
}

// Again measures a result whose tags changed, by the metrics that it has.
func Again(r *result.Result) {
	one := []result.Result{*r}
	Measure(one, slices.Sorted(maps.Keys(r.Metrics)))
	*r = one[0]
}
