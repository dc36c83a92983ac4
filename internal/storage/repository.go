package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"syscall"
	"time"

	"hce/dc/internal/files"
	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/segments"
	"hce/dc/internal/storage/sqlstore"
	"hce/dc/internal/task"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// Repository is the stored data of one node. It is safe for concurrent use. Methods of
// Store change rows only; methods of Repository also change the contents.
type Repository struct {
	*sqlstore.Store
	Raw       *segments.Store
	Contents  Contents
	Now       func() time.Time
	Log       *slog.Logger
	TrashLock string              // file that lets one process of the node at a time empty the trash
	SQLCustom sqlstore.CustomMode // what SQL_CUSTOM may do; "" means nothing
	Moves     string              // folder of the packs of hosts that move

	place *placementFile // nil: there is no cluster
}

// MarkCrawling marks rows as being crawled; see sqlstore.Store.MarkCrawling. It empties
// the trash first, so that a pending deletion does not remove new files.
func (repo *Repository) MarkCrawling(ctx context.Context, site string, batch int64, items []wire.URL) (map[string]wire.Mark, error) {
	if err := repo.EmptyTrash(ctx); err != nil {
		return nil, err
	}
	return repo.Store.MarkCrawling(ctx, site, batch, items)
}

// Take selects rows for a batch and marks them as being crawled or processed; see
// sqlstore.Store.Take. Like MarkCrawling it empties the trash before it returns.
func (repo *Repository) Take(ctx context.Context, selection []wire.URLFetchRequest, batch int64) ([]wire.URL, error) {
	rows, trash, err := repo.Store.Take(ctx, selection, batch)
	if err == nil && trash && len(rows) > 0 {
		err = repo.EmptyTrash(ctx)
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// MarkProcessing marks rows as being processed; see sqlstore.Store.MarkProcessing. It
// empties the trash first, like MarkCrawling.
func (repo *Repository) MarkProcessing(ctx context.Context, site string, batch int64, md5s []string) (map[string]wire.URL, error) {
	if err := repo.EmptyTrash(ctx); err != nil {
		return nil, err
	}
	return repo.Store.MarkProcessing(ctx, site, batch, md5s)
}

// TakeSchema stores the URLs that a URL schema generates; see sqlstore.Store.TakeSchema.
// It empties the trash first, like MarkCrawling.
func (repo *Repository) TakeSchema(ctx context.Context, site string, batch int64, template, first wire.URL, others []wire.URL) (taken bool, err error) {
	if err := repo.EmptyTrash(ctx); err != nil {
		return false, err
	}
	return repo.Store.TakeSchema(ctx, site, batch, template, first, others)
}

// RawContent reads the newest raw content of a URL that has this type, such as
// wire.ContentRaw. It returns nil without one. An error that other contents would meet too is
// critical (package task).
func (repo *Repository) RawContent(ctx context.Context, site, md5 string, kind int) ([]byte, error) {
	v, ok, err := repo.Raw.Newest(ctx, site, md5, rawfiles.Kind(kind))
	if err != nil && Machine(err) {
		return nil, task.Critical(err)
	}
	if err != nil || !ok {
		return nil, err
	}
	return repo.readRaw(ctx, v)
}

// FindRaw finds the raw contents of URLs of a site at once. It returns the keys in the order in which
// the contents are stored, and a function that reads them as RawContent does.
func (repo *Repository) FindRaw(ctx context.Context, site string, md5s []string) (ordered []string, read wire.ReadRaw, err error) {
	lists, err := repo.Raw.Lists(ctx, site, md5s)
	if err != nil {
		return nil, nil, err
	}
	newest := func(md5 string, kind int) (v rawfiles.Version, ok bool) {
		for _, v := range slices.Backward(lists[md5]) {
			if v.Kind == rawfiles.Kind(kind) {
				return v, true
			}
		}
		return v, false
	}
	ordered = slices.Clone(md5s)
	slices.SortStableFunc(ordered, func(a, b string) int {
		v, _ := newest(a, wire.ContentRaw)
		w, _ := newest(b, wire.ContentRaw)
		return segments.CompareStored(v, w)
	})
	return ordered, func(ctx context.Context, md5 string, kind int) ([]byte, error) {
		v, ok := newest(md5, kind)
		if !ok {
			return nil, nil
		}
		return repo.readRaw(ctx, v)
	}, nil
}

// readRaw reads a raw content. It returns nil if it was deleted.
func (repo *Repository) readRaw(ctx context.Context, v rawfiles.Version) ([]byte, error) {
	data, err := repo.readRawContent(ctx, v)
	switch {
	case errors.Is(err, segments.ErrAway), isOneOf(err, busyReads):
		return nil, task.Critical(err)
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	}
	return data, err
}

// busyReads are the errors of a read that are no property of the file: descriptors or memory are
// used up, or the user may not read, or the disk is away.
var busyReads = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, fs.ErrPermission, syscall.ESTALE, syscall.ENOTCONN, syscall.ENODEV}

func isOneOf(err error, list []error) bool {
	return slices.ContainsFunc(list, func(one error) bool { return errors.Is(err, one) })
}

// HasContents returns the keys of those URLs that have a processed content.
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

// SaveProcess stores results of processing: first the contents, then the rows of further items,
// then the rows of the batch, each in one transaction. After a kill the pages are processed again,
// which changes the same items. SaveCrawl describes the treatment of deleted rows and sites.
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
		for _, item := range r.Items {
			if item.Content != nil {
				entries = append(entries, wire.Entry{ID: item.Row.URLMd5, Data: item.Content})
				written = append(written, item.Row.URLMd5)
			}
		}
	}
	_, err := repo.Contents.PutAll(ctx, site, entries)
	if err == nil {
		err = repo.saveItems(ctx, site, results)
	}
	if err == nil {
		var refused []error
		refused, err = repo.FinishProcess(ctx, site, batch, results)
		for _, reason := range refused {
			repo.Log.Warn("left out invalid property", "site", site, "error", reason)
		}
		if err == nil || wire.CodeOf(err) == wire.CodeNotFound {
			err = errors.Join(err, repo.dropDeleted(ctx, site, written))
		}
	}
	if err != nil {
		return fmt.Errorf("save processing results of site %s: %w", site, err)
	}
	return nil
}

