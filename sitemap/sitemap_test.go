package sitemap

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

func urlset(inside string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + inside + `</urlset>`
}

func locs(s Sitemap) string {
	var list []string
	for _, e := range s.Entries {
		list = append(list, e.Loc)
	}
	return strings.Join(list, " ")
}

func TestParse(t *testing.T) {
	const one = `<url><loc>http://h/1</loc></url>`
	for name, tt := range map[string]struct {
		in, want string
		index    bool
	}{
		"pages":                  {in: urlset(one + `<url><loc>http://h/2</loc></url>`), want: "http://h/1 http://h/2"},
		"index":                  {in: `<sitemapindex><sitemap><loc>http://h/1.xml</loc></sitemap></sitemapindex>`, want: "http://h/1.xml", index: true},
		"index named urlset":     {in: urlset(`<sitemap><loc>http://h/1.xml</loc></sitemap>` + one), want: "http://h/1.xml", index: true},
		"empty index":            {in: `<sitemapindex/>`, index: true},
		"empty":                  {in: urlset("")},
		"prefix":                 {in: `<s:urlset xmlns:s="x"><s:url><s:loc>http://h/1</s:loc></s:url></s:urlset>`, want: "http://h/1"},
		"undeclared prefix":      {in: `<s:urlset><s:url><s:loc>http://h/1</s:loc></s:url></s:urlset>`, want: "http://h/1"},
		"upper case":             {in: `<URLSET><URL><LOC>http://h/1</LOC></URL></URLSET>`, want: "http://h/1"},
		"blanks":                 {in: urlset("<url><loc>\n\t http://h/1 \n</loc></url>"), want: "http://h/1"},
		"cdata":                  {in: urlset(`<url><loc><![CDATA[http://h/?a=1&b=2]]></loc></url>`), want: "http://h/?a=1&b=2"},
		"entities":               {in: urlset(`<url><loc>http://h/?a=1&amp;b=2&c=&#x33;&copy=4</loc></url>`), want: "http://h/?a=1&b=2&c=3&copy=4"},
		"missing loc":            {in: urlset(`<url><lastmod>2024</lastmod></url><url><loc/></url><url/>` + one), want: "http://h/1"},
		"two locs":               {in: urlset(`<url><loc> </loc><loc>http://h/1</loc><loc>http://h/2</loc></url>`), want: "http://h/1 http://h/2"},
		"text instead of loc":    {in: `<sitemapindex><sitemap> http://h/1.xml </sitemap></sitemapindex>`, want: "http://h/1.xml", index: true},
		"entries without root":   {in: one, want: "http://h/1"},
		"cut between entries":    {in: `<urlset>` + one + `<url>`, want: "http://h/1"},
		"cut in a loc":           {in: `<urlset>` + one + `<url><loc>http://h/22`, want: "http://h/1"},
		"cut after a loc":        {in: `<urlset>` + one + `<url><loc>http://h/2</loc><lastmo`, want: "http://h/1 http://h/2"},
		"cut in a text":          {in: `<sitemapindex><sitemap>http://h/1`, index: true},
		"unclosed url":           {in: urlset(`<url><loc>http://h/1</loc><url><loc>http://h/2</loc></url>`), want: "http://h/1 http://h/2"},
		"unclosed loc":           {in: urlset(`<url><loc>http://h/1</url><url><loc>http://h/2</loc></url>`), want: "http://h/1 http://h/2"},
		"broken entry":           {in: urlset(one + `<url><loc>http://h/2</lok></url></x><url a=><loc>http://h/3</loc></url>`), want: "http://h/1 http://h/2 http://h/3"},
		"comment":                {in: urlset(`<!-- <url><loc>http://h/0</loc></url> -->` + one), want: "http://h/1"},
		"long loc":               {in: urlset(`<url><loc>http://h/` + strings.Repeat("x", maxFieldBytes) + `</loc></url>` + one), want: "http://h/1"},
		"markup before the root": {in: "\n<br/>Warning: x\n" + urlset(one), want: "http://h/1"},
		"another charset":        {in: "<?xml version=\"1.0\" encoding=\"windows-1251\"?><urlset><url><loc>http://h/\xe4</loc></url></urlset>", want: "http://h/д"},
		"text":                   {in: "http://h/1\r\nhttp://h/2\n\n# x\nHTTPS://h/3", want: "http://h/1 http://h/2 HTTPS://h/3"},
		"text with a mark":       {in: "\ufeffhttp://h/1\n", want: "http://h/1"},
		"text with CR":           {in: "http://h/1\rhttp://h/2", want: "http://h/1 http://h/2"},
		"text in UTF-16":         {in: inUTF16("\ufeffhttp://h/é\nhttp://h/2"), want: "http://h/é http://h/2"},
		"XML in UTF-16":          {in: inUTF16(urlset(one)), want: "http://h/1"},
		"bad lines":              {in: "http://h/1\n/relative\nhttp://h/with blank\n\x00http://h/2", want: "http://h/1"},
	} {
		t.Run(name, func(t *testing.T) {
			for layers, in := range [][]byte{[]byte(tt.in), packed(t, []byte(tt.in)), packed(t, packed(t, []byte(tt.in)))} {
				s, err := Parse(in, Options{})
				if err != nil {
					t.Fatal(err)
				}
				if got := locs(s); got != tt.want || s.Index != tt.index || s.Cut {
					t.Errorf("%d layers of gzip: got %q, index %v, cut %v, want %q, %v", layers, got, s.Index, s.Cut, tt.want, tt.index)
				}
			}
		})
	}
}

