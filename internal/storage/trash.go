package storage

import (
	"context"
	"fmt"

	"hce/dc/internal/files"
	"hce/dc/internal/storage/sqlstore"
)

// EmptyTrash removes the contents of deleted rows, including those of a killed process.
// When it returns nil, no process will later remove anything that was in the trash at
// the call: new contents of the same URLs are safe.
func (repo *Repository) EmptyTrash(ctx context.Context) error {
	// An empty list means that another process has finished its removal.
	items, err := repo.Trash(ctx)
	if err != nil || len(items) == 0 {
		return err
	}
	unlock, err := repo.lockTrash(ctx)
	if err != nil {
		return fmt.Errorf("empty the trash: %w", err)
	}
	defer unlock()
	for {
		if items, err = repo.Trash(ctx); err != nil {
			return err
		}
		if err := repo.remove(ctx, items); err != nil {
			return fmt.Errorf("empty the trash: %w", err)
		}
		if err := repo.TrashDone(ctx, items); err != nil || len(items) < sqlstore.TrashPage {
			return err
		}
	}
}

// remove removes the contents of one page of the trash.
func (repo *Repository) remove(ctx context.Context, items []sqlstore.TrashItem) error {
	bySite := map[string][]string{}
	for _, it := range items {
		if it.URLMd5 != "" {
			bySite[it.SiteID] = append(bySite[it.SiteID], it.URLMd5)
			continue
		}
		if err := repo.Raw.DeleteSite(it.SiteID); err != nil {
			return err
		}
		if err := repo.Contents.DeleteSite(ctx, it.SiteID); err != nil {
			return err
		}
	}
	for site, md5s := range bySite {
		if err := repo.Raw.DeleteURLs(site, md5s); err != nil {
			return err
		}
		if err := repo.Contents.Delete(ctx, site, md5s...); err != nil {
			return err
		}
	}
	return nil
}

// lockTrash keeps other processes from emptying the trash. It waits for them.
func (repo *Repository) lockTrash(ctx context.Context) (unlock func(), err error) {
	if repo.TrashLock == "" {
		return func() {}, nil
	}
	return files.Lock(ctx, repo.TrashLock)
}