// saveItems inserts the rows of further items of pages, or updates those of an earlier run, with
// copies of the raw contents of the page.
func (repo *Repository) saveItems(ctx context.Context, site string, results []wire.Extracted) error {
	var list []wire.URLNewRequest
	files := map[string][]wire.File{}
	for _, r := range results {
		for _, item := range r.Items {
			row := schema.PatchOf(&item.Row, wire.URLColumns)
			set := maps.Clone(row)
			for _, column := range []string{"Site_Id", "URLMd5", "URL", "CDate"} {
				delete(set, column)
			}
			list = append(list, wire.URLNewRequest{Row: row, SiteSelect: wire.SelectNone,
				Update: &wire.URLUpdateRequest{SiteID: site, URLMd5: item.Row.URLMd5, Set: set}})
			if len(r.Files) > 0 {
				files[item.Row.URLMd5] = r.Files
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	answer, err := repo.ItemsNew(ctx, list)
	if err == nil && answer.ErrorCode != 0 {
		err = &wire.Error{Op: "store the items of pages", Code: answer.ErrorCode, Err: errors.New(answer.ErrorMessage)}
	}
	if err == nil && len(files) > 0 {
		err = repo.PutRaw(ctx, site, files, repo.Now())
	}
	return err
}

// dropDeleted removes the contents that were written for rows that are gone: contents
// are written first, and a deletion may come between. Other contents of a deleted site
// stay, because a delayed deletion keeps them.
func (repo *Repository) dropDeleted(ctx context.Context, site string, written []string) error {
	if len(written) == 0 {
		return nil
	}
	known, err := repo.KnownURLs(ctx, site, written)
	if err != nil {
		return err
	}
	deleted := slices.DeleteFunc(written, func(md5 string) bool { return known[md5] })
	if len(deleted) == 0 {
		return nil
	}
	return errors.Join(repo.Raw.DeleteURLs(ctx, site, deleted), repo.Contents.Delete(ctx, site, deleted...))
}

// removeFiles removes surplus files. They do no harm, so it only logs errors.
func (repo *Repository) removeFiles(site string, files []rawfiles.Version) {
	if err := repo.Raw.Remove(files); err != nil {
		repo.Log.Warn("cannot remove old raw versions", "site", site, "error", err)
	}
}

// EmptyTrash removes the contents of deleted rows, including those of a killed process.
// When it returns nil, no process will later remove anything that was in the trash at
// the call: new contents of the same URLs are safe.
func (repo *Repository) EmptyTrash(ctx context.Context) error {
	// An empty list means that another process has finished its removal.
	items, err := repo.Trash(ctx)
	if err != nil || len(items) == 0 {
		return err
	}
	unlock, err := files.Lock(ctx, repo.TrashLock)
	if err != nil {
		return fmt.Errorf("empty the trash: %w", err)
	}
	defer unlock()
	for {
		if items, err = repo.Trash(ctx); err != nil {
			return err
		}
		if err := repo.removeTrashed(ctx, items); err != nil {
			return fmt.Errorf("empty the trash: %w", err)
		}
		if err := repo.TrashDone(ctx, items); err != nil || len(items) < sqlstore.TrashPage {
			return err
		}
	}
}

// removeTrashed removes the contents of one page of the trash.
func (repo *Repository) removeTrashed(ctx context.Context, items []sqlstore.TrashItem) error {
	bySite := map[string][]string{}
	for _, it := range items {
		if it.URLMd5 != "" {
			bySite[it.SiteID] = append(bySite[it.SiteID], it.URLMd5)
			continue
		}
		if err := repo.Raw.DeleteSite(ctx, it.SiteID); err != nil {
			return err
		}
		if err := repo.Contents.DeleteSite(ctx, it.SiteID); err != nil {
			return err
		}
	}
	for site, md5s := range bySite {
		if err := repo.Raw.DeleteURLs(ctx, site, md5s); err != nil {
			return err
		}
		if err := repo.Contents.Delete(ctx, site, md5s...); err != nil {
			return err
		}
	}
	return nil
}
