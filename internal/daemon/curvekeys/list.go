package curvekeys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	maxFiles = 1000  // of a folder
	maxKeys  = 10000 // of a list

	// trusted is how long a listed key is accepted without a check of the files, and so the
	// delay of a removal.
	trusted = time.Second
	// settling is how long after a change another change may have the same time stamp.
	// Younger files are read again.
	settling = 2 * time.Second
)

// List is a set of allowed public keys, from one file or from the files *.pub of a folder. It
// follows changes of the files. It is safe for concurrent use.
type List struct {
	path string
	now  func() time.Time

	mu      sync.Mutex
	keys    map[string]bool
	err     error     // of the last read
	stamps  []stamp   // of the files that were read
	read    time.Time // when they were read
	checked time.Time // when their stamps were checked
}

// stamp identifies a version of a file.
type stamp struct {
	name            string
	inode           uint64
	size            int64
	modified, moved time.Time
	mode            os.FileMode
}

// OpenList reads a list, which must be valid and not empty. Invalid lines that appear later
// are skipped and reported by Allowed.
func OpenList(path string) (*List, error) {
	return openList(path, time.Now)
}

func openList(path string, now func() time.Time) (*List, error) {
	l := &List{path: path, now: now}
	l.refreshFiles(now())
	if l.err != nil {
		return nil, l.err
	}
	if len(l.keys) == 0 {
		return nil, fmt.Errorf("list of clients: no public key in %s", path)
	}
	return l, nil
}

// Allowed reports whether the list has that public key. An added key is found at once; a
// removed key may be accepted for one more second. The error describes invalid files and does
// not affect the result.
func (l *List) Allowed(public string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if age := now.Sub(l.checked); !l.keys[public] || age < 0 || age >= trusted {
		l.refreshFiles(now)
	}
	return l.keys[public], l.err
}

// Len returns the number of keys.
func (l *List) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.keys)
}

// refreshFiles reads the files again if they have changed.
func (l *List) refreshFiles(now time.Time) {
	l.checked = now
	stamps, err := l.readStamps()
	if err != nil {
		l.keys, l.stamps, l.err = nil, nil, fmt.Errorf("list of clients: %w", err)
		return
	}
	if l.stamps != nil && slices.Equal(stamps, l.stamps) && isSettled(stamps, l.read) {
		return
	}
	l.stamps, l.read, l.keys = stamps, now, map[string]bool{}
	var wrong []error
	for _, s := range stamps {
		text, mode, err := readFile(s.name)
		var found []string
		if err == nil {
			found, err = publicKeys(s.name, text, mode)
		}
		if err != nil && len(wrong) < maxComplaints {
			wrong = append(wrong, err)
		}
		for _, key := range found {
			l.keys[key] = true
		}
		if len(l.keys) > maxKeys {
			l.keys = nil
			wrong = []error{fmt.Errorf("more than %d keys in %s", maxKeys, l.path)}
			break
		}
	}
	l.err = nil
	if err := errors.Join(wrong...); err != nil {
		l.err = fmt.Errorf("list of clients: %w", err)
	}
}

// isSettled reports whether a file that was read then has a new stamp after each later change.
func isSettled(stamps []stamp, read time.Time) bool {
	for _, s := range stamps {
		if read.Sub(s.modified) < settling || read.Sub(s.moved) < settling {
			return false
		}
	}
	return true
}

// readStamps returns the stamps of the files, sorted by name.
func (l *List) readStamps() ([]stamp, error) {
	info, err := os.Stat(l.path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []stamp{newStamp(l.path, info)}, nil
	}
	if info.Mode().Perm()&0o002 != 0 {
		return nil, fmt.Errorf("everybody may write to the folder %s (mode %04o) and could add clients", l.path, info.Mode().Perm())
	}
	folder, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasSuffix(name, ".pub") || strings.HasPrefix(name, ".")
	})
	if len(names) > maxFiles {
		return nil, fmt.Errorf("more than %d files in %s", maxFiles, l.path)
	}
	slices.Sort(names)
	stamps := make([]stamp, 0, len(names))
	for _, name := range names {
		path := filepath.Join(l.path, name)
		info, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		stamps = append(stamps, newStamp(path, info))
	}
	return stamps, nil
}

func newStamp(path string, info os.FileInfo) stamp {
	s := stamp{name: path, size: info.Size(), modified: info.ModTime(), mode: info.Mode()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode, s.moved = sys.Ino, time.Unix(sys.Ctim.Unix())
	}
	return s
}
