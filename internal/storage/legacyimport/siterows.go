package legacyimport

import (
	"context"
	"math"
	"strings"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// blobRows limits the rows of one page of a table with blobs.
const blobRows = 64

var (
	attributeColumns = []schema.Column{textColumn("URLMd5"), {Name: "Name", Kind: schema.KindText, Bounds: schema.AttributeName}, textColumn("Value"), dateColumn("CDate")}
	logColumns       = []schema.Column{textColumn("URLMd5"), {Name: "OpCode", Kind: schema.KindInt, Bounds: schema.Bounds{Max: math.MaxUint8}}, textColumn("Object"), dateColumn("CDate"), dateColumn("ODate")}
	contentColumns   = []schema.Column{textColumn("id"), textColumn("data"), dateColumn("CDate")}
	freqColumns      = []schema.Column{textColumn("URLMd5"), numberColumn("FIns"), numberColumn("FDel"), numberColumn("FUpd"), numberColumn("FNew"), numberColumn("FCrawled"),
		numberColumn("FProcessed"), numberColumn("FAged"), numberColumn("FDeleted"), numberColumn("FPurged"), dateColumn("CDate"), dateColumn("MDate")}
)

func textColumn(name string) schema.Column { return schema.Column{Name: name, Kind: schema.KindText} }
func numberColumn(name string) schema.Column {
	return schema.Column{Name: name, Kind: schema.KindInt, Bounds: schema.Bounds{Max: math.MaxInt64}}
}
func dateColumn(name string) schema.Column { return schema.Column{Name: name, Kind: schema.KindDate} }

// readAttributes reads rows of att_<site> after a bookmark. Value is []byte, CDate may be
// nil. Attributes of the site itself have an empty URLMd5.
func (s *source) readAttributes(ctx context.Context, site string, from wire.Bookmark, limit int) ([]schema.Patch, wire.Bookmark, error) {
	t := table{name: "attributes", database: sqldb.Attributes, table: "att_" + site, key: "Id", columns: attributeColumns}
	return s.readPage(ctx, t, from, min(limit, blobRows), func(p schema.Patch) (bool, error) {
		if p["Value"] == nil {
			return false, nil
		}
		if strings.TrimRight(p.Text("URLMd5"), " ") == "" {
			p["URLMd5"] = ""
			return true, nil
		}
		return s.hasURLKey(t.name, p, "URLMd5"), nil
	})
}

// readFrequencies reads rows of freq_<site> after a bookmark.
func (s *source) readFrequencies(ctx context.Context, site string, from wire.Bookmark, limit int) ([]schema.Patch, wire.Bookmark, error) {
	t := table{name: "freqs", database: sqldb.Freqs, table: "freq_" + site, key: "URLMd5", columns: freqColumns}
	return s.readPage(ctx, t, from, limit, func(p schema.Patch) (bool, error) { return s.hasURLKey(t.name, p, "URLMd5"), nil })
}

// readJournal reads rows of log_<site> after a bookmark.
func (s *source) readJournal(ctx context.Context, site string, from wire.Bookmark, limit int) ([]schema.Patch, wire.Bookmark, error) {
	t := table{name: "log", database: sqldb.Logs, table: "log_" + site, key: "URLMd5", columns: logColumns}
	return s.readPage(ctx, t, from, limit, func(p schema.Patch) (bool, error) { return s.hasURLKey(t.name, p, "URLMd5"), nil })
}

// readContents reads rows of contents_<site> after a bookmark. It drops entries whose id is
// not the key of a URL. An entry without a date has the zero time.
func (s *source) readContents(ctx context.Context, site string, from wire.Bookmark) ([]wire.Entry, wire.Bookmark, error) {
	t := table{name: "contents", database: sqldb.Contents, table: "contents_" + site, key: "id", columns: contentColumns}
	page, next, err := s.readPage(ctx, t, from, blobRows, func(p schema.Patch) (bool, error) {
		return p["data"] != nil && s.hasURLKey(t.name, p, "id"), nil
	})
	entries := make([]wire.Entry, len(page))
	for i, p := range page {
		data, _ := p["data"].([]byte)
		at, _ := time.Parse(schema.DateLayout, p.Text("CDate"))
		entries[i] = wire.Entry{ID: p.Text("id"), Data: data, CDate: at}
	}
	return entries, next, err
}

// hasURLKey reports whether the row belongs to a URL. It normalizes the key.
func (s *source) hasURLKey(name string, p schema.Patch, column string) bool {
	key := strings.ToLower(strings.TrimRight(p.Text(column), " "))
	if wire.CheckMd5("", "", key) != nil {
		s.countChanges(name+": of no URL, left out", 1)
		return false
	}
	p[column] = key
	return true
}
