// Package legacyimport copies the data of the original service into the stores of this
// one: sites, URLs, lists, attributes, statistics, processed contents and proxies
// (docs/spec/storage.md 1, 6.2).
//
//	err := legacyimport.Import(ctx, cfg, legacyimport.Options{Server: server, Zone: berlin}, os.Stdout, os.Stderr, log)
//
// It only reads the original databases. Rows come in pages, ordered by a key. A bookmark
// marks the start of the next page and is stored in the same transaction as the rows.
// Values are converted to the columns of this service: keys in lower case, dates in UTC,
// error bits at their present places. Changed and dropped values are counted by table
// and kind.
//
// The original service must be stopped during the import, because its tables have no
// transactions. Only cmd/dc-import uses this package.
package legacyimport
