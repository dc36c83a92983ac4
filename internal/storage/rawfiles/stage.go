package rawfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// Stage collects files. Commit makes all of them durable and visible, Abort none. The renames
// are not atomic: readers may see the first file before the last one. A stage belongs to one
// goroutine. A cache may have many stages.
type Stage struct {
	c       *Cache
	disk    *os.File // the root folder, a handle for syncfs
	files   []staged
	dirs    map[string]bool     // folders of files
	open    map[string]*os.Root // some of dirs and their parents
	staging string              // folder of the temporary files
	err     error               // the first error of the disk, after which Commit fails
	done    bool
}

// maxOpen bounds the open folders of a stage.
const maxOpen = 512

// staged is one file under its temporary name, in the staging folder.
type staged struct{ dir, temp, name string }

// Stage begins a stage. The caller must end it with Commit or Abort.
func (c *Cache) Stage() *Stage {
	return &Stage{c: c, dirs: make(map[string]bool), open: make(map[string]*os.Root)}
}

// Put writes one file of the version of a URL that was fetched at at, rounded down to
// milliseconds. A second Put of the same kind and time replaces the first. The stage stays
// usable after ErrName and ErrTooLarge. After an error of the disk Commit fails with that
// error. site "" means "0". Put does not keep data.
func (s *Stage) Put(site, md5 string, at time.Time, kind Kind, data []byte) error {
	return s.stageFile(site, md5, TimeName(at), kind, data)
}

// PutLabelled writes <md5>_<label>.<suffix>, or <md5>.<suffix> for an empty label, and replaces
// a file with that name. URL_PUT with fileStorageSuffix creates such files, which are not
// versions of crawls. A label is 1 to 64 letters, digits, "_", "-" and ".".
func (s *Stage) PutLabelled(site, md5, label string, kind Kind, data []byte) error {
	if label != "" && !labelOK(label) {
		return fmt.Errorf("%w: label %.100q", ErrName, label)
	}
	return s.stageFile(site, md5, label, kind, data)
}

func (s *Stage) stageFile(site, md5, label string, kind Kind, data []byte) error {
	if s.done {
		return ErrDone
	}
	if s.err != nil {
		return s.err
	}
	suffix, ok := kind.suffix()
	if !ok {
		return fmt.Errorf("%w: kind %d", ErrName, kind)
	}
	dir, err := s.c.fileDir(site, md5)
	if err != nil {
		return err
	}
	if int64(len(data)) > s.c.o.MaxFile {
		return fmt.Errorf("%w: %d bytes", ErrTooLarge, len(data))
	}
	if label != "" {
		label = "_" + label
	}
	f := staged{dir: dir, name: md5 + label + suffix}
	f.temp = f.name + "." + strconv.FormatUint(s.c.temp.Add(1), 36)
	if err := s.writeTemporary(f, data); err != nil {
		s.err = fmt.Errorf("stage raw file %s: %w", f.name, err)
		return s.err
	}
	s.files = append(s.files, f)
	return nil
}

// writeTemporary writes the temporary file. After an error it leaves no file.
func (s *Stage) writeTemporary(f staged, data []byte) error {
	if s.disk == nil {
		// Open the handle before the first write: syncfs reports only errors after
		// that.
		disk, err := s.c.root.Open(".")
		if err != nil {
			return err
		}
		s.disk = disk
	}
	folder, file, err := s.createTemporary(f)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = folder.Remove(f.temp)
	}
	return err
}

// folderTries limits the attempts of a Put and a DeleteURLs that create and remove one folder at
// the same time.
const folderTries = 100

// createTemporary creates the temporary file, and the folder of the file if that is missing.
func (s *Stage) createTemporary(f staged) (*os.Root, *os.File, error) {
	for try := 0; ; try++ {
		_, err := s.openFolder(f.dir)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || try == folderTries {
			return nil, nil, err
		}
		s.closeFolders() // DeleteURLs or DeleteSite removed one of them
	}
	s.dirs[f.dir] = true
	folder, dir, err := s.c.stagingRoot()
	if err != nil {
		return nil, nil, err
	}
	s.staging = dir
	file, err := folder.OpenFile(f.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return folder, file, err
}

// openFolder returns a folder below the root, and makes it if missing. The stage keeps it open: each
// step from the root costs an open file.
func (s *Stage) openFolder(dir string) (folder *os.Root, err error) {
	if folder := s.open[dir]; folder != nil {
		return folder, nil
	}
	parent, name := s.c.root, dir
	if i := strings.LastIndexByte(dir, '/'); i >= 0 {
		if parent, err = s.openFolder(dir[:i]); err != nil {
			return nil, err
		}
		name = dir[i+1:]
	}
	if err := parent.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if folder, err = parent.OpenRoot(name); err != nil {
		return nil, err
	}
	if len(s.open) >= maxOpen {
		s.closeFolders()
	}
	s.open[dir] = folder
	return folder, nil
}

func (s *Stage) closeFolders() {
	for dir, folder := range s.open {
		_ = folder.Close()
		delete(s.open, dir)
	}
}

// Commit makes the files of the stage durable under their names and finishes the stage. It syncs
// the bytes of all files, renames them, and syncs the folders. After an error it removes files
// that are not yet renamed. Renamed files are complete and harmless without rows. If a URL or
// site was deleted since Put, Commit drops its files without an error. An empty stage costs
// nothing.
func (s *Stage) Commit() error {
	if s.done {
		return ErrDone
	}
	defer s.Abort()
	if s.err != nil {
		return s.err
	}
	if len(s.files) == 0 {
		return nil
	}
	if err := s.syncFiles(); err != nil {
		return fmt.Errorf("sync raw files: %w", err)
	}
	for len(s.files) > 0 {
		f := s.files[0]
		err := s.c.root.Rename(s.staging+"/"+f.temp, f.dir+"/"+f.name)
		if err != nil {
			if !s.isFolderDeleted(f, err) {
				return fmt.Errorf("rename raw file: %w", err)
			}
			_ = s.c.root.Remove(s.staging + "/" + f.temp)
		}
		s.files = s.files[1:]
	}
	if err := s.syncDirs(); err != nil {
		return fmt.Errorf("sync folders of raw files: %w", err)
	}
	return nil
}

// isFolderDeleted reports whether a rename failed because its folder was deleted.
func (s *Stage) isFolderDeleted(f staged, err error) bool {
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, err = s.c.root.Lstat(f.dir)
	return errors.Is(err, fs.ErrNotExist)
}

// Abort removes the temporary files and finishes the stage. It does nothing on a finished stage.
func (s *Stage) Abort() {
	if s.done {
		return
	}
	s.done = true
	for _, f := range s.files {
		_ = s.c.root.Remove(s.staging + "/" + f.temp)
	}
	s.files = nil
	s.closeFolders()
	if s.disk != nil {
		_ = s.disk.Close()
	}
}
