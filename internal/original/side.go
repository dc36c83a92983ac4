package original

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"hce/dc/internal/db"
	"hce/dc/internal/dc"
)

// blobRows is the most rows of a page of a table with blobs.
const blobRows = 64

var (
	attributeColumns = []dc.Column{text("URLMd5"), {Name: "Name", Kind: dc.KindText, Bounds: dc.AttributeName}, text("Value"), date("CDate")}
	logColumns       = []dc.Column{text("URLMd5"), {Name: "OpCode", Kind: dc.KindInt, Bounds: dc.Bounds{Max: math.MaxUint8}}, text("Object"), date("CDate"), date("ODate")}
	contentColumns   = []dc.Column{text("id"), text("data"), date("CDate")}
	freqColumns      = []dc.Column{text("URLMd5"), number("FIns"), number("FDel"), number("FUpd"), number("FNew"), number("FCrawled"),
		number("FProcessed"), number("FAged"), number("FDeleted"), number("FPurged"), date("CDate"), date("MDate")}
)

func text(name string) dc.Column { return dc.Column{Name: name, Kind: dc.KindText} }
func number(name string) dc.Column {
	return dc.Column{Name: name, Kind: dc.KindInt, Bounds: dc.Bounds{Max: math.MaxInt64}}
}
func date(name string) dc.Column { return dc.Column{Name: name, Kind: dc.KindDate} }

// Attributes reads rows of att_<site> from a bookmark on. Value is bytes, CDate
// may be missing. Attributes of the site itself have no URLMd5.
func (s *Source) Attributes(ctx context.Context, site string, from dc.Bookmark) ([]dc.Patch, dc.Bookmark, error) {
	t := table{name: "attributes", database: db.Attributes, table: "att_" + site, key: "Id", columns: attributeColumns}
	page, next, err := s.page(ctx, t, from, blobRows)
	if err != nil {
		return nil, from, fmt.Errorf("original.Attributes: %w", err)
	}
	kept := page[:0]
	for _, p := range page {
		if p["Value"] != nil && s.keyed(t.name, p, "URLMd5", true) {
			kept = append(kept, p)
		}
	}
	return kept, next, nil
}

// Freqs reads rows of freq_<site> from a bookmark on.
func (s *Source) Freqs(ctx context.Context, site string, from dc.Bookmark, most int) ([]dc.Patch, dc.Bookmark, error) {
	t := table{name: "freqs", database: db.Freqs, table: "freq_" + site, key: "URLMd5", columns: freqColumns}
	page, next, err := s.page(ctx, t, from, most)
	if err != nil {
		return nil, from, fmt.Errorf("original.Freqs: %w", err)
	}
	kept := page[:0]
	for _, p := range page {
		if s.keyed(t.name, p, "URLMd5", false) {
			kept = append(kept, p)
		}
	}
	return kept, next, nil
}

// Log reads rows of log_<site> from a bookmark on.
func (s *Source) Log(ctx context.Context, site string, from dc.Bookmark, most int) ([]dc.Patch, dc.Bookmark, error) {
	t := table{name: "log", database: db.Logs, table: "log_" + site, key: "URLMd5", columns: logColumns}
	page, next, err := s.page(ctx, t, from, most)
	if err != nil {
		return nil, from, fmt.Errorf("original.Log: %w", err)
	}
	kept := page[:0]
	for _, p := range page {
		if s.keyed(t.name, p, "URLMd5", false) {
			kept = append(kept, p)
		}
	}
	return kept, next, nil
}

// Contents reads rows of contents_<site> from a bookmark on. Ids that are no
// keys of URLs are left out. An entry without a date has the zero one.
func (s *Source) Contents(ctx context.Context, site string, from dc.Bookmark) ([]dc.Entry, dc.Bookmark, error) {
	t := table{name: "contents", database: db.Contents, table: "contents_" + site, key: "id", columns: contentColumns}
	page, next, err := s.page(ctx, t, from, blobRows)
	if err != nil {
		return nil, from, fmt.Errorf("original.Contents: %w", err)
	}
	var kept []dc.Entry
	for _, p := range page {
		data, _ := p["data"].([]byte)
		if p["data"] == nil || !s.keyed(t.name, p, "id", false) {
			continue
		}
		at, _ := time.Parse(dc.DateLayout, p.Text("CDate"))
		kept = append(kept, dc.Entry{ID: p.Text("id"), Data: data, CDate: at})
	}
	return kept, next, nil
}

// keyed reports whether the row belongs to a URL, or to a site when empty is
// allowed; the key gets its form.
func (s *Source) keyed(name string, p dc.Patch, column string, empty bool) bool {
	key := strings.ToLower(strings.TrimRight(p.Text(column), " "))
	if (key != "" || !empty) && dc.CheckMd5("", "", key) != nil {
		s.changed(name+": of no URL, left out", 1)
		return false
	}
	p[column] = key
	return true
}
