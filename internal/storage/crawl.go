package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/wire"
)

// SaveCrawl stores outcomes of crawling: links for other sites, then the files of
// all outcomes, made durable at once, then the rows in one transaction. A body
// that is stored already makes no new version (docs/spec/DECISIONS.md 5.3); files of links are
// stored for new rows alone. What it answers is not lost by an error that comes
// after the rows.
//
// Files of rows that were deleted since they were taken into work are removed
// again, and those of links that found no room; that of a deleted site is also an
// error with CodeNotFound. A second call for a row that the batch still holds
// adds to it: the list of a chain, and the status that ends it.
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
		if elsewhere, err = repo.Store.PutElsewhere(ctx, results); err != nil {
			return wire.Saved{}, err
		}
	}
	written, err := repo.putFiles(ctx, site, results)
	if err != nil {
		return wire.Saved{}, err
	}
	saved, err := repo.Store.FinishCrawl(ctx, site, batch, results)
	saved.Skipped += elsewhere
	if err == nil || wire.CodeOf(err) == wire.CodeNotFound {
		err = errors.Join(err, repo.dropDeleted(ctx, site, written))
	}
	if err == nil && saved.Removed > 0 {
		err = repo.EmptyTrash(ctx)
	}
	if err != nil {
		return saved, err
	}
	stored := make([]string, len(results))
	for i, r := range results {
		stored[i] = r.URLMd5
	}
	repo.trim(ctx, site, stored)
	return saved, nil
}

// putFiles stores the files of outcomes and of their new links. It tells for
// which keys.
func (repo *Repository) putFiles(ctx context.Context, site string, results []wire.Fetched) (written []string, err error) {
	fresh, err := repo.freshLinks(ctx, site, results)
	if err != nil {
		return nil, err
	}
	stage := repo.Raw.Stage()
	defer stage.Abort()
	for _, r := range results {
		if len(r.Files) == 0 {
			continue
		}
		if r.Same {
			if _, stored, err := repo.Raw.Newest(site, r.URLMd5, rawfiles.Raw); err != nil {
				return nil, err
			} else if stored {
				continue
			}
		}
		written = append(written, r.URLMd5)
		if err := stageFiles(stage, site, r.URLMd5, r.At, r.Files); err != nil {
			return nil, err
		}
	}
	for _, l := range fresh {
		written = append(written, l.URL.URLMd5)
		if err := stageFiles(stage, site, l.URL.URLMd5, l.At, l.Files); err != nil {
			return nil, err
		}
	}
	return written, stage.Commit()
}

func stageFiles(stage *rawfiles.Stage, site, md5 string, at time.Time, files []wire.File) error {
	for _, f := range files {
		if err := stage.Put(site, md5, at, rawfiles.Kind(f.Type), f.Data); err != nil {
			return err
		}
	}
	return nil
}

// freshLinks are the links with files whose rows are not there, each key once.
// The trash is emptied first: what a deletion left there must not take along
// their files.
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
	known, err := repo.Store.KnownURLs(ctx, site, keys)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(links, func(l *wire.Link) bool {
		there := known[l.URL.URLMd5]
		known[l.URL.URLMd5] = true
		return there
	}), nil
}

// PutRaw stores files of URLs whose rows are not touched, and need not be there:
// those of a batch in real time (docs/spec/crawling.md 1.4). At is the moment in their names.
func (repo *Repository) PutRaw(ctx context.Context, site string, files map[string][]wire.File, at time.Time) error {
	if err := repo.EmptyTrash(ctx); err != nil {
		return err
	}
	stage := repo.Raw.Stage()
	defer stage.Abort()
	for _, md5 := range slices.Sorted(maps.Keys(files)) {
		if err := stageFiles(stage, site, md5, at, files[md5]); err != nil {
			return fmt.Errorf("store raw files of site %s: %w", site, err)
		}
	}
	if err := stage.Commit(); err != nil {
		return fmt.Errorf("store raw files of site %s: %w", site, err)
	}
	return nil
}

// Condition evaluates an SQL expression over one URL's row; see
// sqlstore.Conditions. An expression that is refused is an error of the verdict.
func (repo *Repository) Condition(ctx context.Context, site, md5, expression string) (wire.Verdict, error) {
	verdicts, err := repo.Store.Conditions(ctx, site, []wire.Condition{{URLMd5: md5, SQL: expression}})
	if err != nil {
		return wire.Verdict{}, err
	}
	return verdicts[0], nil
}

// Conditions evaluates several at once, of one state of the database; see
// sqlstore.Conditions.
func (repo *Repository) Conditions(ctx context.Context, site string, list []wire.Condition) ([]wire.Verdict, error) {
	return repo.Store.Conditions(ctx, site, list)
}

// URLTexts reads the URLs of keys; see sqlstore.URLTexts.
func (repo *Repository) URLTexts(ctx context.Context, site string, md5s []string) (map[string]string, error) {
	return repo.Store.URLTexts(ctx, site, md5s)
}

// KnownURLs tells which keys have a row; see sqlstore.KnownURLs.
func (repo *Repository) KnownURLs(ctx context.Context, site string, md5s []string) (map[string]bool, error) {
	return repo.Store.KnownURLs(ctx, site, md5s)
}

// HasContents tells which URLs have a processed content.
func (repo *Repository) HasContents(ctx context.Context, site string, md5s []string) (map[string]bool, error) {
	dates, err := repo.Contents.Dates(ctx, site, md5s...)
	if err != nil {
		return nil, fmt.Errorf("look up processed contents of site %s: %w", site, err)
	}
	has := make(map[string]bool, len(dates))
	for md5 := range dates {
		has[md5] = true
	}
	return has, nil
}

// Proxies reads the stored proxies of a site; see sqlstore.SiteProxies.
func (repo *Repository) Proxies(ctx context.Context, site string) ([]wire.Proxy, error) {
	return repo.Store.SiteProxies(ctx, site)
}

// ProxyFault counts a fault of a stored proxy; see sqlstore.ProxyFault.
func (repo *Repository) ProxyFault(ctx context.Context, site, host string, disabled bool) error {
	return repo.Store.ProxyFault(ctx, site, host, disabled)
}

// TakeSchema stores what a URL schema made; see sqlstore.TakeSchema. The trash is
// emptied first, as for MarkCrawling.
func (repo *Repository) TakeSchema(ctx context.Context, site string, batch int64, template, first wire.URL, others []wire.URL) (taken bool, err error) {
	if err := repo.EmptyTrash(ctx); err != nil {
		return false, err
	}
	return repo.Store.TakeSchema(ctx, site, batch, template, first, others)
}
