package contenthash

import (
	"crypto/md5"
	"encoding/hex"
	"strings"
	"testing"

	"hce/dc/internal/wire/result"
)

func hashOf(text string) string {
	if text == "" {
		return ""
	}
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

func tags(pairs ...string) *result.Result {
	r := &result.Result{}
	for i := 0; i < len(pairs); i += 2 {
		r.Tags = append(r.Tags, result.Tag{Name: pairs[i], Data: strings.Split(pairs[i+1], "|")})
	}
	return r
}

// docs/spec/processing.md 2.9: what each algorithm hashes.
func TestSum(t *testing.T) {
	for _, tt := range []struct {
		name, rule, language string
		result               *result.Result
		want                 string // the text that is hashed
	}{
		{"text", `{"algorithm":1,"tags":"title,text"}`, "", tags("title", "The Tide", "text", "Came IN"), "the tide came in "},
		{"order of the property", `{"algorithm":1,"tags":"text,title"}`, "", tags("title", "The Tide", "text", "Came IN"), "came in the tide "}, // 6.2 #12
		{"several values", `{"algorithm":"1","tags":["text"," title "]}`, "", tags("text", "a|b", "title", "c"), "a b c "},
		{"missing tag", `{"algorithm":1,"tags":"none,title"}`, "", tags("title", "x"), "x "},
		{"words", `{"algorithm":2,"tags":"text"}`, "", tags("text", "the tide of THE\tsea at 日本語 日本\nebb"), "ebbseathetide日本語"},
		{"stems, English by default", `{"algorithm":3,"tags":"text"}`, "", tags("text", "running runs runner mills mill the"), "millrunrunnerthe"}, // 6.2 #12
		{"stems of a language", `{"algorithm":3,"tags":"text"}`, "ru", tags("text", "мельницы мельница мельницу"), "мельниц"},
		{"stems of a language and country", `{"algorithm":3,"tags":"text"}`, "sv_SE", tags("text", "kvarnar kvarnarna"), "kvarn"},
		{"stems of an unknown language", `{"algorithm":3,"tags":"text"}`, "ja", tags("text", "水車小屋 running"), "run水車小屋"},
		{"stems of the page's language", `{"algorithm":3,"tags":"text"}`, "", tags("text", "molinos molino", "html_lang", "es"), "molin"},
		{"stems: language before html_lang", `{"algorithm":3,"tags":"text"}`, "en", tags("text", "molinos molino", "html_lang", "es"), "molino"},
		{"Soundex", `{"algorithm":4,"tags":"text"}`, "", tags("text", "Robert Rupert Ashcraft Tymczak Pfister Honeyman мельница 12345"), "12345A261H555P236R163T522мельница"},
		{"Soundex of short codes", `{"algorithm":4,"tags":"text"}`, "", tags("text", "lee it's o'hara"), "I320L000O600"},
		{"no text", `{"algorithm":1,"tags":"text"}`, "", tags("title", "x"), ""},
		{"only short words", `{"algorithm":2,"tags":"text"}`, "", tags("text", "a bc de"), ""},
		{"blank values", `{"algorithm":1,"tags":"text"}`, "", tags("text", " |\n"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rule, err := Parse(tt.rule)
			if err != nil {
				t.Fatal(err)
			}
			if got := rule.Sum(tt.result, tt.language); got != hashOf(tt.want) {
				text, _ := rule.joinTagValues(tt.result)
				t.Errorf("hash %s, want that of %q; words %q", got, tt.want, rule.joinWordKeys(strings.Fields(text), tt.language))
			}
		})
	}
	var off *Rule
	if off.Sum(tags("a", "b"), "") != "" {
		t.Error("the property is off, but gives a hash")
	}
}

// docs/spec/processing.md 6.2 #12: algorithm 3 gave every page the same hash.
func TestDifferentPagesHaveDifferentHashes(t *testing.T) {
	for _, algorithm := range []int{Text, Words, Stems, Sounds} {
		rule := Rule{Algorithm: algorithm, Tags: []string{"text"}}
		one, two := rule.Sum(tags("text", "the mill stands still"), ""), rule.Sum(tags("text", "a storm broke the wheel"), "")
		if one == two || len(one) != 32 {
			t.Errorf("algorithm %d: %q and %q", algorithm, one, two)
		}
	}
}

func TestDefaultsAndLanguages(t *testing.T) {
	rule := Rule{Algorithm: Stems, Tags: []string{"title", "text"}}
	r := tags("title", "molinos molino", "text", "none")
	r.Tags[0].Lang, r.Tags[1].Default = "es", true
	if got := rule.Sum(r, ""); got != hashOf("molin") {
		t.Errorf("hash %s", got)
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct{ name, text, err string }{
		{"off", `null`, ""},
		{"algorithm 0", `{"algorithm":0}`, ""},
		{"algorithm 5", `{"algorithm":5,"tags":"a"}`, `has 5 at "algorithm", which does not exist; expected 1 (text), 2 (words), 3 (stems) or 4 (Soundex)`},
		{"algorithm 9", `{"algorithm":"9","tags":"a"}`, `has 9 at "algorithm", which does not exist; expected 1 (text), 2 (words), 3 (stems) or 4 (Soundex)`},
		{"no tags", `{"algorithm":1,"tags":" , "}`, `names no tag at "tags"`},
		{"list", `[]`, `is a JSON array; expected an object`},
		{"text", `{"algorithm":"two"}`, `has "two"; expected a whole number`},
	} {
		rule, err := Parse(tt.text)
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || err.Error() != tt.err) || rule != nil {
			t.Errorf("%s: %+v, %v", tt.name, rule, err)
		}
	}
	rule, err := Parse(`{"algorithm":2,"tags":"a,b","delete":1}`)
	if err != nil || !rule.Delete || len(rule.Tags) != 2 {
		t.Errorf("%+v, %v", rule, err)
	}
}

func FuzzSum(f *testing.F) {
	for _, seed := range []struct{ rule, language, text string }{
		{`{"algorithm":3,"tags":"t"}`, "en", "'s ''' yyyy'ing \xff\xfe"},
		{`{"algorithm":3,"tags":"t"}`, "ru", "ё\u0301ёёё иииивши вшись"},
		{`{"algorithm":3,"tags":"t"}`, "hu", "álló éé\u0000íí"},
		{`{"algorithm":3,"tags":"t"}`, "fr-CA", "aieuoyïlqu quuuu"},
		{`{"algorithm":4,"tags":"t"}`, "", "hwhw wwhhh h\u00e9h"},
		{`{"algorithm":2,"tags":"t"}`, "--__", strings.Repeat("ab ", 300) + "\u2028x\u00a0y"},
	} {
		f.Add(seed.rule, seed.language, seed.text)
	}
	f.Fuzz(func(t *testing.T, text, language, value string) {
		rule, err := Parse(text)
		if err != nil || rule == nil {
			return
		}
		for _, algorithm := range []int{rule.Algorithm, Stems, Sounds} {
			rule.Algorithm = algorithm
			if sum := rule.Sum(tags(rule.Tags[0], value), language); sum != "" && len(sum) != 32 {
				t.Errorf("hash %q", sum)
			}
		}
	})
}
