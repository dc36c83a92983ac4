// Package sqlstore stores sites and their URLs in SQL: one method per request, from
// checked wire types to rows and back.
//
//	s := sqlstore.Open(database, sqlstore.Options{Log: log})
//	answer, err := s.SiteNew(ctx, request)
//	urls, err := s.URLFetch(ctx, fetches)
//	marks, err := s.MarkCrawling(ctx, site, batch, urls) // Status 3
//	err = s.FinishCrawl(ctx, site, batch, results)       // Status 4
//
// The operations are in the packages below it, which this one puts together. An arrow points to a package that
// is imported, and all import tables:
//
//	outcomes -> urls -> sites -> counters -> limits     what finished tasks found: outcomes of rows, and links
//	claims -> sites                                     rows for tasks
//	moves -> sites                                      hosts of other nodes, imports, keys of an older version
//	custom -> counters                                  SQL of clients
//	contents, attributes -> tables
//
// One batch at a time holds a row: Status 2, 3, 8 (crawling) or 5, 6 (processing)
// with its Batch_Id. Results of a batch that no longer holds the row are ignored.
//
// On SQLite one table holds the rows of all sites, so every statement here selects
// the site. Expressions in requests may use the names of the specification, such as
// urls_<site>, on both databases. They reach the database through package expr only.
//
// A method is one transaction, unless its comment says otherwise. An invalid request
// is reported in the answer if the answer has a field for it. An error means that the
// transaction changed nothing. Files of deleted contents are listed by Trash.
//
// Times are UTC, from Options.Now. Methods are safe for concurrent use.
// Sources: docs/spec/storage.md 1, 4.
package sqlstore

import (
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/attributes"
	"hce/dc/internal/storage/sqlstore/claims"
	"hce/dc/internal/storage/sqlstore/contents"
	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/storage/sqlstore/custom"
	"hce/dc/internal/storage/sqlstore/limits"
	"hce/dc/internal/storage/sqlstore/moves"
	"hce/dc/internal/storage/sqlstore/outcomes"
	"hce/dc/internal/storage/sqlstore/sites"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/storage/sqlstore/urls"
	"hce/dc/internal/wire"
)

// Types of the operations, as callers name them.
type (
	Options     = tables.Options
	Key         = urls.Key
	TrashItem   = urls.TrashItem
	ContentNote = counters.ContentNote
	Contents    = contents.Contents
	CustomMode  = custom.CustomMode
	Arriving    = moves.Arriving
	LeavingURL  = moves.LeavingURL
	MovedSite   = moves.MovedSite
	MovedURL    = moves.MovedURL
	KeyMove     = moves.KeyMove
)

// TrashPage is the largest number of items of Store.Trash.
const TrashPage = urls.TrashPage

// Modes of Store.Custom.
const (
	CustomOff  = custom.CustomOff
	CustomRead = custom.CustomRead
	CustomAll  = custom.CustomAll
)

// Parts of an import.
const (
	PartSite       = moves.PartSite
	PartRoots      = moves.PartRoots
	PartURLs       = moves.PartURLs
	PartDeleted    = moves.PartDeleted
	PartAttributes = moves.PartAttributes
	PartFreqs      = moves.PartFreqs
	PartLog        = moves.PartLog
	PartContents   = moves.PartContents
	PartFiles      = moves.PartFiles
	PartCounters   = moves.PartCounters
)

// Fields is urls.Fields.
func Fields(row *wire.URL, names []string) map[string]any { return urls.Fields(row, names) }

type (
	attributeStore = attributes.Store
	contentStore   = contents.Store
	counterStore   = counters.Store
	customStore    = custom.Store
	limitStore     = limits.Store
	moveStore      = moves.Store
	outcomeStore   = outcomes.Store
	siteStore      = sites.Store
	urlStore       = urls.Store
	claimStore     = claims.Store
)

// Store holds sites and URLs in an open database.
type Store struct {
	*attributeStore
	*contentStore
	*counterStore
	*customStore
	*limitStore
	*moveStore
	*outcomeStore
	*siteStore
	*urlStore
	*claimStore
	db *tables.DB
}

// Open returns a Store on an open database. The caller closes the database.
func Open(d *sqldb.DB, o Options) *Store {
	db := tables.Open(d, o)
	s := &Store{
		attributeStore: attributes.New(db),
		contentStore:   contents.New(db),
		counterStore:   counters.New(db),
		customStore:    custom.New(db),
		limitStore:     limits.New(db),
		outcomeStore:   outcomes.New(db),
		urlStore:       urls.New(db),
		claimStore:     claims.New(db),
		db:             db,
	}
	s.siteStore = sites.New(db, s.counterStore)
	s.moveStore = moves.New(db, s.attributeStore, s.siteStore)
	return s
}
