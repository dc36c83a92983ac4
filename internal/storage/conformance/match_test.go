package conformance

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Abbreviations in scripts.
var (
	md5Word    = regexp.MustCompile(`md5\(([^()\s]*)\)`)
	base64Word = regexp.MustCompile(`b64\(([^)]*)\)`)
	repeatWord = regexp.MustCompile(`rep\(([^(),]*),(\d+)\)`)
	moreKeys   = regexp.MustCompile(`,?\s*\.\.\.\s*\}`)
	moreItems  = regexp.MustCompile(`,?\s*\.\.\.\s*\]`)
)

func md5Of(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// expand replaces md5(), b64() and rep() by their values.
func expand(text string) string {
	inner := func(word *regexp.Regexp, write func(parts []string) string) {
		text = word.ReplaceAllStringFunc(text, func(found string) string { return write(word.FindStringSubmatch(found)) })
	}
	inner(md5Word, func(p []string) string { return md5Of(p[1]) })
	inner(repeatWord, func(p []string) string {
		times, _ := strconv.Atoi(p[2])
		return strings.Repeat(p[1], times)
	})
	inner(base64Word, func(p []string) string { return base64.StdEncoding.EncodeToString([]byte(p[1])) })
	return text
}

// more marks an object or a list that may have more elements.
const more = "<more>"

func decode(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil && d.More() {
		err = fmt.Errorf("something follows the value")
	}
	return v, err
}

// wanted parses an expected answer.
func wanted(text string) (any, error) {
	text = moreKeys.ReplaceAllStringFunc(expand(text), func(string) string { return `,"` + more + `":0}` })
	text = moreItems.ReplaceAllStringFunc(text, func(string) string { return `,"` + more + `"]` })
	text = strings.NewReplacer("{,", "{", "[,", "[", "{ ,", "{", "[ ,", "[").Replace(text)
	return decode(text)
}

// match lists the differences between an expected answer and an answer.
func match(want, got any) []string { return compare("", want, got) }

var datePattern = regexp.MustCompile(`^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?$`)

func compare(path string, want, got any) []string {
	differ := func() []string {
		return []string{fmt.Sprintf("%s is %s, want %s", name(path), short(got), short(want))}
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return differ()
		}
		return compareObjects(path, w, g)
	case []any:
		g, ok := got.([]any)
		if !ok {
			return differ()
		}
		return compareLists(path, w, g)
	case json.Number:
		g, ok := got.(json.Number)
		if !ok || !sameNumber(string(w), string(g)) {
			return differ()
		}
	case string:
		g, isText := got.(string)
		words, has := strings.CutPrefix(w, "<has:")
		switch {
		case w == "<any>":
		case w == "<text>":
			if !isText || g == "" {
				return differ()
			}
		case w == "<date>":
			if !isText || !datePattern.MatchString(g) {
				return differ()
			}
		case has:
			if !isText || !strings.Contains(g, strings.TrimSuffix(words, ">")) {
				return differ()
			}
		case !isText || g != w:
			return differ()
		}
	default: // true, false, null
		if want != got {
			return differ()
		}
	}
	return nil
}

func compareObjects(path string, want, got map[string]any) (all []string) {
	_, open := want[more]
	for key, w := range want {
		if key == more {
			continue
		}
		g, ok := got[key]
		if !ok {
			all = append(all, name(path+"."+key)+" is missing")
			continue
		}
		all = append(all, compare(path+"."+key, w, g)...)
	}
	for key := range got {
		if _, ok := want[key]; !ok && !open {
			all = append(all, fmt.Sprintf("%s is unexpected: %s", name(path+"."+key), short(got[key])))
		}
	}
	slices.Sort(all)
	return all
}

func compareLists(path string, want, got []any) (all []string) {
	open := len(want) > 0 && want[len(want)-1] == any(more)
	if open {
		want = want[:len(want)-1]
	}
	if len(got) < len(want) || len(got) > len(want) && !open {
		return []string{fmt.Sprintf("%s has %d elements, want %d: %s", name(path), len(got), len(want), short(got))}
	}
	for i, w := range want {
		all = append(all, compare(fmt.Sprintf("%s[%d]", path, i), w, got[i])...)
	}
	return all
}

// matchSet is match for two lists in any order.
func matchSet(want, got any) []string {
	w, ok1 := want.([]any)
	g, ok2 := got.([]any)
	if !ok1 || !ok2 || len(w) != len(g) {
		return compare("", want, got)
	}
	rest := slices.Clone(g)
	for _, element := range w {
		at := slices.IndexFunc(rest, func(candidate any) bool { return len(compare("", element, candidate)) == 0 })
		if at < 0 {
			return []string{"no element is " + short(element)}
		}
		rest = slices.Delete(rest, at, at+1)
	}
	return nil
}

// sameNumber treats 30000 and 30000.0 as equal, and compares all digits of whole numbers.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	if !strings.ContainsAny(a+b, ".eE") {
		return false
	}
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && x == y
}

func name(path string) string {
	if path == "" {
		return "the answer"
	}
	return strings.TrimPrefix(path, ".")
}

func short(v any) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	text := strings.TrimSpace(out.String())
	if len(text) > 400 {
		text = text[:400] + "..."
	}
	return text
}

// A test of match itself.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		name, want, got string
		differs         string // part of the first difference
	}{
		{"same", `{"a":1,"b":[true,null,"x"]}`, `{"b":[true,null,"x"],"a":1}`, ""},
		{"a number and its text", `1`, `"1"`, `is "1", want 1`},
		{"a whole number with a point", `30000`, `30000.0`, ""},
		{"beyond 2^53", `9007199254740993`, `9007199254740992`, "is 9007199254740992"},
		{"null is any", `"<any>"`, `null`, ""},
		{"null is no date", `"<date>"`, `null`, "is null"},
		{"date", `"<date>"`, `"2026-01-05 10:00:00"`, ""},
		{"has", `"<has:is not>"`, `"a is not b"`, ""},
		{"has not", `"<has:is not>"`, `"a is b"`, "is not"},
		{"a key more", `{"a":1}`, `{"a":1,"b":2}`, "b is unexpected"},
		{"a key more is allowed", `{"a":1,...}`, `{"a":1,"b":2}`, ""},
		{"any object", `{...}`, `{"b":2}`, ""},
		{"a key is missing", `{"a":1,...}`, `{"b":2}`, "a is missing"},
		{"an element more", `[1]`, `[1,2]`, "has 2 elements, want 1"},
		{"an element more is allowed", `[1,...]`, `[1,2]`, ""},
		{"empty is not null", `[]`, `null`, "is null"},
		{"false is not 0", `[false]`, `[0]`, "[0] is 0, want false"},
		{"words", `["md5(a)","b64(a)","rep(ab,2)"]`, `["0cc175b9c0f1b6a831c399e269772661","YQ==","abab"]`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, err := wanted(c.want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := decode(c.got)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(match(want, got), "\n")
			if (text == "") != (c.differs == "") || !strings.Contains(text, c.differs) {
				t.Errorf("differences: %q, want %q", text, c.differs)
			}
		})
	}
	want, got := []any{"a", "b"}, []any{"b", "a"}
	if d := matchSet(want, got); d != nil {
		t.Errorf("another order: %v", d)
	}
	if d := matchSet(want, []any{"a", "a"}); d == nil {
		t.Error("a repeated element matches two elements")
	}
}
