// Package storage owns the stored data of a node: rows, raw files and processed contents.
// db-task answers operations with a Job. The crawler and the processor call the
// Repository in their own process.
//
//	repo, closeAll, err := storage.Open(ctx, cfg, log)
//	job := storage.Job{Repository: repo}    // [operation, object] in, [operation+100, answer] out
//	crawler := crawl.Job{Data: repo}
//
// The order of writes makes a kill at any point harmless (docs/spec/DECISIONS.md 5.4):
// contents are written before the row that refers to them. A deletion removes the row
// first and lists the contents in the trash, a table, until they are removed.
//
// Processed contents are in key-value files or in the SQL database (Contents);
// MoveContents moves them from one to the other.
//
// Only this group of packages imports sqlstore, rawfiles and keyvalue. What may not live
// here: HTTP, parsing of pages, managers, knowledge of batches beyond their ids.
package storage
