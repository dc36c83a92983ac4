package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/segments"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// SaveCrawl stores results of crawling: first links for other sites, then the raw contents
// of all results with one sync, then the rows and the places of the contents in one transaction. An unchanged body makes
// no new version (docs/spec/DECISIONS.md 5.3). Files of links are stored only for new
// rows. Saved is valid also after an error that follows the storing of the rows.
//
// It removes the files of rows that were deleted since MarkCrawling, and of links above
// a limit of the site. If the site was deleted, the error has CodeNotFound. A second call
// for a row that the batch still holds adds to the row: the list of a chain, and its
// final status.
func (repo *Repository) SaveCrawl(ctx context.Context, site string, batch int64, results []wire.Fetched) (wire.Saved, error) {
	saved, err := repo.saveCrawl(ctx, site, batch, results)
	if err != nil {
		return saved, fmt.Errorf("save crawl results of site %s: %w", site, err)
	}
	return saved, nil
}

func (repo *Repository) saveCrawl(ctx context.Context, site string, batch int64, results []wire.Fetched) (wire.Saved, error) {
	elsewhere := 0
	if slices.ContainsFunc(results, func(r wire.Fetched) bool { return len(r.Elsewhere) > 0 }) {
		var err error
		if elsewhere, err = repo.PutElsewhere(ctx, results); err != nil {
			return wire.Saved{}, err
		}
	}
	stage := repo.Raw.Stage()
	defer stage.Abort() // after the transaction
	pages, links, index, err := repo.putFiles(ctx, stage, site, results)
	if err != nil {
		return wire.Saved{}, err
	}
	stored := make([]string, len(results))
	for i, r := range results {
		stored[i] = r.URLMd5
	}
	var surplus []rawfiles.Version
	saved, err := repo.FinishCrawl(ctx, site, batch, results, func(tx *sqldb.Tx) (err error) {
		if err = index(tx); err == nil {
			surplus, err = repo.Raw.Trim(tx, site, stored)
		}
		return err
	})
	saved.Skipped += elsewhere
	if err == nil {
		pages = slices.DeleteFunc(pages, func(md5 string) bool { return !slices.Contains(saved.Gone, md5) })
	}
	if err == nil || wire.CodeOf(err) == wire.CodeNotFound {
		err = errors.Join(err, repo.dropDeleted(ctx, site, append(pages, links...)))
	}
	if err == nil && saved.Removed > 0 {
		err = repo.EmptyTrash(ctx)
	}
	if err != nil {
		return saved, err
	}
	repo.removeFiles(site, surplus)
	return saved, nil
}

// putFiles stores the files of results and of their new links, and returns the keys of both.
// index makes them visible in the transaction of the rows.
func (repo *Repository) putFiles(ctx context.Context, stage *segments.Stage, site string, results []wire.Fetched) (pages, links []string, index segments.Index, err error) {
	fresh, err := repo.freshLinks(ctx, site, results)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, r := range results {
		if len(r.Files) == 0 {
			continue
		}
		if r.Same {
			if _, stored, err := repo.Raw.Newest(ctx, site, r.URLMd5, rawfiles.Raw); err != nil {
				return nil, nil, nil, err
			} else if stored {
				continue
			}
		}
		pages = append(pages, r.URLMd5)
		if err := stageFiles(stage, site, r.URLMd5, r.At, r.Files); err != nil {
			return nil, nil, nil, err
		}
		stage.Name(site, r.URLMd5, r.At, r.URL)
	}
	for _, l := range fresh {
		links = append(links, l.URL.URLMd5)
		if err := stageFiles(stage, site, l.URL.URLMd5, l.At, l.Files); err != nil {
			return nil, nil, nil, err
		}
		stage.Name(site, l.URL.URLMd5, l.At, l.URL.URL)
	}
	index, err = stage.Flush(ctx)
	return pages, links, index, err
}

func stageFiles(stage *segments.Stage, site, md5 string, at time.Time, files []wire.File) error {
	for _, f := range files {
		if err := stage.Put(site, md5, at, rawfiles.Kind(f.Type), f.Data); err != nil {
			return err
		}
	}
	return nil
}

// freshLinks returns the links that have files and no row, each key once. It empties the
// trash first, so that a pending deletion does not remove the new files.
func (repo *Repository) freshLinks(ctx context.Context, site string, results []wire.Fetched) ([]*wire.Link, error) {
	var links []*wire.Link
	var keys []string
	for i := range results {
		for j := range results[i].Links {
			if l := &results[i].Links[j]; len(l.Files) > 0 {
				links, keys = append(links, l), append(keys, l.URL.URLMd5)
			}
		}
	}
	if len(links) == 0 {
		return nil, nil
	}
	if err := repo.EmptyTrash(ctx); err != nil {
		return nil, err
	}
	known, err := repo.KnownURLs(ctx, site, keys)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(links, func(l *wire.Link) bool {
		exists := known[l.URL.URLMd5]
		known[l.URL.URLMd5] = true
		return exists
	}), nil
}

// PutRaw stores raw files of URLs, by key, without their rows: those of a real-time batch
// (docs/spec/crawling.md 1.4). The names of the files contain the time at.
func (repo *Repository) PutRaw(ctx context.Context, site string, files map[string][]wire.File, at time.Time) error {
	if err := repo.EmptyTrash(ctx); err != nil {
		return err
	}
	if err := putByKey(ctx, repo.Raw, site, files, at); err != nil {
		return fmt.Errorf("store raw files of site %s: %w", site, err)
	}
	return nil
}

func putByKey(ctx context.Context, raw *segments.Store, site string, files map[string][]wire.File, at time.Time) error {
	stage := raw.Stage()
	defer stage.Abort()
	for _, md5 := range slices.Sorted(maps.Keys(files)) {
		if err := stageFiles(stage, site, md5, at, files[md5]); err != nil {
			return err
		}
	}
	return stage.Commit(ctx)
}
