package ranking

import (
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/wire/result"
)

// docs/spec/processing.md 1.5 SCRAPER_METRICS, metrics.
func TestParseMetrics(t *testing.T) {
	for _, tt := range []struct{ name, text, want, err string }{
		{"object", `{"WORDS_NUMBER":null,"TAGS_NUMBER_PERCENT":null}`, "WORDS_NUMBER TAGS_NUMBER_PERCENT", ""},
		{"text of an object", `"{\"CONTENT_SIZE\":null}"`, "CONTENT_SIZE", ""},
		{"aliases", `{"METRIC_TAGS_COUNT":null,"METRIC_WORDS_COUNT_PERCENT":1,"METRIC_CONTENT_SIZE":null,"tags_number":null}`, "TAGS_NUMBER WORDS_NUMBER_PERCENT CONTENT_SIZE", ""},
		{"0", `0`, "", ""},
		{"0 as text", `"0"`, "", ""},
		{"empty", ``, "", ""},
		{"null", `null`, "", ""},
		{"empty object", `{}`, "", ""},
		{"unknown", `{"WORDS_NUMBER":null,"BEAUTY":null}`, "WORDS_NUMBER", `has "BEAUTY"; expected TAGS_NUMBER, WORDS_NUMBER or CONTENT_SIZE, or one of them with _PERCENT`},
		{"list", `["WORDS_NUMBER"]`, "", "is not a JSON object"},
		{"no JSON", `{`, "", "is not valid JSON: it ends too early"},
		{"no JSON text", `"a`, "", "is not valid JSON: unexpected end of JSON input"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			names, err := ParseMetrics(tt.text)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if strings.Join(names, " ") != tt.want || got != tt.err {
				t.Errorf("%v, %s", names, got)
			}
		})
	}
}

func words(id string, n int) result.Result {
	r := result.Result{ID: id}
	r.Add(result.Tag{Name: "content_encoded", Data: []string{strings.Repeat("word ", n)}})
	return r
}

// docs/spec/processing.md 6.2 #5: all results shared one dictionary.
func TestEachResultHasItsOwnMetrics(t *testing.T) {
	results := []result.Result{words("a", 9), words("b", 10)}
	Measure(results, []string{"WORDS_NUMBER", "TAGS_NUMBER"})
	if results[0].Metrics["WORDS_NUMBER"] != 9 || results[1].Metrics["WORDS_NUMBER"] != 10 || results[1].Metrics["TAGS_NUMBER"] != 1 {
		t.Errorf("%v %v", results[0].Metrics, results[1].Metrics)
	}
	results[0].Add(result.Tag{Name: "title", Data: []string{"two words"}})
	if Again(&results[0]); results[0].Metrics["WORDS_NUMBER"] != 11 || len(results[0].Metrics) != 2 {
		t.Errorf("again: %v", results[0].Metrics)
	}
	if Measure(results, nil); results[0].Metrics != nil {
		t.Errorf("no metrics are asked for: %v", results[0].Metrics)
	}
}

// docs/spec/processing.md 1.5 DEFAULT_METRIC, 2.7.
func TestSort(t *testing.T) {
	measured := func(list ...result.Result) []result.Result {
		Measure(list, []string{"WORDS_NUMBER"})
		return list
	}
	other := words("x", 50)
	for _, tt := range []struct {
		name, metric string
		results      []result.Result
		want         string
	}{
		{"numbers, not texts", "WORDS_NUMBER", measured(words("a", 9), words("b", 10), words("c", 100)), "c b a"}, // 6.2 #5
		{"without the metric last", "WORDS_NUMBER", append([]result.Result{other}, measured(words("a", 1), words("b", 2))...), "b a x"},
		{"equal ones keep their order", "WORDS_NUMBER", measured(words("a", 2), words("b", 2), words("c", 3)), "c a b"},
		{"alias", "METRIC_WORDS_COUNT", measured(words("a", 1), words("b", 2)), "b a"},
		{"not asked for", "CONTENT_SIZE", measured(words("a", 1), words("b", 2)), "b a"},
		{"empty results", "TAGS_NUMBER", []result.Result{{ID: "a"}, words("b", 1), {ID: "c"}}, "b a c"},
		{"no result", "TAGS_NUMBER", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := Sort(tt.results, tt.metric); err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, r := range tt.results {
				ids = append(ids, r.ID)
			}
			if strings.Join(ids, " ") != tt.want {
				t.Errorf("order %v, want %s", ids, tt.want)
			}
		})
	}
	results := []result.Result{words("a", 1), words("b", 2)}
	if err := Sort(results, "BEAUTY"); err == nil || results[0].ID != "a" {
		t.Errorf("an unknown metric sorts: %v", err)
	}
}

func FuzzParseMetrics(f *testing.F) {
	for _, seed := range []string{``, `"\"{}\""`, `{"METRIC_METRIC_":0}`, `{"_PERCENT":null}`, "{\"WORDS_NUMBER\x00\":[[[", `{"WORDS_NUMBER":{},"words_number_percent":1}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names, _ := ParseMetrics(text)
		results := []result.Result{words("a", 1)}
		Measure(results, names)
		if len(results[0].Metrics) != len(names) || len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
			t.Errorf("%v gives %v", names, results[0].Metrics)
		}
	})
}
