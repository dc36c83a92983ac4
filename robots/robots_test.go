package robots

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Each case names its section of RFC 9309, or follows the package comment.
func TestAllowed(t *testing.T) {
	for _, c := range []struct {
		name, body, agent string
		allowed, denied   string // paths, separated by spaces
	}{
		{"empty file", "", "foo", "/ /a", ""},
		{"2.2.1 group of the agent", "User-agent: foo\nDisallow: /x\n", "foo", "/ /y", "/x /xy /x/"},
		{"2.2.1 no group for the agent", "User-agent: bar\nDisallow: /\n", "foo", "/x", ""},
		{"2.2.1 agents match in any case", "USER-AGENT: FoO\nDISALLOW: /x\n", "fOo/2.1", "/X", "/x"},
		{"2.2.1 groups of one agent are merged", "User-agent: foo\nDisallow: /a\n\nUser-agent: bar\nDisallow: /b\n\nUser-agent: foo\nDisallow: /c\n", "foo", "/b", "/a /c"},
		{"2.2.1 several agents above rules", "User-agent: foo\nUser-agent: bar\nDisallow: /a\n", "bar", "/", "/a"},
		{"2.2.1 star for other agents", "User-agent: *\nDisallow: /a\nUser-agent: foo\nDisallow: /b\n", "baz", "/b", "/a"},
		{"2.2.1 star not for an agent with a group", "User-agent: *\nDisallow: /a\nUser-agent: foo\nDisallow: /b\n", "foo", "/a", "/b"},
		{"2.2.1 star groups are merged", "User-agent: *\nDisallow: /a\nUser-agent: *\nDisallow: /b\n", "foo", "/", "/a /b"},
		{"2.2.1 empty group allows", "User-agent: *\nDisallow: /\nUser-agent: foo\n", "foo", "/a", ""},
		{"2.2.1 blank lines do not end a group", "User-agent: foo\n\n\nDisallow: /a\n\nDisallow: /b\n", "foo", "/", "/a /b"},
		{"2.2.1 no prefix match", "User-agent: foobar\nDisallow: /\nUser-agent: fo\nDisallow: /\n", "foo", "/a", ""},
		{"2.2.1 version in the line", "User-agent: foo/1.2 (x)\nDisallow: /a\n", "foo", "/", "/a"},
		{"2.2.1 digits in a name", "User-agent: MJ12bot\nDisallow: /a\nUser-agent: MJ\nDisallow: /b", "MJ12bot/v1.4.8", "/b", "/a"},
		{"2.2.2 rules before any agent", "Disallow: /a\nUser-agent: foo\nDisallow: /b\n", "foo", "/a", "/b"},
		{"2.2.2 longest match", "User-agent: foo\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n", "foo", "/example/page/ok.gif", "/example/page/disallowed.gif"},
		{"2.2.2 longest match in either order", "User-agent: foo\nDisallow: /\nAllow: /p\n", "foo", "/p /page", "/ /q"},
		{"2.2.2 allow wins among equals", "User-agent: foo\nDisallow: /page\nAllow: /page\nAllow: /q\nDisallow: /q", "foo", "/page /q", ""},
		{"2.2.2 paths are case-sensitive", "User-agent: foo\nDisallow: /A\n", "foo", "/a", "/A"},
		{"2.2.2 empty disallow", "User-agent: foo\nDisallow:\n", "foo", "/ /a", ""},
		{"2.2.2 empty allow", "User-agent: foo\nDisallow: /\nAllow:\n", "foo", "", "/a"},
		{"2.2.2 query is part of the path", "User-agent: foo\nDisallow: /foo/bar?baz=quz\n", "foo", "/foo/bar?baz=q", "/foo/bar?baz=quz"},
		{"2.2.2 reserved characters in a query", "User-agent: foo\nDisallow: /foo/bar?baz=https://foo.bar\n", "foo", "", "/foo/bar?baz=https%3A%2F%2Ffoo.bar /foo/bar?baz=https://foo.bar"},
		{"2.2.2 reserved characters escaped in the rule", "User-agent: foo\nDisallow: /foo/bar?baz=https%3A%2F%2Ffoo.bar\n", "foo", "", "/foo/bar?baz=https%3a%2f%2ffoo.bar /foo/bar?baz=https://foo.bar"},
		{"2.2.2 UTF-8 in the rule", "User-agent: foo\nDisallow: /foo/bar/ツ\n", "foo", "/foo/bar/", "/foo/bar/%E3%83%84 /foo/bar/%e3%83%84 /foo/bar/ツ"},
		{"2.2.2 escapes in the rule", "User-agent: foo\nDisallow: /foo/bar/%E3%83%84\n", "foo", "/foo/bar/", "/foo/bar/%E3%83%84 /foo/bar/ツ"},
		{"2.2.2 escaped letters", "User-agent: foo\nDisallow: /foo/bar/%62%61%7A\n", "foo", "/foo/bar/bax", "/foo/bar/baz /foo/bar/%62az"},
		{"2.2.2 escaped slash is not a slash", "User-agent: foo\nDisallow: /a%2Fb\nDisallow: /c/d\n", "foo", "/a/b /c%2Fd", "/a%2fb /c/d"},
		{"2.2.2 escaped question mark does not begin a query", "User-agent: foo\nDisallow: /a?b\nDisallow: /c%3Fd", "foo", "/a%3Fb /c?d", "/a?b /c%3fd"},
		{"2.2.2 invalid escapes are literal", "User-agent: foo\nDisallow: /a%zz\nDisallow: /100%", "foo", "/a /100", "/a%zz /100%"},
		{"2.2.2 rule without slash", "User-agent: foo\nDisallow: a\nDisallow: $\n", "foo", "/a /", ""},
		{"2.2.2 robots.txt is allowed", "User-agent: *\nDisallow: /\n", "foo", "/robots.txt", "/robots.txt2"},
		{"2.2.3 comment", "User-agent: foo # me\nDisallow: /a # not this\n#Disallow: /b\n", "foo", "/b", "/a"},
		{"2.2.3 dollar", "User-agent: foo\nDisallow: /this/path/exactly$\n", "foo", "/this/path/exactly/ /this/path/exactly?", "/this/path/exactly"},
		{"2.2.3 star", "User-agent: foo\nDisallow: /this/*/exactly\n", "foo", "/this/exactly /that/x/exactly", "/this/x/exactly /this/x/y/exactly/z /this//exactly"},
		{"2.2.3 star and dollar", "User-agent: foo\nDisallow: /*.gif$\nDisallow: *.php$", "foo", "/a.gif?x /a.gifs", "/a.gif /b/c.gif /x.gif/y.gif /a.php"},
		{"2.2.3 escaped star and dollar", "User-agent: foo\nDisallow: /path/file-with-a-%2A.html\nDisallow: /path/foo-%24\n", "foo", "/path/file-with-a-b.html /path/foo-", "/path/file-with-a-*.html /path/foo-$ /path/foo-$x /path/foo-%24"},
		{"2.2.3 dollar inside", "User-agent: foo\nDisallow: /a$b\n", "foo", "/a", "/a$b"},
		{"2.2.3 only a dollar", "User-agent: foo\nDisallow: /$\n", "foo", "/a", "/"},
		{"2.2.3 star at the end", "User-agent: foo\nDisallow: /a*\nDisallow: /b**$\n", "foo", "/c", "/a /ab /b /bc"},
		{"2.2.3 star overlap", "User-agent: foo\nDisallow: /ab*ba$\n", "foo", "/aba /abab", "/abba /abxba /abbaba"},
		{"2.2.3 star into the query", "User-agent: foo\nDisallow: /*print\nDisallow: /*/sort=\nDisallow: /*?*u=/z", "foo", "/x", "/x?a=print /x?u=/sort=1 /x?a&u=/z /x?a&u=%2Fz"},
		{"2.2.3 stars count as octets", "User-agent: foo\nDisallow: /*a\nAllow: /b\n", "foo", "/b", "/ba /xa"},
		{"2.2.4 other records do not interfere", "User-agent: foo\nSitemap: https://e.com/s.xml\nHost: x\nnonsense\nCrawl-delay: 2\nUser-agent: bar\nDisallow: /a\n", "foo", "/", "/a"},
		{"2.2 byte order mark", "\ufeffUser-agent: foo\nDisallow: /a\n", "foo", "/", "/a"},
		{"2.2 CR", "User-agent: foo\rDisallow: /a\rDisallow: /b", "foo", "/", "/a /b"},
		{"2.2 CRLF", "User-agent: foo\r\nDisallow: /a\r\n\r\nDisallow: /b\r\n", "foo", "/", "/a /b"},
		{"2.2 spaces and tabs", "  user-agent \t:  foo  \n\tDisallow\t:\t/a\t\n", "foo", "/", "/a"},
		{"2.2 Useragent without hyphen", "Useragent: foo\nDisallow: /a\n", "foo", "/", "/a"},
		{"html instead of the file", "<html>\n<body>Disallow: /</body>\n", "foo", "/", ""},
		{"binary bytes", "\x00\xff\xfe\nUser-agent: foo\nDisallow: /\xff\n", "foo", "/", "/%FF /\xff"},
		{"User-Agent of a crawler", "User-agent: HCEbot\nDisallow: /a\nUser-agent: Mozilla\nDisallow: /b\nUser-agent: *\nDisallow: /c", "Mozilla/5.0 (compatible; HCEbot/1.0; +http://ex.com/bot)", "/b /c", "/a"},
		{"User-Agent of a browser", "User-agent: mozilla\nDisallow: /b\nUser-agent: *\nDisallow: /c", "Mozilla/5.0 (X11) Gecko/2010 Firefox/9", "/c", "/b"},
		{"parts of a URL are not products", "User-agent: com\nDisallow: /a\nUser-agent: bot\nDisallow: /b", "X/1 (+http://ex.com/bot/1)", "/a /b", ""},
		{"longest product", "User-agent: foo\nDisallow: /a\nUser-agent: foo-news\nDisallow: /b\n", "foo/1 foo-news/2", "/a", "/b"},
		{"no agent", "User-agent: foo\nDisallow: /a\nUser-agent: *\nDisallow: /b\n", "", "/a", "/b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Parse([]byte(c.body))
			for _, path := range strings.Fields(c.allowed) {
				if ok, line := r.Allowed(c.agent, path); !ok {
					t.Errorf("%s is denied by %q", path, line)
				}
			}
			for _, path := range strings.Fields(c.denied) {
				ok, line := r.Allowed(c.agent, path)
				if ok || !strings.HasPrefix(line, "line ") {
					t.Errorf("%s: allowed %t, line %q", path, ok, line)
				}
			}
		})
	}
}

