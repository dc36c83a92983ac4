package canonical

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// agree checks the laws of the package for one link: the fast and the slow path give the
// same answer, which is idempotent and has no fragment.
func agree(t testing.TB, base, ref string) {
	t.Helper()
	for _, s := range []Schemes{Web, {"https"}, nil} {
		fast, err1 := s.Canonical(ref)
		slow, err2 := s.canonicalSlow(ref)
		if fast != slow || (err1 == nil) != (err2 == nil) {
			t.Fatalf("Canonical(%q): fast %q %v, slow %q %v", ref, fast, err1, slow, err2)
		}
		checkStable(t, s, fast, err1)

		fast, err1 = s.Resolve(base, ref)
		slow, err2 = s.resolveSlow(base, ref)
		if fast != slow || (err1 == nil) != (err2 == nil) {
			t.Fatalf("Resolve(%q, %q): fast %q %v, slow %q %v", base, ref, fast, err1, slow, err2)
		}
		checkStable(t, s, fast, err1)
	}
}

func checkStable(t testing.TB, s Schemes, u string, err error) {
	t.Helper()
	if err != nil {
		if u != "" {
			t.Fatalf("%q with error %v", u, err)
		}
		return
	}
	if again, err := s.Canonical(u); again != u || err != nil {
		t.Fatalf("Canonical(%q) = %q, %v: not idempotent", u, again, err)
	}
	if again, err := s.canonicalSlow(u); again != u || err != nil {
		t.Fatalf("slow Canonical(%q) = %q, %v: not idempotent", u, again, err)
	}
	if len(u) > MaxLength {
		t.Fatalf("%d bytes", len(u))
	}
	for i := range len(u) {
		if u[i] <= ' ' && s != nil || u[i] >= 0x7f {
			t.Fatalf("%q is not printable ASCII", u)
		}
	}
	if i := strings.IndexByte(u, '#'); i >= 0 && i != len(u)-1 {
		t.Fatalf("%q has a fragment", u)
	}
}

// Texts built from significant pieces reach rare branches sooner than random bytes.
func TestFastPathAgreesWithParser(t *testing.T) {
	pieces := []string{
		"http:", "https:", "ftp:", "file:", "x:", "//", "/", "\\", "a", "b.html", "ex.com", "EX.com", "..", ".",
		"%2e", "%2E", "%", "%41", "%e3%81", "?", "#", "!", "#!", ":", ":80", ":443", ":8080", ":0", ":99999", "@", "u:p@",
		"127.0.0.1", "1.2.3", "0x7f", "09", "255", "256", "[::1]", "xn--a", "xn--mnchen-3ya", "ab--c", "-", "_", "~",
		"ü", "ß", "あ", "\u00ad", "。", "\xff", " ", "\t", "\n", "'", "\"", "<", "|", "^", "`", "{", "[", "]", "&", "=", "+",
		"*", "$", ";", ",", "\x00", "\x7f", "http://ex.com", "https://a.b.ex.com/x/y", "../", "./", "c?d=e", "www.",
	}
	r := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		var b strings.Builder
		for range r.IntN(n) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		return b.String()
	}
	bases := []string{"", "http://ex.com/a/b/c?d#e", "https://ex.com:8443/", "http://127.0.0.1:8080/x/y.html", "http://ex.com/a//b"}
	n := 8000
	if testing.Short() {
		n = 2000
	}
	for i := range n {
		base := bases[r.IntN(len(bases))]
		if i%4 == 0 {
			base = "http://ex.com/" + text(5)
		}
		ref := text(8)
		if i%3 == 0 {
			ref = "http://ex.com" + ref
		}
		agree(t, base, ref)
	}
}

func TestUsualLinksTakeFastPath(t *testing.T) {
	const base = "https://www.example.com/news/2024/index.html?page=2"
	for _, ref := range []string{
		"https://www.example.com/articles/a-title-12345.html?ref=home&x=1",
		"http://example.com:8080/", "http://127.0.0.1:8080/a/b", "//cdn.example.com/x.js", "/about/", "/", "style.css",
		"../img/a.png", "./x", "?page=3", "#top", "#", "", "/wiki/%D0%93%D0%BB", "/a#b", "/p;x=1,2/(y)!$&+@:*~",
	} {
		if _, ok := Web.resolvePlain(base, ref); !ok {
			t.Errorf("%q does not take the fast path", ref)
		}
	}
}

func FuzzFastPath(f *testing.F) {
	f.Add("http://ex.com/a/b?c#d", "../x y?z#w")
	f.Add("https://ex.com", "//u:p@0x7f..:080\\a//%2e%2E/b#!c#")
	f.Add("", "http://[::1.2.3.4]:443/?#")
	f.Add("http://ex.com/", "mailto:x@y")
	f.Add("file:///c:/x", "/C|/../..//y")
	f.Fuzz(func(t *testing.T, base, ref string) {
		if len(base)+len(ref) > 2000 {
			return // the parser needs quadratic time in the number of segments
		}
		agree(t, base, ref)
	})
}

var sink string

func BenchmarkResolve(b *testing.B) {
	const base = "https://www.example.com/news/2024/index.html"
	for _, c := range []struct{ name, ref string }{
		{"absolute", "https://www.example.com/articles/some-long-title-of-article-12345.html?ref=home&x=1"},
		{"rooted", "/articles/some-long-title-of-article-12345.html?ref=home&x=1"},
		{"parent", "../img/a.png"},
		{"fragment", "#top"},
		{"mailto", "mailto:someone@example.com"},
		{"parser", "/articles/some long title?ref=home"},
		{"parser_idn", "https://münchen.example.com/artikel/ü"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sink, _ = Web.Resolve(base, c.ref)
			}
		})
	}
}
