package chain

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/wire/result"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       *Rule
		err        string
	}{
		{"all", `{"url_pattern":"page=","tags_name":["a","b"],"delimiter":"\n"}`, &Rule{[]string{"a", "b"}, "\n"}, ""},
		{"all tags", `{"url_pattern":"p","tags_name":null}`, &Rule{nil, " "}, ""},
		{"no delimiter", `{"url_pattern":"p","tags_name":"a","delimiter":""}`, &Rule{[]string{"a"}, " "}, ""},
		{"no tags", `{"url_pattern":"p","tags_name":[]}`, &Rule{[]string{}, " "}, ""},
		{"off", `{"url_pattern":null}`, nil, ""},
		{"null", `null`, nil, ""},
		{"empty pattern", `{"url_pattern":""}`, nil, `has no expression at "url_pattern"`},
		{"wrong delimiter", `{"url_pattern":"p","delimiter":[]}`, nil, `has a JSON array at "delimiter"; expected a text`},
		{"wrong tags", `{"url_pattern":"p","tags_name":[{}]}`, nil, `has {}; expected a text`},
		{"list", `[]`, nil, `is a JSON array; expected an object`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(tt.text)
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%+v", got)
			}
			if err == nil && tt.err != "" || err != nil && err.Error() != tt.err {
				t.Errorf("error %v, want %s", err, tt.err)
			}
		})
	}
}

func TestParts(t *testing.T) {
	one, two := strings.Repeat("0a", 16), strings.Repeat("1b", 16)
	got := Parts([]byte(one + "\r\n\n" + two + "\n../" + one + "\n" + one + "\nshort\n \n" + two))
	if !reflect.DeepEqual(got, []string{one, two}) {
		t.Errorf("%v", got)
	}
}

func part(extractor string, pairs ...string) result.Result {
	r := result.Result{Time: time.Second}
	for i := 0; i < len(pairs); i += 2 {
		r.Tags = append(r.Tags, result.Tag{Name: pairs[i], Data: strings.Split(pairs[i+1], "|"), Extractor: extractor})
	}
	return r
}

// texts formats tags as NAME=VALUE|VALUE(EXTRACTOR).
func texts(r result.Result) string {
	var all []string
	for _, t := range r.Tags {
		all = append(all, t.Name+"="+strings.Join(t.Data, "|")+"("+t.Extractor+")")
	}
	return strings.Join(all, " ")
}

// docs/spec/processing.md 1.7.
func TestFold(t *testing.T) {
	asDefault := func(r result.Result, name string) result.Result {
		r.Tag(name).Default = true
		return r
	}
	for _, tt := range []struct {
		name  string
		rule  Rule
		parts []result.Result
		want  string
	}{
		{"all tags", Rule{nil, "+"}, []result.Result{part("A", "title", "t1", "text", "one"), part("A", "title", "t2", "text", "two"), part("A", "text", "three")}, "title=t1+t2(A) text=one+two+three(A)"},
		{"named tags", Rule{[]string{"text"}, "\n"}, []result.Result{part("A", "title", "t1", "text", "one"), part("A", "title", "t2", "text", "two", "author", "x")}, "title=t1(A) text=one\ntwo(A)"},
		{"first value of the next part", Rule{nil, " "}, []result.Result{part("A", "media", "a|b"), part("A", "media", " |c|d")}, "media=a c|b(A)"},
		{"new extractors, once", Rule{nil, ""}, []result.Result{part("A", "x", "1"), part("B", "x", "2"), part("A", "x", "3"), part("B", "x", "4")}, "x=1234(A B)"},
		{"missing tags are copied", Rule{nil, ","}, []result.Result{part("A", "x", "1"), part("B", "y", "2|3"), part("C", "y", "4")}, "x=1(A) y=2,4|3(B C)"},
		{"blank values", Rule{nil, ","}, []result.Result{part("A", "x", "1"), part("A", "x", " "), part("A", "x", "2")}, "x=1,2(A)"},
		{"defaults give way", Rule{nil, ","}, []result.Result{asDefault(part("A", "x", "none", "y", "1"), "x"), part("B", "x", "2"), asDefault(part("A", "x", "none"), "x")}, "x=2(B) y=1(A)"},
		{"service tags stay", Rule{nil, ","}, []result.Result{part(result.Service, "source_url", "u1"), part(result.Service, "source_url", "u2", "summary_lang", "uk")}, "source_url=u1(Scraper)"},
		{"named service tags", Rule{[]string{"source_url"}, ","}, []result.Result{part(result.Service, "source_url", "u1"), part(result.Service, "source_url", "u2")}, "source_url=u1,u2(Scraper)"},
		{"no tags", Rule{[]string{}, ","}, []result.Result{part("A", "x", "1"), part("A", "x", "2")}, "x=1(A)"},
		{"one part", Rule{nil, ","}, []result.Result{part("A", "x", "1")}, "x=1(A)"},
		{"no part", Rule{nil, ","}, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := make([]string, len(tt.parts))
			for i, p := range tt.parts {
				before[i] = texts(p)
			}
			got := tt.rule.Fold(tt.parts)
			if texts(got) != tt.want {
				t.Errorf("got %s, want %s", texts(got), tt.want)
			}
			if got.Time != time.Duration(len(tt.parts))*time.Second {
				t.Errorf("time %v", got.Time)
			}
			for i, p := range tt.parts {
				if texts(p) != before[i] {
					t.Errorf("part %d changed from %s to %s", i, before[i], texts(p))
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{``, `{"url_pattern":7}`, `{"url_pattern":"(","tags_name":[null,"a"]}`, `{"url_pattern":"p","tags_name":{"a":1}}`, "{\"url_pattern\":\"\x00\",\"delimiter\":\"\\ud800\"}"} {
		f.Add(seed, "a\nb")
	}
	f.Fuzz(func(t *testing.T, text, file string) {
		Parts([]byte(file))
		if rule, err := Parse(text); err == nil && rule != nil {
			rule.Fold([]result.Result{part("A", "a", text), part("B", "a", file, "b", text)})
		}
	})
}
