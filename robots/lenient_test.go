package robots

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// inUTF16 returns text in UTF-16, little-endian unless big.
func inUTF16(text string, big bool) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(text)) {
		if big {
			b.WriteByte(byte(u >> 8))
		}
		b.WriteByte(byte(u))
		if !big {
			b.WriteByte(byte(u >> 8))
		}
	}
	return b.String()
}

// Files that break RFC 9309 and are read all the same, as Google's parser reads them.
func TestRFC9309Lenient(t *testing.T) {
	const yes, no = true, false
	type lenientCase struct {
		name, body, agent, path string
		want                    bool
	}
	table := []lenientCase{
		{"*Bot* is not *", "User-agent: *Bot*\nDisallow: /", "foo", "/a", yes},
		{"*Bot* does not name its bot", "User-agent: *Bot*\nDisallow: /", "bot", "/a", yes},
		{"*Bot* begins a group of its own", "User-agent: foo\nDisallow: /b\nUser-agent: *Bot*\nDisallow: /a", "foo", "/a", yes},
		{"*Bot* does not take the group of * away", "User-agent: *Bot*\nDisallow: /b\nUser-agent: *\nDisallow: /a", "foo", "/a", no},
		{"** is not *", "User-agent: **\nDisallow: /", "foo", "/a", yes},
		{"*/1.0 is not *", "User-agent: */1.0\nDisallow: /", "foo", "/a", yes},
		{"* before a space", "User-agent: * (all)\nDisallow: /", "foo", "/a", no},
		{"* before a comment", "User-agent: *# all\nDisallow: /", "foo", "/a", no},
		{"Bot* is Bot", "User-agent: Bot*\nDisallow: /", "bot", "/a", no},

		{"agent and rule without colon", "User-agent foo\nDisallow /a", "foo", "/a", no},
		{"tab in place of the colon", "User-agent\tfoo\nDisallow\t \t/a", "foo", "/a", no},
		{"no colon, comment after the value", "User-agent foo # me\nDisallow /a # this", "foo", "/a", no},
		{"no colon, spaces around", "  User-agent  foo  \n  Disallow  /a  ", "foo", "/a", no},
		{"no colon, three words", "User-agent: foo\nDisallow /a /b", "foo", "/a", yes},
		{"no colon, no value", "User-agent: foo\nDisallow", "foo", "/a", yes},
		{"no colon ends the list of agents", "User-agent foo\nDisallow /b\nUser-agent bar\nDisallow /a", "foo", "/a", yes},
		{"no colon, star", "User-agent *\nDisallow /a", "foo", "/a", no},
		{"no colon, Allow", "User-agent: foo\nDisallow: /\nAllow /a", "foo", "/a", yes},

		{"key longer than disallow", "User-agent: foo\nDisallowed: /a", "foo", "/a", no},
		{"key longer than allow", "User-agent: foo\nDisallow: /\nAllows: /a", "foo", "/a", yes},
		{"key longer than user-agent", "User-agents: foo\nDisallow: /a", "foo", "/a", no},
		{"word before the key", "User-agent: foo\nNo-disallow: /a", "foo", "/a", yes},
		{"prefix of a key", "User-agent: foo\nDisall: /a", "foo", "/a", yes},
		{"empty key", "User-agent: foo\n: /a", "foo", "/a", yes},
		{"unknown misspelling", "User-agent: foo\nDisalllow: /a", "foo", "/a", yes},
	}
	for _, key := range []string{"dissallow", "dissalow", "disalow", "diasllow", "disallaw", "DisAlow"} {
		table = append(table, lenientCase{"misspelling " + key, "User-agent: foo\n" + key + ": /a", "foo", "/a", no})
	}
	for _, key := range []string{"useragent", "user agent", "User Agent", "USERAGENT"} {
		table = append(table, lenientCase{"misspelling " + key, key + ": foo\nDisallow: /a", "foo", "/a", no})
	}
	for _, big := range []bool{false, true} {
		file := inUTF16("\ufeffUser-agent: foo\r\nDisallow: /ツ\r\nDisallow: /😀\n", big)
		for _, path := range []string{"/ツ", "/%E3%83%84", "/😀"} {
			table = append(table, lenientCase{fmt.Sprintf("UTF-16, big-endian %t, %s", big, path), file, "foo", path, no})
		}
		table = append(table,
			lenientCase{fmt.Sprintf("UTF-16, big-endian %t, another path", big), file, "foo", "/a", yes},
			lenientCase{fmt.Sprintf("UTF-16, big-endian %t, odd length", big), file + "x", "foo", "/ツ", no},
			lenientCase{fmt.Sprintf("UTF-16, big-endian %t, unpaired surrogate", big), file + inUTF16("Disallow: /", big) + "\xd8\xd8" + inUTF16("\nDisallow: /b", big), "foo", "/b", no})
	}
	passed := 0
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			if got, line := Parse([]byte(c.body)).Allowed(c.agent, c.path); got != c.want {
				t.Errorf("%s for %s: %t (%q), want %t", c.path, c.agent, got, line, c.want)
				return
			}
			passed++
		})
	}
	t.Logf("judge: robots.txt that breaks RFC 9309: %d of %d own cases pass", passed, len(table))
}

func TestLenientKeys(t *testing.T) {
	for _, key := range []string{"Crawl-delay:", "CrawlDelay:", "crawl delay:", "Crawl-delay", "crawldelay"} {
		if d, ok := Parse([]byte("User-agent: foo\n" + key + " 2")).Delay("foo"); !ok || d != 2*time.Second {
			t.Errorf("%q: %v %t", key, d, ok)
		}
	}
	for line, want := range map[string]string{
		"Site-map: https://e.com/1.xml": "[https://e.com/1.xml]",
		"sitemaps: /1.xml":              "[/1.xml]",
		"Sitemap /1.xml":                "[/1.xml]",
		"Sitemap https://e.com/1.xml":   "[//e.com/1.xml]", // the colon of the address ends the key
	} {
		if got := fmt.Sprint(Parse([]byte(line)).Sitemaps()); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
	// The limit counts bytes of the file. A truncated line is not read.
	file := inUTF16("\ufeffUser-agent: *\nDisallow: /a\n"+strings.Repeat("#\n", MaxBody/4-40)+"Disallow: /bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n", false)
	for path, want := range map[string]bool{"/a": false, "/b": true, "/bbbbbbbbbb": true} {
		if ok, _ := Parse([]byte(file)).Allowed("foo", path); ok != want {
			t.Errorf("%s: %t", path, ok)
		}
	}
}
