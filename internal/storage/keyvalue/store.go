// Package keyvalue stores the processed contents of pages: one SQLite file for each site,
// one record for each URL.
//
// The values are opaque here: package result describes them (docs/spec/storage.md 3.3). The caller
// chooses the SQLite driver by Options.Open, usually sqldb.OpenFile.
//
//	s, err := keyvalue.Open(dir, keyvalue.Options{Open: open})
//	defer s.Close()
//	inserted, err := s.PutAll(ctx, "s1", []keyvalue.Entry{{ID: key, Data: value}})
//	e, ok, err := s.Get(ctx, "s1", key)
//
// # Files
//
// The file of a site is <dir>/<site>.db. Contents without a site are in 0.db. Both names and
// the format are those of the first implementation (docs/spec/storage.md 3.1), whose files
// stay usable. Create or the first PutAll creates a missing file: SITE_CLEANUP removes the
// file of a site that continues. Files are in WAL mode, so that readers never wait for other
// processes. Each PutAll is one transaction.
//
// # Damage
//
// Each entry is stored with a digest of its id, date and data, which every read checks. Entries without
// one, of older versions, are read as they are.
//
// # Deletion by other processes
//
// Processes share the files. A process can hold a deleted file open and write to it. Each
// operation therefore first compares the file under the name with its open file. A write
// compares again after its commit and runs again if it changed a deleted file.
//
// A lock on <dir>/.lock excludes opening and deleting across processes: a file must not lose
// its -wal between its opening and its use. For the same reason a file has one connection,
// which database/sql must not replace. The package itself only calls os.Stat on an open
// file: closing a second descriptor would drop SQLite's locks.
package keyvalue

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"hce/dc/internal/wire"
)

// Defaults of Options.
const (
	DefaultMaxOpen  = 32
	DefaultLockWait = 30 * time.Second
)

var (
	// ErrName means that a site or id is not 1 to 32 letters, digits, "_" or "-".
	ErrName = errors.New("invalid name of processed contents")
	// ErrDamaged means that an entry or a file has other bytes than were stored.
	ErrDamaged = errors.New(wire.DamagedProcessed)
	// ErrClosed means that the store is closed.
	ErrClosed = errors.New("the store of processed contents is closed")
)

// Options are the settings of a store. Open is mandatory.
type Options struct {
	// Open opens or creates the SQLite file at path, in WAL mode, with synchronous
	// NORMAL or FULL and a busy timeout.
	Open func(path string) (*sql.DB, error)
	// Damaged reports whether an error of Open or of a statement says that the file is damaged; nil means
	// that none does.
	Damaged func(error) bool
	// MaxOpen limits the number of idle open files; 0 means DefaultMaxOpen. Files in
	// use do not count.
	MaxOpen int
	// LockWait limits the wait for other processes that open or delete a file; 0
	// means DefaultLockWait.
	LockWait time.Duration
	// Now is the clock for entries without a date; nil means time.Now.
	Now func() time.Time
}

// Entry is one processed content.
type Entry = wire.Entry

// Store is a folder of key-value files. Goroutines may share it.
type Store struct {
	dir string
	o   Options

	mu     sync.Mutex // guards the fields below, and refs and used of each file
	files  map[string]*file
	clock  uint64 // counts uses, to find the least recently used file
	closed bool
}

// Open opens the store in the folder dir and creates the folder. It opens no file. The caller
// closes the store.
func Open(dir string, o Options) (*Store, error) {
	if o.Open == nil {
		return nil, errors.New("keyvalue.Options.Open is missing")
	}
	if o.MaxOpen <= 0 {
		o.MaxOpen = DefaultMaxOpen
	}
	if o.LockWait <= 0 {
		o.LockWait = DefaultLockWait
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open store of processed contents: %w", err)
	}
	return &Store{dir: dir, o: o, files: make(map[string]*file)}, nil
}

// Close closes all idle files. Running operations finish and then close their files. Later
// operations return ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	idle := s.takeIdle(0)
	s.mu.Unlock()
	return closeAll(idle)
}

// useFile returns the file of a site, open or closed, for exclusive use. It waits for other
// goroutines until ctx ends. The caller must release the file.
func (s *Store) useFile(ctx context.Context, site string) (*file, error) {
	name, err := fileName(site)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	f := s.files[name]
	if f == nil {
		f = &file{store: s, path: s.filePath(name), turn: make(chan struct{}, 1)}
		s.files[name] = f
	}
	f.refs++
	s.clock++
	f.used = s.clock
	s.mu.Unlock()

	select {
	case f.turn <- struct{}{}:
		return f, nil
	case <-ctx.Done():
		s.dropReference(f)
		return nil, fmt.Errorf("wait for the file of site %s: %w", name, ctx.Err())
	}
}

// releaseFile ends the use of a file. It closes the least recently used files beyond MaxOpen.
func (s *Store) releaseFile(f *file) {
	<-f.turn
	s.dropReference(f)
}

func (s *Store) dropReference(f *file) {
	s.mu.Lock()
	f.refs--
	keep := s.o.MaxOpen
	if s.closed {
		keep = 0
	}
	idle := s.takeIdle(keep)
	s.mu.Unlock()
	_ = closeAll(idle) // they hold no unwritten data
}

// takeIdle removes idle files from the map, least recently used first, until keep files are
// left or all others are in use. The caller holds mu and closes the returned files.
func (s *Store) takeIdle(keep int) []*file {
	var idle []*file
	for len(s.files) > keep {
		oldest := ""
		for name, f := range s.files {
			if f.refs == 0 && (oldest == "" || f.used < s.files[oldest].used) {
				oldest = name
			}
		}
		if oldest == "" {
			break
		}
		idle = append(idle, s.files[oldest])
		delete(s.files, oldest)
	}
	return idle
}

func closeAll(files []*file) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.close())
	}
	return errors.Join(errs...)
}

// filePath returns the path of the file of a site.
func (s *Store) filePath(site string) string {
	return filepath.Join(s.dir, cmp.Or(site, "0")+".db")
}

// Place names the file of a site in messages.
func (s *Store) Place(site string) string { return "file " + s.filePath(site) }

// fileName returns the file name of a site without ".db".
func fileName(site string) (string, error) {
	if site == "" {
		return "0", nil
	}
	if !nameOK(site) {
		return "", fmt.Errorf("%w: site %.100q", ErrName, site)
	}
	return site, nil
}

func nameOK(name string) bool {
	if name == "" || len(name) > 32 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}
