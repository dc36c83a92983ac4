package legacyimport

import (
	"context"
	"fmt"
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// maxURL bounds a URL's text in bytes.
const maxURL = 4096

// URLs reads rows of urls_<site> from a bookmark on.
func (s *Source) URLs(ctx context.Context, site string, from wire.Bookmark, most int) ([]wire.Patch, wire.Bookmark, error) {
	t := table{name: "urls", database: sqldb.URLs, table: "urls_" + site, key: "URLMd5", columns: wire.URLColumns}
	page, next, err := s.page(ctx, t, from, most)
	if err == nil {
		page, err = s.repair(ctx, t, page, true)
	}
	if err != nil {
		return nil, from, fmt.Errorf("original.URLs: %w", err)
	}
	return page, next, nil
}

// Deleted reads rows of urls_<site> that wait for URL_PURGE, from a bookmark on.
func (s *Source) Deleted(ctx context.Context, site string, from wire.Bookmark, most int) ([]wire.Patch, wire.Bookmark, error) {
	t := table{name: "deleted", database: sqldb.Deleted, table: "urls_" + site, key: "URLMd5", columns: wire.URLColumns}
	page, next, err := s.page(ctx, t, from, most)
	if err == nil {
		page, err = s.repair(ctx, t, page, false)
	}
	if err != nil {
		return nil, from, fmt.Errorf("original.Deleted: %w", err)
	}
	return page, next, nil
}

// repair makes rows of URLs good: a key for each, no batch, error bits where we
// have them. Rows that stay without a key are left out. A row whose key is made
// from its URL is left out also when there is a row with that key, which is the
// one that was crawled; single says that keys are single there.
func (s *Source) repair(ctx context.Context, t table, page []wire.Patch, single bool) ([]wire.Patch, error) {
	kept := page[:0]
	for _, p := range page {
		url := p.Text("URL")
		if len(url) > maxURL {
			s.changed(t.name+".URL: longer than 4096 bytes, left out", 1)
			continue
		}
		key := strings.ToLower(strings.TrimRight(p.Text("URLMd5"), " "))
		if wire.CheckMd5("", "", key) != nil {
			if url == "" {
				s.changed(t.name+": neither key nor URL, left out", 1)
				continue
			}
			key = wire.Md5(url)
			if twice, err := s.has(ctx, t, key); err != nil {
				return nil, err
			} else if twice && single {
				s.changed(t.name+": without key, and there with one, left out", 1)
				continue
			}
			s.changed(t.name+".URLMd5: made from the URL", 1)
		}
		p["URLMd5"] = key
		p["ErrorMask"] = s.mask(t.name+".ErrorMask", p.Int("ErrorMask", 0))
		s.release(t.name, p)
		p["Batch_Id"] = int64(0)
		kept = append(kept, p)
	}
	return kept, nil
}

// release takes a row out of its batch, which nobody runs any more.
func (s *Source) release(name string, p wire.Patch) {
	switch status := p.Int("Status", 0); status {
	case wire.StatusSelectedCrawling, wire.StatusCrawling, wire.StatusSelectedIncremental:
		p["Status"] = int64(wire.StatusNew)
	case wire.StatusSelectedProcessing, wire.StatusProcessing:
		p["Status"] = int64(wire.StatusCrawled)
		if p.Int("Crawled", 0) == 0 { // with Status 4 it would be another node's
			p["Crawled"] = int64(1)
		}
	case wire.StatusUndefined, wire.StatusNew, wire.StatusCrawled, wire.StatusProcessed:
		return
	default:
		p["Status"] = int64(wire.StatusNew)
		s.changed(name+".Status: unknown, now 1", 1)
		return
	}
	s.changed(name+".Status: was in a batch, returned", 1)
}

func (s *Source) has(ctx context.Context, t table, key string) (bool, error) {
	var n int
	text := "SELECT COUNT(*) FROM " + s.quoted(t.database, t.table) + " WHERE URLMd5 = ?"
	args := []any{key}
	if t.where != "" {
		text, args = text+" AND "+t.where, append(args, t.args...)
	}
	err := s.pool.QueryRowContext(ctx, text, args...).Scan(&n)
	return n > 0, err
}
