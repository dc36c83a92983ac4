package process_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hce/dc/internal/process/document/documenttest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
)

// A crawl stores documents unchanged, whatever type their server declares, and they become
// processed contents. A type that nothing reads is marked.
func TestDocumentsOfASite(t *testing.T) {
	pdf, docx := documenttest.PDF("Tides", "The moon pulls the sea."), documenttest.DOCX("Tides", "The moon pulls the sea.")
	files := map[string]struct {
		kind   string
		body   []byte
		stored string // ContentType of its row
		bits   errormask.Mask
		part   bool // it is a resource
	}{
		"/right.pdf":  {"application/pdf", pdf, "application/pdf", 0, false},
		"/html.pdf":   {"text/html; charset=iso-8859-1", pdf, "application/pdf", 0, false},
		"/text.pdf":   {"text/plain", pdf, "application/pdf", 0, false},
		"/binary.pdf": {"application/octet-stream", pdf, "application/octet-stream", 0, false},
		"/none.docx":  {"application/unknown", docx, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", 0, false},
		"/zip.docx":   {"application/zip", docx, "application/zip", 0, false},
		"/a.txt":      {"text/plain", []byte("Tides\n\nThe moon pulls the sea."), "text/plain", 0, false},
		"/a.md":       {"text/markdown", []byte("# Tides\n\nThe moon pulls the sea."), "text/markdown", 0, false},
		"/a.xhtml":    {"application/xml", []byte(`<html xmlns="http://www.w3.org/1999/xhtml"><body><p>The moon pulls the sea.</p></body></html>`), "application/xml", 0, false},
		"/a.png":      {"image/png", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), "image/png", errormask.UnsupportedType, false},
		"/a.css":      {"text/css", []byte("p::after { content: 'The moon pulls the sea.' }"), "text/css", 0, true},
		"/a.js":       {"application/javascript", []byte("var text = 'The moon pulls the sea.'"), "application/javascript", 0, true},
		"/html.js":    {"text/html", []byte("var text = '<p>The moon pulls the sea.</p>'"), "text/html", 0, true},
		"/a.json":     {"application/json", []byte(`{"text": "The moon pulls the sea."}`), "application/json", 0, true},
		"/a.rss":      {"application/rss+xml", []byte(`<rss version="2.0"><channel><title>The moon pulls the sea.</title></channel></rss>`), "application/rss+xml", 0, true},
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f, ok := files[r.URL.Path]; ok {
			w.Header().Set("Content-Type", f.kind)
			_, _ = w.Write(f.body)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		for path := range files {
			fmt.Fprintf(w, "<a href=%q>The moon pulls the sea.</a> ", path)
		}
	}))
	defer web.Close()
	n := newNode(t)
	var reply []json.RawMessage
	n.ask(n.dbTask, fmt.Sprintf(`["SITE_NEW", {"id":"s","urls":["%s/"],"requestDelay":0,"filters":[{"pattern":"^%s/","action":1}],"properties":{"ROBOTS_MODE":"0"}}]`, web.URL, web.URL), &reply)
	n.crawl(1)
	if got := n.crawl(2); got != len(files) {
		t.Fatalf("%d pages crawled", got)
	}
	var batch json.RawMessage
	n.ask(n.dbTask, fmt.Sprintf(`["URL_FETCH", [{"maxURLs":100,"urlsCriterions":{"WHERE":%q},"urlUpdate":{"status":5,"batchId":4},"asBatch":4}]]`, wire.DueProcess), &batch)
	var answer struct{ Items []json.RawMessage }
	n.ask(n.process, string(batch), &answer)
	for path, f := range files {
		md5 := wire.Md5(web.URL + path)
		rows, err := n.repo.Rows(t.Context(), "s", []string{md5})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := n.repo.RawContent(t.Context(), "s", md5, wire.ContentRaw)
		if err != nil || !bytes.Equal(raw, f.body) {
			t.Errorf("%s: %d bytes stored of %d, %v", path, len(raw), len(f.body), err)
		}
		row := rows[md5]
		if row.Resource() != f.part || f.part && row.State != wire.URLEnabled {
			t.Errorf("%s: TagsCount %d, TagsMask %d, State %d", path, row.TagsCount, row.TagsMask, row.State)
		}
		if row.Status != wire.StatusProcessed || row.ErrorMask != f.bits || row.ContentType != f.stored {
			t.Errorf("%s: status %d, %s, type %s", path, row.Status, bitNames(row.ErrorMask), row.ContentType)
		}
		content, stored, err := n.repo.Contents.Get(t.Context(), "s", md5)
		text, broken := result.Expand(content.Data)
		if err != nil || broken != nil || stored != (f.bits == 0 && !f.part) || stored && !strings.Contains(string(text), "The moon pulls the sea.") {
			t.Errorf("%s: stored %v, %v, %v, %s", path, stored, err, broken, text)
		}
	}
}

// A resource is a page if its type or its URL was asked for, and it replaces an older page.
func TestResources(t *testing.T) {
	sheet := "p { color: red }"
	child := func(u *wire.URL) { u.ContentType, u.ParentMd5 = "text/css", wire.Md5("http://x.test/") }
	for _, c := range []struct {
		name, types string
		change      func(*wire.URL)
		want        string // part of the stored content; "": none
		resource    bool
	}{
		{"a style sheet", "", child, "", true},
		{"all types", "*", child, "", true},
		{"its type is named", "text/html,text/css", child, "color: red", false},
		{"a root URL", "", func(u *wire.URL) { u.ContentType = "text/css" }, "color: red", false},
		{"an older version was a page", "", func(u *wire.URL) { child(u); u.TagsCount, u.TagsMask = 3, 7 }, `"tagList":[[]]`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			if c.types != "" {
				f.Sites["s"].Properties = []wire.SiteProperty{{Name: "PROCESS_CTYPES", Value: c.types}}
			}
			it := f.item("s", "a", sheet, c.change)
			f.run(batchOf(it))
			text, err := result.Expand(f.Contents["s "+it.URLID])
			if err != nil {
				t.Fatal(err)
			}
			row, content := f.row(it), string(text)
			if row.Status != wire.StatusProcessed || row.State != wire.URLEnabled || row.ErrorMask != 0 || row.Processed != 1 || row.Resource() != c.resource {
				t.Errorf("%+v", row)
			}
			if !strings.Contains(content, c.want) || (content == "") != (c.want == "") {
				t.Errorf("content %s", content)
			}
		})
	}
}
