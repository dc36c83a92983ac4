package content

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

// wantError checks that the error contains want; "" means no error.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case err == nil && want != "":
		t.Fatalf("no error, want %q", want)
	case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
		t.Fatalf("error %q, want %q", err, want)
	}
}

func TestParseTypes(t *testing.T) {
	tests := []struct {
		name, text string
		want       Types
		err        string
	}{
		{"empty", "", nil, ""},
		{"spaces", " , ,", nil, ""},
		{"list", "Text/HTML, image/* ,application/xml;q=0.9", Types{"text/html", "image/*", "application/xml"}, ""},
		{"all", "*", Types{"*/*"}, ""},
		{"JSON", `["text/html", "a/b,c/d"]`, Types{"text/html", "a/b", "c/d"}, ""},
		{"no type", "text/html, html", nil, `has "html"`},
		{"broken JSON", `["a/b"`, nil, "is not valid JSON"},
		{"too many", strings.Repeat("a/b,", 1001), nil, "more than 1000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseTypes(tt.text)
			wantError(t, err, tt.err)
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestTypesHold(t *testing.T) {
	for _, tt := range []struct {
		list, kind string
		want       bool
	}{
		{"", "image/png", true},
		{"*", "image/png", true},
		{"text/html", "text/html", true},
		{"text/html", "text/htmlx", false},
		{"text/*", "text/css", true},
		{"text/*", "textual/css", false},
		{"image/svg*", "image/svg+xml", false}, // a trailing wildcard matches only whole subtypes
		{"text/*,image/png", "image/png", true},
		{"text/*", "", false},
	} {
		types, err := ParseTypes(tt.list)
		if err != nil || types.Holds(tt.kind) != tt.want {
			t.Errorf("%q holds %q: not %v (%v)", tt.list, tt.kind, tt.want, err)
		}
	}
}

func TestTypeMap(t *testing.T) {
	m, err := ParseTypeMap(`{"Text/XML; x": "application/rss+xml", "application/rss+xml": "a/b", "image/*": "image/png", "": "text/html"}`)
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		"text/xml": "application/rss+xml", "image/gif": "image/png", "text/css": "text/css", "": "text/html",
	} {
		if got := m.Map(from); got != want {
			t.Errorf("%q is mapped to %q, want %q", from, got, want)
		}
	}
	if got := (TypeMap)(nil).Map("a/b"); got != "a/b" {
		t.Error(got)
	}
	for text, want := range map[string]string{
		"": "is empty", "[]": "is not a JSON object", `{"a/b": {}}`: `at "a/b": has {}`, `{"a/b": "x"}`: `has "x" at "a/b"`,
	} {
		_, err := ParseTypeMap(text)
		wantError(t, err, want)
	}
}

func TestStatuses(t *testing.T) {
	s, err := ParseStatuses(`{"404": 1, " 500 ": "7", "200": 4.0}`)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Statuses{404: 1, 500: 7, 200: 4}); !maps.Equal(s, want) {
		t.Errorf("%v, want %v", s, want)
	}
	for text, want := range map[string]string{
		"": "is empty", `{"x": 1}`: "has the name", `{"99": 1}`: "expected an HTTP code", `{"200": 9}`: "expected a status from 0 to 8",
		`{"200": "x"}`: `at "200"`, `{"200": null}`: "expected a status from", `{"200": -1}`: "expected a status from",
	} {
		_, err := ParseStatuses(text)
		wantError(t, err, want)
	}
}

func TestAutoDetect(t *testing.T) {
	type query struct {
		url     string
		urlType int64
		root    bool
		kind    string
		want    bool
	}
	tests := []struct {
		name, text string
		heads      bool
		queries    []query
	}{
		{"empty", "", false, []query{{"u", 0, true, "", false}}},
		{"off", "0", false, []query{{"u", 0, true, "", false}}},
		{"detect from content", "1", false, []query{{"u", 0, true, "a/b", true}}},
		{"detect with HEAD requests", `"2"`, true, []query{{"u", 0, true, "a/b", true}}},
		{"no rules", "[]", false, []query{{"u", 0, true, "", false}}},
		{"rule without conditions", "{}", false, []query{{"u", 0, true, "", true}}},
		{"unknown type", `[{"mode": "1"}]`, false, []query{{"u", 0, true, "", true}, {"u", 0, true, "application/octet-stream", true}, {"u", 0, true, "text/html", false}}},
		{"listed type, F10", `[{"mode": 2, "content_types": ["text/xml", "image/*"], "url_types": ["1", 3]}]`, false, []query{
			{"u", 1, true, "text/xml", true}, {"u", 3, true, "image/png", true}, {"u", 2, true, "text/xml", false}, {"u", 1, true, "text/html", false}}},
		{"unlisted type, F10", `[{"mode": 3, "content_types": "text/html,text/css"}]`, false, []query{
			{"u", 0, true, "text/html", false}, {"u", 0, true, "text/css", false}, {"u", 0, true, "a/b", true}, {"u", 0, true, "", true}}},
		{"listed type of an empty list", `[{"mode": 2}]`, false, []query{{"u", 0, true, "a/b", false}}},
		{"roots", `[{"url_parent": 0}]`, false, []query{{"u", 0, true, "", true}, {"u", 0, false, "", false}}},
		{"not roots", `[{"url_parent": "1"}]`, false, []query{{"u", 0, true, "", false}, {"u", 0, false, "", true}}},
		{"expression", `[{"url_expression": "[.]pdf$"}]`, false, []query{{"http://a/x.pdf", 0, true, "", true}, {"http://a/pdf", 0, true, "", false}}},
		{"one matching rule", `[{"url_expression": "a"}, {"url_expression": "b"}]`, false, []query{{"b", 0, true, "", true}, {"c", 0, true, "", false}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, err := ParseAutoDetect(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if a.HeadsLinks() != tt.heads {
				t.Errorf("HeadsLinks() = %v", a.HeadsLinks())
			}
			for _, q := range tt.queries {
				if got := a.Detects(q.url, q.urlType, q.root, q.kind); got != q.want {
					t.Errorf("%+v", q)
				}
			}
		})
	}
	for text, want := range map[string]string{
		"3": "has 3; expected 0, 1, 2 or a list", "x": "is not valid JSON", `"x"`: "expected a whole number", "true x": "more behind",
		`[1]`: "has a rule 1 that is a JSON number", `[{"mode": 4}]`: `has 4 at "mode"`, `[{"url_parent": 2}]`: `"url_parent"`,
		`[{"url_types": "x"}]`: `"url_types"`, `[{"content_types": "x"}]`: `has "x"`, `[{"url_expression": "("}]`: "bad pattern",
		"[" + strings.Repeat("{},", 1000) + "{}]": "more than 1000 rules",
	} {
		_, err := ParseAutoDetect(text)
		wantError(t, err, want)
	}
}

func TestReplace(t *testing.T) {
	tests := []struct {
		name, rules, in, want, err string
	}{
		{"one", `[{"WHERE":"RAW","WHAT":"b+","WITH":"x","CONDITION":""}]`, "abbc", "axc", ""},
		{"single object", `{"WHAT":"b","WITH":"x"}`, "abc", "axc", ""},
		{"empty replacement", `[{"WHAT":"b"}]`, "abc", "ac", ""},
		{"rules apply in sequence, F47", `[{"WHAT":"a","WITH":"b"},{"WHAT":"b","WITH":"c"}]`, "ab", "cc", ""},
		{"condition holds", `[{"WHAT":"a","WITH":"b","CONDITION":"yes"}]`, "a", "b", ""},
		{"condition is false", `[{"WHAT":"a","WITH":"b","CONDITION":"no"}]`, "a", "a", ""},
		{"condition fails", `[{"WHAT":"a","WITH":"b","CONDITION":"broken"},{"WHAT":"a","WITH":"c"}]`, "a", "c", "rule 1: bad SQL"},
		{"rule fails", `[{"WHAT":"a","WITH":"\\9"},{"WHAT":"a","WITH":"c"}]`, "a", "c", "rule 1: replacement with the group"},
		{"growth", `[{"WHAT":"a","WITH":"` + strings.Repeat("x", 2000) + `"}]`, strings.Repeat("a", 1000), strings.Repeat("a", 1000), "makes the page too long"},
	}
	holds := func(condition string) (bool, error) {
		if condition == "broken" {
			return false, errors.New("bad SQL")
		}
		return condition == "yes", nil
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := ParseReplace(tt.rules)
			if err != nil || !r.Any() {
				t.Fatal(err)
			}
			got, err := r.Apply(tt.in, holds)
			wantError(t, err, tt.err)
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
	var none Replace
	if got, err := none.Apply("a", nil); got != "a" || err != nil || none.Any() {
		t.Errorf("%q, %v", got, err)
	}
	r, _ := ParseReplace(`{"WHAT":"a","CONDITION":"x"}`)
	_, err := r.Apply("a", nil)
	wantError(t, err, "cannot be evaluated")
	for text, want := range map[string]string{
		"": "is empty", "7": "expected a list", "[7]": "has a rule 1 that is a JSON number", `[{"WHAT":"("}]`: "bad pattern",
		`[{"WITH":"x"}]`: `no pattern at "WHAT"`, `[{"WHERE":"TIDY","WHAT":"x"}]`: `has "TIDY" at "WHERE"`,
		"[" + strings.Repeat(`{"WHAT":"x"},`, 100) + `{"WHAT":"x"}]`: "more than 100",
	} {
		_, err := ParseReplace(text)
		wantError(t, err, want)
	}
}

// FuzzProperties checks that no property text panics and that an error comes with the zero
// value.
func FuzzProperties(f *testing.F) {
	for _, s := range []string{"", "1", "null", "[]", "{}", `[{"WHAT":"a"}]`, `{"200":4}`, `{"text/a":"b/c"}`, "text/html,*", `[{"mode":2,"url_types":[1]}]`, "[null]", `""`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if types, err := ParseTypes(text); err != nil && types != nil {
			t.Error("types with an error")
		}
		if m, err := ParseTypeMap(text); err != nil && m != nil {
			t.Error("map with an error")
		}
		if s, err := ParseStatuses(text); err != nil && s != nil {
			t.Error("statuses with an error")
		}
		a, err := ParseAutoDetect(text)
		if a.Detects("u", 0, true, "") && err != nil {
			t.Error("detection with an error")
		}
		if r, err := ParseReplace(text); err != nil && r.Any() {
			t.Error("rules with an error")
		}
	})
}
