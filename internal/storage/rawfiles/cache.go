// Package rawfiles keeps the raw bytes of pages on disk, by site and URL key.
//
// A fetch of a URL is a version: a body and its companions (headers, request,
// cookies and so on), files of one folder whose names share the time of the
// fetch. storage owns the cache and writes what crawl fetched before it commits
// the rows; process reads. What is in a file is unknown to this package, and so
// are rows and HTTP.
//
//	c, err := rawfiles.Open(rawDataDir, rawfiles.Options{})
//	st := c.Stage()
//	defer st.Abort() // does nothing after Commit
//	err = st.Put("s1", key, fetchedAt, rawfiles.Raw, body)
//	err = st.Put("s1", key, fetchedAt, rawfiles.Headers, headers)
//	err = st.Commit() // now both are there, also after a power cut
//
//	v, ok, err := c.Newest("s1", key, rawfiles.Raw)
//	body, err := c.Read(v)
//
// # Layout
//
//	<root>/<site or 0>/<md5[0:2]>/<md5[2:]>/<md5>_<time>.<suffix>
//
// with the time as UTC YYYYMMDDThhmmss.mmmZ, so that names sort by age. With
// Options.Subdir (CONTENT_STORE_PATH) one more level lies below that folder.
// Source: docs/spec/DECISIONS.md 5.2, docs/spec/storage.md 2, docs/spec/objects.md 4.4.
//
// # What a crash leaves
//
// A file is written under a temporary name beside its place and renamed when
// its bytes are safe. A crash leaves temporary files, which readers pass over
// and the next Put into that folder removes when they are old, or whole files
// of a version that no row knows. Nothing old is removed for something new.
//
// All access goes through os.Root: no name and no symbolic link leads out of
// the root. Processes may share a cache; they need no lock, as a name is given
// to one file by one rename.
package rawfiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// Defaults of Options.
const (
	DefaultMaxFile = 64 << 20
	DefaultTempAge = time.Hour
)

// Errors about what the caller asked for. All others are those of the file
// system, wrapped: a full or read-only disk is found by errors.Is.
var (
	// ErrName: a site, key, suffix or kind that cannot be part of a name.
	ErrName = errors.New("rawcache: bad name")
	// ErrTooLarge: more bytes than Options.MaxFile.
	ErrTooLarge = errors.New("rawcache: file too large")
	// ErrDone: the stage was committed or aborted before.
	ErrDone = errors.New("rawcache: stage is finished")
)

// Options are the settings of a cache; the zero value is ready.
type Options struct {
	// Subdir is one more level below the folder of a URL, for writers and
	// readers alike: the value of CONTENT_STORE_PATH. Empty for none.
	Subdir string
	// MaxFile bounds a file in bytes, written or read; 0 is DefaultMaxFile.
	MaxFile int64
	// TempAge is how old a temporary file must be to be taken for a leftover;
	// 0 is DefaultTempAge. A stage must be committed sooner.
	TempAge time.Duration
	// NoSync leaves it to the kernel when bytes reach the disk: a power cut
	// may then lose or empty files that Commit reported.
	NoSync bool
	// Now is the clock that temporary files age by; nil is time.Now.
	Now func() time.Time
}

// Cache is a folder of raw files. Goroutines may share it.
type Cache struct {
	root *os.Root
	o    Options
	temp atomic.Uint64 // numbers the temporary names of this process
}

// Open opens the cache in the folder root, which is made when it is missing.
// The caller closes it.
func Open(root string, o Options) (*Cache, error) {
	if o.Subdir != "" && (!filepath.IsLocal(o.Subdir) || filepath.Clean(o.Subdir) == ".") {
		return nil, fmt.Errorf("%w: subfolder %.100q", ErrName, o.Subdir)
	}
	if o.MaxFile <= 0 {
		o.MaxFile = DefaultMaxFile
	}
	if o.TempAge <= 0 {
		o.TempAge = DefaultTempAge
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("rawcache: open: %w", err)
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("rawcache: open: %w", err)
	}
	return &Cache{root: r, o: o}, nil
}

// Close frees the root folder. Stages under way fail.
func (c *Cache) Close() error { return c.root.Close() }
