package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqlstore"
	"hce/dc/internal/wire"
)

// Repository is the stored data of one node. It is safe for several goroutines.
type Repository struct {
	Store    *sqlstore.Store
	Raw      *rawfiles.Cache
	Contents Contents
	Now      func() time.Time
	Log      *slog.Logger
	// TrashLock is a file that the processes of the node share: one of them at a
	// time empties the trash. "" when there is but this one.
	TrashLock string
	SQLCustom sqlstore.CustomMode // what SQL_CUSTOM may do; nothing when ""
}

// Site reads a site with its lists; nil when it is unknown.
func (repo *Repository) Site(ctx context.Context, id string) (*wire.Site, error) {
	return repo.Store.Site(ctx, id)
}

// Suspend stops a site that passed a limit.
func (repo *Repository) Suspend(ctx context.Context, id string, bits wire.ErrorMask, items int) error {
	return repo.Store.Suspend(ctx, id, bits, items)
}

// MarkCrawling takes rows into work; see sqlstore.MarkCrawling. The trash is emptied
// first: what a cleanup left there must not take along what this batch writes.
func (repo *Repository) MarkCrawling(ctx context.Context, site string, batch int64, items []wire.URL) (map[string]wire.Mark, error) {
	if err := repo.EmptyTrash(ctx); err != nil {
		return nil, err
	}
	return repo.Store.MarkCrawling(ctx, site, batch, items)
}

// MarkProcessing takes rows into work; see sqlstore.MarkProcessing. The trash is
// emptied first, as for MarkCrawling.
func (repo *Repository) MarkProcessing(ctx context.Context, site string, batch int64, md5s []string) (map[string]wire.URL, error) {
	if err := repo.EmptyTrash(ctx); err != nil {
		return nil, err
	}
	return repo.Store.MarkProcessing(ctx, site, batch, md5s)
}

// trim removes old versions of what was stored, as RAW_VERSIONS_MAX of the site
// says. Versions that stay too long do no harm, so errors are only logged.
func (repo *Repository) trim(ctx context.Context, site string, md5s []string) {
	s, err := repo.Store.Site(ctx, site)
	if err != nil || s == nil {
		return
	}
	value, _ := s.Property("RAW_VERSIONS_MAX")
	most, err := strconv.Atoi(value)
	if err != nil || most <= 0 {
		return
	}
	for _, md5 := range md5s {
		if _, err := repo.Raw.Trim(site, md5, most); err != nil {
			repo.Log.Warn("old versions are not removed", "site", site, "md5", md5, "error", err)
		}
	}
}

// RawContent reads the newest raw content of a URL; nil when there is none.
func (repo *Repository) RawContent(_ context.Context, site, md5 string) ([]byte, error) {
	v, ok, err := repo.Raw.Newest(site, md5, rawfiles.Raw)
	if err != nil || !ok {
		return nil, err
	}
	data, err := repo.Raw.Read(v)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // deleted meanwhile
	}
	return data, err
}

// SaveProcess stores outcomes of processing: the contents, then the rows, each
// in one transaction. For rows and sites that were deleted meanwhile see SaveCrawl.
func (repo *Repository) SaveProcess(ctx context.Context, site string, batch int64, results []wire.Extracted) error {
	var (
		entries []wire.Entry
		written []string
	)
	for _, r := range results {
		if r.Content != nil {
			entries = append(entries, wire.Entry{ID: r.URLMd5, Data: r.Content})
			written = append(written, r.URLMd5)
		}
	}
	if _, err := repo.Contents.PutAll(ctx, site, entries); err != nil {
		return fmt.Errorf("save processing results of site %s: %w", site, err)
	}
	err := repo.Store.FinishProcess(ctx, site, batch, results)
	if err == nil || wire.CodeOf(err) == wire.CodeNotFound {
		err = errors.Join(err, repo.dropDeleted(ctx, site, written))
	}
	if err != nil {
		return fmt.Errorf("save processing results of site %s: %w", site, err)
	}
	return nil
}

// dropDeleted removes what was written for rows that are gone: contents come
// before rows, and a deletion may come between. It takes no more of a deleted
// site than that, as delayed deletion keeps the rest.
func (repo *Repository) dropDeleted(ctx context.Context, site string, md5s []string) error {
	if len(md5s) == 0 {
		return nil
	}
	rows, err := repo.Store.Rows(ctx, site, md5s)
	if err != nil {
		return err
	}
	lost := slices.DeleteFunc(md5s, func(md5 string) bool {
		_, kept := rows[md5]
		return kept
	})
	if len(lost) == 0 {
		return nil
	}
	return errors.Join(repo.Raw.DeleteURLs(site, lost), repo.Contents.Delete(ctx, site, lost...))
}
