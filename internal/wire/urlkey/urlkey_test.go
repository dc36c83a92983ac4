package urlkey

import (
	"crypto/md5"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
)

func TestNormalEscapes(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "http://h/a/b?c=d", "http://h/a/b?c=d"},
		{"empty", "", ""},
		{"tilde", "http://h/%7Ea", "http://h/~a"},
		{"lower-case tilde", "http://h/%7ea", "http://h/~a"},
		{"letters and digits", "http://h/%41%7a%30", "http://h/Az0"},
		{"unreserved marks", "/%2D%2e%5F%7e", "/-._~"},
		{"lower-case digits", "http://h/%c3%a9", "http://h/%C3%A9"},
		{"mixed digits", "http://h/%c3%A9", "http://h/%C3%A9"},
		{"canonical escape", "http://h/%C3%A9", "http://h/%C3%A9"},
		{"raw character", "http://h/é", "http://h/%C3%A9"},
		{"reserved characters keep their escapes", "/%2f%3F%26%3d", "/%2F%3F%26%3D"},
		{"space", "/a%20b", "/a%20b"},
		{"query", "/?q=%7e%c3%a9&r=%26", "/?q=~%C3%A9&r=%26"},
		{"escaped percent sign", "/%257E", "/%257E"},
		{"escaped percent sign, lower case", "/%25c3", "/%25c3"},
		{"percent sign at the end", "/%7E%", "/~%"},
		{"percent sign and one digit", "/%7E%4", "/~%4"},
		{"percent sign without digits", "/100%/%7E", "/100%/~"},
		{"no escape becomes one", "/%%37E", "/%%37E"},
		{"no escape becomes one, second digit", "/%7%45", "/%7%45"},
		{"two percent signs", "/%%41%42", "/%%41B"},
		{"plus", "/a+b", "/a+b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := NormalEscapes(c.text); got != c.want {
				t.Errorf("NormalEscapes(%q) = %q, want %q", c.text, got, c.want)
			}
			if got := NormalEscapes(c.want); got != c.want {
				t.Errorf("not idempotent: %q becomes %q", c.want, got)
			}
			if got, sum := Of(c.text), md5.Sum([]byte(c.want)); got != hex.EncodeToString(sum[:]) {
				t.Errorf("Of(%q) = %s, want the md5 of %q", c.text, got, c.want)
			}
		})
	}
}

// A text without escapes, and one with canonical escapes, costs no allocation.
func TestKeyAllocates(t *testing.T) {
	for _, text := range []string{"http://example.com/articles/a-title-12345.html?ref=home", "http://example.com/%C3%A9", "http://example.com/%7Ea"} {
		text := strings.Clone(text)
		if n := testing.AllocsPerRun(100, func() { Sum(text) }); n > 1 { // one: the bytes of a long text
			t.Errorf("Sum(%q): %v allocations", text, n)
		}
	}
	text := strings.Clone("http://example.com/%C3%A9")
	if n := testing.AllocsPerRun(100, func() { NormalEscapes(text) }); n > 0 {
		t.Errorf("NormalEscapes: %v allocations", n)
	}
}

func FuzzNormalEscapes(f *testing.F) {
	for _, text := range []string{"http://h/%7e%c3%A9?a=%zz", "%%37E%", "%25%37%45", "é%C3%a9\xff%", "%4%%41%2e%2E"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := NormalEscapes(text)
		if twice := NormalEscapes(once); twice != once {
			t.Fatalf("%q becomes %q, then %q", text, once, twice)
		}
		before, err := url.PathUnescape(text)
		if err != nil {
			return // a percent sign that begins no escape
		}
		if after, err := url.PathUnescape(once); err != nil || after != before {
			t.Fatalf("%q means %q, %q means %q, %v", text, before, once, after, err)
		}
	})
}

func BenchmarkSum(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"plain", "https://www.example.com/articles/some-long-title-of-article-12345.html?ref=home&x=1"},
		{"canonical", "https://www.example.com/wiki/%D0%93%D0%BB%D0%B0%D0%B2%D0%BD%D0%B0%D1%8F"},
		{"lower case", "https://www.example.com/wiki/%d0%93%d0%bb%d0%b0%d0%b2%d0%bd%d0%b0%d1%8f"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Sum(c.text)
			}
		})
	}
}
