// Package keyvalue keeps the processed contents of pages: one SQLite file per site,
// one record per URL. It is one of the two places of storage.Contents.
//
// storage owns the store; process hands it what extract made of a page. What a
// value means (base64 of JSON, docs/spec/storage.md 3.3) is unknown here, and so is which
// SQLite driver opens a file: cmd puts sqldb.OpenFile into Options.Open.
//
//	s, err := keyvalue.Open(dir, keyvalue.Options{Open: open})
//	defer s.Close()
//	inserted, err := s.PutAll(ctx, "s1", []keyvalue.Entry{{ID: key, Data: value}})
//	e, ok, err := s.Get(ctx, "s1", key)
//
// # Files
//
// The file of a site is <dir>/<site>.db, that of no site 0.db, as the first
// implementation had them (docs/spec/storage.md 3.1); files of its making are read and
// written on. A file that is missing is made by Create or the first PutAll:
// SITE_CLEANUP removes it, and the site goes on. Files are in WAL mode, so that
// readers of other processes never wait; each PutAll is one transaction.
//
// # Deleting under others
//
// Processes share the files. A process that has a file open keeps it after
// another deletes it, and would write where nobody reads. So each operation
// first compares the file under the name with the one it holds, and a write
// does so again after its commit, and is repeated if it went to a dead file.
//
// Opening and deleting exclude one another across processes by a lock on
// <dir>/.lock: a file must not lose its -wal between being opened and being
// used. For the same reason a file has one connection, which database/sql may
// not replace behind our back. Only os.Stat touches a file beside SQLite:
// closing a second descriptor would drop SQLite's own locks.
package keyvalue

import (
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
	// ErrName: a site or id that is not 1 to 32 letters, digits, "_" or "-".
	ErrName = errors.New("kv: bad name")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("kv: store is closed")
)

// Options are the settings of a store. Open is mandatory.
type Options struct {
	// Open opens the SQLite file at path, and makes it when it is missing: in
	// WAL mode, synchronous NORMAL or FULL, with a busy time-out.
	Open func(path string) (*sql.DB, error)
	// MaxOpen is how many files stay open; 0 is DefaultMaxOpen. More are open
	// only while more are in use at once.
	MaxOpen int
	// LockWait bounds the wait for other processes that open or delete a file;
	// 0 is DefaultLockWait.
	LockWait time.Duration
	// Now dates entries that bring no date; nil is time.Now.
	Now func() time.Time
}

// Entry is one processed content.
type Entry = wire.Entry

// Store is a folder of key-value files. Goroutines may share it.
type Store struct {
	dir string
	o   Options

	mu     sync.Mutex // guards what follows, and refs and used of each file
	files  map[string]*file
	clock  uint64 // counts uses, to find the file used longest ago
	closed bool
}

// Open opens the store in the folder dir, which is made when it is missing. No
// file is opened yet. The caller closes the store.
func Open(dir string, o Options) (*Store, error) {
	if o.Open == nil {
		return nil, errors.New("kv: Options.Open is missing")
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
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("kv: open: %w", err)
	}
	return &Store{dir: dir, o: o, files: make(map[string]*file)}, nil
}

// Close closes all files. Operations under way end first, later ones return
// ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	idle := s.takeIdle(0)
	s.mu.Unlock()
	return closeAll(idle)
}

// use returns the file of a site for the caller alone, not necessarily open;
// the caller gives it back to release. It waits for other goroutines that use
// it until ctx ends.
func (s *Store) use(ctx context.Context, site string) (*file, error) {
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
		f = &file{store: s, path: filepath.Join(s.dir, name+".db"), turn: make(chan struct{}, 1)}
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
		s.unref(f)
		return nil, fmt.Errorf("kv: wait for %s: %w", name, ctx.Err())
	}
}

// release ends a use, and closes the files used longest ago when more than
// MaxOpen are known.
func (s *Store) release(f *file) {
	<-f.turn
	s.unref(f)
}

func (s *Store) unref(f *file) {
	s.mu.Lock()
	f.refs--
	keep := s.o.MaxOpen
	if s.closed {
		keep = 0
	}
	idle := s.takeIdle(keep)
	s.mu.Unlock()
	_ = closeAll(idle) // nothing is unwritten in them
}

// takeIdle takes files out of the map until keep are left or all others are in
// use, those used longest ago first. The caller holds mu, and closes them.
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

// fileName returns the name of the file of a site, without ".db".
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
