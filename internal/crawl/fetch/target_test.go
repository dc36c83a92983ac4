package fetch

import (
	"net/url"
	"strings"
	"testing"
)

func TestResolveURL(t *testing.T) {
	const base = "http://example.com/a/b?x=1#frag"
	tests := []struct {
		name, in, want string // "" for an error
	}{
		{"absolute", "https://example.org/p?q=1", "https://example.org/p?q=1"},
		{"no path", "http://example.org", "http://example.org"},
		{"relative to the folder", "c", "http://example.com/a/c"},
		{"relative to the root", "/c?d", "http://example.com/c?d"},
		{"parent", "../../c", "http://example.com/c"},
		{"query alone", "?y=2", "http://example.com/a/b?y=2"},
		{"fragment alone", "#top", "http://example.com/a/b?x=1#top"},
		{"scheme of the base", "//example.org/p", "http://example.org/p"},
		{"spaces around", " \t/c\r\n", "http://example.com/c"},
		{"space inside", "/a b?c d", "http://example.com/a%20b?c%20d"},
		{"line break inside", "/a\nb", "http://example.com/ab"},
		{"control byte", "/a\x01b", "http://example.com/a%01b"},
		{"UTF-8", "/caf\u00e9?\u00fc=\u00df", "http://example.com/caf%C3%A9?%C3%BC=%C3%9F"},
		{"Latin-1", "/caf\xe9", "http://example.com/caf%E9"},
		{"loose percent", "/100%/%zz/%4", "http://example.com/100%25/%25zz/%254"},
		{"escapes kept", "/a%2Fb%20c", "http://example.com/a%2Fb%20c"},
		{"backslash", `\c\d?e\f`, `http://example.com/c/d?e\f`},
		{"name in Unicode", "http://b\u00fccher.example/\u00e4", "http://xn--bcher-kva.example/%C3%A4"},
		{"name in upper case", "HTTP://EXAMPLE.ORG/A", "http://example.org/A"},
		{"name with underscore", "http://a_b.Example.org/", "http://a_b.example.org/"},
		{"wide digits", "http://\uff11\uff12\uff17.0.0.1/", "http://127.0.0.1/"},
		{"IPv6", "http://[2001:db8::1]:8080/x", "http://[2001:db8::1]:8080/x"},
		{"user", "http://u:p@example.org/", "http://u:p@example.org/"},
		{"port", "http://example.org:81/", "http://example.org:81/"},
		{"slashes in the query", "/r?u=http://b\u00fc.example/", "http://example.com/r?u=http://b%C3%BC.example/"},
		{"quotes in the query", `/a'b?c='d'&e="<f>"`, "http://example.com/a'b?c=%27d%27&e=%22%3Cf%3E%22"},
		{"port 0", "http://example.org:0/", ""},
		{"port too large", "http://example.org:65536/", ""},
		{"port no number", "http://example.org:x/", ""},
		{"ftp", "ftp://example.org/", ""},
		{"javascript", "javascript:alert(1)", ""},
		{"mailto", "mailto:a@example.org", ""},
		{"file", "file:///etc/passwd", ""},
		{"data", "data:text/html,x", ""},
		{"no host", "http:///x", ""},
		{"opaque", "http:example.org", ""},
		{"user alone", "http://user@/", ""},
		{"bad IPv6", "http://[::1/", ""},
		{"bad bytes in the host", "http://\xff\xfe/", ""},
		{"too long", "/" + strings.Repeat("a", maxURL), ""},
	}
	from, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := resolveURL(from, tt.in)
			switch {
			case err != nil && tt.want != "":
				t.Errorf("error %v, want %s", err, tt.want)
			case err == nil && got.String() != tt.want:
				t.Errorf("got %s, want %q", got, tt.want)
			}
		})
	}
}

func TestSameSite(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{"http://h/a", "http://H/b", true},
		{"http://h/", "http://h:80/", true},
		{"http://h/", "https://h/", true},
		{"https://h/", "http://h/", false},
		{"http://h:8080/", "https://h:8443/", false},
		{"http://h/", "http://h:81/", false},
		{"http://h/", "http://www.h/", false},
		{"http://www.h/", "http://h/", false},
	}
	for _, tt := range tests {
		a, _ := url.Parse(tt.a)
		b, _ := url.Parse(tt.b)
		if got := sameSite(a, b); got != tt.want {
			t.Errorf("sameSite(%s, %s) = %v", tt.a, tt.b, got)
		}
	}
}

// A parsed URL can be sent, and parsing it again changes nothing.
func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"http://example.com/a?b#c", "http://[::1]:80/", "http://u:p@h/%zz", "//x", "http://\u00fc/\xff\\", "http://h%41/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := parseURL(s)
		if err != nil {
			return
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			t.Fatalf("%q became %q", s, u)
		}
		if uri := u.RequestURI(); !strings.HasPrefix(uri, "/") || strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			t.Fatalf("%q would be requested as %q", s, uri)
		}
		if strings.ContainsAny(u.Host, " \t\r\n/?#@") {
			t.Fatalf("%q has host %q", s, u.Host)
		}
		again, err := parseURL(u.String())
		if err != nil || again.RequestURI() != u.RequestURI() || again.Host != u.Host {
			t.Fatalf("%q became %q, and that %q (%v)", s, u, again, err)
		}
	})
}
