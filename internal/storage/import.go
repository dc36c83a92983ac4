package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"
	"time"

	"hce/dc/internal/storage/keyvalue"
	"hce/dc/internal/storage/legacyimport"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore"
	"hce/dc/internal/wire"
)

const (
	importPage  = 1000 // rows of one transaction
	importNotes = 3 * time.Second
)

// Imports says what is imported.
type Imports struct {
	From     legacyimport.Options
	Log      bool   // the journals log_<site> too
	KeyFiles string // folder of the original's key-value files; "" for none
}

// ImportSum is what an import has done so far.
type ImportSum struct {
	Sites     int              `json:"sites"`     // that are imported as a whole now, by this run
	Before    int              `json:"before"`    // that earlier runs had imported as a whole
	Skipped   int              `json:"skipped"`   // that are left out: of others, or without an id
	Rows      map[string]int64 `json:"rows"`      // that were stored, by part
	Contents  int64            `json:"contents"`  // processed contents that were stored
	Kept      int64            `json:"kept"`      // contents that are newer here, and stayed
	Orphans   int              `json:"orphans"`   // tables urls_<site> of sites that have no row
	Proxies   int64            `json:"proxies"`   // that were stored
	Changed   map[string]int64 `json:"changed"`   // what looks otherwise than it did there, or was left out
	Remaining bool             `json:"remaining"` // the run ended before everything was read: run it again
}

