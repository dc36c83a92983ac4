package legacyimport

import (
	"context"
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// maxURL limits the text of a URL, in bytes.
const maxURL = 4096

// readURLs reads rows of urls_<site> after a bookmark.
func (s *source) readURLs(ctx context.Context, site string, from wire.Bookmark, limit int) ([]schema.Patch, wire.Bookmark, error) {
	t := table{name: "urls", database: sqldb.URLs, table: "urls_" + site, key: "URLMd5", columns: wire.URLColumns}
	return s.readPage(ctx, t, from, limit, func(p schema.Patch) (bool, error) { return s.repairURLRow(ctx, t, p, true) })
}

// deletedURLs reads rows of urls_<site> that wait for URL_PURGE, after a bookmark.
func (s *source) deletedURLs(ctx context.Context, site string, from wire.Bookmark, limit int) ([]schema.Patch, wire.Bookmark, error) {
	t := table{name: "deleted", database: sqldb.Deleted, table: "urls_" + site, key: "URLMd5", columns: wire.URLColumns}
	return s.readPage(ctx, t, from, limit, func(p schema.Patch) (bool, error) { return s.repairURLRow(ctx, t, p, false) })
}

// repairURLRow gives a row of a URL a valid key, no batch and the present error bits. It
// returns false for a row without key and URL, and for a URL that is too long. If
// keys are unique in the table, it also drops a row without key whose URL has a row
// with a key: that one was crawled.
func (s *source) repairURLRow(ctx context.Context, t table, p schema.Patch, unique bool) (keep bool, err error) {
	url := p.Text("URL")
	if len(url) > maxURL {
		s.countChanges(t.name+".URL: longer than 4096 bytes, left out", 1)
		return false, nil
	}
	key := strings.ToLower(strings.TrimRight(p.Text("URLMd5"), " "))
	if wire.CheckMd5("", "", key) != nil {
		if url == "" {
			s.countChanges(t.name+": neither key nor URL, left out", 1)
			return false, nil
		}
		key = wire.Md5(url)
		if unique {
			if exists, err := s.hasKey(ctx, t, key); err != nil {
				return false, err
			} else if exists {
				s.countChanges(t.name+": without key, and there with one, left out", 1)
				return false, nil
			}
		}
		s.countChanges(t.name+".URLMd5: made from the URL", 1)
	}
	p["URLMd5"] = key
	p["ErrorMask"] = s.convertErrorMask(t.name+".ErrorMask", p.Int("ErrorMask", 0))
	s.releaseFromBatch(t.name, p)
	p["Batch_Id"] = int64(0)
	return true, nil
}

// releaseFromBatch takes a row out of its batch, which no process runs any more.
func (s *source) releaseFromBatch(name string, p schema.Patch) {
	switch status := p.Int("Status", 0); status {
	case wire.StatusSelectedCrawling, wire.StatusCrawling, wire.StatusSelectedIncremental:
		p["Status"] = int64(wire.StatusNew)
	case wire.StatusSelectedProcessing, wire.StatusProcessing:
		p["Status"] = int64(wire.StatusCrawled)
		if p.Int("Crawled", 0) == 0 { // Status 4 with Crawled 0 marks a row of another node
			p["Crawled"] = int64(1)
		}
	case wire.StatusUndefined, wire.StatusNew, wire.StatusCrawled, wire.StatusProcessed:
		return
	default:
		p["Status"] = int64(wire.StatusNew)
		s.countChanges(name+".Status: unknown, now 1", 1)
		return
	}
	s.countChanges(name+".Status: was in a batch, returned", 1)
}

// hasKey reports whether the table has a row with the key.
func (s *source) hasKey(ctx context.Context, t table, key string) (bool, error) {
	var n int
	err := s.pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+s.quotedName(t.database, t.table)+" WHERE URLMd5 = ?", key).Scan(&n)
	return n > 0, err
}
