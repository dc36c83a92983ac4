package query

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func day(text string) time.Time {
	at, err := time.Parse("2006-01-02", text)
	if err != nil {
		panic(err)
	}
	return at
}

func TestParse(t *testing.T) {
	w := func(text string) Term { return Term{Text: text} }
	p := func(text string) Term { return Term{text, true} }
	for _, c := range []struct {
		name, text string
		want       Query
	}{
		{"one word", "palabra", Query{Terms: []Term{w("palabra")}}},
		{"plus", "uno + dos + tres", Query{Terms: []Term{w("uno"), w("dos"), w("tres")}}},
		{"plus without blanks after it", "uno +dos", Query{Terms: []Term{w("uno"), w("dos")}}},
		{"blank", "uno dos", Query{Terms: []Term{w("uno"), w("dos")}}},
		{"minus", "uno - dos", Query{Terms: []Term{w("uno")}, Exclude: []Term{w("dos")}}},
		{"minus at the word", "uno -dos tres", Query{Terms: []Term{w("uno"), w("tres")}, Exclude: []Term{w("dos")}}},
		{"typographic minus", "uno – dos", Query{Terms: []Term{w("uno")}, Exclude: []Term{w("dos")}}},
		{"signs inside a word", "e-mail c++", Query{Terms: []Term{w("e-mail"), w("c++")}}},
		{"phrase", `"sistemas  operativos" x`, Query{Terms: []Term{p("sistemas operativos"), w("x")}}},
		{"phrase of one word", `"x"`, Query{Terms: []Term{w("x")}}},
		{"open phrase", `a "b c`, Query{Terms: []Term{w("a"), p("b c")}}},
		{"excluded phrase", `a - "b c"`, Query{Terms: []Term{w("a")}, Exclude: []Term{p("b c")}}},
		{"filters", "a site:Example.ORG/ before:2024-05-31 after:2023", Query{Terms: []Term{w("a")}, Sites: []string{"example.org"}, Before: day("2024-05-31"), After: day("2023-01-01")}},
		{"only a filter", "site:127.0.0.1:8080", Query{Sites: []string{"127.0.0.1:8080"}}},
		{"unknown name", "http://x.y a:b", Query{Terms: []Term{w("http://x.y"), w("a:b")}}},
		{"twice", "a A a", Query{Terms: []Term{w("a")}}},
		{"only signs are left out", "a & ( b", Query{Terms: []Term{w("a"), w("b")}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse(c.text)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%q is %+v, %v; want %+v", c.text, got, err, c.want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "no word",
		" + - ":                      "no word",
		"- a":                        "only excludes",
		"a before:yesterday":         "not a date",
		"a site:":                    "needs a host name",
		"a site:x/y":                 "not a host name",
		strings.Repeat("a", 513):     "513 bytes",
		"a\xff":                      "UTF-8",
		words(17):                    "more than 16 words",
		strings.Repeat("site:a ", 9): "more than 8",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

func words(n int) string {
	var list []string
	for i := range n {
		list = append(list, "w"+string(rune('a'+i)))
	}
	return strings.Join(list, " ")
}

// No text makes the parser panic or gives more than the limits, and the normal form means the same.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a", "a + b", "a - b", `"a b" -"c`, "site:a.b before:2024 after:2023-01-02", "“x y” – z", "+ - \" :", "a:b e-mail - -"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(text)
		if err != nil {
			return
		}
		if len(q.Terms)+len(q.Exclude) > MaxTerms || len(q.Sites) > MaxSites {
			t.Fatalf("%+v exceeds the limits", q)
		}
		normal := q.String()
		if len(normal) > MaxBytes { // quotes and signs were added
			return
		}
		again, err := Parse(normal)
		if err != nil || !reflect.DeepEqual(q, again) {
			t.Fatalf("%q is %+v; its normal form %q is %+v, %v", text, q, normal, again, err)
		}
	})
}
