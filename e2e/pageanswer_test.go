//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// anything in a printed answer matches any value; in a text, any part of it; as a key, further keys; as
// the last element of a list, further elements.
const anything = "…"

// differences compares an answer with the printed one.
func differences(path string, printed, got any) (list []string) {
	switch p := printed.(type) {
	case string:
		if matches(p, got) {
			return nil
		}
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(p)) {
			if value, has := g[key]; has {
				list = append(list, differences(path+"."+key, p[key], value)...)
			} else if key != anything {
				list = append(list, path+"."+key+" is missing")
			}
		}
		for _, key := range slices.Sorted(maps.Keys(g)) {
			if _, printed := p[key]; !printed && p[anything] == nil {
				list = append(list, path+"."+key+" is not in the page")
			}
		}
		return list
	case []any:
		g, ok := got.([]any)
		fixed, more := elements(p)
		if !ok || len(g) < len(fixed) || len(g) > len(fixed) && !more {
			break
		}
		for i := range fixed {
			list = append(list, differences(fmt.Sprintf("%s[%d]", path, i), fixed[i], g[i])...)
		}
		return list
	default:
		if printed == got {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s is %s, the page has %s", path, compact(got), compact(printed))}
}

// matches reports whether a printed text allows a value.
func matches(printed string, got any) bool {
	if printed == anything {
		return true
	}
	text, ok := got.(string)
	pattern := strings.ReplaceAll(regexp.QuoteMeta(printed), anything, ".*")
	return ok && regexp.MustCompile("(?s)^"+pattern+"$").MatchString(text)
}

// elements returns the elements of a printed list, and whether others may follow.
func elements(list []any) (fixed []any, more bool) {
	if n := len(list) - 1; n >= 0 && list[n] == anything {
		return list[:n], true
	}
	return list, false
}

// refreshed returns what to print for an answer: what matches any value stays as it is printed.
func refreshed(printed, got any) any {
	switch p := printed.(type) {
	case string:
		if matches(p, got) {
			return p
		}
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		out := map[string]any{}
		for key, value := range g {
			if old, has := p[key]; has {
				out[key] = refreshed(old, value)
			} else if p[anything] == nil {
				out[key] = undated(value)
			}
		}
		if p[anything] != nil {
			out[anything] = anything
		}
		return out
	case []any:
		g, ok := got.([]any)
		fixed, more := elements(p)
		if !ok || len(g) < len(fixed) {
			break
		}
		var out []any
		for i := range fixed {
			out = append(out, refreshed(fixed[i], g[i]))
		}
		if more {
			return append(out, anything)
		}
		for _, value := range g[len(fixed):] {
			out = append(out, undated(value))
		}
		if out == nil {
			out = []any{}
		}
		return out
	}
	return undated(got)
}

var dateText = regexp.MustCompile(`^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d`)

// undated replaces dates, which differ from run to run.
func undated(value any) any {
	switch v := value.(type) {
	case string:
		if dateText.MatchString(v) {
			return anything
		}
	case map[string]any:
		for key := range v {
			v[key] = undated(v[key])
		}
	case []any:
		for i := range v {
			v[i] = undated(v[i])
		}
	}
	return value
}

// pageWidth is the most characters of a line of an answer, as far as its texts allow.
const pageWidth = 110

// layout returns JSON in lines.
func layout(value any, indent int) string {
	if one := compact(value); utf8.RuneCountInString(one)+indent <= pageWidth {
		return one
	}
	var parts []string
	ends := "[]"
	switch v := value.(type) {
	case map[string]any:
		ends = "{}"
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, compact(key)+": "+layout(v[key], indent+1))
		}
	case []any:
		for _, element := range v {
			parts = append(parts, layout(element, indent+1))
		}
	default:
		return compact(value)
	}
	var out strings.Builder
	out.WriteString(ends[:1])
	column := indent + 1
	for i, part := range parts {
		if i < len(parts)-1 {
			part += ","
		}
		first, _, _ := strings.Cut(part, "\n")
		if i > 0 && column+1+utf8.RuneCountInString(first) > pageWidth {
			out.WriteString("\n" + strings.Repeat(" ", indent+1))
			column = indent + 1
		} else if i > 0 {
			out.WriteString(" ")
			column++
		}
		out.WriteString(part)
		if last := strings.LastIndexByte(part, '\n'); last >= 0 {
			column = utf8.RuneCountInString(part[last+1:])
		} else {
			column += utf8.RuneCountInString(part)
		}
	}
	return out.String() + ends[1:]
}

// compact returns JSON in one line.
func compact(value any) string {
	var parts []string
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, compact(key)+": "+compact(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, element := range v {
			parts = append(parts, compact(element))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // text, number, bool or null
	return strings.TrimSuffix(out.String(), "\n")
}

// A printed answer that does not fit is found, and rewritten.
func TestPrintedAnswers(t *testing.T) {
	for _, c := range []struct{ printed, got, differs, rewritten string }{
		{`{"a": 1}`, `{"a": 1}`, "", `{"a": 1}`},
		{`{"a": 1}`, `{"a": 2}`, "answer.a is 2, the page has 1", `{"a": 2}`},
		{`{"a": 1}`, `{"b": "2026-01-02 03:04:05"}`, "answer.a is missing; answer.b is not in the page", `{"b": "…"}`},
		{`{"a": 1, "…": "…"}`, `{"a": 1, "b": 3}`, "", `{"a": 1, "…": "…"}`},
		{`{"a": "…"}`, `{"a": [1, {}]}`, "", `{"a": "…"}`},
		{`"at … in (a)"`, `"at 7 in (a)"`, "", `"at … in (a)"`},
		{`"at … in (a)"`, `"at 7 in (b)"`, `answer is "at 7 in (b)", the page has "at … in (a)"`, `"at 7 in (b)"`},
		{`[1]`, `[1, 2]`, "answer is [1, 2], the page has [1]", `[1, 2]`},
		{`[1, "…"]`, `[1, 2]`, "", `[1, "…"]`},
		{`[1, 2, "…"]`, `[1]`, `answer is [1], the page has [1, 2, "…"]`, `[1]`},
		{`[]`, `[]`, "", `[]`},
		{`null`, `12345678901234567890`, "answer is 12345678901234567890, the page has null", `12345678901234567890`},
	} {
		printed, got := decodeJSON(t, c.printed), decodeJSON(t, c.got)
		if text := strings.Join(differences("answer", printed, got), "; "); text != c.differs {
			t.Errorf("%s and %s: %s, want %s", c.printed, c.got, text, c.differs)
		}
		if text := compact(refreshed(printed, got)); text != c.rewritten {
			t.Errorf("%s and %s: rewritten to %s, want %s", c.printed, c.got, text, c.rewritten)
		}
	}
	long := []any{strings.Repeat("x", 60), strings.Repeat("y", 60), map[string]any{"a": "1"}}
	if text := layout(long, 0); strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, ` {"a": "1"}]`) {
		t.Error(text)
	}
}
