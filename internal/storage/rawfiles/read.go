package rawfiles

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"
)

// Version is one stored file.
type Version struct {
	Path string    // relative to the root of the cache, with "/"
	Time time.Time // of the fetch in UTC, from the name or else the modification time
	Kind Kind
	// Label is the text between key and suffix of a file named by URL_PUT or by the
	// first implementation. It is "" for versions of crawls.
	Label string

	base string // the name without the suffix of its kind
}

// Versions returns the files of one kind of a URL, oldest first, with labelled files. It
// returns none if the folder is missing. It ignores symbolic links and other special files.
// Source: docs/spec/DECISIONS.md 5.2.
func (c *Cache) Versions(site, md5 string, kind Kind) ([]Version, error) {
	if !kind.Valid() {
		return nil, fmt.Errorf("%w: kind %d", ErrName, kind)
	}
	all, err := c.list(site, md5)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(v Version) bool { return v.Kind != kind }), nil
}

// Newest returns the last of Versions, or false if there is no version.
func (c *Cache) Newest(site, md5 string, kind Kind) (Version, bool, error) {
	vs, err := c.Versions(site, md5, kind)
	if err != nil || len(vs) == 0 {
		return Version{}, false, err
	}
	return vs[len(vs)-1], true, nil
}

// Read returns the bytes of v. The error is ErrTooLarge above Options.MaxFile and
// fs.ErrNotExist if v was deleted.
func (c *Cache) Read(v Version) ([]byte, error) {
	f, err := c.root.Open(v.Path)
	if err != nil {
		return nil, fmt.Errorf("read raw file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read raw file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is not a regular file", ErrName, v.Path)
	}
	if info.Size() > c.o.MaxFile {
		return nil, fmt.Errorf("%w: %s has %d bytes", ErrTooLarge, v.Path, info.Size())
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("read raw file %s: %w", v.Path, err)
	}
	return data, nil
}

// Companion returns the file of another kind in the same version: its name differs from v only
// in the suffix. It returns false if there is no such file.
func (c *Cache) Companion(v Version, kind Kind) (Version, bool, error) {
	if !kind.Valid() {
		return Version{}, false, fmt.Errorf("%w: kind %d", ErrName, kind)
	}
	for _, s := range suffixes {
		if s.kind != kind {
			continue
		}
		name := path.Dir(v.Path) + "/" + v.base + s.suffix
		info, err := c.root.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return Version{}, false, fmt.Errorf("find companion of raw file: %w", err)
		case info.Mode().IsRegular():
			v.Path, v.Kind = name, kind
			return v, true, nil
		}
	}
	return Version{}, false, nil
}

// list returns all files of a URL, oldest first.
func (c *Cache) list(site, md5 string) ([]Version, error) {
	dir, err := c.fileDir(site, md5)
	if err != nil {
		return nil, err
	}
	entries, err := readDir(c.root, dir)
	if err != nil {
		return nil, fmt.Errorf("list raw files: %w", err)
	}
	var vs []Version
	for _, e := range entries {
		p, ok := parseName(md5, e.Name())
		if !ok || !e.Type().IsRegular() {
			continue
		}
		v := Version{Path: dir + "/" + e.Name(), Time: p.time, Kind: p.kind, Label: p.label, base: p.base}
		if v.Time.IsZero() {
			info, err := e.Info()
			if err != nil {
				continue // deleted meanwhile
			}
			v.Time = info.ModTime().UTC()
		}
		vs = append(vs, v)
	}
	slices.SortFunc(vs, func(a, b Version) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Path, b.Path))
	})
	return vs, nil
}

// readDir returns the entries of a folder, none if it is missing.
func readDir(root *os.Root, dir string) ([]fs.DirEntry, error) {
	f, err := root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}
