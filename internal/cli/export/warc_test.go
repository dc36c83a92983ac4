package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/warc"
)

// found is a record of a file with its block.
type found struct {
	*warc.Found
	message warc.Message
	body    string
}

// archived reads all records of a file.
func archived(t *testing.T, file []byte) (list []found) {
	t.Helper()
	r, err := warc.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for {
		f, err := r.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		block, err := io.ReadAll(f.Body)
		if err != nil {
			t.Fatal(err)
		}
		if ids[f.ID()] {
			t.Errorf("record %s is there twice", f.ID())
		}
		ids[f.ID()] = true
		m, body := warc.ParseMessage(block)
		list = append(list, found{f, m, string(body)})
	}
}

// only returns the records of a type.
func only(list []found, kind warc.Type) (some []found) {
	for _, f := range list {
		if f.Type == kind {
			some = append(some, f)
		}
	}
	return some
}

func TestWARC(t *testing.T) {
	j, _ := job(t, "warc", 3)
	list := archived(t, []byte(exported(t, j)))
	responses, requests, metadata := only(list, warc.Response), only(list, warc.Request), only(list, warc.Metadata)
	if list[0].Type != warc.Info || len(list) != 10 || len(responses) != 3 || len(requests) != 3 || len(metadata) != 3 {
		t.Fatalf("%d records, %d responses, %d requests, %d metadata", len(list), len(responses), len(requests), len(metadata))
	}
	for i, r := range responses {
		if !strings.HasPrefix(r.TargetURI(), root+"docs/p") || !strings.Contains(r.body, "<title>Title") || r.message.Start != "HTTP/1.1 200 OK" {
			t.Errorf("%+v", r)
		}
		if r.Fields.Get(warc.FieldPayloadDigest) != warc.Digest([]byte(r.body)) {
			t.Errorf("%v %v", r.Fields, r.message.Fields)
		}
		if want := strings.TrimPrefix(r.TargetURI(), "https://example.org"); requests[i].message.Start != "GET "+want+" HTTP/1.1" || requests[i].message.Fields.Get("Host") != "example.org" {
			t.Errorf("%+v", requests[i].message)
		}
		values := metadata[i].message.Fields
		if values.Get("urlMd5") != wire.Md5(r.TargetURI()) || values.Get("parentMd5") != wire.Md5("parent") || values.Get("milliseconds") != "12" || values.Get("errorMask") != "0" || values.Get("crawled") != "2026-03-04T05:06:07Z" {
			t.Errorf("%+v", values)
		}
		for _, other := range []found{requests[i], metadata[i]} {
			if other.Fields.Get(warc.FieldConcurrent) != r.ID() || other.TargetURI() != r.TargetURI() {
				t.Errorf("%+v", other.Fields)
			}
		}
	}
}

// The head of a response fits the stored body, which is decoded and in UTF-8.
func TestWARCHeads(t *testing.T) {
	for name, c := range map[string]struct {
		page pages.Page
		want string
	}{
		"compressed": {page("Content-Encoding: gzip\r\nContent-Length: 9\r\nContent-Type: text/html; charset=UTF-8\r\nTransfer-Encoding: chunked\r\n", "utf-8"),
			"HTTP/1.1 200 OK\r\nX-Archive-Orig-Content-Encoding: gzip\r\nX-Archive-Orig-Content-Length: 9\r\nContent-Type: text/html; charset=UTF-8\r\nX-Archive-Orig-Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n"},
		"other charset": {page("Content-Length: 4\r\nContent-Type: text/html; charset=\"iso-8859-1\"; a=b\r\n", "windows-1252"),
			"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-Archive-Orig-Content-Type: text/html; charset=\"iso-8859-1\"; a=b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"},
		"charset in the page":       {page("Content-Type: text/html\r\n", "koi8-r"), "HTTP/1.1 200 OK\r\nX-Archive-Orig-Content-Type: text/html\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"},
		"UTF-8 in the page":         {page("Content-Type: text/html\r\n", "utf-8"), "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"},
		"no type":                   {page("A: b\r\n", ""), "HTTP/1.1 200 OK\r\nA: b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"},
		"with a status line":        {page("HTTP/1.0 203 Fine\r\nContent-Type: text/html; charset=utf-8\r\n", "utf-8"), "HTTP/1.0 203 Fine\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"},
		"a later fetch has failed":  {coded(page("Content-Length: 4\r\nContent-Type: text/html\r\n", "utf-8"), 404), "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Type: text/html\r\n\r\n"},
		"a later fetch was partial": {outdated(coded(page("Content-Length: 4\r\nContent-Type: text/html\r\n", "utf-8"), 206)), "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Type: text/html\r\n\r\n"},
		"an own reason, then 404":   {coded(page("HTTP/1.0 203 Fine\r\nContent-Type: text/html; charset=utf-8\r\n", "utf-8"), 404), "HTTP/1.0 203 Fine\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"},
		"no headers":                {pages.Page{URL: wire.URL{HTTPCode: 206, ContentType: "image/png"}, Raw: []byte("body")}, "HTTP/1.1 206 Partial Content\r\nContent-Type: image/png\r\nContent-Length: 4\r\n\r\n"},
		"a field with a wrong type": {page("Content-Type: TEXT/HTML;\x01charset=utf-8\r\n", "utf-8"), "HTTP/1.1 200 OK\r\nX-Archive-Orig-Content-Type: TEXT/HTML;\x01charset=utf-8\r\nContent-Type: TEXT/HTML;charset=utf-8\r\n\r\n"},
	} {
		if got := string(capture{Page: &c.page}.answerHead().Append(nil)); got != c.want {
			t.Errorf("%s: %q\nwant %q", name, got, c.want)
		}
	}
}