func TestDecidingLine(t *testing.T) {
	r := Parse([]byte("# hello\r\nUser-agent: *\r\nDisallow: /a # why\r\rAllow: /a/b\n"))
	for path, want := range map[string]string{
		"/a/x": "line 3: Disallow: /a", "/a/b": "line 5: Allow: /a/b", "/": "", "": "",
	} {
		if _, line := r.Allowed("foo", path); line != want {
			t.Errorf("%s: %q, want %q", path, line, want)
		}
	}
	long := Parse([]byte("User-agent: *\nDisallow: /" + strings.Repeat("é", 500)))
	if _, line := long.Allowed("foo", "/"+strings.Repeat("é", 500)); len(line) == 0 || len(line) > maxLine+50 {
		t.Errorf("line of %d bytes: %q", len(line), line)
	}
}

func TestFromStatus(t *testing.T) {
	body := []byte("User-agent: *\nDisallow: /a\n")
	for _, c := range []struct {
		code    int
		a, root bool // allowed
	}{
		{200, false, true}, {204, false, true}, {301, true, true}, {304, true, true}, {400, true, true}, {401, true, true},
		{403, true, true}, {404, true, true}, {429, false, false}, {499, true, true}, {500, false, false}, {503, false, false},
		{599, false, false}, {600, false, false}, {100, false, false}, {0, false, false}, {-1, false, false},
	} {
		r := FromStatus(c.code, body)
		if ok, _ := r.Allowed("foo", "/a"); ok != c.a {
			t.Errorf("%d: /a is %t", c.code, ok)
		}
		ok, line := r.Allowed("foo", "/")
		if ok != c.root || !ok && !strings.Contains(line, "robots.txt") {
			t.Errorf("%d: / is %t, %q", c.code, ok, line)
		}
		if ok, _ := r.Allowed("foo", "/robots.txt"); !ok {
			t.Errorf("%d: robots.txt is denied", c.code)
		}
	}
	if ok, line := FromStatus(503, nil).Allowed("foo", "/"); ok || line != "robots.txt answered with status 503" {
		t.Errorf("%t %q", ok, line)
	}
}

