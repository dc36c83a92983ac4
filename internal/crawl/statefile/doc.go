// Package statefile changes one small JSON file safely among processes that may
// be killed at any moment.
//
// A change holds a lock on a file beside the state, `<name>.lock`, as the state
// itself is replaced: read, change, temporary file, rename. A reader thus sees
// the file before a change or after it, and a kill leaves one of the two; what it
// may leave behind besides, `<name>.tmp`, the next change writes over.
//
//	var count struct{ Requests int }
//	err := statefile.Update(ctx, path, &count, func() error {
//		count.Requests++
//		return nil
//	})
//
// A file that is no JSON, or too big, never stops a crawl: it is moved aside as
// `<name>.broken-<time>`, and the state begins anew.
//
// Neighbours: cookies, rotation, freq and proxies keep their files with it, and
// make the names of their folders and files with Name and Below. Nothing here
// knows what a file means.
// Source: the design of crawl (internal/crawl/DESIGN.md), docs/spec/crawling.md 7.3 F40.
package statefile
