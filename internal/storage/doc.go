// Package storage owns what is stored on a data node: rows, raw files and
// processed contents. It is a program, db-task, that answers operations on
// stdin, and in the same process the repository of crawl and process.
//
//	repo := &storage.Repository{Store: rows, Raw: files, Contents: values, Log: log}
//	job := storage.Job{Repository: repo}                 // [operation, object] in, answer out
//	crawler := crawl.Job{Data: repo, ...}          // the same repo, no program between
//
// The order of writing makes every kill harmless (docs/spec/DECISIONS.md 5.4): contents
// stand before the row that speaks of them; rows go before the contents that
// they spoke of, and what is still to be removed is kept in the database until
// it is gone.
//
// Processed contents are in one of two places (Contents); MoveContents moves them
// from one to the other.
//
// It alone imports store, rawcache and kv.
package storage
