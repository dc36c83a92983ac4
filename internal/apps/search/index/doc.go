// Package index is the full-text index of the search engine, and the only importer of bleve.
//
//	x, err := index.Open(dir)                   // the writer; one process at a time
//	err = x.Apply(index.Change{Put: list, State: map[string]index.SiteState{site: reached}}) // durable when it returns
//	err = x.Publish()
//
//	r, err := index.OpenSnapshot(dir)           // any number of processes
//	reply := r.Run(ctx, search.Ask{Op: search.OpSearch, Kind: search.Pages, Text: "kernel"})
//
// # Why bleve
//
// It is Apache-2.0, pure Go, and maintained by a company that ships it in a database: monthly releases
// for years. It has postings with positions and lengths, stemmers, and segments that are never changed
// once they are written. The equals that were looked at: bluge (its fork, no release
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
// them. A snapshot that was not complete when the writer died has no name in the index and is removed.
//
// # What a kill leaves
//
// A Change is one transaction: its documents, its deletions, the state of its sites and of its hosts
// become durable together, or not at all. So a feed that continues from the stored state loses nothing
// and doubles nothing; a document has the UUID of its URL as key.
//
// # Words
//
// A word has terms at one position: as it is written, without accents if that differs, and its stem by
// the language of the document; see scan.go, analysis.go. A question does not say its language: each of
// its words has the stems of all languages, with less weight than the exact form; see question.go.
//
// # Rank
//
// The package ranks by itself, on the postings of bleve (rank.go): documents one after the other, by
// MaxScore, so that a word of all documents costs no more than another one. The best ones are ordered by
// how close the words are (proximity.go). The scores of bleve are not used: they have no forms of a
// word, and the average length in its BM25 counts the terms of the dictionary.
package index
