package rawfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Surplus returns what RAW_VERSIONS_MAX removes from all versions of a URL, oldest first: it
// keeps the newest keep pages with their companions, the newest keep chains, and everything
// with a label. keep <= 0 keeps everything. Pages come last, so that an interrupted removal
// can be repeated. Source: docs/spec/DECISIONS.md 5.3.
func Surplus(all []Version, keep int) []Version {
	if keep <= 0 {
		return nil
	}
	var pages, chains []Version
	for _, v := range all {
		switch {
		case v.Label() != "":
		case v.Kind == Raw:
			pages = append(pages, v)
		case v.Kind == Chain:
			chains = append(chains, v)
		}
	}
	pages, chains = pages[:len(pages)-min(keep, len(pages))], chains[:len(chains)-min(keep, len(chains))]
	old := make(map[string]bool, len(pages))
	for _, v := range pages {
		old[v.Name] = true
	}
	surplus := slices.Clone(chains)
	for _, v := range all {
		if old[v.Name] && v.Kind != Chain && v.Kind != Raw {
			surplus = append(surplus, v)
		}
	}
	return append(surplus, pages...)
}

// Remove removes files. Missing ones are not an error.
func (c *Cache) Remove(versions []Version) error {
	for _, v := range versions {
		if err := c.root.Remove(v.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove raw file: %w", err)
		}
	}
	return nil
}

// DeleteURLs removes the folders of URLs, then their parent folders if empty. A URL without
// files is not an error. DeleteURLs checks all names first. Then it continues after errors and
// returns all of them. Source: docs/spec/storage.md 2.
func (c *Cache) DeleteURLs(site string, md5s []string) error {
	dirs := make([]string, len(md5s))
	for i, md5 := range md5s {
		dir, err := urlDir(site, md5)
		if err != nil {
			return err
		}
		dirs[i] = dir
	}
	var errs []error
	parents := make(map[string]bool)
	for _, dir := range dirs {
		if err := c.removeAll(dir); err != nil {
			errs = append(errs, fmt.Errorf("delete raw files of a URL: %w", err))
		}
		parents[path.Dir(dir)] = true
	}
	for dir := range parents {
		err := c.root.Remove(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, fs.ErrExist) {
			errs = append(errs, fmt.Errorf("delete raw files of a URL: %w", err))
		}
	}
	return errors.Join(errs...)
}

// DeleteSite removes all files of a site. It renames the folder first, so that readers see all
// files or none and a new site with this id starts empty. After a kill, the next DeleteSite
// removes the renamed folder.
func (c *Cache) DeleteSite(site string) error {
	dir, err := siteDir(site)
	if err != nil {
		return err
	}
	aside := deletedPrefix + dir + "-" + strconv.FormatInt(time.Now().UnixNano(), 36) + "-" + strconv.FormatUint(c.temp.Add(1), 36)
	if err := c.root.Rename(dir, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete raw files of site %s: %w", dir, err)
	}
	return c.sweepSites()
}

// sweepSites removes the folders that DeleteSite has renamed.
func (c *Cache) sweepSites() error {
	entries, err := readDir(c.root, ".")
	if err != nil {
		return fmt.Errorf("list deleted sites: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), deletedPrefix) {
			continue
		}
		if err := c.removeAll(e.Name()); err != nil {
			return fmt.Errorf("remove deleted site: %w", err)
		}
	}
	return nil
}

// removeAll removes a folder. It retries because a concurrent Put may add a file.
func (c *Cache) removeAll(dir string) (err error) {
	for range folderTries {
		if err = c.root.RemoveAll(dir); err == nil {
			return nil
		}
	}
	return err
}
