// Package legacyimport reads the databases of the original service, and gives its
// rows as ours: keys that are keys, dates in UTC, error bits where we have them,
// values that fit our columns (docs/spec/storage.md 1, 6.2).
//
//	o, err := legacyimport.Open(ctx, legacyimport.Options{Server: server, Zone: berlin})
//	defer o.Close()
//	ids, next, err := o.Sites(ctx, wire.Bookmark{})
//	urls, next, err := o.URLs(ctx, "s1", wire.Bookmark{}, 1000)
//
// It changes nothing there. Rows come in pages, in the order of a key; a bookmark
// says where the next page begins, also for another process later. What had to
// be changed or left out is counted, by table and kind, in Source.Changed.
//
// The service must be stopped meanwhile: its tables know no transactions.
//
// Neighbours: package sqldb opens the server, storage stores what comes.
package legacyimport
