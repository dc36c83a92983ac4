package author

import (
	"strings"
	"testing"

	"hce/dc/internal/wire/result"
)

// docs/spec/processing.md 2.5, author: what is looked for, in its order.
func TestClean(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"two words", "Ann Bell", "Ann Bell"},
		{"first pair", "Ann Bell Reporter", "Ann Bell"},
		{"title and upper case", "Ann BELL", "Ann BELL"},
		{"upper and title case", "ANN Bell", "ANN Bell"},
		{"pair behind small letters", "our man Cy Dor", "Cy Dor"},
		{"credit", "Posted by Ann Bell on March 5, 2021", "Ann Bell"},
		{"two authors", "By Ann Bell and Cy Dor", "Ann Bell"},
		{"initial", "John F. Kern", "John F. Kern"},
		{"particles", "Karl von der Heide", "Karl von der Heide"},
		{"apostrophe and hyphen", "Jean-Luc O'Neil", "Jean-Luc O'Neil"},
		{"second capital", "Ann McDonald", "Ann McDonald"},
		{"Cyrillic", "Анна Белова", "Анна Белова"},
		{"without non-letters", "★Ann★ /Bell/", "Ann Bell"},
		{"month and weekday are no pair", "Monday May", ""},
		{"role is no pair", "Staff Writer", ""},
		{"one word, not the first", "the great Zorro", "Zorro"},
		{"one word, the first", "Zorro", ""},
		{"mail address", "mail: ann.bell@site.example", "ann.bell"},
		{"glued", "AnnBell", "Ann Bell"},
		{"nickname", "ann_bell_99", "ann bell"},
		{"nickname, first part", "ann_99", "ann"},
		{"script without capitals", "山田花子", "山田花子"},
		{"nothing", "someone", ""},
		{"URL", "https://site.example/a", ""},
		{"blank", " ", ""},
		{"short", "Al", ""},
		{"long word", strings.Repeat("A", 33), ""},
		{"too many bytes", "Ann Bell wrote this text in the summer of last year", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Default.Clean(c.text); got != c.want {
				t.Errorf("%q: %q, want %q", c.text, got, c.want)
			}
		})
	}
}

// All keys of docs/spec/processing.md 2.5, author.
func TestKeys(t *testing.T) {
	for _, c := range []struct{ key, text, want string }{
		{`"min_words":2`, "山田花子", ""},
		{`"max_words":2`, "Ann Bell Cy Dor", ""},
		{`"max_words":4`, "Ann Bell Cy Dor", "Ann Bell"},
		{`"min_bytes":20`, "Ann Bell", ""},
		{`"min_bytes":2`, "青山", "青山"},
		{`"max_bytes":7`, "Ann Bell", ""},
		{`"max_bytes":"100"`, "Ann Bell wrote this extraordinary contribution", "Ann Bell"},
		{`"max_chars_word":3`, "Ann Bell", ""},
		{`"clean_none_alpha":0`, "★Ann★ /Bell/", ""},
		{`"max_words":1,"mismatch":"empty"`, "Ann Bell", ""},
		{`"max_words":1,"mismatch":"ignore"`, "Ann Bell, Cy Dor", "Ann Bell, Cy Dor"},
		{`"max_words":1,"mismatch":"value","value":"Staff"`, "Ann Bell", "Staff"},
		{`"max_words":1,"mismatch":"parse"`, "Ann Bell, Cy Dor", "Ann Bell"},
		{`"undetected":"empty"`, "someone", ""},
		{`"undetected":"ignore"`, "someone", "someone"},
		{`"undetected":"value","value":"Staff"`, "someone", "Staff"},
	} {
		t.Run(c.key, func(t *testing.T) {
			r, err := Parse(`{"author":{` + c.key + `}}`)
			if got := r.Clean(c.text); err != nil || got != c.want {
				t.Errorf("%q: %q, %v; want %q", c.text, got, err, c.want)
			}
		})
	}
	if r, err := Parse(""); err != nil || r != Default {
		t.Errorf("empty: %+v, %v", r, err)
	}
}

func TestApply(t *testing.T) {
	for _, c := range []struct {
		name string
		data []string
		want string
	}{
		{"cleaned", []string{"By Ann Bell", "Cy Dor", "Ann Bell"}, "Ann Bell,Cy Dor"},
		{"removed", []string{"Admin"}, ""},
		{"absent", nil, ""},
	} {
		r := result.Result{}
		r.Add(result.Tag{Name: "author", Data: c.data})
		Default.Apply(&r)
		got := ""
		if tag := r.Tag("author"); tag != nil {
			got = strings.Join(tag.Data, ",")
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestUnreadable(t *testing.T) {
	for text, want := range map[string]string{
		`{"title":{}}`: `has "title"; expected "author"`, `{"author":{"max_words":-1}}`: "has max_words -1", `{"author":{"mismatch":"drop"}}`: `has mismatch "drop"`,
		`{"author":{"undetected":"parse"}}`: `has undetected "parse"`, `{"author":{"min_bytes":"x"}}`: "expected a whole number", `[]`: "not a JSON object",
		`{"author":{"mismatch":"value"}}`: "has no value", `{"author":[]}`: "expected an object",
	} {
		if r, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) || r != Default {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{strings.Repeat("A b ", 2000), strings.Repeat("_", 500), "a@b.c" + strings.Repeat(".c", 900), "By by BY \xff\xfe", strings.Repeat("AaBb", 1000), "Mc Mac McMc O'", "ǅ ǅ"} {
		f.Add(s, `{"author":{"max_words":9999,"max_bytes":9999,"max_chars_word":9999,"mismatch":"parse"}}`)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		r, err := Parse(value)
		if err != nil && r != Default {
			t.Errorf("%q: rules with an error", value)
		}
		if got := Default.Clean(text); len(got) > len(text)+1 {
			t.Errorf("%q became %q", text, got)
		}
		r.Clean(text)
	})
}
