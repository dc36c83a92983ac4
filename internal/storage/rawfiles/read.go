package rawfiles

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"
)

// Version is one stored file.
type Version struct {
	Path string    // below the root of the cache, with "/"
	Time time.Time // of the fetch, UTC: from the name, else when it was changed
	Kind Kind
	// Label is the text between key and suffix of a file that URL_PUT named,
	// or that the first implementation did; "" for the versions of crawls.
	Label string

	base string // the name without the suffix of its kind
}

// Versions returns the files of one kind of a URL, oldest first, labelled ones
// included. It is empty when there is none, the folder included. Links and
// other things that are no plain files are passed over. Source: docs/spec/DECISIONS.md 5.2.
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

// Newest returns the last of Versions; false when there is none.
func (c *Cache) Newest(site, md5 string, kind Kind) (Version, bool, error) {
	vs, err := c.Versions(site, md5, kind)
	if err != nil || len(vs) == 0 {
		return Version{}, false, err
	}
	return vs[len(vs)-1], true, nil
}

// Read returns the bytes of v, ErrTooLarge when they are more than
// Options.MaxFile, fs.ErrNotExist when v was deleted meanwhile.
func (c *Cache) Read(v Version) ([]byte, error) {
	f, err := c.root.Open(v.Path)
	if err != nil {
		return nil, fmt.Errorf("rawcache: read: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("rawcache: read: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is no file", ErrName, v.Path)
	}
	if info.Size() > c.o.MaxFile {
		return nil, fmt.Errorf("%w: %s has %d bytes", ErrTooLarge, v.Path, info.Size())
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("rawcache: read %s: %w", v.Path, err)
	}
	return data, nil
}

// Companion returns the file of another kind that belongs to v: the one whose
// name differs by the suffix alone. False when there is none.
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
			return Version{}, false, fmt.Errorf("rawcache: companion: %w", err)
		case info.Mode().IsRegular():
			v.Path, v.Kind = name, kind
			return v, true, nil
		}
	}
	return Version{}, false, nil
}

// Same tells whether the newest file of a kind has just these bytes: a fetch
// that brings what is there makes no new version (docs/spec/DECISIONS.md 5.3), so the
// caller asks before Put, and then leaves out the companions too.
func (c *Cache) Same(site, md5 string, kind Kind, data []byte) (bool, error) {
	v, ok, err := c.Newest(site, md5, kind)
	if err != nil || !ok {
		return false, err
	}
	info, err := c.root.Lstat(v.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("rawcache: same: %w", err)
	}
	if info.Size() != int64(len(data)) {
		return false, nil
	}
	old, err := c.Read(v)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && bytes.Equal(old, data), err
}

// list returns all files of a URL, oldest first.
func (c *Cache) list(site, md5 string) ([]Version, error) {
	dir, err := c.fileDir(site, md5)
	if err != nil {
		return nil, err
	}
	entries, err := c.readDir(dir)
	if err != nil {
		return nil, fmt.Errorf("rawcache: list: %w", err)
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

// readDir returns what is in a folder, nothing when it is missing.
func (c *Cache) readDir(dir string) ([]fs.DirEntry, error) {
	f, err := c.root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}
