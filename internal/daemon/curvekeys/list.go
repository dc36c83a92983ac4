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

	// trusted is how long a listed key passes without a look at the files, so
	// that a removed one is out after that time.
	trusted = time.Second
	// settling is how young a file may be for another change to bear the same
	// time. Until it is older, it is read anew.
	settling = 2 * time.Second
)

// List is who may come: the public keys of one file, or of the files *.pub of a
// folder. It follows the files as they change. Any number of goroutines may ask
// it.
type List struct {
	path string
	now  func() time.Time

	mu      sync.Mutex
	keys    map[string]bool
	err     error     // of the last reading
	stamps  []stamp   // of the files that were read
	read    time.Time // when they were
	checked time.Time // when they were looked at
}

// stamp tells one state of a file from another.
type stamp struct {
	name            string
	inode           uint64
	size            int64
	modified, moved time.Time
	mode            os.FileMode
}

// OpenList reads a list. All of it must be right now, and there must be a key;
// later, lines that are wrong are passed over, and Allowed tells.
func OpenList(path string) (*List, error) {
	return openList(path, time.Now)
}

func openList(path string, now func() time.Time) (*List, error) {
	l := &List{path: path, now: now}
	l.refresh(now())
	if l.err != nil {
		return nil, l.err
	}
	if len(l.keys) == 0 {
		return nil, fmt.Errorf("list of clients: there is no public key in %s", path)
	}
	return l, nil
}

// Allowed reports whether the list has that public key. A key that was just
// added is found at once; one that was removed may pass for a second more. The
// error tells what is wrong with the files, beside the answer.
func (l *List) Allowed(public string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if age := now.Sub(l.checked); !l.keys[public] || age < 0 || age >= trusted {
		l.refresh(now)
	}
	return l.keys[public], l.err
}

// Len is the number of keys.
func (l *List) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.keys)
}

// refresh reads the files again if they have changed.
func (l *List) refresh(now time.Time) {
	l.checked = now
	stamps, err := l.look()
	if err != nil {
		l.keys, l.stamps, l.err = nil, nil, fmt.Errorf("list of clients: %w", err)
		return
	}
	if l.stamps != nil && slices.Equal(stamps, l.stamps) && settled(stamps, l.read) {
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

// settled reports whether files that were read then can since have changed
// without another stamp.
func settled(stamps []stamp, read time.Time) bool {
	for _, s := range stamps {
		if read.Sub(s.modified) < settling || read.Sub(s.moved) < settling {
			return false
		}
	}
	return true
}

// look takes the stamps of the files, in the order of their names.
func (l *List) look() ([]stamp, error) {
	info, err := os.Stat(l.path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []stamp{newStamp(l.path, info)}, nil
	}
	if info.Mode().Perm()&0o002 != 0 {
		return nil, fmt.Errorf("everybody may write to the folder %s (mode %04o), and so let in whom they want", l.path, info.Mode().Perm())
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
			continue // removed just now
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
