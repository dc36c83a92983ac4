package web

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"hce/dc/internal/wire/errormask"
)

// robotsFile is a host whose robots.txt is the trap. It has one ordinary page at path.
type robotsFile struct {
	name, what, path string
	ends             []errormask.Mask
	stalls, putOff   bool
	serve            http.HandlerFunc
}

// robotsFiles follow RFC 9309: 4xx and unresolved redirects allow everything, for now 5xx denies
// everything, and of a file that is too long the beginning counts.
func robotsFiles() []robotsFile {
	const plainText = "text/plain; charset=utf-8"
	forbidden := listMasks(errormask.Robots)
	deny := "User-agent: *\nDisallow: /\n"
	code := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(code)
			io.WriteString(w, deny)
		}
	}
	return []robotsFile{
		{name: "robots-endless", what: "comments without an end", serve: serveBody(plainText, func(w io.Writer) { floodText(w, "# and more\n") })},
		{name: "robots-line", what: "one line without an end", serve: serveBody(plainText, func(w io.Writer) { floodText(w, "Disallow: /x") })},
		{name: "robots-big", what: "10 MB, and its first lines forbid all", ends: forbidden, serve: serveBody(plainText, func(w io.Writer) {
			io.WriteString(w, deny)
			writeRepeated(w, "Disallow: /something/else\n", 400_000)
		})},
		{name: "robots-groups", what: "half a megabyte of groups", serve: serveBody(plainText, func(w io.Writer) {
			for i := range 20_000 {
				fmt.Fprintf(w, "User-agent: bot%d\nDisallow: /\n\n", i)
			}
		})},
		{name: "robots-stars", what: "patterns that are slow to match", path: "/" + strings.Repeat("a", 2000), serve: serveBody(plainText, func(w io.Writer) {
			io.WriteString(w, "User-agent: *\n")
			writeRepeated(w, "Disallow: /"+strings.Repeat("*a", 500)+"*b$\n", 400)
		})},
		{name: "robots-bomb", what: "1 GiB in 1 MiB of gzip", serve: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			serveBody(plainText, func(w io.Writer) { repeatBytes(w, gzipMember(), 64) })(w, r)
		}},
		{name: "robots-loop", what: "a redirect to itself", serve: redirectTo("/robots.txt")},
		{name: "robots-private", what: "a redirect into a private network", serve: redirectTo("http://10.0.0.1/robots.txt")},
		{name: "robots-503", what: "the code 503", putOff: true, serve: code(503)},
		{name: "robots-401", what: "the code 401", serve: code(401)},
		{name: "robots-403", what: "the code 403", serve: code(403)},
		{name: "robots-404", what: "the code 404, with rules in it", serve: code(404)},
		{name: "robots-html", what: "a page where rules should be", serve: serveText(htmlUTF8, doc)},
		{name: "robots-noise", what: "noise", serve: serveBody(plainText, func(w io.Writer) { _, _ = w.Write(randomBytes(100_000)) })},
		{name: "robots-utf16", what: "UTF-16", ends: forbidden, serve: serveText(plainText, "\xff\xfe"+encodeUTF16(deny))},
		{name: "robots-mark", what: "rules after a byte order mark, with lines that end in CR", ends: forbidden, serve: serveText(plainText, "\ufeff"+strings.ReplaceAll(deny, "\n", "\r"))},
		{name: "robots-silent", what: "no answer, ever", ends: listMasks(errormask.Timeout), stalls: true, serve: sendThenStall("")},
		{name: "robots-drip", what: "one byte in a tenth of a second", ends: listMasks(errormask.Timeout), stalls: true, serve: dripText("# drop\n", 100_000_000)},
		{name: "robots-reset", what: "a reset connection", ends: listMasks(errormask.Connection), serve: sendThenAbort("")},
		{name: "robots-header", what: "headers without an end", ends: listMasks(errormask.Size), serve: sendThenFlood("HTTP/1.1 200 OK\r\n", "X-Flood: more\r\n")},
		{name: "robots-delay", what: "invalid and negative delays", serve: serveText(plainText, "User-agent: *\nCrawl-delay: -5\nCrawl-delay: NaN\nCrawl-delay: 1e-9\nCrawl-delay: many\nDisallow:\n")},
		{name: "robots-sitemaps", what: "ten thousand sitemaps, in private networks", serve: serveBody(plainText, func(w io.Writer) { writeRepeated(w, "Sitemap: http://10.0.0.1/x.xml\n", 10_000) })},
	}
}

func robotsHosts() []Trap {
	var list []Trap
	for _, f := range robotsFiles() {
		path := f.path
		if path == "" {
			path = "/page.html"
		}
		list = append(list, Trap{Host: f.name, Path: path, What: "robots.txt: " + f.what, Ends: f.ends, Stalls: f.stalls, PutOff: f.putOff, serve: serveText(htmlUTF8, doc)})
	}
	return list
}