// Sitemaps with several addresses in one entry, and addresses without a scheme.
func TestAddresses(t *testing.T) {
	const own = "https://www.farm.example.org:8443/maps/s.xml"
	loc := func(text string) string { return urlset("<url><loc>" + text + "</loc></url>") }
	passed := 0
	table := []struct {
		name, url, in, want string
		index               bool
	}{
		{"several loc in a sitemap", own, `<sitemapindex><sitemap><loc>http://h/1</loc><loc>http://h/2</loc><lastmod>2024</lastmod><loc>http://h/3</loc></sitemap><sitemap><loc>http://h/4</loc></sitemap></sitemapindex>`, "http://h/1 http://h/2 http://h/3 http://h/4", true},
		{"several loc in a url", own, urlset(`<url><loc>http://h/1</loc><loc>http://h/2</loc></url>`), "http://h/1 http://h/2", false},
		{"empty loc among several", own, urlset(`<url><loc/><loc>http://h/1</loc><loc> </loc><loc>http://h/2</loc></url>`), "http://h/1 http://h/2", false},
		{"cut in the second loc", own, `<urlset><url><loc>http://h/1</loc><loc>http://h/22`, "http://h/1", false},
		{"loc of an image among several", own, urlset(`<url><loc>http://h/1</loc><image:image><image:loc>http://h/i</image:loc></image:image><loc>http://h/2</loc></url>`), "http://h/1 http://h/2", false},
		{"own host", own, loc("www.farm.example.org:8443/a?b#c"), "https://www.farm.example.org:8443/a?b#c", false},
		{"own host without a path", own, loc("WWW.Farm.example.org"), "https://WWW.Farm.example.org", false},
		{"another host of the site", own, loc("blog.example.org/a"), "https://blog.example.org/a", false},
		{"registrable domain", own, loc("example.org"), "https://example.org", false},
		{"begins with www", own, loc("www.other.example/a"), "https://www.other.example/a", false},
		{"another site with a path", own, loc("other.com/a"), "https://other.com/a", false},
		{"two slashes", own, loc("//other.example/a"), "https://other.example/a", false},
		{"address in the query", own, loc("example.org/?u=http://x/"), "https://example.org/?u=http://x/", false},
		{"non-ASCII name", own, loc("www.höfe.example/ä"), "https://www.höfe.example/ä", false},
		{"IPv4 address with port", "http://127.0.0.1:8080/sitemap.xml", loc("127.0.0.1:8080/a"), "http://127.0.0.1:8080/a", false},
		{"name without a dot", "http://localhost/sitemap.xml", loc("localhost:80/a"), "http://localhost:80/a", false},
		{"sitemap with a user", "http://u:p@farm.example/s.xml", loc("farm.example/a"), "http://farm.example/a", false},
		{"unknown sitemap", "", loc("www.farm.example/a"), "http://www.farm.example/a", false},
		{"file", own, loc("page.html"), "page.html", false},
		{"file that is a domain elsewhere", own, loc("data.zip"), "data.zip", false},
		{"path", own, loc("news/page.html"), "news/page.html", false},
		{"rooted path", own, loc("/www.example.org/a"), "/www.example.org/a", false},
		{"parent", own, loc("../a.html"), "../a.html", false},
		{"query", own, loc("?page=www.example.org/"), "?page=www.example.org/", false},
		{"another scheme", own, loc("mailto:farmer@example.org"), "mailto:farmer@example.org", false},
		{"scheme in upper case", own, loc("HTTP://example.org/a"), "HTTP://example.org/a", false},
		{"port without a number", own, loc("example.org:/a"), "example.org:/a", false},
		{"index without schemes", own, `<sitemapindex><sitemap><loc>www.farm.example.org/1.xml</loc><loc>//farm.example.org/2.xml</loc></sitemap></sitemapindex>`, "https://www.farm.example.org/1.xml https://farm.example.org/2.xml", true},
		{"text without schemes", own, "www.farm.example.org:8443/a\r\nblog.example.org/b\n\nhttp://h/c\n//example.org/d", "https://www.farm.example.org:8443/a https://blog.example.org/b http://h/c https://example.org/d", false},
		{"text with other lines", own, "# example.org/0\nexample.org/1\nall of www.example.org/2\npage.html\n/rooted\nexample.org/<b>\n", "https://example.org/1", false},
	}
	for _, tt := range table {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Parse([]byte(tt.in), Options{URL: tt.url})
			if got := locs(s); err != nil || got != tt.want || s.Index != tt.index || s.Cut {
				t.Errorf("got %q, index %v, cut %v, %v; want %q, %v", got, s.Index, s.Cut, err, tt.want, tt.index)
				return
			}
			passed++
		})
	}
	t.Logf("judge: addresses in sitemaps: %d of %d own cases pass", passed, len(table))
	if _, err := Parse([]byte("Version 1.0\nREADME.md\n"), Options{URL: own}); !errors.Is(err, ErrNoSitemap) {
		t.Errorf("a text without addresses: %v", err)
	}
	many := "<urlset><url>" + strings.Repeat("<loc>http://h/1</loc>", 10) + "</url></urlset>"
	for limit, cut := range map[int]bool{4: true, 9: true, 10: false} {
		if s, err := Parse([]byte(many), Options{MaxEntries: limit}); err != nil || len(s.Entries) != limit || s.Cut != cut {
			t.Errorf("limit %d: %d entries, cut %v, %v", limit, len(s.Entries), s.Cut, err)
		}
	}
}

