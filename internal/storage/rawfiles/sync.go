package rawfiles

import (
	"errors"
	"io/fs"
	"path"
	"sync"
)

// fewFiles is the number of files up to which each is synced by itself. One
// sync of the whole file system costs a few of those, and writes whatever
// others have left to write there as well.
const fewFiles = 4

// syncers bounds how many files are synced at once. The file system joins
// syncs that come together into one turn of its journal.
const syncers = 16

// syncFiles brings the bytes of all temporary files to the disk.
func (s *Stage) syncFiles() error {
	if s.c.o.NoSync {
		return nil
	}
	if len(s.files) > fewFiles {
		if done, err := syncFS(s.disk); done {
			return err
		}
	}
	names := make([]string, len(s.files))
	for i, f := range s.files {
		names[i] = f.dir + "/" + f.temp
	}
	return s.syncEach(names)
}

// syncDirs brings the names of all files to the disk, and those of the folders
// on the way to them.
func (s *Stage) syncDirs() error {
	if s.c.o.NoSync {
		return nil
	}
	if len(s.dirs) > fewFiles {
		if done, err := syncFS(s.disk); done {
			return err
		}
	}
	names, seen := []string{"."}, map[string]bool{".": true}
	for dir := range s.dirs {
		for ; !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			names = append(names, dir)
		}
	}
	return s.syncEach(names)
}

// syncEach syncs files and folders one by one, some at a time. What is gone
// was deleted meanwhile and needs no sync.
func (s *Stage) syncEach(names []string) error {
	var wg sync.WaitGroup
	errs := make([]error, len(names))
	slots := make(chan struct{}, syncers)
	for i, name := range names {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f, err := s.c.root.Open(name)
			if err != nil {
				if !errors.Is(err, fs.ErrNotExist) {
					errs[i] = err
				}
				return
			}
			errs[i] = f.Sync()
			_ = f.Close()
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
