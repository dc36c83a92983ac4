package legacyimport

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"hce/dc/internal/storage"
	"hce/dc/internal/storage/keyvalue"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

const (
	importPage     = 1000    // rows of one transaction
	keyFilePage    = 4 << 20 // bytes of contents of one transaction
	progressPeriod = 3 * time.Second
)

// Options select what Import reads.
type Options struct {
	Server   sqldb.Server
	Names    map[string]string // names of databases that differ from sqldb.Sites and the like
	Zone     *time.Location    // of the dates that the server wrote; nil means UTC
	Log      bool              // also the journals log_<site>
	KeyFiles string            // ffresh of the original key-value files, or ""
}

// summary is the result of an import.
type summary struct {
	Sites     int              `json:"sites"`             // completed by this run
	Before    int              `json:"before"`            // completed by earlier runs
	Skipped   int              `json:"skipped"`           // not imported, or with an invalid id
	Rows      map[string]int64 `json:"rows"`              // stored rows, by part
	Contents  int64            `json:"contents"`          // stored processed contents
	Kept      int64            `json:"kept"`              // contents that are newer here, and stay
	Damaged   int64            `json:"damaged,omitempty"` // contents that cannot be read; they are named
	Orphans   int              `json:"orphans"`           // tables urls_<site> of sites without a row
	Proxies   int64            `json:"proxies"`           // stored proxies
	Changed   map[string]int64 `json:"changed"`           // changed and dropped values, by table and kind
	Remaining bool             `json:"remaining"`         // the run ended early: run it again
}

// Import copies the data of the original service, site by site, then the proxies. It
// writes its summary to out as one line of JSON, also after an error, and its progress
// to progress.
//
// Each part of a site is copied in pages. A page and its bookmark share a transaction,
// so a stop at any point loses nothing and the next run continues. A run with more
// options adds these parts. A site that exists here and was not imported is skipped.
// Rows that change in the original after their import are not read again.
//
// Import fails while another process has the stores open, and keeps others out while it
// runs.
func Import(ctx context.Context, c storage.Config, o Options, out, progress io.Writer, log *slog.Logger) (err error) {
	from, err := openSource(ctx, o)
	if err != nil {
		return err
	}
	defer from.pool.Close()
	repo, closeAll, err := storage.OpenExclusive(ctx, c, log)
	if err != nil {
		return err
	}
	defer closeAll()
	im := importer{source: from, store: repo.Store, contents: repo.Contents, journal: o.Log, progress: progress, reported: time.Now(),
		sum: summary{Rows: map[string]int64{}, Changed: from.changes, Remaining: true}}
	if o.KeyFiles != "" {
		if im.keyFiles, err = openKeyFiles(o.KeyFiles, c.KeyDir); err != nil {
			return err
		}
		defer im.keyFiles.Close()
	}
	err = im.run(ctx)
	im.sum.Remaining = err != nil
	if e := json.NewEncoder(out).Encode(im.sum); err == nil && e != nil {
		err = e
	}
	if err == nil && im.sum.Damaged > 0 {
		err = fmt.Errorf("%d damaged contents were not imported", im.sum.Damaged)
	}
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return nil
}

// openKeyFiles opens the key-value files of another service. The ffresh must be
// writable, because reading turns the files into WAL files.
func openKeyFiles(ffresh, own string) (*keyvalue.Store, error) {
	ownInfo, err := os.Stat(own)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(ffresh)
	if err != nil {
		return nil, err
	}
	if os.SameFile(ownInfo, info) {
		return nil, fmt.Errorf("%s is key_value_storage_dir itself: the files in it need no import", ffresh)
	}
	return keyvalue.Open(ffresh, keyvalue.Options{Open: func(path string) (*sql.DB, error) {
		return sqldb.OpenFile(path, sqldb.FileOptions{})
	}})
}

