package rawfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Walk calls each with every URL that has a folder, ordered by site and key. It stops at an
// error of each and returns it. It ignores other folders.
func (c *Cache) Walk(each func(site, md5 string) error) error {
	return c.forEachFolder(".", func(site string) error {
		if _, err := siteDir(site); err != nil {
			return nil
		}
		return c.forEachFolder(site, func(start string) error {
			return c.forEachFolder(site+"/"+start, func(rest string) error {
				if _, err := urlDir(site, start+rest); err != nil || len(start) != 2 {
					return nil
				}
				return each(site, start+rest)
			})
		})
	})
}

// forEachFolder calls each with the folders in a folder, sorted.
func (c *Cache) forEachFolder(dir string, each func(name string) error) error {
	entries, err := readDir(c.root, dir)
	if err != nil {
		return fmt.Errorf("list folders of raw files: %w", err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if err := each(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// Size returns the bytes of a file.
func (c *Cache) Size(v Version) (int64, error) {
	info, err := c.root.Lstat(v.Path)
	if err != nil {
		return 0, fmt.Errorf("read raw file: %w", err)
	}
	return info.Size(), nil
}

// SetTime sets the time of a file whose name has none.
func (c *Cache) SetTime(v Version, at time.Time) error {
	if !NameTime(v.Name).IsZero() {
		return nil
	}
	if err := c.root.Chtimes(v.Path, at, at); err != nil {
		return fmt.Errorf("set the time of a raw file: %w", err)
	}
	return nil
}

// RemoveEmpty removes the folders of a URL and its site as far as they are empty.
func (c *Cache) RemoveEmpty(site, md5 string) {
	dir, err := c.fileDir(site, md5)
	for ; err == nil && dir != "."; dir = path.Dir(dir) {
		if err := c.root.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
}
