package result

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// Pick gives the same tags and values as Decode, whatever the texts contain.
func TestPick(t *testing.T) {
	odd := []string{`quo"ted`, `back\`, `\"`, "]]}}", `{"name":"title"}`, "line\nnext\u2028 <b>", "", "日本"}
	full := Result{ID: "0123456789abcdef0123456789abcdef", Code: 3, Message: `a "message" ]`, Time: time.Second, Published: "2026-01-02", Modified: "2026-01-03", Metrics: map[string]float64{"x": 1.5}}
	for i, text := range odd {
		full.Tags = append(full.Tags, Tag{Name: "odd" + string(rune('a'+i)), Data: []string{text, "b"}, Extractor: text}, Tag{Name: text + "<x>", Data: []string{text}, Plain: true})
	}
	full.Tags = append(full.Tags, Tag{Name: "title", Data: []string{"The title"}}, Tag{Name: "content_encoded", Data: []string{strings.Repeat("word \" ", 100000)}}, Tag{Name: "link", Data: []string{"x"}, Extractor: Feed})
	for name, r := range map[string][]Result{"full": {full, {ID: "second"}}, "no tags": {{ID: "x"}}, "many": {full, full}} {
		stored, err := Encode(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, names := range [][]string{{"title"}, {"title", "link", "nothing"}, {}, {"back\\<x>", "odda", "oddb", "oddc", "oddd", `{"name":"title"}<x>`}, {"content_encoded"}} {
			text, ok := Pick(stored, names)
			expanded, err := Expand(stored)
			if again, also := Pick(expanded, names); err != nil || !also || string(again) != string(text) {
				t.Errorf("%s %q: %t %.300s of the expanded value", name, names, also, again)
			}
			if !ok || !json.Valid(text) {
				t.Fatalf("%s %q: %t %.300s", name, names, ok, text)
			}
			want := Decode(stored).Internal[0]
			want.Tags = slices.DeleteFunc(want.Tags, func(tag Tag) bool { return !slices.Contains(names, tag.Name) })
			got := Decode(text).Default
			if len(want.Tags) == 0 {
				want.Tags, got.Tags = nil, got.Tags[:0:0]
			}
			if len(got.Tags) == 0 {
				got.Tags = nil
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s %q:\n%+.500v\n%+.500v", name, names, got, want)
			}
		}
	}
}

// What Encode has not written as Pick expects it is for Expand.
func TestPickRefuses(t *testing.T) {
	raw, err := EncodeRaw(Result{ID: "x"}, []byte("page"))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := Encode([]Result{{ID: "x", Tags: []Tag{{Name: "title", Data: []string{strings.Repeat("long ", 500)}}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(packed)
	flipped[len(flipped)/2] ^= 1
	for name, stored := range map[string][]byte{"custom": raw, "empty": nil, "JSON": []byte(`{"default":{}}`), "cut": packed[:len(packed)-3], "flipped": flipped} {
		if text, ok := Pick(stored, []string{"title"}); ok {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// A title of a large page costs a small part of the page.
func BenchmarkTitle(b *testing.B) {
	r := Result{ID: "x", Tags: []Tag{{Name: "title", Data: []string{"A title"}}, {Name: "content_encoded", Data: []string{strings.Repeat("some words of a page, ", 5000)}}}}
	stored, err := Encode([]Result{r}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("picked", func(b *testing.B) {
		for b.Loop() {
			if _, ok := Pick(stored, []string{"title"}); !ok {
				b.Fatal("not picked")
			}
		}
	})
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			Decode(stored)
		}
	})
}