type importer struct {
	source   *source
	store    *sqlstore.Store
	contents storage.Contents
	keyFiles *keyvalue.Store // nil without Options.KeyFiles
	journal  bool
	progress io.Writer
	reported time.Time // of the last line on progress
	sum      summary
}

func (im *importer) run(ctx context.Context) error {
	for at := (wire.Bookmark{}); !at.Done; {
		ids, next, err := im.source.siteIDs(ctx, at)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := im.importSite(ctx, id); err != nil {
				return fmt.Errorf("site %s: %w", id, err)
			}
		}
		at = next
	}
	orphans, err := im.source.listOrphans(ctx)
	if err != nil {
		return err
	}
	for _, name := range orphans {
		im.reportProgress("table %s: its site has no row; skipped", name)
	}
	im.sum.Orphans = len(orphans)
	return im.importProxies(ctx)
}

func (im *importer) importProxies(ctx context.Context) error {
	at, err := im.store.ImportedProxies(ctx)
	for err == nil && !at.Done {
		var page []schema.Patch
		if page, at, err = im.source.readProxies(ctx, at, importPage); err != nil {
			break
		}
		var stored int
		stored, err = im.store.ImportProxies(ctx, page, at)
		im.sum.Proxies += int64(stored)
		if err == nil {
			im.source.countChanges("proxies: there twice, left out", int64(len(page)-stored))
		}
	}
	return err
}

func (im *importer) reportProgress(format string, args ...any) {
	fmt.Fprintf(im.progress, format+"\n", args...)
	im.reported = time.Now()
}

// part is one part of a site. copy stores the page that follows the bookmark and returns
// the next bookmark.
type part struct {
	name string
	copy func(ctx context.Context, site string, from wire.Bookmark) (wire.Bookmark, error)
}

// siteParts lists the parts of a site in the order of their import.
func (im *importer) siteParts() []part {
	list := []part{
		im.newRowsPart(sqlstore.PartRoots, im.source.readRootURLs),
		im.newRowsPart(sqlstore.PartURLs, im.source.readURLs),
		im.newRowsPart(sqlstore.PartDeleted, im.source.deletedURLs),
		im.newRowsPart(sqlstore.PartAttributes, im.source.readAttributes),
		im.newRowsPart(sqlstore.PartFreqs, im.source.readFrequencies),
		{sqlstore.PartContents, im.copyContents},
	}
	if im.journal {
		list = append(list, im.newRowsPart(sqlstore.PartLog, im.source.readJournal))
	}
	if im.keyFiles != nil {
		list = append(list, part{sqlstore.PartFiles, im.copyKeyFile})
	}
	return append(list, part{sqlstore.PartCounters, func(ctx context.Context, site string, _ wire.Bookmark) (wire.Bookmark, error) {
		return wire.Bookmark{Done: true}, im.store.ImportEnd(ctx, site)
	}})
}

// newRowsPart is a part whose rows go into the SQL database.
func (im *importer) newRowsPart(name string, read func(ctx context.Context, site string, from wire.Bookmark, limit int) ([]schema.Patch, wire.Bookmark, error)) part {
	return part{name, func(ctx context.Context, site string, from wire.Bookmark) (wire.Bookmark, error) {
		page, next, err := read(ctx, site, from, importPage)
		if err != nil {
			return from, err
		}
		stored, err := im.store.ImportRows(ctx, site, name, page, next)
		im.sum.Rows[name] += int64(stored)
		if err == nil {
			im.source.countChanges(name+": there twice, left out", int64(len(page)-stored))
		}
		return next, err
	}}
}

