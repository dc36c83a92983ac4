// Package files replaces files atomically, locks files among processes, and tells how much room
// is left for them.
//
//	unlock, err := files.Lock(ctx, path+".lock")
//	if err != nil { ... }
//	defer unlock()
//	err = files.Write(path, data, 0o600)
//
// A reader sees the old or the new content, never a part. A kill at any moment leaves
// one of the two. The folder must be on a local file system. Locks are advisory: they
// bind only processes that use this package or flock(2).
//
// All functions may be called from any number of goroutines.
package files
