package target

import (
	"hce/dc/internal/web/filter"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	cases := map[string]struct {
		typed, want string
		guessed     bool
		err         string
	}{
		"a URL":              {typed: "https://Example.ORG", want: "https://example.org/"},
		"http":               {typed: "http://example.org/a?b=c#d", want: "http://example.org/a?b=c"},
		"upper case":         {typed: "HTTPS://example.org/", want: "https://example.org/"},
		"a host":             {typed: "example.org", want: "https://example.org/", guessed: true},
		"a host and a path":  {typed: "example.org/docs/", want: "https://example.org/docs/", guessed: true},
		"host and port":      {typed: "localhost:8080/x", want: "https://localhost:8080/x", guessed: true},
		"an address":         {typed: "127.0.0.1:80", want: "https://127.0.0.1:80/", guessed: true},
		"blanks around":      {typed: "  example.org\n", want: "https://example.org/", guessed: true},
		"umlauts":            {typed: "https://bücher.example/ä", want: "https://xn--bcher-kva.example/%C3%A4"},
		"a URL in the query": {typed: "example.org/?u=http://x", want: "https://example.org/?u=http://x", guessed: true},
		"empty":              {typed: " ", err: "is empty"},
		"two URLs":           {typed: "http://a http://b", err: "give two URLs as two arguments"},
		"another scheme":     {typed: "ftp://example.org/", err: "only http and https can be crawled"},
		"a typing error":     {typed: "htps://example.org/", err: "did you mean https?"},
		"one slash":          {typed: "http:/example.org", err: "did you mean http://example.org?"},
		"an e-mail address":  {typed: "mailto:me@example.org", err: "has the scheme mailto; only http and https"},
		"a script":           {typed: "javascript:alert(1)", err: "has the scheme javascript"},
		"a port alone":       {typed: "localhost:", want: "https://localhost/", guessed: true},
		"three slashes":      {typed: "http:///example.org/a", err: "did you mean http://example.org/a?"},
		"no slash":           {typed: "https:example.org", err: "did you mean https://example.org?"},
		"a file":             {typed: "./index.html", err: "serve the folder"},
		"a path":             {typed: "/srv/www", err: "has no host"},
		"only a scheme":      {typed: "http://", err: "is not valid"},
		"a password":         {typed: "http://me:secret@example.org/", err: "HTTP_AUTH_NAME"},
		"a bad port":         {typed: "http://example.org:99999/", err: "is not valid"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(c.typed)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "secret") {
					t.Errorf("%+v, %v", got, err)
				}
				return
			}
			if err != nil || got.Text != c.want || got.Guessed != c.guessed {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	if got := (URL{Text: "https://example.org/https"}).HTTP().Text; got != "http://example.org/https" {
		t.Error(got)
	}
}

func TestPrivate(t *testing.T) {
	for text, want := range map[string]bool{
		"http://127.0.0.1:8080/": true, "http://[::1]/": true, "http://localhost/": true, "http://10.1.2.3/": true,
		"http://169.254.0.1/": true, "http://0.0.0.0/": true, "https://example.org/": false, "http://8.8.8.8/": false,
	} {
		if Private(text) != want {
			t.Errorf("%s: %t", text, !want)
		}
	}
	for text, want := range map[string]string{"http://a/": "a:80", "https://a/": "a:443", "https://[::1]:8/": "[::1]:8"} {
		if got := HostPort(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// accepted reports which links a site with these limits follows.
func accepted(t *testing.T, roots []string, l Limits, depth int) func(link string) bool {
	t.Helper()
	accept, err := Matcher(roots, l)
	if err != nil {
		t.Fatal(err)
	}
	return func(link string) bool { return accept(link, depth) }
}

func TestFilters(t *testing.T) {
	none := Limits{Scope: Host, Depth: -1}
	with := func(change func(*Limits)) Limits {
		l := none
		change(&l)
		return l
	}
	cases := map[string]struct {
		roots string
		l     Limits
		depth int
		in    string
		out   string
	}{
		"host": {
			roots: "https://example.org/docs/", l: none,
			in:  "https://example.org/ http://example.org/x http://www.example.org/ https://example.org/docs/a?b",
			out: "https://exampleXorg/ https://sub.example.org/ https://example.org.evil.net/ https://example.org:8080/ https://evil.net/https://example.org/",
		},
		"host with www": {roots: "https://www.example.org/", l: none, in: "https://example.org/ https://www.example.org/", out: "https://a.example.org/"},
		"host and port": {roots: "http://127.0.0.1:8080/", l: none, in: "http://127.0.0.1:8080/a", out: "http://127.0.0.1:8081/ http://127.0.0.1/ http://127.0.0.1:80801/"},
		"IPv6":          {roots: "http://[::1]:8080/", l: none, in: "http://[::1]:8080/a", out: "http://[::1]/"},
		"two hosts":     {roots: "https://a.org/ https://b.org/", l: none, in: "https://a.org/x https://b.org/x", out: "https://c.org/"},
		"domain": {
			roots: "https://shop.example.co.uk/", l: with(func(l *Limits) { l.Scope = Domain }),
			in:  "https://example.co.uk/ http://a.b.example.co.uk/x https://shop.example.co.uk:8443/",
			out: "https://other.co.uk/ https://example.co.uk.evil.net/ https://myexample.co.uk/ https://evil.net/.example.co.uk/",
		},
		"domain of an address": {roots: "http://127.0.0.1/", l: with(func(l *Limits) { l.Scope = Domain }), in: "http://127.0.0.1/", out: "http://1.127.0.0.1/"},
		"prefix": {
			roots: "https://example.org/docs/index.html", l: with(func(l *Limits) { l.Scope = Prefix }),
			in: "https://example.org/docs/ https://example.org/docs/a/b", out: "https://example.org/ https://example.org/docsx/",
		},
		"any": {roots: "https://example.org/", l: with(func(l *Limits) { l.Scope = Any }), in: "https://a.net/"},
		"include": {
			roots: "https://example.org/", l: with(func(l *Limits) { l.Include = []string{"/docs/**", "/help/"} }),
			in: "https://example.org/docs/a/b https://example.org/help/x", out: "https://example.org/ https://a.net/docs/a https://example.org/x/docs/a",
		},
		"include anywhere": {
			roots: "https://example.org/", l: with(func(l *Limits) { l.Scope, l.Include = Any, []string{"https://*.net/a/**"} }),
			in: "https://x.net/a/b", out: "http://x.net/a/b https://x.org/a/b",
		},
		"exclude": {
			roots: "https://example.org/", l: with(func(l *Limits) { l.Exclude = []string{"*.zip", "/tmp/", `re:[?&]page=\d+`, "a/b.html"} }),
			in:  "https://example.org/zip https://example.org/a.zip/x https://example.org/tmp https://example.org/?page=x https://example.org/b.html",
			out: "https://example.org/a.zip https://example.org/x/a.zip?y=1 https://example.org/tmp/x https://example.org/?page=12 https://example.org/x/a/b.html",
		},
		"a question mark is plain": {
			roots: "https://example.org/", l: with(func(l *Limits) { l.Exclude = []string{"/x?id=*"} }),
			in: "https://example.org/xy https://example.org/x", out: "https://example.org/x?id=7",
		},
		"a dot is plain":    {roots: "https://example.org/", l: with(func(l *Limits) { l.Exclude = []string{"a.c"} }), in: "https://example.org/abc", out: "https://example.org/a.c"},
		"depth 0":           {roots: "https://example.org/", l: with(func(l *Limits) { l.Depth = 0 }), out: "https://example.org/x"},
		"depth 2, at depth": {roots: "https://example.org/", l: with(func(l *Limits) { l.Depth = 2 }), depth: 1, in: "https://example.org/x", out: "https://a.net/"},
		"depth 2, too deep": {roots: "https://example.org/", l: with(func(l *Limits) { l.Depth = 2 }), depth: 2, out: "https://example.org/x"},
		"depth and any":     {roots: "https://example.org/", l: with(func(l *Limits) { l.Scope, l.Depth = Any, 1 }), depth: 1, out: "https://a.net/"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			accept := accepted(t, strings.Fields(c.roots), c.l, c.depth)
			for _, link := range strings.Fields(c.in) {
				if !accept(link) {
					t.Errorf("%s is not followed", link)
				}
			}
			for _, link := range strings.Fields(c.out) {
				if accept(link) {
					t.Errorf("%s is followed", link)
				}
			}
		})
	}
}

func TestBadPatterns(t *testing.T) {
	for pattern, says := range map[string]string{"re:(": "no regular expression", "": "is empty", "re:": "is empty", "a b": "blank", "re:a\r\nb": "several lines"} {
		if _, err := Filters([]string{"https://a.org/"}, Limits{Scope: Host, Depth: -1, Exclude: []string{pattern}}); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "--exclude") {
			t.Errorf("%q: %v", pattern, err)
		}
	}
	if _, err := ParseScope("hosts"); err == nil || !strings.Contains(err.Error(), "did you mean host?") {
		t.Error(err)
	}
}

func FuzzPattern(f *testing.F) {
	for _, seed := range []string{"/docs/**", "*.zip", "re:(a+)+$", "https://*/a?b=[", "**/**//\\", "%MAX_DEPTH%"} {
		f.Add(seed, "https://example.org/docs/a.zip")
	}
	f.Fuzz(func(t *testing.T, pattern, link string) {
		expression, err := Expression(pattern)
		if err != nil {
			return
		}
		if _, errs := filter.Compile([]filter.Rule{{Pattern: expression, State: 1}}); len(errs) > 0 {
			t.Errorf("%q became %q: %v", pattern, expression, errs)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"example.org", "http://[::1", "https://a@b:c@d/", "http:/\\x", "//x", "\x00", "xn--a:80/%zz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		u, err := Parse(typed)
		if err == nil && !strings.HasPrefix(u.Text, "http://") && !strings.HasPrefix(u.Text, "https://") {
			t.Errorf("%q became %q", typed, u.Text)
		}
	})
}