func (im *importer) importSite(ctx context.Context, id string) error {
	if wire.CheckSiteID("", "", id) != nil {
		im.sum.Skipped++
		im.reportProgress("site %.100q: invalid site id; skipped", id)
		return nil
	}
	imported, err := im.store.Imported(ctx, id)
	switch {
	case err != nil:
		return err
	case imported.Known && len(imported.Parts) == 0:
		im.sum.Skipped++
		im.reportProgress("site %s: exists here and was not imported; skipped", id)
		return nil
	}
	fresh := false
	if len(imported.Parts) == 0 {
		if err := im.storeSite(ctx, id); err != nil {
			return err
		}
		fresh = true
	}
	for _, p := range im.siteParts() {
		for at := imported.Parts[p.name]; !at.Done; fresh = true {
			if err := ctx.Err(); err != nil {
				return err
			}
			if at, err = p.copy(ctx, id, at); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			if time.Since(im.reported) >= progressPeriod {
				im.reportProgress("site %s: %s; %d sites, %d URLs, %d contents so far", id, p.name, im.sum.Sites, im.sum.Rows[sqlstore.PartURLs], im.sum.Contents)
			}
		}
	}
	if fresh {
		im.sum.Sites++
	} else {
		im.sum.Before++
	}
	return nil
}

// storeSite stores the row and the lists of a site.
func (im *importer) storeSite(ctx context.Context, id string) error {
	row, err := im.source.readSite(ctx, id)
	if err != nil {
		return err
	}
	filters, err := im.source.readFilters(ctx, id)
	if err != nil {
		return err
	}
	properties, err := im.source.readProperties(ctx, id)
	if err != nil {
		return err
	}
	if row.Int("State", wire.SiteActive) == wire.SiteDeleted {
		im.reportProgress("site %s: State is 4, deleted or locked by a re-crawl; SITE_UPDATE with state 1 reactivates it", id)
	}
	return im.store.ImportSite(ctx, row, filters, properties)
}

// copyContents copies contents from the SQL database of the original.
func (im *importer) copyContents(ctx context.Context, site string, from wire.Bookmark) (wire.Bookmark, error) {
	page, next, err := im.source.readContents(ctx, site, from)
	if err == nil {
		err = im.storeContents(ctx, site, page)
	}
	if err == nil {
		err = im.store.ImportMark(ctx, site, sqlstore.PartContents, next)
	}
	return next, err
}

// copyKeyFile copies contents from the key-value file of the original.
func (im *importer) copyKeyFile(ctx context.Context, site string, from wire.Bookmark) (wire.Bookmark, error) {
	page, err := im.keyFiles.Page(ctx, site, from.Key, keyFilePage)
	if err != nil {
		return from, err
	}
	next := wire.Bookmark{Key: from.Key, Done: len(page) == 0}
	if !next.Done {
		next.Key = page[len(page)-1].ID
		page = im.dropDamaged(site, page)
		if err := im.storeContents(ctx, site, page); err != nil {
			return from, err
		}
	}
	return next, im.store.ImportMark(ctx, site, sqlstore.PartFiles, next)
}

// dropDamaged returns the entries that are not damaged. It counts and reports the others.
func (im *importer) dropDamaged(site string, page []wire.Entry) []wire.Entry {
	return slices.DeleteFunc(page, func(e wire.Entry) bool {
		if e.Damage != nil {
			im.sum.Damaged++
			im.reportProgress("site %s: not imported: %v", site, e.Damage)
		}
		return e.Damage != nil
	})
}

// storeContents stores contents, except those that are newer here. The keys of their rows may have been
// renewed since an earlier run.
func (im *importer) storeContents(ctx context.Context, site string, page []wire.Entry) error {
	ids := make([]string, len(page))
	for i, e := range page {
		ids[i] = e.ID
	}
	current, err := im.store.CurrentKeys(ctx, ids)
	if err != nil {
		return err
	}
	for i, e := range page {
		page[i].ID = cmp.Or(current[e.ID], e.ID)
	}
	fresh, err := storage.NotOlder(ctx, im.contents, site, page)
	if err != nil {
		return err
	}
	if _, err := im.contents.PutAll(ctx, site, fresh); err != nil {
		return err
	}
	im.sum.Contents += int64(len(fresh))
	im.sum.Kept += int64(len(page) - len(fresh))
	return nil
}
