package legacyimport

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// blobRows is the most rows of a page of a table with blobs.
const blobRows = 64

var (
	attributeColumns = []wire.Column{text("URLMd5"), {Name: "Name", Kind: wire.KindText, Bounds: wire.AttributeName}, text("Value"), date("CDate")}
	logColumns       = []wire.Column{text("URLMd5"), {Name: "OpCode", Kind: wire.KindInt, Bounds: wire.Bounds{Max: math.MaxUint8}}, text("Object"), date("CDate"), date("ODate")}
	contentColumns   = []wire.Column{text("id"), text("data"), date("CDate")}
	freqColumns      = []wire.Column{text("URLMd5"), number("FIns"), number("FDel"), number("FUpd"), number("FNew"), number("FCrawled"),
		number("FProcessed"), number("FAged"), number("FDeleted"), number("FPurged"), date("CDate"), date("MDate")}
)

func text(name string) wire.Column { return wire.Column{Name: name, Kind: wire.KindText} }
func number(name string) wire.Column {
	return wire.Column{Name: name, Kind: wire.KindInt, Bounds: wire.Bounds{Max: math.MaxInt64}}
}
func date(name string) wire.Column { return wire.Column{Name: name, Kind: wire.KindDate} }

// Attributes reads rows of att_<site> from a bookmark on. Value is bytes, CDate
// may be missing. Attributes of the site itself have no URLMd5.
func (s *Source) Attributes(ctx context.Context, site string, from wire.Bookmark) ([]wire.Patch, wire.Bookmark, error) {
	t := table{name: "attributes", database: sqldb.Attributes, table: "att_" + site, key: "Id", columns: attributeColumns}
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
func (s *Source) Freqs(ctx context.Context, site string, from wire.Bookmark, most int) ([]wire.Patch, wire.Bookmark, error) {
	t := table{name: "freqs", database: sqldb.Freqs, table: "freq_" + site, key: "URLMd5", columns: freqColumns}
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
func (s *Source) Log(ctx context.Context, site string, from wire.Bookmark, most int) ([]wire.Patch, wire.Bookmark, error) {
	t := table{name: "log", database: sqldb.Logs, table: "log_" + site, key: "URLMd5", columns: logColumns}
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
func (s *Source) Contents(ctx context.Context, site string, from wire.Bookmark) ([]wire.Entry, wire.Bookmark, error) {
	t := table{name: "contents", database: sqldb.Contents, table: "contents_" + site, key: "id", columns: contentColumns}
	page, next, err := s.page(ctx, t, from, blobRows)
	if err != nil {
		return nil, from, fmt.Errorf("original.Contents: %w", err)
	}
	var kept []wire.Entry
	for _, p := range page {
		data, _ := p["data"].([]byte)
		if p["data"] == nil || !s.keyed(t.name, p, "id", false) {
			continue
		}
		at, _ := time.Parse(wire.DateLayout, p.Text("CDate"))
		kept = append(kept, wire.Entry{ID: p.Text("id"), Data: data, CDate: at})
	}
	return kept, next, nil
}

// keyed reports whether the row belongs to a URL, or to a site when empty is
// allowed; the key gets its form.
func (s *Source) keyed(name string, p wire.Patch, column string, empty bool) bool {
	key := strings.ToLower(strings.TrimRight(p.Text(column), " "))
	if (key != "" || !empty) && wire.CheckMd5("", "", key) != nil {
		s.changed(name+": of no URL, left out", 1)
		return false
	}
	p[column] = key
	return true
}
