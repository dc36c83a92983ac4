package export

import (
	"bytes"
	"testing"
	"time"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/urlkey"
	"hce/dc/warc"
)

// redirected is the page of /dir, which leads to /dir/.
func redirected(leadsToPage bool) *pages.Page {
	p := &pages.Page{Raw: []byte("<a href=next.html>next</a>"), Stored: "2026-01-02 03:04:06.000", LeadsToPage: leadsToPage}
	p.URL = wire.URL{SiteID: "s", URL: root + "dir", URLMd5: urlkey.Of(root + "dir"), Crawled: 1, HTTPCode: 200, ContentType: "text/html",
		Charset: "utf-8", RawContentMd5: wire.Md5(p.Raw), Redirects: wire.RedirectsOf([]wire.Hop{{Code: 301, URL: root + "dir/"}})}
	p.Headers = []byte("Content-Type: text/html\r\nX-base_url: " + root + "dir/\r\nLocation: " + root + "dir/\r\n")
	p.Request = []byte("GET /dir/ HTTP/1.1\r\nHost: example.org\r\n")
	p.Answers = []wire.HopAnswer{{
		URL: root + "dir", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Body: []byte("moved"),
		Request: "GET /dir HTTP/1.1\r\nHost: example.org\r\nCookie: secret\r\n", Head: "HTTP/1.1 301 Moved Permanently\r\nContent-Length: 5\r\nLocation: /dir/\r\n",
	}}
	return p
}

func written(t *testing.T, p *pages.Page) []found {
	t.Helper()
	var out bytes.Buffer
	a := newArchive(&out, warc.Options{})
	if err := a.beginFile(); err != nil {
		t.Fatal(err)
	}
	if err := a.Page(p); err != nil {
		t.Fatal(err)
	}
	if err := a.End(); err != nil {
		t.Fatal(err)
	}
	return archived(t, out.Bytes())
}

// Each redirect is a response of its own, and blocks have what the server sent only.
func TestRedirectsAreRecords(t *testing.T) {
	list := written(t, redirected(false))
	responses, requests, metadata := only(list, warc.Response), only(list, warc.Request), only(list, warc.Metadata)
	if len(responses) != 2 || len(requests) != 2 || len(metadata) != 1 {
		t.Fatalf("%d responses, %d requests, %d metadata", len(responses), len(requests), len(metadata))
	}
	hop, page := responses[0], responses[1]
	if hop.TargetURI() != root+"dir" || hop.message.Start != "HTTP/1.1 301 Moved Permanently" || hop.message.Fields.Get("Location") != "/dir/" || hop.body != "moved" {
		t.Errorf("redirect %+v", hop)
	}
	if page.TargetURI() != root+"dir/" || page.message.Start != "HTTP/1.1 200 OK" || page.body != "<a href=next.html>next</a>" ||
		page.message.Fields.Get("Location") != "" || page.message.Fields.Get("X-base_url") != "" || page.Fields.Get("WARC-Identified-Payload-Type") != "" {
		t.Errorf("page %+v", page)
	}
	if requests[0].message.Start != "GET /dir HTTP/1.1" || requests[0].message.Fields.Get("Cookie") != "" || requests[1].message.Start != "GET /dir/ HTTP/1.1" {
		t.Errorf("requests %+v", requests)
	}
	if metadata[0].TargetURI() != root+"dir" || metadata[0].Fields.Get(warc.FieldConcurrent) != hop.ID() {
		t.Errorf("metadata %+v", metadata[0])
	}
}

// The page that a redirect leads to is there once if it is a page of the site itself.
func TestRedirectToAPageOfTheSite(t *testing.T) {
	responses := only(written(t, redirected(true)), warc.Response)
	if len(responses) != 1 || responses[0].message.Start != "HTTP/1.1 301 Moved Permanently" {
		t.Errorf("%+v", responses)
	}
}

// A redirect that was imported has an empty body, and is there although it leads to a page of the site.
func TestImportedRedirect(t *testing.T) {
	p := redirected(true)
	p.Answers, p.HTTPCode, p.Raw = nil, 302, []byte{}
	p.Headers = []byte("HTTP/1.0 302 Elsewhere\r\nLocation: /dir/\r\nContent-Length: 0\r\n")
	responses := only(written(t, p), warc.Response)
	if len(responses) != 1 || responses[0].TargetURI() != root+"dir" || responses[0].message.Start != "HTTP/1.0 302 Elsewhere" || responses[0].body != "" {
		t.Errorf("%+v", responses)
	}
}

// A body that was converted is written as the server sent it, or says that it is in UTF-8.
func TestCharsetsOfBodies(t *testing.T) {
	cyrillic := []byte("<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2")
	for _, c := range []struct {
		name, raw, charset, md5, header, body, kind string
	}{
		{"as sent", "<meta charset=windows-1251><p>Привет", "windows-1251", wire.Md5(cyrillic), "text/html", string(cyrillic), "text/html"},
		{"charset in the header", "<p>Привет", "windows-1251", wire.Md5(cyrillic[27:]), "text/html; charset=windows-1251", string(cyrillic[27:]), "text/html; charset=windows-1251"},
		{"changed", "<meta charset=windows-1251><p>Привет!", "windows-1251", wire.Md5(cyrillic), "text/html", "<meta charset=utf-8><p>Привет!", "text/html; charset=utf-8"},
		{"rendered", "<meta charset=windows-1251><p>Привет", "windows-1251", wire.Md5("<meta charset=windows-1251><p>Привет"), "text/html", "<meta charset=utf-8><p>Привет", "text/html; charset=utf-8"},
		{"UTF-8", "<p>Привет", "utf-8", wire.Md5("<p>Привет"), "text/html; charset=utf-8", "<p>Привет", "text/html; charset=utf-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := redirected(false)
			p.Redirects, p.Answers, p.Raw, p.Charset, p.RawContentMd5 = "", nil, []byte(c.raw), c.charset, c.md5
			p.Headers = []byte("Content-Type: " + c.header + "\r\n")
			r := only(written(t, p), warc.Response)[0]
			if r.body != c.body || r.message.Fields.Get("Content-Type") != c.kind {
				t.Errorf("%q, %q", r.body, r.message.Fields.Get("Content-Type"))
			}
		})
	}
}
