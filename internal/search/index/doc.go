// Package index is the full-text index of the search engine, and the only importer of bleve.
//
//	x, err := index.Open(dir)                   // the writer; one process at a time
//	err = x.Store(document)                     // durable when it returns
//	err = x.Apply(index.Change{Put: list, State: map[string]index.SiteState{site: reached}})
//	err = x.Publish()
//
//	r, err := index.OpenSnapshot(dir)           // any number of processes
//	reply := r.Run(ctx, search.Ask{Op: search.OpSearch, Kind: search.Pages, Text: "kernel"})
//
// # Why bleve
//
// It is Apache-2.0, pure Go, and maintained by a company that ships it in a database: monthly releases
// for years. It has phrases, positions, BM25, stemmers of some 30 languages and segments that are
// never changed once they are written. The equals that were looked at: bluge (its fork, no release
// since 2022), SQLite FTS5 (no stemmer for each row, ranks slowly on large result sets), tantivy and
// xapian (not Go).
//
// # The folder
//
//	index.json      format, name of the working index, name of the newest snapshot; replaced atomically
//	lock            held by the writer; names its process
//	work-N/         the working index, opened by the writer only
//	snapshots/N/    immutable: hard links to segments, and their list
//
// bleve lets one process open an index for writing, and none read it meanwhile. Segments however are
// never changed, so a snapshot costs a hard link for each segment and one small file. A processor opens
// the newest snapshot read-only and changes to the next one when index.json names it. The writer keeps
// the newest two and removes older ones: a process that has one open keeps its files until it closes
// them. A snapshot that was not complete when the writer died is named by nobody and is removed.
//
// # What a kill leaves
//
// A Change is one transaction: its documents, its deletions, the state of its sites and of its hosts
// become durable together, or not at all. So a feed that continues from the stored state loses nothing
// and doubles nothing; a document has the UUID of its URL as key.
//
// # Words
//
// A document is analysed by its language: words become lower case, NFKC, and their stem. Stop words
// stay, so that "la" finds pages and phrases are exact. A question does not say its language: each of
// its words is analysed by every analyser, and a document has the word if it has any of the results.
// Names of files are kept as trigrams, so that a word is found inside of a name.
package index
