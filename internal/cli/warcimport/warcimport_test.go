package warcimport

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"encoding/base32"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/warc"
)

const root = "https://example.org/"

var day = time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC)

// archive is a file of a test that grows.
type archive struct {
	t    *testing.T
	path string
	out  bytes.Buffer
	w    *warc.Writer
}

func newArchive(t *testing.T) *archive {
	a := &archive{t: t, path: filepath.Join(t.TempDir(), "pages.warc.gz")}
	a.w = warc.NewWriter(&a.out, warc.Options{Gzip: true})
	a.add(warc.Record{Type: warc.Info, Date: day, ContentType: warc.FieldsType})
	return a
}

func (a *archive) add(r warc.Record) warc.Record {
	a.t.Helper()
	if _, err := a.w.Write(&r); err != nil {
		a.t.Fatal(err)
	}
	return r
}

// answer adds a response. head has its start line and fields without the last line end.
func (a *archive) answer(url string, at time.Time, head, body string, fields ...warc.Field) warc.Record {
	a.t.Helper()
	return a.add(warc.Record{Type: warc.Response, Date: at, TargetURI: url, ContentType: warc.ResponseType, Head: []byte(head + "\r\n\r\n"), Payload: []byte(body), Fields: fields})
}

// page adds an HTML page.
func (a *archive) page(url string, at time.Time, body string) warc.Record {
	a.t.Helper()
	return a.answer(url, at, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8", body)
}

// file writes the file.
func (a *archive) file() string {
	a.t.Helper()
	if err := os.WriteFile(a.path, a.out.Bytes(), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return a.path
}

// imported imports files into the site of root.
func imported(t *testing.T, stores *storestest.Stores, files ...string) Summary {
	t.Helper()
	for _, path := range files {
		if _, err := Check(t.Context(), path, nil); err != nil {
			t.Fatal(err)
		}
	}
	done, err := Run(t.Context(), jobOf(stores, files...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func jobOf(stores *storestest.Stores, files ...string) Job {
	return Job{Service: stores, Site: wire.Site{ID: wire.Md5(root), URLs: []wire.SiteURL{{URL: wire.URL{URL: root}}}}, Files: files}
}

// stored returns the pages of the site by URL.
func stored(t *testing.T, stores *storestest.Stores) map[string]pages.Page {
	t.Helper()
	all := map[string]pages.Page{}
	reader := pages.Reader{Service: stores, Site: wire.Md5(root), Needs: pages.Raw | pages.Headers | pages.Requests}
	if err := reader.Read(t.Context(), "", func(p *pages.Page) error { all[p.URL.URL] = *p; return nil }, nil); err != nil {
		t.Fatal(err)
	}
	return all
}

func versions(t *testing.T, stores *storestest.Stores, row wire.URL) (list []string) {
	t.Helper()
	found, err := pages.Versions(t.Context(), stores, row)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		list = append(list, v.Stored[:19]+" "+string(v.Raw))
	}
	return list
}

// What an export writes is the same site after an import, and again after a second export and import.
// The import runs twice and stores nothing twice.
func TestExportAndImport(t *testing.T) {
	from := storestest.Open(t)
	site := from.NewSite(root)
	from.AddPage(site, root+"same1", "Same", "text")
	from.AddPage(site, root+"same2", "Same", "text")
	for i := range 70 { // several portions
		from.AddPage(site, fmt.Sprint(root, "p", i, "?a=%C3%A9"), fmt.Sprint("Title ", i), "text é")
	}
	from.AddFailed(site, root+"gone", 404, errormask.HTTP)
	want := stored(t, from)
	delete(want, root+"gone") // has no body
	for _, name := range []string{"pages.warc", "pages.warc.gz", "pages.wacz"} {
		out := filepath.Join(t.TempDir(), name)
		format, err := export.Find(strings.Split(name, ".")[1])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := export.Run(t.Context(), export.Job{Reader: pages.Reader{Service: from}, Sites: []string{site}, Format: format, Out: out}, nil); err != nil {
			t.Fatal(err)
		}
		to := storestest.Open(t)
		to.NewSite(root)
		done := imported(t, to, out)
		if done.Pages != int64(len(want)) || done.Known+done.Versions+done.Faults() != 0 || len(done.Skipped) != 0 {
			t.Errorf("%+v", done)
		}
		got := stored(t, to)
		if len(got) != len(want) {
			t.Errorf("%d pages, want %d", len(got), len(want))
		}
		for url, w := range want {
			g := got[url]
			if string(g.Raw) != string(w.Raw) || g.Status != wire.StatusCrawled || g.State != wire.URLEnabled || g.Crawled != 1 ||
				fmt.Sprint(rowOf(g)) != fmt.Sprint(rowOf(w)) || g.Stored[:19] != w.Stored[:19] {
				t.Errorf("%s: %+v\n%+v\n%.100q", url, rowOf(g), rowOf(w), g.Raw)
			}
		}
		puts := to.Asked[wire.URLPut] + to.Asked[wire.URLNew]
		if done := imported(t, to, out); done.Known != int64(len(want)) || done.Pages+done.Versions != 0 || to.Asked[wire.URLPut]+to.Asked[wire.URLNew] != puts {
			t.Errorf("again: %+v", done)
		}
		from = to
	}
}

// rowOf are the values of a row that an export keeps.
func rowOf(p pages.Page) []any {
	return []any{p.HTTPCode, p.ContentType, p.Charset == "" || p.Charset == "utf-8", p.Size, p.Depth, p.ParentMd5, p.UDate, p.CDate, p.CrawlingTime, p.ErrorMask}
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write([]byte(text))
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Records of other programs become pages as the crawler stores them, or are counted by reason.
func TestRecordsOfOthers(t *testing.T) {
	a := newArchive(t)
	const html = "HTTP/1.1 200 OK\r\nContent-Type: text/html"
	packed := gzipped(t, "<p>packed")
	a.answer(root, day, html+"\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(packed), packed))
	a.answer(root+"plain", day, html+"\r\nContent-Encoding: br\r\nTransfer-Encoding: chunked", "<p>the fields are of the body as it was sent")
	a.answer(root+"latin", day, html+"; charset=iso-8859-1\r\nLast-Modified: Mon, 03 Mar 2025 01:02:03 GMT\r\nX-Note: caf\xe9", "<p>caf\xe9")
	a.answer("<"+root+"Old#part>", day, html, "<p>WARC 1.0")
	a.answer(root+"image.png", day, "HTTP/1.1 200 OK\r\nContent-Type: image/png", "\x89PNG\r\n\x1a\n\x00\x01")
	a.add(warc.Record{Type: warc.Resource, Date: day, TargetURI: root + "resource", ContentType: "text/plain; charset=iso-8859-1", Payload: []byte("r\xe9source")})
	request := a.add(warc.Record{Type: warc.Request, Date: day, TargetURI: root + "asked", ContentType: warc.RequestType, Head: []byte("GET /asked HTTP/1.1\r\nHost: example.org\r\n\r\n")})
	a.answer(root+"asked", day, html, "<p>asked", warc.Field{Name: warc.FieldConcurrent, Value: request.ID})
	answer := a.page(root+"form", day, "<p>form")
	a.add(warc.Record{Type: warc.Request, Date: day, TargetURI: root + "form", ContentType: warc.RequestType, Head: []byte("POST /form HTTP/1.1\r\n\r\n"), Fields: warc.Fields{{Name: warc.FieldConcurrent, Value: answer.ID}}})
	a.answer("https://other.example/x", day, html, "<p>another host")

	a.answer(root+"moved", day, "HTTP/1.1 301 Moved\r\nLocation: /", "moved")
	a.answer(root+"gone", day, "HTTP/1.1 404 Gone", "gone")
	a.answer(root+"empty", day, html, "")
	a.answer(root+"torn", day, html+"\r\nContent-Encoding: gzip", packed[:len(packed)-9])
	a.answer(root+"torn2", day, html+"\r\nTransfer-Encoding: chunked", "5\r\n<p>12\r\n5\r\n<p>")
	a.answer(root+"bomb", day, html+"\r\nContent-Encoding: gzip", gzipped(t, strings.Repeat("0", MaxBody+1)))
	a.answer(root+"large", day, html, strings.Repeat("1", MaxBody+1))
	a.answer(root+"noise", day, "no HTTP", "x")
	a.answer(root+"cut", day, html, "<p>cut", warc.Field{Name: warc.FieldTruncated, Value: "length"})
	a.answer(root+"part", day, html, "<p>part", warc.Field{Name: warc.FieldSegment, Value: "1"})
	a.answer("http://"+strings.Repeat("x", 5000)+"/", day, html, "long")
	a.add(warc.Record{Type: warc.Continuation, Date: day, TargetURI: root + "part", Payload: []byte("rest")})
	a.add(warc.Record{Type: warc.Conversion, Date: day, TargetURI: root, Payload: []byte("text")})
	a.add(warc.Record{Type: warc.Response, Date: day, TargetURI: "dns:example.org", ContentType: "text/dns", Payload: []byte("1.2.3.4")})
	a.add(warc.Record{Type: warc.Revisit, Date: day, TargetURI: root + "again", ContentType: warc.ResponseType, Head: []byte(html + "\r\n\r\n"), Fields: warc.Fields{{Name: warc.FieldProfile, Value: warc.SamePayload}}})
	a.add(warc.Record{Type: "unknown", Date: day})

	stores := storestest.Open(t)
	stores.NewSite(root)
	done := imported(t, stores, a.file())
	skipped := map[Reason]int64{
		"HTTP code 404": 1, Empty: 1, Undecoded: 2, TooLarge: 2, NoMessage: 1, Truncated: 1, Segmented: 2, BadURL: 1, Converted: 1, NotHTTP: 1, NoOriginal: 1, NotGet: 1,
	}
	if done.Pages != 9 || !maps.Equal(done.Skipped, skipped) || done.Faults() != 10 || done.Records != 28 {
		t.Errorf("%+v", done)
	}
	got := stored(t, stores)
	moved := got[root+"moved"]
	if hops := moved.Hops(); moved.HTTPCode != 301 || string(moved.Raw) != "moved" || len(hops) != 1 || hops[0] != (wire.Hop{Code: 301, URL: root}) {
		t.Errorf("redirect %+v %q", moved.URL, moved.Raw)
	}
	for url, want := range map[string]string{
		root: "<p>packed", root + "plain": "<p>the fields are of the body as it was sent", root + "latin": "<p>café", root + "Old": "<p>WARC 1.0",
		root + "image.png": "\x89PNG\r\n\x1a\n\x00\x01", root + "resource": "résource", root + "asked": "<p>asked", "https://other.example/x": "<p>another host",
	} {
		p, found := got[url]
		if !found || string(p.Raw) != want || p.Status != wire.StatusCrawled || p.HTTPCode != 200 || p.UDate != "2025-03-04 05:06:07" || (p.ParentMd5 == "") != (url == root) {
			t.Errorf("%s: %q, %+v", url, p.Raw, p.URL)
		}
	}
	latin := got[root+"latin"]
	if latin.Charset != "windows-1252" || latin.Size != 7 || latin.RawContentMd5 != wire.Md5("<p>caf\xe9") || latin.LastModified != "2025-03-03 01:02:03" ||
		string(latin.Headers) != "Content-Type: text/html; charset=iso-8859-1\r\nLast-Modified: Mon, 03 Mar 2025 01:02:03 GMT\r\nX-Note: caf\uFFFD\r\n" {
		t.Errorf("%+v %q", latin.URL, latin.Headers)
	}
	if request := string(got[root+"asked"].Request); request != "GET /asked HTTP/1.1\r\nHost: example.org\r\n" {
		t.Errorf("request %q", request)
	}
	if resource := got[root+"resource"]; len(resource.Headers) > 0 || resource.ContentType != "text/plain" {
		t.Errorf("%+v %q", resource.URL, resource.Headers)
	}
}

// Captures of one URL are versions with their dates, in any order. The row is that of the newest one.
func TestVersionsOfAPage(t *testing.T) {
	a := newArchive(t)
	a.page(root+"a", day.AddDate(0, 1, 0), "<p>second")
	a.page(root+"a", day, "<p>first")
	a.page(root+"a", day.AddDate(0, 2, 0), "<p>third")
	a.page(root+"a", day, "<p>in the same second")
	a.page(root+"a", day, "<p>first")
	a.add(warc.Record{Type: warc.Revisit, Date: day.AddDate(0, 3, 0), TargetURI: root + "a", ContentType: warc.ResponseType, Head: []byte("HTTP/1.1 200 OK\r\n\r\n")})
	a.add(warc.Record{Type: warc.Revisit, Date: day, TargetURI: root + "b", ContentType: warc.ResponseType, Head: []byte("HTTP/1.1 200 OK\r\nX: y\r\n\r\n"),
		Fields: warc.Fields{{Name: warc.FieldRefersToURI, Value: root + "a"}, {Name: warc.FieldRefersToDate, Value: warc.FormatDate(day.AddDate(0, 1, 0))}}})
	stores := storestest.Open(t)
	stores.NewSite(root)
	for round := range 2 {
		done := imported(t, stores, a.file())
		want := Summary{Records: 8, Pages: 2, Versions: 3, Known: 2}
		if round > 0 {
			want = Summary{Records: 8, Known: 7}
		}
		if done.Skipped = nil; fmt.Sprint(done) != fmt.Sprint(want) {
			t.Errorf("round %d: %+v", round, done)
		}
		got := stored(t, stores)
		row := got[root+"a"]
		if list := versions(t, stores, row.URL); !slices.Equal(list, []string{
			"2025-03-04 05:06:07 <p>first", "2025-03-04 05:06:07 <p>in the same second", "2025-04-04 05:06:07 <p>second", "2025-05-04 05:06:07 <p>third",
		}) {
			t.Errorf("round %d: %q", round, list)
		}
		if row.RawContentMd5 != wire.Md5("<p>third") || row.UDate != "2025-05-04 05:06:07" || row.Crawled != 2 {
			t.Errorf("%+v", row.URL)
		}
		if b := got[root+"b"]; string(b.Raw) != "<p>second" || string(b.Headers) != "X: y\r\n" || b.ContentType != "text/html" {
			t.Errorf("%q %q %+v", b.Raw, b.Headers, b.URL)
		}
	}
}

// The original of a revisit is found by its digest in any form, its date, or as the newest one before it;
// never by guessing. A revisit may say that it is truncated, have no head, or have the digest of nothing.
func TestOriginalsOfRevisits(t *testing.T) {
	a := newArchive(t)
	a.answer(root, day, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=windows-1251\r\nX: y", "<p>\xcf\xf0\xe8\xe2\xe5\xf2, first")
	a.page(root, day.AddDate(0, 0, 2), "<p>second")
	revisit := func(url string, days int, head string, fields ...warc.Field) {
		a.add(warc.Record{Type: warc.Revisit, Date: day.AddDate(0, 0, days), TargetURI: root + url, ContentType: warc.ResponseType, Head: []byte(head),
			Fields: append(warc.Fields{{Name: warc.FieldTruncated, Value: "length"}, {Name: warc.FieldRefersToURI, Value: root}}, fields...)})
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
	sum := sha1.Sum([]byte("<p>\xcf\xf0\xe8\xe2\xe5\xf2, first"))
	revisit("digest", 9, head, warc.Field{Name: warc.FieldPayloadDigest, Value: "sha1:" + base32.StdEncoding.EncodeToString(sum[:])})
	revisit("date", 9, head, warc.Field{Name: warc.FieldRefersToDate, Value: day.Format(time.RFC3339)})
	revisit("before", 1, head)
	revisit("after", 3, head)
	revisit("headless", 9, "", warc.Field{Name: warc.FieldRefersToDate, Value: day.Format(time.RFC3339)})
	revisit("unknown", 9, head, warc.Field{Name: warc.FieldRefersToDate, Value: day.AddDate(1, 0, 0).Format(time.RFC3339)})
	stores := storestest.Open(t)
	stores.NewSite(root)
	if done := imported(t, stores, a.file()); done.Pages != 6 || done.Skipped[NoOriginal] != 1 {
		t.Errorf("%+v", done)
	}
	got := stored(t, stores)
	for url, want := range map[string]string{"digest": "<p>Привет, first", "date": "<p>Привет, first", "before": "<p>Привет, first", "headless": "<p>Привет, first", "after": "<p>second"} {
		if p := got[root+url]; string(p.Raw) != want || p.HTTPCode != 200 || (url == "headless") != strings.Contains(string(p.Headers), "X: y") {
			t.Errorf("%s: %q, %q, %+v", url, p.Raw, p.Headers, p.URL)
		}
	}
}

// A URL that waits to be fetched becomes a page, and keeps where it was found.
func TestWaitingURL(t *testing.T) {
	stores := storestest.Open(t)
	site := stores.NewSite(root)
	err := stores.Ask(t.Context(), wire.URLNew, []any{map[string]any{"siteId": site, "url": root + "a", "siteSelect": wire.SelectExplicit, "parentMd5": wire.Md5("parent"), "depth": 7}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := newArchive(t)
	a.page(root+"a", day, "<p>text")
	if done := imported(t, stores, a.file()); done.Pages != 1 {
		t.Errorf("%+v", done)
	}
	if row := stored(t, stores)[root+"a"]; row.Status != wire.StatusCrawled || row.Crawled != 1 || row.Depth != 7 || row.ParentMd5 != wire.Md5("parent") || row.HTTPCode != 200 {
		t.Errorf("%+v", row.URL)
	}
}

// An import that ends at any operation continues, and stores nothing twice.
func TestInterrupted(t *testing.T) {
	a := newArchive(t)
	for i := range 120 {
		a.page(fmt.Sprint(root, "p", i), day, fmt.Sprint("<p>", i))
		a.page(fmt.Sprint(root, "p", i%60), day.AddDate(0, 0, i), fmt.Sprint("<p>again ", i))
	}
	path := a.file()
	stores := storestest.Open(t)
	stores.NewSite(root)
	rounds := 0
	for ; ; rounds++ {
		ctx, stop := context.WithCancel(t.Context())
		changes := 0
		stores.OnAsk(func(op wire.Op) {
			if op == wire.URLPut || op == wire.URLNew {
				if changes++; changes == 2+rounds%2 { // behind the contents, or behind the rows
					stop()
				}
			}
		})
		_, err := Run(ctx, jobOf(stores, path), nil)
		stop()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) || rounds > 300 {
			t.Fatal(rounds, err)
		}
	}
	stores.OnAsk(nil)
	got := stored(t, stores)
	sum := 0
	for _, p := range got {
		sum += len(versions(t, stores, p.URL))
	}
	if rounds < 5 || len(got) != 120 || sum != 240 {
		t.Errorf("%d pages with %d versions after %d interruptions", len(got), sum, rounds)
	}
}

// A damaged file is refused by Check, with the offset.
func TestCheck(t *testing.T) {
	a := newArchive(t)
	a.page(root+"a", day, "<p>one")
	half := a.out.Len()
	a.page(root+"b", day, "<p>two")
	whole, err := Check(t.Context(), a.file(), nil)
	if err != nil || whole.Records != 3 || whole.First != root+"a" {
		t.Errorf("%+v, %v", whole, err)
	}
	a.out.Truncate(a.out.Len() - 20)
	_, err = Check(t.Context(), a.file(), nil)
	var fault *warc.Fault
	if !errors.As(err, &fault) || fault.Offset != int64(half) || !strings.HasPrefix(err.Error(), a.path+": record at byte ") {
		t.Errorf("%v", err)
	}
	a.out.Reset()
	if _, err = Check(t.Context(), a.file(), nil); !errors.As(err, &fault) {
		t.Errorf("an empty file: %v", err)
	}
	if _, err = Check(t.Context(), t.TempDir(), nil); err == nil {
		t.Error("a folder is accepted")
	}
	z := zip.NewWriter(&a.out)
	if err = z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{a.out.String(), "PK\x03\x04 and no directory"} {
		a.out.Reset()
		a.out.WriteString(text)
		if _, err = Check(t.Context(), a.file(), nil); !errors.As(err, &fault) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