func TestDelay(t *testing.T) {
	for _, c := range []struct {
		name, body, agent string
		want              time.Duration
		ok                bool
	}{
		{"seconds", "User-agent: foo\nCrawl-delay: 2\n", "foo", 2 * time.Second, true},
		{"fraction", "User-agent: foo\nCrawl-delay: 0.25\n", "foo", 250 * time.Millisecond, true},
		{"zero", "User-agent: foo\nCrawl-delay: 0\n", "foo", 0, true},
		{"after rules", "User-agent: foo\nDisallow: /\nCrawl-delay: 3 # slow\n", "foo", 3 * time.Second, true},
		{"star", "User-agent: *\nCrawl-delay: 4\n", "foo", 4 * time.Second, true},
		{"star not for an agent with a group", "User-agent: *\nCrawl-delay: 4\nDisallow:\nUser-agent: foo\nDisallow:\n", "foo", 0, false},
		{"another agent", "User-agent: bar\nCrawl-delay: 10\n\nUser-agent: *\nDisallow: /x\n", "foo", 0, false},
		{"two agents", "User-agent: a\nCrawl-delay: 1\nUser-agent: b\nCrawl-delay: 2\n", "a", time.Second, true},
		{"one list of agents", "User-agent: a\nUser-agent: b\nCrawl-delay: 2\n", "a", 2 * time.Second, true},
		{"longest of several", "User-agent: a\nCrawl-delay: 9\nAllow: /\nUser-agent: a\nCrawl-delay: 2\n", "a", 9 * time.Second, true},
		{"word", "User-agent: a\nCrawl-delay: soon\n", "a", 0, false},
		{"negative", "User-agent: a\nCrawl-delay: -1\n", "a", 0, false},
		{"NaN", "User-agent: a\nCrawl-delay: NaN\n", "a", 0, false},
		{"huge", "User-agent: a\nCrawl-delay: 1e300\n", "a", maxDelay, true},
		{"no agent", "Crawl-delay: 1\n", "a", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d, ok := Parse([]byte(c.body)).Delay(c.agent); d != c.want || ok != c.ok {
				t.Errorf("%v %t, want %v %t", d, ok, c.want, c.ok)
			}
		})
	}
	if _, ok := FromStatus(0, nil).Delay("a"); ok {
		t.Error("no response has a delay")
	}
}

