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
)

// A crawl stores documents unchanged, whatever type their server declares, and they become
// processed contents. A type that nothing reads is marked.
func TestDocumentsOfASite(t *testing.T) {
	pdf, docx := documenttest.PDF("Tides", "The moon pulls the sea."), documenttest.DOCX("Tides", "The moon pulls the sea.")
	files := map[string]struct {
		kind   string
		body   []byte
		stored string // ContentType of its row
		bits   wire.ErrorMask
	}{
		"/right.pdf":  {"application/pdf", pdf, "application/pdf", 0},
		"/html.pdf":   {"text/html; charset=iso-8859-1", pdf, "application/pdf", 0},
		"/text.pdf":   {"text/plain", pdf, "application/pdf", 0},
		"/binary.pdf": {"application/octet-stream", pdf, "application/octet-stream", 0},
		"/none.docx":  {"application/unknown", docx, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", 0},
		"/zip.docx":   {"application/zip", docx, "application/zip", 0},
		"/a.txt":      {"text/plain", []byte("Tides\n\nThe moon pulls the sea."), "text/plain", 0},
		"/a.png":      {"image/png", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), "image/png", wire.ErrUnsupportedType},
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
		if row.Status != wire.StatusProcessed || row.ErrorMask != f.bits || row.ContentType != f.stored {
			t.Errorf("%s: status %d, %s, type %s", path, row.Status, bitNames(row.ErrorMask), row.ContentType)
		}
		content, stored, err := n.repo.Contents.Get(t.Context(), "s", md5)
		if err != nil || stored != (f.bits == 0) || stored && !strings.Contains(string(content.Data), "The moon pulls the sea.") {
			t.Errorf("%s: stored %v, %v, %s", path, stored, err, content.Data)
		}
	}
}