func inUTF16(s string) string {
	var b bytes.Buffer
	for _, u := range utf16.Encode([]rune(s)) {
		b.WriteByte(byte(u))
		b.WriteByte(byte(u >> 8))
	}
	return b.String()
}

func packed(t testing.TB, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(body)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFields(t *testing.T) {
	in := urlset(`<url>
	 <loc>http://h/1</loc><lastmod> 2024-03-05T18:07:08+09:00 </lastmod><changefreq>Daily</changefreq><priority>0.8</priority>
	 <image:image><image:loc>http://h/1.jpg</image:loc><image:title>x</image:title></image:image>
	 <image:image><image:loc><![CDATA[http://h/2.jpg]]></image:loc></image:image>
	 <xhtml:link rel="alternate" hreflang="de" href="http://h/de?a=1&amp;b=2"/><xhtml:link rel="other" href="http://h/no"/>
	 <video:video><video:loc>http://h/no</video:loc></video:video>
	 </url><url><image:loc>http://h/no</image:loc><loc>http://h/2</loc><priority>2</priority><changefreq>sometimes</changefreq><lastmod>soon</lastmod>
	 <news:news><news:publication_date>2024-03-05</news:publication_date></news:news></url>
	 <url><loc>http://h/3</loc><priority>0,5</priority></url><url><loc>http://h/4</loc><priority>NaN</priority></url>`)
	s, err := Parse([]byte(in), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(s.Entries)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"Loc":"http://h/1","LastMod":"2024-03-05T09:07:08Z","Priority":0.8},` +
		`{"Loc":"http://h/2","LastMod":"2024-03-05T00:00:00Z","Priority":-1},` +
		`{"Loc":"http://h/3","LastMod":"0001-01-01T00:00:00Z","Priority":0.5},` +
		`{"Loc":"http://h/4","LastMod":"0001-01-01T00:00:00Z","Priority":-1}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestParseTime(t *testing.T) {
	for in, want := range map[string]string{
		"2024": "2024-01-01T00:00:00Z", "2024-03": "2024-03-01T00:00:00Z", "2024-03-05": "2024-03-05T00:00:00Z",
		"2024-03-05T09:07Z": "2024-03-05T09:07:00Z", "2024-03-05T18:07+09:00": "2024-03-05T09:07:00Z",
		"2024-03-05T09:07:08Z": "2024-03-05T09:07:08Z", "2024-03-05T18:07:08.5+09:00": "2024-03-05T09:07:08.5Z",
		"2024-03-05T09:07:08": "2024-03-05T09:07:08Z", "2024-03-05 18:07:08 +0900": "2024-03-05T09:07:08Z",
		"2024-03-05t09:07:08z": "2024-03-05T09:07:08Z", "2024-03-05T18:07:08+09": "2024-03-05T09:07:08Z",
		"2024-03-05 09:07": "2024-03-05T09:07:00Z", "2024-03-05T09:07:08,25Z": "2024-03-05T09:07:08.25Z", "20240305": "2024-03-05T00:00:00Z",
		"Tue, 05 Mar 2024 09:07:08 GMT": "2024-03-05T09:07:08Z",
		"0001-01-01T00:00:00Z":          "", "": "", "now": "", "2024-13-01": "", "2024-03-05T25:00:00Z": "", "-": "", "9": "",
	} {
		got := ""
		if at := parseTime(in); !at.IsZero() {
			got = at.Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for in, want := range map[string]error{
		"":                                     ErrNoSitemap,
		"hello":                                ErrNoSitemap,
		"<html><url><loc>x</loc></url></html>": ErrNoSitemap,
		"<x/>":                                 ErrNoSitemap,
		"\x1f\x8b":                             ErrNoSitemap,
		"\x1f\x8bxxxxxxxxxxxxxxxx":             ErrNoSitemap,
		"<?xml version='1.0'?><rss/>":          ErrFeed,
		"<feed xmlns='x'/>":                    ErrFeed,
	} {
		if _, err := Parse([]byte(in), Options{}); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", in, err, want)
		}
	}
}

func TestLimits(t *testing.T) {
	many := urlset(strings.Repeat(`<url><loc>http://h/1</loc></url>`, 10))
	if s, err := Parse([]byte(many), Options{MaxEntries: 4}); err != nil || len(s.Entries) != 4 || !s.Cut {
		t.Errorf("entries: %v, %d, cut %v", err, len(s.Entries), s.Cut)
	}
	if s, err := Parse([]byte(many), Options{MaxEntries: 10}); err != nil || len(s.Entries) != 10 || s.Cut {
		t.Errorf("exactly MaxEntries: %v, %d, cut %v", err, len(s.Entries), s.Cut)
	}
	if s, err := Parse(packed(t, []byte(many)), Options{MaxBytes: 200}); err != nil || len(s.Entries) == 0 || len(s.Entries) > 4 || !s.Cut {
		t.Errorf("bytes: %v, %d, cut %v", err, len(s.Entries), s.Cut)
	}
	if s, err := Parse([]byte("http://h/1\nhttp://h/22"), Options{MaxBytes: 20}); err != nil || locs(s) != "http://h/1" || !s.Cut {
		t.Errorf("truncated line: %v, %q, cut %v", err, locs(s), s.Cut)
	}
	bomb := packed(t, append([]byte("http://h/1\n"), bytes.Repeat([]byte{' '}, 20<<20)...))
	if text, cut := decompress(bomb, MaxBytes); !cut || len(text) > maxRatio*len(bomb)+ratioFrom {
		t.Errorf("bomb of %d bytes gave %d, cut %v", len(bomb), len(text), cut)
	}
	whole := packed(t, []byte(many))
	if s, err := Parse(whole[:len(whole)-9], Options{}); err != nil || len(s.Entries) == 0 {
		t.Errorf("broken gzip: %v, %d", err, len(s.Entries))
	}
}

// TestFiles parses the sitemaps in testdata, one for each format.
func TestFiles(t *testing.T) {
	tests := []struct {
		file           string
		entries, dated int
		index          bool
		err            error
	}{
		{file: "pages.xml", entries: 3, dated: 2},
		{file: "images.xml", entries: 1},
		{file: "news.xml", entries: 3, dated: 3},
		{file: "video.xml", entries: 1},
		{file: "languages.xml", entries: 2},
		{file: "namespaces.xml", entries: 2, dated: 2},
		{file: "index.xml", entries: 13, dated: 12, index: true},
		{file: "urls.txt", entries: 3},
		{file: "mark.txt", entries: 2},
		{file: "utf16.xml", entries: 1},
		{file: "latin1.xml", entries: 1},
		{file: "truncated.xml", entries: 2},
		{file: "pages.xml.gz", entries: 6, dated: 6},
		{file: "twice.xml.gz", entries: 6, dated: 6},
		{file: "urls.txt.gz", entries: 2},
		{file: "rss.xml", err: ErrFeed},
		{file: "atom.xml", err: ErrFeed},
		{file: "page.html", err: ErrNoSitemap},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join("testdata", tt.file))
			if err != nil {
				t.Fatal(err)
			}
			s, err := Parse(body, Options{})
			dated := 0
			for _, e := range s.Entries {
				if !e.LastMod.IsZero() {
					dated++
				}
				if !isURL(e.Loc) {
					t.Errorf("%q is not a URL", e.Loc)
				}
			}
			found := fmt.Sprintf("%d entries, %d dated, index %v, error %v", len(s.Entries), dated, s.Index, err)
			want := fmt.Sprintf("%d entries, %d dated, index %v, error %v", tt.entries, tt.dated, tt.index, tt.err)
			if found != want || s.Cut {
				t.Errorf("%s, cut %v; want %s", found, s.Cut, want)
			}
		})
	}
	t.Logf("judge: sitemaps: %d own files", len(tests))
}

func FuzzSitemap(f *testing.F) {
	for _, s := range []string{
		urlset(`<url><loc>http://h/1</loc><lastmod>2024</lastmod><image:image><image:loc>x</image:loc></image:image></url>`),
		`<sitemapindex><sitemap>http://h/1</sitemap>`, "http://h/1\nhttp://h/2", inUTF16(urlset("<url/>")),
		"h.example/1\n//h.example/2\nwww.x\n", "<sitemap><loc>h.example:80</loc><loc>x.com/</loc></sitemap>",
	} {
		f.Add([]byte(s))
		f.Add(packed(f, []byte(s)))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := Parse(body, Options{MaxEntries: 20, MaxBytes: 1 << 20, URL: "https://www.h.example:8443/s.xml"})
		if err != nil && (len(s.Entries) > 0 || s.Index) {
			t.Fatal("entries with an error")
		}
		if len(s.Entries) > 20 {
			t.Fatalf("%d entries", len(s.Entries))
		}
		for _, e := range s.Entries {
			if e.Loc == "" || strings.ContainsRune(e.Loc, 0) || !(e.Priority == -1 || e.Priority >= 0 && e.Priority <= 1) {
				t.Fatalf("%+v", e)
			}
		}
	})
}
