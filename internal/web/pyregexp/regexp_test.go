package pyregexp

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

func TestBacktrackingTimesOut(t *testing.T) {
	re := mustCompile(t, `^(a+)+(?=b)$`)
	value := strings.Repeat("a", 200)
	for range maxTimeouts + 200 {
		if re.MatchString(value) {
			t.Fatal("a match that timed out counts")
		}
	}
}

func TestMatchStart(t *testing.T) {
	for _, c := range []struct {
		pattern, value string
		want           bool
	}{
		{`b`, "ab", false}, {`a`, "ab", true}, {`^b`, "a\nb", false}, {`b|a`, "ab", true},
		{`(?=a)a`, "ab", true}, {`(?=b)b`, "ab", false}, {``, "", true},
	} {
		if got := mustCompile(t, c.pattern).MatchStart(c.value); got != c.want {
			t.Errorf("%q at the start of %q: %v", c.pattern, c.value, got)
		}
	}
}

func TestFold(t *testing.T) {
	for _, pattern := range []string{`news`, `(?u)NEWS`, `(?=n)NeWs`, `(?s)new.`} {
		re, err := CompileFold(pattern)
		if err != nil || !re.MatchString("a NEWS b") {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

func TestReplace(t *testing.T) {
	cases := []struct{ name, pattern, with, value, want string }{
		{"all matches", `a`, `b`, "aba", "bbb"},
		{"no match", `x`, `b`, "aba", "aba"},
		{"group by number", `(\w+)@(\w+)`, `\2 at \1`, "me@home", "home at me"},
		{"group by name", `(?P<user>\w+)@`, `\g<user>#`, "me@home", "me#home"},
		{"number in brackets", `(a)`, `\g<1>0`, "a", "a0"},
		{"whole match", `a+`, `[\g<0>]`, "baab", "b[aa]b"},
		{"unmatched group", `(a)|b`, `<\1>`, "ab", "<a><>"},
		{"dollar is literal", `a`, `$1`, "a", "$1"},
		{"backslash", `/`, `\\`, "a/b", `a\b`},
		{"control characters", `,`, `\n\t`, "a,b", "a\n\tb"},
		{"unknown escape is literal", `,`, `\q`, ",", `\q`},
		{"backslash at the end", `,`, `x\`, ",", `x\`},
		{"octal", `,`, `\041`, ",", "!"},
		{"empty match", ``, `-`, "ab", "-a-b-"},
		{"look-around", `(?<=/)(?P<y>\d+)(/)(?!x)`, `\2\g<y>`, "é/12/a/3/x", "é//12a/3/x"},
		{"named before plain, backtracking", `(?=.)(?P<n>a)(b)`, `\1-\2-\g<n>`, "ab", "a-b-a"},
		{"named reference", `(?P<n>.)(?P=n)`, `\g<n>`, "aabbc", "abc"},
		{"group in a look-behind", `(?<=(a))b`, `\1`, "éabab", "éaaaa"},
		{"class with brackets", `(?=.)[](](x)`, `\1`, "(x]x", "xx"},
		{"invalid utf-8 in the match", `(?=b)(b.)`, `<\1>`, "b\xffé", "<b\xff>é"},
		{"invalid utf-8", `(?=b)b`, `c`, "\xffb\xff", "\xffc\xff"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			re := mustCompile(t, c.pattern)
			template, err := re.Template(c.with)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := re.Replace(c.value, template, 100); got != c.want || !ok {
				t.Errorf("%q, %v, want %q", got, ok, c.want)
			}
		})
	}
}

func TestReplaceIsBounded(t *testing.T) {
	for _, pattern := range []string{`(.*)`, `(?=.)(.*)`, `x|`, `(?=)`} {
		re := mustCompile(t, pattern)
		template, err := re.Template(strings.Repeat(`\g<0>y`, 50))
		if err != nil {
			t.Fatal(err)
		}
		value := strings.Repeat("x", 1000)
		if got, ok := re.Replace(value, template, 2000); ok || got != value {
			t.Errorf("%s: %d bytes, %v", pattern, len(got), ok)
		}
	}
	re := mustCompile(t, `a`)
	template, _ := re.Template("")
	if got, ok := re.Replace(strings.Repeat("ab", 60), template, 100); !ok || len(got) != 60 {
		t.Errorf("result within the limit: %d bytes, %v", len(got), ok)
	}
}

func TestBrokenTemplates(t *testing.T) {
	re := mustCompile(t, `(a)(?P<n>b)`)
	for _, with := range []string{`\3`, `\12`, `\g<x>`, `\g<`, `\g<-1>`, `\g<3>`, strings.Repeat("x", MaxText+1)} {
		if _, err := re.Template(with); err == nil {
			t.Errorf("Template(%.20q): no error", with)
		}
	}
}

func TestBrokenExpressions(t *testing.T) {
	for _, text := range []string{`(`, `[`, `a**`, `(?P<n>a`, `(?<x`, `\`, strings.Repeat("a", MaxText+1)} {
		if _, err := Compile(text); err == nil {
			t.Errorf("Compile(%.20q): no error", text)
		}
	}
	Compile(strings.Repeat("(", 60000) + strings.Repeat(")", 5000)) // must return
	Compile(strings.Repeat("(?=", 20000) + strings.Repeat(")", 20000))
}

func FuzzReplace(f *testing.F) {
	f.Add(`(?P<a>x)|(y)`, `\g<a>\2`, "xyz")
	f.Add(`(?<=(a))b`, `\1`, "éab\xff")
	f.Add(`(?i)[]^(]`, `\071`, "]")
	f.Add(`(?x) a # (`, `\n`, "a")
	f.Fuzz(func(t *testing.T, pattern, with, value string) {
		if len(value) > 1000 {
			return
		}
		re, err := CompileFold(pattern)
		if err != nil {
			return
		}
		re.MatchStart(value)
		template, err := re.Template(with)
		if err != nil {
			return
		}
		if got, ok := re.Replace(value, template, 2000); len(got) > 2000 || !ok && got != value {
			t.Errorf("%d bytes, %v", len(got), ok)
		}
	})
}
