package web

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"hce/dc/examples/siteserver/site"
	"hce/dc/internal/wire/errormask"
)

const (
	rss     = "application/rss+xml"
	xmlType = "application/xml"
	rssHead = `<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>`
	mapHead = `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`
	mapsSet = `<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`
)

// feedTraps are feeds and sitemaps that attack parsers. As ordinary pages most of them are
// valid.
func feedTraps() []Trap {
	return []Trap{
		{Path: "/feed/laughs.xml", What: "entities of entities: a billion laughs", serve: serveText(rss, billionLaughs())},
		{Path: "/feed/quadratic.xml", What: "one long entity, used ten thousand times", serve: serveText(rss, `<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "`+strings.Repeat("a", 100_000)+`">]><rss><channel><title>`+strings.Repeat("&a;", 10_000)+`</title></channel></rss>`)},
		{Path: "/feed/external.xml", What: "an entity that is a file of the machine", serve: serveText(rss, `<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a SYSTEM "file:///etc/passwd"><!ENTITY % b SYSTEM "http://10.0.0.1/x.dtd"> %b;]><rss><channel><item><link>&a;</link></item></channel></rss>`)},
		{Path: "/feed/deep.xml", What: "a million elements, one in the other", serve: serveXML(rss, `<?xml version="1.0"?><rss>`, "<item>", 1_000_000, "")},
		{Path: "/feed/items.xml", What: "two hundred thousand items", serve: serveXML(rss, rssHead, "<item><title>x</title><link>/trap/item</link></item>", 200_000, "</channel></rss>")},
		{Path: "/feed/attributes.xml", What: "an element with a million attributes", serve: serveXML(rss, `<?xml version="1.0"?><rss`, ` a="b"`, 1_000_000, "></rss>")},
		{Path: "/feed/empty.xml", What: "a feed without items", serve: serveText(rss, rssHead+"</channel></rss>")},
		{Path: "/feed/cut.xml", What: "a feed that breaks off", serve: serveText(rss, rssHead+"<item><title>x")},
		{Path: "/feed/html.xml", What: "a page that is said to be a feed", serve: serveText(rss, doc)},
		{Path: "/feed/odd.xml", What: "items without links, with invalid links, with invalid dates", serve: serveText(rss, rssHead+`<item/><item><link>javascript:alert(1)</link></item><item><link>http://10.0.0.1/</link><pubDate>Foo, 99 Bar 99999</pubDate></item><item><guid isPermaLink="maybe">`+strings.Repeat("g", 100_000)+`</guid></item></channel></rss>`)},
		{Path: "/feed/bomb.xml", What: "a feed that unpacks to 1 GiB", Ends: listMasks(errormask.Size), serve: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			serveBody(rss, func(w io.Writer) { repeatBytes(w, gzipMember(), 64) })(w, r)
		}},

		{Path: "/sitemap/million.xml", What: "a million entries, 25 MB", Ends: listMasks(errormask.Size), serve: serveSitemap(1_000_000)},
		{Path: "/sitemap/half.xml", What: "half a million entries, 13 MB", Ends: listMasks(errormask.MaxURLsFromPage), serve: serveSitemap(400_000)},
		{Path: "/sitemap/million.xml.gz", What: "a million entries in 2 MB of gzip", serve: serveGzip(millionEntries)},
		{Path: "/sitemap/bomb.xml.gz", What: "1 GiB in 1 MiB of gzip, as a file", serve: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/gzip")
			repeatBytes(w, gzipMember(), 64)
		}},
		{Path: "/sitemap/self.xml", What: "an index that lists itself", serve: serveText(xmlType, mapsSet+"<sitemap><loc>/sitemap/self.xml</loc></sitemap><sitemap><loc>self.xml</loc></sitemap></sitemapindex>")},
		{Path: "/sitemap/endless.xml", What: "an index that lists two others, and each of them two more", serve: func(w http.ResponseWriter, r *http.Request) {
			n, _ := strconv.Atoi(r.FormValue("n"))
			serveText(xmlType, fmt.Sprintf("%s<sitemap><loc>http://%s/sitemap/endless.xml?n=%d</loc></sitemap><sitemap><loc>http://%[2]s/sitemap/endless.xml?n=%d</loc></sitemap></sitemapindex>", mapsSet, site.PlainHost(r.Host), 2*n+1, 2*n+2))(w, r)
		}},
		{Path: "/sitemap/foreign.xml", What: "entries of other hosts and of private networks", serve: serveText(xmlType, mapHead+"<url><loc>http://10.0.0.1/</loc></url><url><loc>file:///etc/passwd</loc></url><url><loc>http://other.invalid/</loc></url></urlset>")},
		{Path: "/sitemap/plain.txt", What: "a sitemap as text: long lines, NUL bytes, no URLs", serve: serveText("text/plain", strings.Repeat("no url\x00", 100_000)+"\n/x\n")},
	}
}

func billionLaughs() string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY l0 "lol">`)
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&b, `<!ENTITY l%d "%s">`, i, strings.Repeat(fmt.Sprintf("&l%d;", i-1), 10))
	}
	b.WriteString(`]><rss version="2.0"><channel><title>&l11;</title><item><link>http://x.invalid/&l11;</link></item></channel></rss>`)
	return b.String()
}

// serveXML is a text of start, n times part, and end.
func serveXML(kind, start, part string, n int, end string) http.HandlerFunc {
	return serveBody(kind, func(w io.Writer) {
		io.WriteString(w, start)
		writeRepeated(w, part, n)
		io.WriteString(w, end)
	})
}

func serveSitemap(n int) http.HandlerFunc {
	return serveBody(xmlType, func(w io.Writer) { writeEntries(w, n) })
}

func writeEntries(w io.Writer, n int) {
	io.WriteString(w, mapHead)
	for i := range n {
		if _, err := fmt.Fprintf(w, "<url><loc>/s/%d</loc></url>\n", i); err != nil {
			return
		}
	}
	io.WriteString(w, "</urlset>")
}

var millionEntries = sync.OnceValue(func() []byte {
	var b strings.Builder
	writeEntries(&b, 1_000_000)
	return packGzip([]byte(b.String()))
})

func serveGzip(bytes func() []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/gzip")
		_, _ = w.Write(bytes())
	}
}
