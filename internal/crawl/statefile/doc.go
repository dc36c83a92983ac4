// Package statefile changes one small JSON file safely among processes that may be killed
// at any moment.
//
// A change locks the file `<name>.lock`, reads the state, changes it, and replaces the file
// atomically. A reader or a kill sees the file before or after a change.
//
//	var count struct{ Requests int }
//	err := statefile.Files{}.Update(ctx, path, &count, func() error {
//	count.Requests++
//	return nil
//	})
//
// A file that is not JSON or is too big never stops a crawl: it is renamed to
// `<name>.broken-<time>`, and the state starts empty.
//
// Name and Below make safe names of such files and folders. Source: docs/spec/crawling.md
// 7.3 F40.
package statefile
