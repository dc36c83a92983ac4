// Package rawfiles stores the raw bytes of pages on disk, by site and URL key.
//
// Each fetch of a URL is a version: a body and its companions (headers, request, cookies and
// so on). The files of a version are in one folder, and their names contain the time of the
// fetch. Files must be committed before the rows that refer to them. The contents of files
// are opaque here.
//
//	c, err := rawfiles.Open(rawDataDir, rawfiles.Options{})
//	st := c.Stage()
//	defer st.Abort() // does nothing after Commit
//	err = st.Put("s1", key, fetchedAt, rawfiles.Raw, body)
//	err = st.Put("s1", key, fetchedAt, rawfiles.Headers, headers)
//	err = st.Commit() // both files now survive a power cut
//
//	v, ok, err := c.Newest("s1", key, rawfiles.Raw)
//	body, err := c.Read(v)
//
// # Layout
//
//	<root>/<site or 0>/<md5[0:2]>/<md5[2:]>/<md5>_<time>.<suffix>
//
// The time is UTC YYYYMMDDThhmmss.mmmZ, so that names sort by age. Options.Subdir
// (CONTENT_STORE_PATH) adds one level below that folder.
// Source: docs/spec/DECISIONS.md 5.2, docs/spec/storage.md 2, docs/spec/objects.md 4.4.
//
// # Crash safety
//
// A file is written into a folder of its process, <root>/.staging/<process>, and renamed after its
// bytes are synced. A crash leaves that folder, which Sweep removes, or complete files without a
// row. Commit never removes an old version.
//
// All access uses os.Root: no name and no symbolic link leads out of the root. Processes may
// share a cache without a lock, because each file gets its name by one rename.
package rawfiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// DefaultMaxFile is the default of Options.MaxFile.
const DefaultMaxFile = 64 << 20

// Errors of wrong arguments. All other errors wrap errors of the file system, for example of a
// full or read-only disk.
var (
	// ErrName means that a site, key, label or kind cannot be part of a file name.
	ErrName = errors.New("invalid name of a raw file")
	// ErrTooLarge means that a file exceeds Options.MaxFile.
	ErrTooLarge = errors.New("raw file too large")
	// ErrDone means that the stage is already committed or aborted.
	ErrDone = errors.New("the stage of raw files is finished")
)

// Options are the settings of a cache. The zero value is valid.
type Options struct {
	// Subdir is an additional level below the folder of a URL, for writers and
	// readers: the value of CONTENT_STORE_PATH. "" means none.
	Subdir string
	// MaxFile limits a written or read file in bytes; 0 means DefaultMaxFile.
	MaxFile int64
	// NoSync disables syncs: a power cut may then lose or empty committed files.
	NoSync bool
}

// Cache is a folder of raw files. Goroutines may share it.
type Cache struct {
	root *os.Root
	o    Options
	temp atomic.Uint64 // counter for temporary names of this process

	mu      sync.Mutex
	staging staging
}

// Open opens the cache in the folder root and creates the folder. The caller closes the cache.
func Open(root string, o Options) (*Cache, error) {
	if o.Subdir != "" && (!filepath.IsLocal(o.Subdir) || filepath.Clean(o.Subdir) == ".") {
		return nil, fmt.Errorf("%w: subfolder %.100q", ErrName, o.Subdir)
	}
	if o.MaxFile <= 0 {
		o.MaxFile = DefaultMaxFile
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("create folder of raw files: %w", err)
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("open folder of raw files: %w", err)
	}
	return &Cache{root: r, o: o}, nil
}

// Close removes the files of unfinished stages and closes the root folder.
func (c *Cache) Close() error { return errors.Join(c.closeStaging(), c.root.Close()) }