// page is an HTML page with these headers.
func page(headers, charset string) pages.Page {
	return pages.Page{URL: wire.URL{HTTPCode: 200, ContentType: "text/html", Charset: charset}, Raw: []byte("body"), Headers: []byte(headers)}
}

// outdated is a page whose content is of an earlier fetch.
func outdated(p pages.Page) pages.Page {
	p.ContentDate, p.Status = "2026-01-02 03:04:05", wire.StatusCrawled
	return p
}

func coded(p pages.Page, code int64) pages.Page {
	p.HTTPCode = code
	return p
}

// A stored request is written without its secrets.
func TestWARCRequests(t *testing.T) {
	p := page("", "utf-8")
	p.Request = []byte("POST /form?a HTTP/2.0\r\nAuthorization: Basic secret\r\nContent-Length: 7\r\nCookie: secret\r\nHost: h\r\nUser-Agent: me\r\n")
	r := capture{Page: &p, uri: "https://h/form?a"}.requestRecord("<id>")
	if got, want := string(r.Head), "POST /form?a HTTP/1.1\r\nX-Archive-Orig-Content-Length: 7\r\nHost: h\r\nUser-Agent: me\r\n\r\n"; got != want {
		t.Errorf("%q", got)
	}
	p.Request, p.HTTPMethod = nil, "head"
	r = capture{Page: &p, uri: "https://h"}.requestRecord("<id>")
	if got, want := string(r.Head), "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n"; got != want {
		t.Errorf("%q", got)
	}
}

// Pages with one body are revisits of the first one, as long as it is remembered. URLs that failed
// have metadata only, and those that were not fetched have nothing.
func TestWARCRevisits(t *testing.T) {
	stores := storestest.Open(t)
	site := stores.NewSite(root)
	for i := range 5 {
		stores.AddPage(site, fmt.Sprint(root, "same", i), "Same", "text")
	}
	stores.AddPage(site, root+"other", "Other", "text")
	stores.AddFailed(site, root+"gone", 404, errormask.HTTP)
	format, err := Find("warc")
	if err != nil {
		t.Fatal(err)
	}
	list := archived(t, []byte(exported(t, Job{Reader: pages.Reader{Service: stores}, Sites: []string{site}, Format: format})))
	responses, revisits, metadata := only(list, warc.Response), only(list, warc.Revisit), only(list, warc.Metadata)
	if len(responses) != 2 || len(revisits) != 4 || len(metadata) != 7 || len(only(list, warc.Request)) != 6 {
		t.Fatalf("%d responses, %d revisits, %d metadata", len(responses), len(revisits), len(metadata))
	}
	originals := map[string]found{}
	for _, r := range responses {
		originals[r.ID()] = r
	}
	for _, r := range revisits {
		of, known := originals[r.Fields.Get(warc.FieldRefersTo)]
		if !known || r.body != "" || r.Fields.Get(warc.FieldProfile) != warc.SamePayload || r.Fields.Get(warc.FieldPayloadDigest) != of.Fields.Get(warc.FieldPayloadDigest) ||
			r.Fields.Get(warc.FieldRefersToURI) != of.TargetURI() || r.Fields.Get(warc.FieldRefersToDate) != of.Fields.Get(warc.FieldDate) || r.message.Start != "HTTP/1.1 200 OK" {
			t.Errorf("%+v", r.Fields)
		}
	}
}

// The table of recent bodies is bounded.
func TestRecentIsBounded(t *testing.T) {
	table := recent{by: map[string]original{}}
	kind := func(i int) warc.Type {
		r := &warc.Record{Type: warc.Response, Payload: []byte(fmt.Sprint(i))}
		table.makeRevisit(r)
		return r.Type
	}
	for i := range 2 * recentMost {
		if kind(i) != warc.Response {
			t.Fatal(i)
		}
	}
	if len(table.by) != recentMost || kind(2*recentMost-1) != warc.Revisit || kind(recentMost) != warc.Revisit || kind(0) != warc.Response || kind(recentMost) != warc.Response {
		t.Errorf("%d bodies", len(table.by))
	}
}

// An export that is interrupted after any portion continues with whole records, compressed or not.
func TestWARCContinues(t *testing.T) {
	for _, name := range []string{"pages.warc", "pages.warc.gz"} {
		t.Run(name, func(t *testing.T) {
			const n = 120 // several portions
			j, _ := job(t, "warc", n)
			j.Out = filepath.Join(t.TempDir(), name)
			rounds := 0
			for ; ; rounds++ {
				ctx, stop := context.WithCancel(t.Context())
				_, err := Run(ctx, j, func(int64) { stop() })
				stop()
				if err == nil {
					break
				}
				if !errors.Is(err, context.Canceled) || rounds > n {
					t.Fatal(err)
				}
				f, err := os.OpenFile(j.Out, os.O_APPEND|os.O_WRONLY, 0)
				if err == nil {
					_, err = f.WriteString("\x1f\x8bhalf a record")
				}
				if err != nil {
					t.Fatal(err)
				}
				f.Close()
			}
			file, err := os.ReadFile(j.Out)
			if err != nil || (string(file[:2]) == "\x1f\x8b") != strings.HasSuffix(name, ".gz") {
				t.Fatalf("%.20q %v", file, err)
			}
			list := archived(t, file)
			uris := map[string]bool{}
			for _, r := range append(only(list, warc.Response), only(list, warc.Revisit)...) {
				uris[r.TargetURI()] = true
			}
			if rounds < 2 || len(list) != 1+3*n || len(uris) != n || len(only(list, warc.Info)) != 1 {
				t.Errorf("%d records of %d pages after %d interruptions", len(list), len(uris), rounds)
			}
		})
	}
}
