package crawl

import (
	"slices"
	"strings"
	"testing"
)

func TestParseHeaders(t *testing.T) {
	tests := []struct {
		name, text string
		want       []Header
		bad        string // part of the error
	}{
		{"nothing", "", nil, ""},
		{"lines", "Accept: */*\r\n\n# User-Agent: x\nX-A :  b:c \n", []Header{{"Accept", "*/*"}, {"X-A", "b:c"}}, ""},
		{"empty value", "X-A:", []Header{{"X-A", ""}}, ""},
		{"no header among them", "X-A: 1\njust words\nX-B: 2", []Header{{"X-A", "1"}, {"X-B", "2"}}, "just words"},
		{"name that cannot be sent", "X A: 1", nil, "X A"},
		{"no name", ": 1", nil, "name"},
		{"value that cannot be sent", "X-A: 1\x002", nil, "X-A"},
		{"long line", strings.Repeat("x", 1000), nil, strings.Repeat("x", 80) + "..."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseHeaders(tt.text)
			if !slices.Equal(got, tt.want) || (err == nil) != (tt.bad == "") || err != nil && !strings.Contains(err.Error(), tt.bad) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestParseCookie(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "\n# none\n": "", "# one\n\n a=1; b=2 \nc=3": "a=1; b=2",
	} {
		if got := ParseCookie(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
