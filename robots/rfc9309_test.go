package robots

import (
	"fmt"
	"strings"
	"testing"
)

// Each case is one sentence of RFC 9309 as a file, a path and the expected answer.
func TestRFC9309(t *testing.T) {
	cases, passed := 0, 0
	const yes, no = true, false
	big := strings.Repeat("# filler\n", 500<<10/9-10)
	for _, c := range []struct {
		section, name, body, agent, path string
		want                             bool
	}{
		{"2.1", "group of agent and rules", "User-agent: foo\nDisallow: /a", "foo", "/a", no},
		{"2.1", "allowed without a matching rule", "User-agent: foo\nDisallow: /a", "foo", "/b", yes},
		{"2.1", "empty file", "", "foo", "/a", yes},
		{"2.2", "CR ends a line", "User-agent: foo\rDisallow: /a\r", "foo", "/a", no},
		{"2.2", "LF ends a line", "User-agent: foo\nDisallow: /a\n", "foo", "/a", no},
		{"2.2", "CRLF ends one line", "User-agent: foo\r\nDisallow: /a\r\n", "foo", "/a", no},
		{"2.2", "all three line ends", "User-agent: foo\rDisallow: /a\nDisallow: /b\r\nDisallow: /c", "foo", "/c", no},
		{"2.2", "last line without line end", "User-agent: foo\nDisallow: /a", "foo", "/a", no},
		{"2.2", "byte order mark", "\ufeffUser-agent: foo\nDisallow: /a", "foo", "/a", no},
		{"2.2", "byte order mark inside the file", "User-agent: bar\n\ufeffUser-agent: foo\nDisallow: /a", "foo", "/a", yes},
		{"2.2", "blanks before the key", " \tUser-agent: foo\n \tDisallow: /a", "foo", "/a", no},
		{"2.2", "blanks before the colon", "User-agent \t: foo\nDisallow \t: /a", "foo", "/a", no},
		{"2.2", "blanks after the value", "User-agent: foo \t\nDisallow: /a \t\n", "foo", "/a", no},
		{"2.2", "no blank after the colon", "User-agent:foo\nDisallow:/a", "foo", "/a", no},
		{"2.2", "comment after an agent", "User-agent: foo#bar\nDisallow: /a", "foo", "/a", no},
		{"2.2", "comment after a rule", "User-agent: foo\nDisallow: /a#b", "foo", "/ac", no},
		{"2.2", "comment line", "User-agent: foo\n # Allow: /a\nDisallow: /a", "foo", "/a", no},
		{"2.2", "comment between agent and rule", "User-agent: foo\n# x\nDisallow: /a", "foo", "/a", no},
		{"2.2", "comment between agents", "User-agent: foo\n# x\nUser-agent: bar\nDisallow: /a", "foo", "/a", no},
		{"2.2", "rule with only a comment", "User-agent: foo\nDisallow: #/a", "foo", "/a", yes},
		{"2.2", "empty line inside a group", "User-agent: foo\n\nDisallow: /a\n\nDisallow: /b", "foo", "/b", no},
		{"2.2", "empty line between agents", "User-agent: foo\n\nUser-agent: bar\nDisallow: /a", "foo", "/a", no},
		{"2.2", "keys in mixed case", "uSER-aGENT: foo\ndISALLOW: /a\naLLOW: /ab", "foo", "/ab", yes},
		{"2.2", "sentence without colon", "User-agent: foo\nDisallow all of /b\nDisallow: /a", "foo", "/b", yes},
		{"2.2", "line without colon inside a group", "User-agent: foo\nnonsense\nDisallow: /a", "foo", "/a", no},
		{"2.2", "unknown key", "User-agent: foo\nForbid: /a", "foo", "/a", yes},
		{"2.2", "invalid UTF-8", "User-agent: foo\nDisallow: /\xc3\x28", "foo", "/%C3(", no},
		{"2.2", "line with NUL", "User-agent: foo\n\x00\nDisallow: /a", "foo", "/a", no},

		{"2.2.1", "agent in upper case", "User-agent: FOO\nDisallow: /a", "foo", "/a", no},
		{"2.2.1", "own name in mixed case", "User-agent: foo\nDisallow: /a", "FoO", "/a", no},
		{"2.2.1", "hyphen and underline in the name", "User-agent: foo-b_r\nDisallow: /a", "foo-b_r", "/a", no},
		{"2.2.1", "longer name in the file", "User-agent: foobar\nDisallow: /a", "foo", "/a", yes},
		{"2.2.1", "longer name with hyphen in the file", "User-agent: foo-news\nDisallow: /a", "foo", "/a", yes},
		{"2.2.1", "shorter name in the file", "User-agent: foo\nDisallow: /a", "foobar", "/a", yes},
		{"2.2.1", "shorter name before a hyphen in the file", "User-agent: foo\nDisallow: /a", "foo-news", "/a", yes},
		{"2.2.1", "version in the User-Agent", "User-agent: foo\nDisallow: /a", "foo/2.1", "/a", no},
		{"2.2.1", "version in the file", "User-agent: foo/9\nDisallow: /a", "foo/2.1", "/a", no},
		{"2.2.1", "name inside a User-Agent", "User-agent: foo\nDisallow: /a", "Mozilla/5.0 (compatible; foo/0.1; https://x.example/bot.html)", "/a", no},
		{"2.2.1", "two groups of one agent", "User-agent: foo\nDisallow: /a\nUser-agent: foo\nDisallow: /b", "foo", "/b", no},
		{"2.2.1", "two groups with another between", "User-agent: foo\nDisallow: /a\nUser-agent: bar\nDisallow: /c\nUser-agent: FOO\nDisallow: /b", "foo", "/a", no},
		{"2.2.1", "group of another agent between two groups", "User-agent: foo\nDisallow: /a\nUser-agent: bar\nDisallow: /c\nUser-agent: FOO\nDisallow: /b", "foo", "/c", yes},
		{"2.2.1", "longest match over merged groups", "User-agent: foo\nDisallow: /a\nUser-agent: foo\nAllow: /a/b", "foo", "/a/b", yes},
		{"2.2.1", "several agents, the first", "User-agent: foo\nUser-agent: bar\nDisallow: /a", "foo", "/a", no},
		{"2.2.1", "several agents, the last", "User-agent: foo\nUser-agent: bar\nDisallow: /a", "bar", "/a", no},
		{"2.2.1", "several agents, another agent", "User-agent: foo\nUser-agent: bar\nDisallow: /a", "baz", "/a", yes},
		{"2.2.1", "star and a name", "User-agent: *\nUser-agent: bar\nDisallow: /a", "foo", "/a", no},
		{"2.2.1", "star for an agent without a group", "User-agent: bar\nDisallow: /b\nUser-agent: *\nDisallow: /a", "foo", "/a", no},
		{"2.2.1", "star not for an agent with a group", "User-agent: foo\nDisallow: /b\nUser-agent: *\nDisallow: /a", "foo", "/a", yes},
		{"2.2.1", "star first, own group later", "User-agent: *\nDisallow: /\nUser-agent: foo\nDisallow: /b", "foo", "/a", yes},
		{"2.2.1", "two groups of star", "User-agent: *\nDisallow: /a\nUser-agent: *\nDisallow: /b", "foo", "/a", no},
		{"2.2.1", "no group and no star", "User-agent: bar\nDisallow: /", "foo", "/a", yes},
		{"2.2.1", "rules before any group", "Disallow: /a\nUser-agent: *\nDisallow: /b", "foo", "/a", yes},
		{"2.2.1", "own group without rules", "User-agent: *\nDisallow: /\nUser-agent: foo", "foo", "/a", yes},

		{"2.2.2", "case of the path", "User-agent: foo\nDisallow: /A", "foo", "/a", yes},
		{"2.2.2", "match from the first octet", "User-agent: foo\nDisallow: /b", "foo", "/a/b", yes},
		{"2.2.2", "prefix of a segment", "User-agent: foo\nDisallow: /ab", "foo", "/abc", no},
		{"2.2.2", "slash at the end", "User-agent: foo\nDisallow: /a/", "foo", "/a", yes},
		{"2.2.2", "longest match is an allow", "User-agent: foo\nDisallow: /a\nAllow: /a/b", "foo", "/a/b/c", yes},
		{"2.2.2", "longest match is a disallow", "User-agent: foo\nAllow: /a\nDisallow: /a/b", "foo", "/a/b/c", no},
		{"2.2.2", "longest match first in the file", "User-agent: foo\nAllow: /a/b\nDisallow: /a", "foo", "/a/b", yes},
		{"2.2.2", "equal rules: allow", "User-agent: foo\nDisallow: /a\nAllow: /a", "foo", "/a", yes},
		{"2.2.2", "equal rules: allow, the other order", "User-agent: foo\nAllow: /a\nDisallow: /a", "foo", "/a", yes},
		{"2.2.2", "equal octets, one escaped: allow", "User-agent: foo\nDisallow: /%61\nAllow: /a", "foo", "/a", yes},
		{"2.2.2", "length in octets, not in escapes", "User-agent: foo\nAllow: /%61%61\nDisallow: /aaa", "foo", "/aaa", no},
		{"2.2.2", "length in octets, not in characters", "User-agent: foo\nAllow: /é\nDisallow: /%C3%A9", "foo", "/é", yes},
		{"2.2.2", "empty disallow", "User-agent: foo\nDisallow:", "foo", "/a", yes},
		{"2.2.2", "empty allow", "User-agent: foo\nAllow:\nDisallow: /a", "foo", "/a", no},
		{"2.2.2", "empty disallow and another", "User-agent: foo\nDisallow:\nDisallow: /a", "foo", "/a", no},
		{"2.2.2", "the root", "User-agent: foo\nDisallow: /", "foo", "/", no},
		{"2.2.2", "the empty path is the root", "User-agent: foo\nDisallow: /", "foo", "", no},
		{"2.2.2", "/robots.txt is allowed", "User-agent: foo\nDisallow: /", "foo", "/robots.txt", yes},
		{"2.2.2", "/robots.txt by name is allowed", "User-agent: *\nDisallow: /robots.txt", "foo", "/robots.txt", yes},
		{"2.2.2", "UTF-8 in the rule, escapes in the path", "User-agent: foo\nDisallow: /ツ", "foo", "/%E3%83%84", no},
		{"2.2.2", "escapes in the rule, UTF-8 in the path", "User-agent: foo\nDisallow: /%E3%83%84", "foo", "/ツ", no},
		{"2.2.2", "case of escapes", "User-agent: foo\nDisallow: /%e3%83%84", "foo", "/%E3%83%84", no},
		{"2.2.2", "escaped letters in the rule", "User-agent: foo\nDisallow: /bar/%62%61%7A", "foo", "/bar/baz", no},
		{"2.2.2", "escaped letters in the path", "User-agent: foo\nDisallow: /bar/baz", "foo", "/bar/%62%61%7A", no},
		{"2.2.2", "%2F in the rule is not a slash", "User-agent: foo\nDisallow: /a%2Fb", "foo", "/a/b", yes},
		{"2.2.2", "%2F in the path is not a slash", "User-agent: foo\nDisallow: /a/b", "foo", "/a%2Fb", yes},
		{"2.2.2", "%2F equals %2f", "User-agent: foo\nDisallow: /a%2Fb", "foo", "/a%2fb", no},
		{"2.2.2", "reserved octets in a query", "User-agent: foo\nDisallow: /b?c=http://x", "foo", "/b?c=http%3A%2F%2Fx", no},
		{"2.2.2", "the query is compared", "User-agent: foo\nDisallow: /b?c=1", "foo", "/b?c=2", yes},
		{"2.2.2", "truncated escape", "User-agent: foo\nDisallow: /a%4", "foo", "/a%4", no},

		{"2.2.3", "star matches nothing", "User-agent: foo\nDisallow: /a*b", "foo", "/ab", no},
		{"2.2.3", "star matches slashes", "User-agent: foo\nDisallow: /a*b", "foo", "/a/x/y/b", no},
		{"2.2.3", "star at the start", "User-agent: foo\nDisallow: *.gif", "foo", "/a/b.gif?c", no},
		{"2.2.3", "star at the end", "User-agent: foo\nDisallow: /a*", "foo", "/a", no},
		{"2.2.3", "two stars", "User-agent: foo\nDisallow: /*a*b", "foo", "/xaxb", no},
		{"2.2.3", "two stars, the other order", "User-agent: foo\nDisallow: /*a*b", "foo", "/xbxa", yes},
		{"2.2.3", "dollar ends the path", "User-agent: foo\nDisallow: /a$", "foo", "/ab", yes},
		{"2.2.3", "dollar at the end of the path", "User-agent: foo\nDisallow: /a$", "foo", "/a", no},
		{"2.2.3", "dollar before a query", "User-agent: foo\nDisallow: /a$", "foo", "/a?b", yes},
		{"2.2.3", "star and dollar", "User-agent: foo\nDisallow: /*.gif$", "foo", "/a.gif.gif", no},
		{"2.2.3", "dollar inside is literal", "User-agent: foo\nDisallow: /a$b", "foo", "/a$b", no},
		{"2.2.3", "escaped star is literal", "User-agent: foo\nDisallow: /a%2Ab", "foo", "/axb", yes},
		{"2.2.3", "escaped star in the path", "User-agent: foo\nDisallow: /a%2Ab", "foo", "/a*b", no},
		{"2.2.3", "escaped dollar is literal", "User-agent: foo\nDisallow: /a%24", "foo", "/a$b", no},
		{"2.2.3", "escaped dollar does not end the path", "User-agent: foo\nDisallow: /a%24", "foo", "/a", yes},
		{"2.2.3", "number sign begins a comment", "User-agent: foo\nDisallow: /a # $", "foo", "/ab", no},

		{"2.2.4", "Sitemap does not end a group", "User-agent: foo\nSitemap: https://x.example/s.xml\nDisallow: /a", "foo", "/a", no},
		{"2.2.4", "Sitemap between rules", "User-agent: foo\nDisallow: /b\nSitemap: https://x.example/s.xml\nDisallow: /a", "foo", "/a", no},
		{"2.2.4", "Sitemap between agents", "User-agent: foo\nSitemap: https://x.example/s.xml\nUser-agent: bar\nDisallow: /a", "foo", "/a", no},
		{"2.2.4", "unknown record between agents", "User-agent: foo\nHost: x\nUser-agent: bar\nDisallow: /a", "foo", "/a", no},

		{"2.4", "markup instead of the file", "<html>\n<a href=\"/x\">Disallow: /</a>", "foo", "/a", yes},
		{"2.4", "valid lines between invalid ones", "<p>\nUser-agent: foo\n<p>\nDisallow: /a\n</p>", "foo", "/a", no},
		{"2.5", "500 KiB are read", "User-agent: foo\n" + big + "Disallow: /a\n", "foo", "/a", no},
		{"2.5", "lines beyond the limit are not read", "User-agent: foo\n" + big + big + "Disallow: /a\n", "foo", "/a", yes},
	} {
		t.Run(c.section+" "+c.name, func(t *testing.T) {
			cases++
			if got, line := Parse([]byte(c.body)).Allowed(c.agent, c.path); got != c.want {
				t.Errorf("%s for %s: %t (%q), want %t", c.path, c.agent, got, line, c.want)
				return
			}
			passed++
		})
	}
	for _, c := range []struct {
		section string
		code    int
		want    bool
	}{{"2.3.1.1", 200, no}, {"2.3.1.2", 301, yes}, {"2.3.1.3", 404, yes}, {"2.3.1.3", 403, yes}, {"2.3.1.4", 500, no}, {"2.3.1.4", 503, no}, {"2.3.1.4", 0, no}} {
		t.Run(fmt.Sprintf("%s status %d", c.section, c.code), func(t *testing.T) {
			cases++
			if got, _ := FromStatus(c.code, []byte("User-agent: *\nDisallow: /a")).Allowed("foo", "/a"); got != c.want {
				t.Errorf("allowed %t", got)
				return
			}
			passed++
		})
	}
	t.Logf("judge: RFC 9309, line by line: %d of %d cases pass", passed, cases)
}
