package rawfiles

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Version is one stored content. Contents of one page with the same Name belong together.
type Version struct {
	Site, MD5 string // the page; the site is never ""
	// Name is the text between key and suffix: TimeName of a fetch, a label, or "".
	Name string
	Time time.Time // of the fetch in UTC, from the name or else the modification time
	Kind Kind
	// Path is the file relative to the root of the cache, with "/". It is "" for a content
	// in Record.
	Path string
	// Record is the place of a content outside of files. Package segments knows its type.
	Record any
}

// Label returns the name given by URL_PUT or by the first implementation. It is "" for
// versions of crawls.
func (v Version) Label() string {
	if !NameTime(v.Name).IsZero() {
		return ""
	}
	return v.Name
}

func (v Version) baseName() string {
	if v.Name == "" {
		return v.MD5
	}
	return v.MD5 + "_" + v.Name
}

// Compare orders versions by time, then by name.
func (v Version) Compare(o Version) int {
	return cmp.Or(v.Time.Compare(o.Time), cmp.Compare(v.Name, o.Name), cmp.Compare(v.Kind, o.Kind), cmp.Compare(v.Path, o.Path))
}

// Versions returns the files of one kind of a URL, oldest first, with labelled files. It
// returns none if the folder is missing. It ignores symbolic links and other special files.
// Source: docs/spec/DECISIONS.md 5.2.
func (c *Cache) Versions(site, md5 string, kind Kind) ([]Version, error) {
	if !kind.Valid() {
		return nil, fmt.Errorf("%w: kind %d", ErrName, kind)
	}
	all, err := c.List(site, md5)
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
	dir, err := c.fileDir(v.Site, v.MD5)
	if err != nil {
		return Version{}, false, err
	}
	for _, s := range suffixes {
		if s.kind != kind {
			continue
		}
		name := dir + "/" + v.baseName() + s.suffix
		info, err := c.root.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return Version{}, false, fmt.Errorf("find companion of raw file: %w", err)
		case info.Mode().IsRegular():
			v.Path, v.Kind, v.Record = name, kind, nil
			return v, true, nil
		}
	}
	return Version{}, false, nil
}

// Lists is List for several URLs of a site, by key. It looks for no file of a site without a folder.
func (c *Cache) Lists(site string, md5s []string) (map[string][]Version, error) {
	lists := make(map[string][]Version, len(md5s))
	folder, err := siteDir(site)
	if err != nil {
		return nil, err
	}
	_, missing := c.root.Lstat(folder)
	for _, md5 := range md5s {
		if errors.Is(missing, fs.ErrNotExist) {
			lists[md5], err = nil, checkKey(site, md5)
		} else {
			lists[md5], err = c.List(site, md5)
		}
		if err != nil {
			return nil, err
		}
	}
	return lists, nil
}

// checkKey returns the error that the key of a URL gives.
func checkKey(site, md5 string) error {
	_, err := urlDir(site, md5)
	return err
}

// List is Versions of all kinds.
func (c *Cache) List(site, md5 string) ([]Version, error) {
	if site == "" {
		site = "0"
	}
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
		v := Version{Site: site, MD5: md5, Name: p.name, Time: NameTime(p.name), Kind: p.kind, Path: dir + "/" + e.Name()}
		if v.Time.IsZero() {
			info, err := e.Info()
			if err != nil {
				continue // deleted meanwhile
			}
			v.Time = info.ModTime().UTC()
		}
		vs = append(vs, v)
	}
	slices.SortFunc(vs, Version.Compare)
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
