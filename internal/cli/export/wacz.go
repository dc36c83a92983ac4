package export

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"hce/dc/internal/cli/wacz"
	"hce/dc/internal/web/content"
	"hce/dc/warc"
)

// container writes the records of warc with an index and a list of the HTML pages (WACZ).
type container struct {
	*archive
	w *wacz.Writer
}

func newWACZ(out Output, _ Settings) (Writer, error) {
	if out.Scratch == "" {
		return nil, errors.New("a WACZ file is written to a regular file only; give another one with --out")
	}
	w, err := wacz.New(out.W, out.Scratch, time.Now())
	if err != nil {
		return nil, err
	}
	c := &container{newArchive(w, warc.Options{Gzip: true}), w}
	c.written = c.indexRecord
	return c, c.beginFile()
}

// indexRecord adds a record to the index, and an HTML page to the list.
func (c *container) indexRecord(of capture, r *warc.Record, place warc.Place) error {
	entry := wacz.Capture{URL: r.TargetURI, At: r.Date, Status: "200", Type: cmp.Or(cleanField(of.ContentType), "application/octet-stream"), Digest: r.PayloadDigest, Offset: place.Offset, Length: place.Length}
	if words := strings.Fields(string(r.Head)); len(words) > 1 { // a resource has none
		entry.Status = words[1]
	}
	if r.Type == warc.Revisit {
		entry.Type = "warc/revisit"
	}
	if of.hop != "" {
		m, _ := warc.ParseMessage(r.Head)
		entry.Type = cmp.Or(content.Normal(cleanField(m.Fields.Get("Content-Type"))), "application/octet-stream")
	}
	err := c.w.Capture(entry)
	if of.hop == "" && isHTML(of.ContentType) && !of.Resource() && err == nil {
		err = c.w.Page(wacz.Page{ID: of.URLMd5, URL: r.TargetURI, At: r.Date, Title: of.Text("title")})
	}
	return err
}

func isHTML(contentType string) bool {
	return strings.EqualFold(contentType, "text/html") || strings.EqualFold(contentType, "application/xhtml+xml")
}

// Full is false: the checksums of a zip file and the order of the index depend on all of it, so an
// interrupted export begins again.
func (c *container) Full() bool { return false }

func (c *container) End() error { return errors.Join(c.archive.End(), c.w.Close()) }
