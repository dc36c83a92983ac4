package urlschema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func mustParse(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fixed() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestGenerate(t *testing.T) {
	for _, c := range []struct {
		name, schema, template string
		limit                  int
		want                   [][]string // of successive calls
	}{
		{"one value at a time", `{"type": "1", "parameters": {"w": ["a", "b"]}}`, "http://x/?q=%w%", 0,
			[][]string{{"http://x/?q=a"}, {"http://x/?q=b"}, {"http://x/?q=a"}}},
		{"list", `{"type": 1, "mode": 1, "parameters": {"w": ["a", "b", "b", "c"]}}`, "http://x/%w%", 0,
			[][]string{{"http://x/a", "http://x/b", "http://x/c"}, {"http://x/a", "http://x/b", "http://x/c"}}},
		{"max_items cycle through the list", `{"type": 1, "mode": 1, "max_items": "2", "parameters": {"w": ["a", "b", "c"]}}`, "%w%", 0,
			[][]string{{"a", "b"}, {"c", "a"}, {"b", "c"}}},
		{"limit of the site", `{"type": 1, "mode": 1, "parameters": {"w": ["a", "b", "c"]}}`, "%w%", 1, [][]string{{"a"}, {"b"}}},
		{"the longest list", `{"type": 1, "mode": 1, "parameters": {"a": [1, 2, 3], "b": ["x", "y"], "unused": [1, 2, 3, 4]}}`, "%a%-%b%", 0,
			[][]string{{"1-x", "2-y", "3-x"}}},
		{"macro without name", `{"type": 1, "parameters": {"": ["a"]}}`, "http://x/%%/%%", 0, [][]string{{"http://x/a/a"}}},
		{"macros in values", `{"type": 1, "parameters": {"a": ["%b%"], "b": ["%a%"]}}`, "%a%%b%%c%", 0, [][]string{{"%b%%a%%c%"}}},
		{"escapes in the template", `{"type": 1, "parameters": {"a": ["x"]}}`, "/%20%a%41%a%", 0, [][]string{{"/%20x41x"}}},
		{"single text instead of a list", `{"type": 1, "parameters": {"a": "x y"}}`, "%a%", 0, [][]string{{"x y"}}},
		{"plain text", `{"type": 1, "mode": 1, "format": "plain-text", "parameters": {"a": "x  y z"}}`, "%a%", 0, [][]string{{"x", "y", "z"}}},
		{"plain text, lines", `{"type": 1, "mode": 1, "format": "plain-text", "delimiter": "", "parameters": {"a": "x y\r\nz\n\n"}}`, "%a%", 0, [][]string{{"x y", "z"}}},
		{"encoded", `{"type": 1, "url_encode": "1", "parameters": {"a": "x y/ü&%"}}`, "%a%", 0, [][]string{{"x%20y%2F%C3%BC%26%25"}}},
		{"URL too long", `{"type": 1, "mode": 1, "parameters": {"a": ["` + strings.Repeat("x", 2000) + `", "y"]}}`, "%a%%a%%a%", 0, [][]string{{"yyy"}}},

		{"numbers", `{"type": 2, "mode": 1, "max_items": 2, "parameters": {"n": {"min": "1", "max": "6", "step": "2"}}}`, "/%n%", 0,
			[][]string{{"/1", "/3"}, {"/5", "/1"}, {"/3", "/5"}}},
		{"one number", `{"type": 2, "parameters": {"n": {"min": -1, "max": 0}}}`, "/%n%", 0, [][]string{{"/-1"}, {"/0"}, {"/-1"}}},
		{"all numbers", `{"type": 2, "mode": 1, "parameters": {"n": {"min": 1, "max": 3}, "m": {"min": 1, "max": 2}}}`, "%n%.%m%", 0, [][]string{{"1.1", "2.2", "3.1"}}},
		{"random number", `{"type": 3, "parameters": {"n": {"min": 7, "max": 7}}}`, "%n%", 0, [][]string{{"7"}, {"7"}}},
		{"fewer random numbers than asked", `{"type": 3, "mode": 1, "max_items": 9, "parameters": {"n": {"min": 7, "max": 7}}}`, "%n%", 0, [][]string{{"7"}}},
		{"off", `{"type": 0, "parameters": {"n": [1]}}`, "%n%", 0, [][]string{nil}},
		{"no macro in the URL", `{"type": 1, "parameters": {"n": [1]}}`, "http://x/", 0, [][]string{nil}},
		{"empty list", `{"type": 1, "parameters": {"n": []}}`, "%n%", 0, [][]string{nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustParse(t, c.schema)
			var state State
			for call, want := range c.want {
				got := s.Generate(c.template, &state, fixed(), c.limit)
				if !slices.Equal(got, want) {
					t.Errorf("call %d: %.200q, want %q", call, got, want)
				}
				state = reload(t, state)
				if s.Applies(c.template) != (want != nil) {
					t.Errorf("Applies is %v", want == nil)
				}
			}
		})
	}
}

// reload encodes and decodes a state, as between two batches.
func reload(t *testing.T, state State) State {
	t.Helper()
	raw, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	var next State
	if err := json.Unmarshal(raw, &next); err != nil {
		t.Fatal(err)
	}
	return next
}

func TestRandomText(t *testing.T) {
	for schema, form := range map[string]string{
		`{"type": 4, "mode": 1, "max_items": 50, "parameters": {"r": {"min": 3, "max": 5, "chars": 0, "case": 0}}}`: `^[a-z]{3,5}$`,
		`{"type": 4, "mode": 1, "max_items": 50, "parameters": {"r": {"min": 8, "max": 8, "chars": 1, "case": 1}}}`: `^[0-9A-F]{8}$`,
	} {
		got := mustParse(t, schema).Generate("%r%", new(State), fixed(), 0)
		if len(got) != 50 {
			t.Errorf("%d texts", len(got))
		}
		for _, g := range got {
			if !regexp.MustCompile(form).MatchString(g) {
				t.Errorf("%q is not %s", g, form)
			}
		}
	}
	if got := mustParse(t, `{"type": 4, "mode": 1, "parameters": {"r": {"min": 3, "max": 5}}}`).Generate("%r%", new(State), fixed(), 0); len(got) != 1 {
		t.Errorf("%d texts without max_items", len(got))
	}
}

func TestState(t *testing.T) {
	var state State
	text := `{"w": {"a": {"frequency": 2, "time": 99}, "gone": {"frequency": 9}}, "n": 5, "odd": [1], "none": null, "bad": {"a": 1}}`
	if err := json.Unmarshal([]byte(text), &state); err != nil {
		t.Fatal(err)
	}
	s := mustParse(t, `{"type": 1, "mode": 1, "parameters": {"w": ["a", "b"], "odd": [1, 2], "none": [1], "bad": ["a"]}}`)
	if got := s.Generate("%w%%odd%%none%%bad%", &state, fixed(), 0); !slices.Equal(got, []string{"b11a", "a21a"}) {
		t.Errorf("%q", got)
	}
	s = mustParse(t, `{"type": 2, "parameters": {"n": {"min": 1, "max": 9}, "w": {"min": 3, "max": 9}}}`)
	if got := s.Generate("%n%%w%", &state, fixed(), 0); !slices.Equal(got, []string{"53"}) {
		t.Errorf("%q", got)
	}
	raw, err := json.Marshal(state)
	want := `{"bad":{"a":{"frequency":2}},"n":6,"none":{"1":{"frequency":2}},"odd":{"1":{"frequency":1},"2":{"frequency":1}},"w":4}`
	if err != nil || string(raw) != want {
		t.Errorf("%s, want %s", raw, want)
	}
	five := int64(50)
	state = State{"n": {Next: &five}}
	s = mustParse(t, `{"type": 2, "parameters": {"n": {"min": 1, "max": 9}}}`)
	if got := s.Generate("%n%", &state, fixed(), 0); !slices.Equal(got, []string{"1"}) {
		t.Errorf("next number outside the range: %q", got)
	}
}

func TestBounds(t *testing.T) {
	values := `"` + strings.Repeat("x", 900)
	var list []string
	for i := range maxValues {
		list = append(list, fmt.Sprintf("%s%d\"", values[:20], i))
	}
	s := mustParse(t, `{"type": 1, "mode": 1, "max_items": 999999999, "parameters": {"v": [`+strings.Join(list, ",")+`]}}`)
	if got := s.Generate(strings.Repeat("y", 3000)+"%v%", new(State), fixed(), 0); len(got) < 20000 || len(got) > maxSum/3000+1 {
		t.Errorf("%d URLs", len(got))
	}
	s = mustParse(t, `{"type": 2, "mode": 1, "parameters": {"v": {"min": -9007199254740992, "max": 9007199254740992, "step": 1}}}`)
	if got := s.Generate("%v%", new(State), fixed(), 0); len(got) != MaxURLs {
		t.Errorf("%d URLs", len(got))
	}
}

func TestLoad(t *testing.T) {
	for _, c := range []struct{ name, schema, body, template, want, fails string }{
		{"object", `{"type": 1, "parameters": {"a": ["old"]}}`, "\ufeff {\"a\": [\"x\"]}", "%a%", "x", ""},
		{"list", `{"type": 1}`, `["x"]`, "%%", "x", ""},
		{"numbers", `{"type": 2}`, `{"n": {"min": 3, "max": 4}}`, "%n%", "3", ""},
		{"plain text", `{"type": 1, "format": "plain-text", "delimiter": ""}`, "x 1\ny", "%%", "x 1", ""},
		{"plain text inside JSON", `{"type": 1, "format": "plain-text"}`, `{"a": "x y"}`, "%a%", "x", ""},
		{"error page", `{"type": 1, "parameters": {"a": ["old"]}}`, `<html>`, "%a%", "old", "is not JSON"},
		{"broken", `{"type": 1, "parameters": {"a": ["old"]}}`, `{"a": [`, "%a%", "old", "source is not valid JSON"},
		{"empty", `{"type": 1, "parameters": {"a": ["old"]}}`, " \n", "%a%", "old", "empty"},
		{"no parameters", `{"type": 1, "parameters": {"a": ["old"]}}`, "{}", "%a%", "old", "without parameters"},
		{"wrong type", `{"type": 2, "parameters": {"a": {"min": 1, "max": 2}}}`, `{"a": [1]}`, "%a%", "1", "expected an object"},
		{"too long", `{"type": 1, "parameters": {"a": ["old"]}}`, strings.Repeat(" ", MaxBody+1), "%a%", "old", "the limit is"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustParse(t, c.schema)
			err := s.Load([]byte(c.body))
			if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("error %v, want %q", err, c.fails)
			}
			if got := s.Generate(c.template, new(State), fixed(), 0); !slices.Equal(got, []string{c.want}) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestFile(t *testing.T) {
	base := filepath.FromSlash("/data/schemas")
	for path, want := range map[string]string{
		"a.json": "a.json", "sub/a.json": "sub/a.json", "/data/schemas/a.json": "a.json", "/data/schemas/../schemas/b.json": "b.json",
		"../a.json": "!", "/etc/a.json": "!", "sub/../../a.json": "!", "/data/schemas-other/a.json": "!", "a\\u0000.json": "!",
	} {
		got, err := mustParse(t, `{"type": 1, "file_path": "`+path+`"}`).File(base)
		if err != nil {
			got = "!"
		}
		if filepath.ToSlash(got) != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
	if path, err := mustParse(t, `{"type": 1}`).File(base); path != "" || err != nil {
		t.Errorf("%q %v", path, err)
	}
	if s := mustParse(t, `{"type": 1, "urls": "http://a/x.json", "batch_insert": "2"}`); !slices.Equal(s.Sources(), []string{"http://a/x.json"}) || s.BatchInsert != BatchFirst {
		t.Errorf("%+v", s)
	}
}

func TestBrokenSchemas(t *testing.T) {
	for text, says := range map[string]string{
		"":                                                       "is empty",
		`{"type": 5}`:                                            `at "type"`,
		`{"type": 1, "mode": 2}`:                                 `at "mode"`,
		`{"type": 1, "format": 1}`:                               `expected a text`,
		`{"type": 1, "format": "xml"}`:                           `at "format"`,
		`{"type": 1, "batch_insert": 3}`:                         `at "batch_insert"`,
		`{"type": 1, "file_path": "x"}`:                          `ends with .json`,
		`{"type": 1, "parameters": [1]}`:                         `is not a JSON object`,
		`{"type": 1, "parameters": {"a": {"min": 1}}}`:           `expected a text`,
		`{"type": 2, "parameters": {"a": {"min": 1}}}`:           `has no valid "min" and "max"`,
		`{"type": 2, "parameters": {"a": {"min": 2, "max": 1}}}`: `has no valid "min" and "max"`,
		`{"type": 2, "parameters": {"a": {"min": 1, "max": 2, "step":0}}}`:                   `at "step"`,
		`{"type": 3, "parameters": {"a": {"min": 1, "max": 1e17}}}`:                          `whole number`,
		`{"type": 4, "parameters": {"a": {"min": 0, "max": 1}}}`:                             `has a length`,
		`{"type": 4, "parameters": {"a": {"min": 1, "max": 9999}}}`:                          `has a length`,
		`{"type": 4, "parameters": {"a": {"min": 1, "max": 9, "chars":2}}}`:                  `at "chars"`,
		`{"type": 1, "parameters": {"a": ["` + strings.Repeat("x", maxValue+1) + `"]}}`:      `has a value of`,
		`{"type": 1, "parameters": {"a": [` + strings.Repeat("1,", maxValues) + `1]}}`:       `has more than`,
		`{"type": 1, "parameters": {` + strings.Repeat(`"a":1,`, maxParameters) + `"b": 1}}`: `parameters; the limit`,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.80s: %v, want %q", text, err, says)
		}
	}
}

func FuzzSchema(f *testing.F) {
	for _, text := range []string{
		`{"type": 1, "mode": 1, "max_items": 3, "parameters": {"a": ["x", 1], "": "y"}, "url_encode": 1}`,
		`{"type": 2, "mode": "1", "max_items": 3, "parameters": {"a": {"min": 1, "max": "9", "step": 2}}}`,
		`{"type": 3, "parameters": {"a": {"min": -9007199254740992, "max": 9007199254740992}}}`,
		`{"type": 4, "parameters": {"a": {"min": 1, "max": 9, "chars": 1, "case": 1}}}`,
		`{"type": 1, "format": "plain-text", "delimiter": ",", "parameters": {"a": "1,2"}, "file_path": "x.json"}`,
	} {
		f.Add(text, "http://x/%a%/%%", `{"a": {"x": {"frequency": 1}}}`)
	}
	f.Add(`{"type": 2}`, "%a%", `{"a": -1e15}`)
	f.Fuzz(func(t *testing.T, text, template, used string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		_ = s.Load([]byte(used))
		_, _ = s.File("/base")
		var state State
		if json.Unmarshal([]byte(used), &state) != nil {
			state = nil
		}
		urls := s.Generate(template, &state, fixed(), 20)
		for i, u := range urls {
			if i >= 20 || len(u) > maxURL {
				t.Errorf("%d: %q", i, u)
			}
		}
		if _, err := json.Marshal(state); err != nil {
			t.Error(err)
		}
	})
}
