package rawfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Rename gives the files of URLs of a site new keys. Keys maps old ones to new ones. A file
// that a new key already has stays, and the old one is removed. The new names are durable
// when it returns nil. It can be repeated after a kill.
func (c *Cache) Rename(site string, keys map[string]string) error {
	st := c.Stage()
	defer st.Abort()
	for old, key := range keys {
		if err := st.renameKey(site, old, key); err != nil {
			return fmt.Errorf("rename raw files: %w", err)
		}
	}
	if len(st.dirs) == 0 {
		return nil
	}
	if err := st.syncDirs(); err != nil {
		return fmt.Errorf("rename raw files: %w", err)
	}
	for old := range keys {
		c.RemoveEmpty(site, old)
	}
	return nil
}

func (s *Stage) renameKey(site, old, key string) error {
	list, err := s.c.List(site, old)
	if err != nil || len(list) == 0 {
		return err
	}
	if s.disk == nil {
		if s.disk, err = s.c.root.Open("."); err != nil {
			return err
		}
	}
	dir, err := s.c.fileDir(site, key)
	if err != nil {
		return err
	}
	if _, err := s.openFolder(dir); err != nil {
		return err
	}
	s.dirs[dir] = true
	for _, v := range list {
		name := dir + "/" + key + strings.TrimPrefix(path.Base(v.Path), old)
		_, err := s.c.root.Lstat(name)
		switch {
		case err == nil:
			err = s.c.Remove([]Version{v})
		case errors.Is(err, fs.ErrNotExist):
			err = s.c.root.Rename(v.Path, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