func TestSitemaps(t *testing.T) {
	r := Parse([]byte("Sitemap: https://e.com/1.xml\nUser-agent: *\nsitemap:https://e.com/2.xml # two\nSITEMAP: https://e.com/1.xml\nSitemap:\n"))
	if got := fmt.Sprint(r.Sitemaps()); got != "[https://e.com/1.xml https://e.com/2.xml]" {
		t.Error(got)
	}
	if n := len(Parse([]byte(numbered("Sitemap: http://e.com/%d\n", 5000))).Sitemaps()); n != maxSitemaps {
		t.Errorf("%d sitemaps", n)
	}
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestLimit(t *testing.T) {
	head := "User-agent: *\nDisallow: /a\n"
	// A truncated line would deny more than the whole line.
	pad := strings.Repeat("#\n", (MaxBody-len(head)-len("Disallow: /\n"))/2)
	body := head + pad + "Disallow: /bbbbbbbb\nDisallow: /c\n"
	r := Parse([]byte(body))
	for path, want := range map[string]bool{"/a": false, "/bbbbbbbb": true, "/c": true, "/": true} {
		if ok, _ := r.Allowed("foo", path); ok != want {
			t.Errorf("%s: %t", path, ok)
		}
	}
	// RFC 9309 2.5: the first 500 KiB count.
	body = head + strings.Repeat("#\n", (500<<10-len(head))/2-10) + "Disallow: /late\n"
	if ok, _ := Parse([]byte(body)).Allowed("foo", "/late"); ok {
		t.Error("a rule in the first 500 KiB is not read")
	}
	// One line without line end.
	if ok, _ := Parse([]byte(strings.Repeat("Disallow: /", MaxBody/8))).Allowed("foo", "/"); !ok {
		t.Error("denied by a truncated line")
	}
}

// The work for hostile files must stay near linear in their size. The test would run for
// minutes if "*" could backtrack, or if agents times rules were stored.
func TestHostileFiles(t *testing.T) {
	path := "/" + strings.Repeat("a", 4000)
	for name, body := range map[string]string{
		"stars":        "User-agent: *\nDisallow: /" + strings.Repeat("*a", MaxBody/2-20) + "b$\n",
		"short stars":  "User-agent: *\n" + strings.Repeat("Disallow: /*a*a*a*a*a*a*a*a*b$\n", MaxBody/40),
		"bare stars":   "User-agent: *\nDisallow: " + strings.Repeat("*", MaxBody-100) + "b$\n",
		"many agents":  numbered("User-agent: a%d\n", 15000) + strings.Repeat("Disallow: /a$\n", 15000),
		"many delays":  numbered("User-agent: a%d\n", 15000) + strings.Repeat("Crawl-delay: 1\n", 15000),
		"same agent":   strings.Repeat("User-agent: *\n", 30000) + "Disallow: /b\n",
		"many groups":  strings.Repeat("User-agent: *\nDisallow: /b\n", 15000),
		"long product": "User-agent: " + strings.Repeat("a", MaxBody-100) + "\nDisallow: /\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := Parse([]byte(body))
			if ok, line := r.Allowed("foo", path); !ok {
				t.Errorf("denied by %.80q", line)
			}
			r.Delay(strings.Repeat("a/1 ", 1000))
		})
	}
}

