package pyre

import (
	"strings"
	"testing"
)

func mustCompile(t testing.TB, text string) *Regexp {
	t.Helper()
	re, err := Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	return re
}

func TestMatch(t *testing.T) {
	cases := []struct {
		pattern, value string
		want           bool
	}{
		{`^\w+$`, "страница", true},
		{`^[\w-]+$`, "до-мой", true},
		{`^\d{2}$`, "٣٤", true},
		{`^\D+$`, "12", false},
		{`a\sb`, "a\u00a0b", true},
		{`a[^\S]b`, "a b", true},
		{`x\Z`, "ax", true},
		{`^a{,2}$`, "aa", true},
		{`^a{,2}$`, "aaa", false},
		{`(?iu)NEWS`, "news", true},
		{`(?u)NEWS`, "news", false},
		{`(?P<a>x)(?P=a)`, "xx", true},
		{`^(?!.*\.pdf$)`, "a.pdf", false},
		{`^(?!.*\.pdf$)`, "a.html", true},
		{`(?<=/)(\d+)/\1`, "/12/12", true},
		{`[]x]`, "]", true},
		{`[^]x]`, "]", false},
		{`http\:\/\/a\-b\_c`, "http://a-b_c", true},
		{`\bмир\b`, "наш мир тут", true},
		{`\bмир\b`, "мировой", false},
		{"", "anything", true},
	}
	for _, c := range cases {
		t.Run(c.pattern, func(t *testing.T) {
			if got := mustCompile(t, c.pattern).MatchString(c.value); got != c.want {
				t.Errorf("%q in %q: %v", c.pattern, c.value, got)
			}
		})
	}
}

func TestBacktrackingIsCutOff(t *testing.T) {
	re := mustCompile(t, `^(a+)+(?=b)$`)
	value := strings.Repeat("a", 200)
	for range maxTired + 200 {
		if re.MatchString(value) {
			t.Fatal("a match that was cut off counts")
		}
	}
}