// Import stores what the original service had, site by site: rows, lists,
// attributes, counters of events, processed contents; then the proxies. What it did goes to out as
// one line of JSON, also when it ends with an error; progress is told how far it
// is. The original's databases are only read.
//
// A site is imported part by part in pages, each with a bookmark in the same
// transaction. So an end at any point loses nothing and the next run goes on; a
// run with further parts (Imports.Log, Imports.KeyFiles) adds them. A site that
// is here already, and did not come by an import, is skipped. Rows that changed
// there after they were imported are not read again.
//
// While it runs, no other process opens the stores; while others have them open,
// it is refused.
func Import(ctx context.Context, c Config, o Imports, out, progress io.Writer, log *slog.Logger) (err error) {
	source, err := legacyimport.Open(ctx, o.From)
	if err != nil {
		return err
	}
	defer source.Close()
	s, closeAll, err := open(ctx, c, log, syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer closeAll()
	im := importer{source: source, store: s.repo.Store, contents: s.files, options: o, progress: progress, said: time.Now(),
		sum: ImportSum{Rows: map[string]int64{}, Changed: source.Changed, Remaining: true}}
	if c.InSQL {
		im.contents = s.table
	}
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
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return nil
}

// openKeyFiles opens the folder of another service. Files are made WAL files when
// they are read: that needs a folder that can be written.
func openKeyFiles(folder, own string) (*keyvalue.Store, error) {
	here, err := os.Stat(own)
	if err != nil {
		return nil, err
	}
	there, err := os.Stat(folder)
	if err != nil {
		return nil, err
	}
	if os.SameFile(here, there) {
		return nil, fmt.Errorf("%s is key_value_storage_dir itself: the files in it need no import", folder)
	}
	return keyvalue.Open(folder, keyvalue.Options{Open: func(path string) (*sql.DB, error) {
		return sqldb.OpenFile(path, sqldb.FileOptions{})
	}})
}

type importer struct {
	source   *legacyimport.Source
	store    *sqlstore.Store
	contents movable
	keyFiles *keyvalue.Store // nil: none
	options  Imports
	progress io.Writer
	said     time.Time
	sum      ImportSum
}

func (im *importer) run(ctx context.Context) error {
	for at := (wire.Bookmark{}); !at.Done; {
		sites, next, err := im.source.Sites(ctx, at)
		if err != nil {
			return err
		}
		for _, site := range sites {
			if err := im.site(ctx, site); err != nil {
				return fmt.Errorf("site %s: %w", site, err)
			}
		}
		at = next
	}
	orphans, err := im.source.Orphans(ctx)
	if err != nil {
		return err
	}
	for _, name := range orphans {
		im.say("%s: there is no such site, its rows are left out", name)
	}
	im.sum.Orphans = len(orphans)
	return im.proxies(ctx)
}

func (im *importer) proxies(ctx context.Context) error {
	at, err := im.store.ImportedProxies(ctx)
	for err == nil && !at.Done {
		var page []wire.Patch
		if page, at, err = im.source.Proxies(ctx, at, importPage); err != nil {
			break
		}
		var stored int
		stored, err = im.store.ImportProxies(ctx, page, at)
		im.sum.Proxies += int64(stored)
		if twice := len(page) - stored; err == nil && twice > 0 {
			im.sum.Changed["proxies: there twice, left out"] += int64(twice)
		}
	}
	return err
}

func (im *importer) say(format string, args ...any) {
	fmt.Fprintf(im.progress, format+"\n", args...)
	im.said = time.Now()
}

// part copies one part of a site from its bookmark on; copy stores a page and
// gives the next bookmark.
type part struct {
	name string
	copy func(ctx context.Context, site string, from wire.Bookmark) (wire.Bookmark, error)
}

func (im *importer) parts() []part {
	list := []part{
		im.rows(sqlstore.PartRoots, func(ctx context.Context, site string, from wire.Bookmark) ([]wire.Patch, wire.Bookmark, error) {
			return im.source.Roots(ctx, site, from, importPage)
		}),
		im.rows(sqlstore.PartURLs, func(ctx context.Context, site string, from wire.Bookmark) ([]wire.Patch, wire.Bookmark, error) {
			return im.source.URLs(ctx, site, from, importPage)
		}),
		im.rows(sqlstore.PartDeleted, func(ctx context.Context, site string, from wire.Bookmark) ([]wire.Patch, wire.Bookmark, error) {
			return im.source.Deleted(ctx, site, from, importPage)
		}),
		im.rows(sqlstore.PartAttributes, im.source.Attributes),
		im.rows(sqlstore.PartFreqs, func(ctx context.Context, site string, from wire.Bookmark) ([]wire.Patch, wire.Bookmark, error) {
			return im.source.Freqs(ctx, site, from, importPage)
		}),
		{sqlstore.PartContents, im.copyContents},
	}
	if im.options.Log {
		list = append(list, im.rows(sqlstore.PartLog, func(ctx context.Context, site string, from wire.Bookmark) ([]wire.Patch, wire.Bookmark, error) {
			return im.source.Log(ctx, site, from, importPage)
		}))
	}
	if im.keyFiles != nil {
		list = append(list, part{sqlstore.PartFiles, im.copyKeyFile})
	}
	return append(list, part{sqlstore.PartCounters, func(ctx context.Context, site string, _ wire.Bookmark) (wire.Bookmark, error) {
		return wire.Bookmark{Done: true}, im.store.ImportEnd(ctx, site)
	}})
}

// rows is a part whose rows go into the SQL database.
func (im *importer) rows(name string, read func(ctx context.Context, site string, from wire.Bookmark) ([]wire.Patch, wire.Bookmark, error)) part {
	return part{name, func(ctx context.Context, site string, from wire.Bookmark) (wire.Bookmark, error) {
		page, next, err := read(ctx, site, from)
		if err != nil {
			return from, err
		}
		stored, err := im.store.ImportRows(ctx, site, name, page, next)
		im.sum.Rows[name] += int64(stored)
		if twice := len(page) - stored; err == nil && twice > 0 {
			im.sum.Changed[name+": there twice, left out"] += int64(twice)
		}
		return next, err
	}}
}

func (im *importer) site(ctx context.Context, id string) error {
	if wire.CheckSiteID("", "", id) != nil {
		im.sum.Skipped++
		im.say("site %.100q: that is no id of a site, skipped", id)
		return nil
	}
	had, err := im.store.Imported(ctx, id)
	switch {
	case err != nil:
		return err
	case had.Known && len(had.Parts) == 0:
		im.sum.Skipped++
		im.say("site %s: is here already and was not imported, skipped", id)
		return nil
	}
	fresh := false
	if len(had.Parts) == 0 {
		if err := im.begin(ctx, id); err != nil {
			return err
		}
		fresh = true
	}
	for _, p := range im.parts() {
		for at := had.Parts[p.name]; !at.Done; fresh = true {
			if err := ctx.Err(); err != nil {
				return err
			}
			if at, err = p.copy(ctx, id, at); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			if time.Since(im.said) >= importNotes {
				im.say("site %s: %s; %d sites, %d URLs, %d contents so far", id, p.name, im.sum.Sites, im.sum.Rows[sqlstore.PartURLs], im.sum.Contents)
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

func (im *importer) begin(ctx context.Context, id string) error {
	row, err := im.source.Site(ctx, id)
	if err != nil {
		return err
	}
	filters, err := im.source.Filters(ctx, id)
	if err != nil {
		return err
	}
	properties, err := im.source.Properties(ctx, id)
	if err != nil {
		return err
	}
	if row.Int("State", wire.SiteActive) == wire.SiteDeleted {
		im.say("site %s: is in State 4, deleted, or was locked by a re-crawl; SITE_UPDATE with state 1 lets it go on", id)
	}
	return im.store.ImportSite(ctx, row, filters, properties)
}

// copyContents copies contents from the original's SQL database.
func (im *importer) copyContents(ctx context.Context, site string, from wire.Bookmark) (wire.Bookmark, error) {
	page, next, err := im.source.Contents(ctx, site, from)
	if err == nil {
		err = im.put(ctx, site, page)
	}
	if err == nil {
		err = im.store.ImportMark(ctx, site, sqlstore.PartContents, next)
	}
	return next, err
}

// copyKeyFile copies contents from the original's key-value file.
func (im *importer) copyKeyFile(ctx context.Context, site string, from wire.Bookmark) (wire.Bookmark, error) {
	page, err := im.keyFiles.Page(ctx, site, from.Key, movePage)
	if err != nil {
		return from, err
	}
	next := wire.Bookmark{Key: from.Key, Done: len(page) == 0}
	if !next.Done {
		next.Key = page[len(page)-1].ID
		if err := im.put(ctx, site, page); err != nil {
			return from, err
		}
	}
	return next, im.store.ImportMark(ctx, site, sqlstore.PartFiles, next)
}

// put stores contents, but those that are newer here.
func (im *importer) put(ctx context.Context, site string, page []wire.Entry) error {
	ids := make([]string, len(page))
	for i, e := range page {
		ids[i] = e.ID
	}
	there, err := im.contents.Dates(ctx, site, ids...)
	if err != nil {
		return err
	}
	fresh := make([]wire.Entry, 0, len(page))
	for _, e := range page {
		if at, both := there[e.ID]; !both || !at.After(e.CDate) {
			fresh = append(fresh, e)
		}
	}
	if _, err := im.contents.PutAll(ctx, site, fresh); err != nil {
		return err
	}
	im.sum.Contents += int64(len(fresh))
	im.sum.Kept += int64(len(page) - len(fresh))
	return nil
}