// slowMatch is a reference implementation of a pattern, for texts without escapes.
func slowMatch(pattern, path string) bool {
	switch {
	case pattern == "":
		return true
	case pattern == "$":
		return path == ""
	case pattern[0] == '*':
		for i := range len(path) + 1 {
			if slowMatch(pattern[1:], path[i:]) {
				return true
			}
		}
		return false
	}
	return path != "" && pattern[0] == path[0] && slowMatch(pattern[1:], path[1:])
}

func FuzzMatch(f *testing.F) {
	f.Add("/a*b$", "/axxb")
	f.Add("/*a**a$$", "/aa$")
	f.Add("*?*/", "/?/")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(pattern)+len(path) > 40 || strings.ContainsAny(pattern+path, "%") || strings.Count(pattern, "*") > 5 {
			return
		}
		if got, want := newRule(1, true, pattern).matchesPath(pathOctets(path)), slowMatch(pattern, path); got != want {
			t.Errorf("pattern %q, path %q: %t, want %t", pattern, path, got, want)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("\ufeffUser-agent: a/1\nAllow: /%62*$ # x\r\nCrawl-delay: 1e9\rSitemap: x"), "a/2 (b/1)", "/b?c=%2F")
	f.Add([]byte("user-agent:*\ndisallow:*\n"), "", "")
	f.Fuzz(func(t *testing.T, body []byte, agent, path string) {
		r := Parse(body)
		ok, line := r.Allowed(agent, path)
		if !ok && line == "" {
			t.Error("denied without a line")
		}
		if d, ok := r.Delay(agent); d < 0 || d > maxDelay || !ok && d != 0 {
			t.Errorf("delay %v", d)
		}
		if ok, _ := r.Allowed(agent, "/robots.txt"); !ok {
			t.Error("robots.txt is denied")
		}
	})
}

func BenchmarkAllowed(b *testing.B) {
	r := Parse([]byte("User-agent: *\n" + numbered("Disallow: /private%d/*.html$\n", 100)))
	b.ReportAllocs()
	for b.Loop() {
		r.Allowed("HCEbot/1.0", "/articles/some-long-title-of-article-12345.html?ref=home")
	}
}
