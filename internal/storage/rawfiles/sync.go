package rawfiles

import (
	"errors"
	"io/fs"
	"path"
	"sync"
)

// fewFiles is the largest number of files with a sync for each file. A sync of the file system
// costs as much as a few of those, and also writes the data of other processes.
const fewFiles = 4

// syncers limits concurrent syncs. The file system combines concurrent syncs in one journal
// commit.
const syncers = 16

// syncFiles makes the bytes of all temporary files durable.
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
		names[i] = s.staging + "/" + f.temp
	}
	return s.syncEach(names)
}

// syncDirs makes the names of all files and of their folders durable.
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

// syncEach syncs each file and folder, at most syncers at a time. It ignores deleted ones.
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
