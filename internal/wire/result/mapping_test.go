package result

import (
	"strings"
	"testing"
)

// docs/spec/processing.md 2.6, TAGS_MAPPING.
func TestParseMapping(t *testing.T) {
	r := Result{}
	for _, name := range []string{"title", "price", "pubdate"} {
		r.Add(Tag{Name: name, Data: []string{"x"}})
	}
	for _, c := range []struct {
		name, text string
		want       int64
	}{
		{"values are or-ed as given", `{"title":1,"price":"6","stock":64}`, 7},
		{"other names have no bit", `{"stock":64}`, 0},
		{"empty object", `{}`, 0},
	} {
		m, err := ParseMapping(c.text)
		if got := r.Mask(m); err != nil || got != c.want {
			t.Errorf("%s: %d, %v; want %d", c.name, got, err, c.want)
		}
	}
	for text, want := range map[string]string{
		`{"title":-1}`: `"title" with -1`, `{"title":"x"}`: `"title" with "x"`, `{"title":{}}`: `"title" with {}`, `[]`: "not a JSON object", ``: "is empty",
		`{"title":null}`: `"title" with null`, `{`: "is not valid JSON",
	} {
		if m, err := ParseMapping(text); err == nil || m != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseMapping(f *testing.F) {
	for _, s := range []string{`{"a":1e18}`, `{"":9223372036854775807}`, strings.Repeat(`{"a":`, 1000), `{"a":1,"a":"2"}`, `{"a":true}`, "\x00{}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := ParseMapping(text); (err != nil) != (m == nil) {
			t.Errorf("%q: %v, %v", text, m, err)
		}
	})
}
