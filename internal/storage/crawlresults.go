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

// SaveCrawl stores results of crawling, each site once: first links for other sites, then the raw
// contents of all results with one sync, then the rows and the places of the contents in one
// transaction. An unchanged body makes no new version (docs/spec/DECISIONS.md 5.3). Files of links
// are stored only for new rows. Saved are those of the elements of list, also after an error that
// follows the storing of the rows.
//
// It removes the files of rows that were deleted since MarkCrawling, and of links above
// a limit of the site. If a site was deleted, the error has CodeNotFound, and nothing is stored.
// A second call for a row that the batch still holds adds to the row: the list of a chain, and its
// final status.
func (repo *Repository) SaveCrawl(ctx context.Context, batch int64, list []wire.SiteFetched) ([]wire.Saved, error) {
	saved, err := repo.saveCrawl(ctx, batch, list)
	if err != nil {
		return saved, fmt.Errorf("save crawl results: %w", err)
	}
	return saved, nil
}

// siteFiles are the keys of results and of new links of a site whose files are stored.
type siteFiles struct{ pages, links []string }

func (repo *Repository) saveCrawl(ctx context.Context, batch int64, list []wire.SiteFetched) ([]wire.Saved, error) {
	elsewhere := make([]int, len(list))
	for i, s := range list {
		if slices.ContainsFunc(s.Results, func(r wire.Fetched) bool { return len(r.Elsewhere) > 0 }) {
			var err error
			if elsewhere[i], err = repo.PutElsewhere(ctx, s.Results); err != nil {
				return make([]wire.Saved, len(list)), err
			}
		}
	}
	stage := repo.Raw.Stage()
	defer stage.Abort() // after the transaction
	files := make([]siteFiles, len(list))
	for i, s := range list {
		var err error
		if files[i], err = repo.putFiles(ctx, stage, s.Site, s.Results); err != nil {
			return make([]wire.Saved, len(list)), err
		}
	}
	index, err := stage.Flush(ctx)
	if err != nil {
		return make([]wire.Saved, len(list)), err
	}
	keys := make([][]string, len(list))
	for i, s := range list {
		for _, r := range s.Results {
			keys[i] = append(keys[i], r.URLMd5)
		}
	}
	surplus := make([][]rawfiles.Version, len(list))
	saved, err := repo.FinishCrawl(ctx, batch, list, func(tx *sqldb.Tx) error {
		if err := index(tx); err != nil {
			return err
		}
		for i, s := range list {
			var err error
			if surplus[i], err = repo.Raw.Trim(tx, s.Site, keys[i]); err != nil {
				return err
			}
		}
		return nil
	})
	removed := 0
	for i, s := range list {
		saved[i].Skipped += elsewhere[i]
		removed += saved[i].Removed
		pages := files[i].pages
		if err == nil {
			pages = slices.DeleteFunc(pages, func(md5 string) bool { return !slices.Contains(saved[i].Gone, md5) })
		}
		if err == nil || wire.CodeOf(err) == wire.CodeNotFound {
			err = errors.Join(err, repo.dropDeleted(ctx, s.Site, append(pages, files[i].links...)))
		}
	}
	if err == nil && removed > 0 {
		err = repo.EmptyTrash(ctx)
	}
	if err != nil {
		return saved, err
	}
	for i, s := range list {
		repo.removeFiles(s.Site, surplus[i])
	}
	return saved, nil
}

// putFiles stages the files of results and of their new links.
func (repo *Repository) putFiles(ctx context.Context, stage *segments.Stage, site string, results []wire.Fetched) (files siteFiles, err error) {
	fresh, err := repo.freshLinks(ctx, site, results)
	if err != nil {
		return files, err
	}
	for _, r := range results {
		if len(r.Files) == 0 {
			continue
		}
		if r.Same {
			if _, stored, err := repo.Raw.Newest(ctx, site, r.URLMd5, rawfiles.Raw); err != nil {
				return files, err
			} else if stored {
				continue
			}
		}
		files.pages = append(files.pages, r.URLMd5)
		if err := repo.stageVersion(stage, site, r.URLMd5, r.At, r.Files); err != nil {
			return files, err
		}
		stage.Name(site, r.URLMd5, r.At, r.URL)
	}
	for _, l := range fresh {
		files.links = append(files.links, l.URL.URLMd5)
		if err := repo.stageVersion(stage, site, l.URL.URLMd5, l.At, l.Files); err != nil {
			return files, err
		}
		stage.Name(site, l.URL.URLMd5, l.At, l.URL.URL)
	}
	return files, nil
}

// stageVersion stages the files of a fetched page. A version with the same body, which a killed process
// has left without its row, gets them instead of a second version.
func (repo *Repository) stageVersion(stage *segments.Stage, site, md5 string, at time.Time, files []wire.File) error {
	for _, f := range files {
		if rawfiles.Kind(f.Type) != rawfiles.Raw {
			continue
		}
		if left, found, err := repo.Raw.Left(site, md5, f.Data); err != nil {
			return err
		} else if found {
			at = left
		}
	}
	return stageFiles(stage, site, md5, at, files)
}

func stageFiles(stage *segments.Stage, site, md5 string, at time.Time, files []wire.File) error {
	for _, f := range files {
		if err := stage.Put(site, md5, at, rawfiles.Kind(f.Type), f.Data); err != nil {
			return err
		}
	}
	return nil
}

// freshLinks returns the links that have files and no row, or that of a feed entry with another content,
// each key once. It empties the trash first, so that a pending deletion does not remove the new files.
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
	rows, err := repo.Rows(ctx, site, keys)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(links, func(l *wire.Link) bool {
		row, known := rows[l.URL.URLMd5]
		rows[l.URL.URLMd5] = l.URL // of a second link
		return known && !l.Renews(&row)
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
