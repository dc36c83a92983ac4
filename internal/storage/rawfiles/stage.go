package rawfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"
)

// Stage gathers files that become visible together with Commit, or not at all
// with Abort. Together is meant for the disk: readers may see the first file
// before the last is renamed. One goroutine uses a stage; a cache may have
// many.
type Stage struct {
	c     *Cache
	disk  *os.File // the root folder, as handle of its file system
	files []staged
	dirs  map[string]bool // folders seen: made, and swept of old leftovers
	err   error           // the first failure of the disk; no Commit after it
	done  bool
}

// staged is one file that waits for its name.
type staged struct{ dir, temp, name string }

// Stage begins a stage. It must end with Commit or Abort.
func (c *Cache) Stage() *Stage {
	return &Stage{c: c, dirs: make(map[string]bool)}
}

// Put writes one file of the version of a URL that was fetched at at, in
// milliseconds UTC. A second Put of the same kind and time takes the place of
// the first. ErrName and ErrTooLarge leave the stage as it was; after an error
// of the disk only Abort is left. site "" is "0". data is not kept.
func (s *Stage) Put(site, md5 string, at time.Time, kind Kind, data []byte) error {
	return s.put(site, md5, at.UTC().Format(timeLayout), kind, data)
}

// PutLabelled writes <md5>_<label>.<suffix>, or <md5>.<suffix> for an empty
// label, over what has that name: a file apart from the versions that crawls
// make, as URL_PUT with fileStorageSuffix asks for. A label is 1 to 64 letters,
// digits, "_", "-" and ".".
func (s *Stage) PutLabelled(site, md5, label string, kind Kind, data []byte) error {
	if label != "" && !labelOK(label) {
		return fmt.Errorf("%w: label %.100q", ErrName, label)
	}
	return s.put(site, md5, label, kind, data)
}

func (s *Stage) put(site, md5, label string, kind Kind, data []byte) error {
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
	f.temp = tempPrefix + f.name + "." + strconv.Itoa(os.Getpid()) + "-" +
		strconv.FormatInt(time.Now().UnixNano(), 36) + "-" + strconv.FormatUint(s.c.temp.Add(1), 36) + tempSuffix
	if err := s.write(f, data); err != nil {
		s.err = fmt.Errorf("rawcache: put: %w", err)
		return s.err
	}
	s.files = append(s.files, f)
	return nil
}

// write makes the temporary file, or leaves nothing.
func (s *Stage) write(f staged, data []byte) error {
	root := s.c.root
	if s.disk == nil {
		// Opened before the first write: syncfs reports the failures that
		// came after its handle was opened.
		disk, err := root.Open(".")
		if err != nil {
			return err
		}
		s.disk = disk
	}
	if !s.dirs[f.dir] {
		if err := s.c.sweepTemps(f.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		s.dirs[f.dir] = true
	}
	file, err := s.create(f)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = root.Remove(f.dir + "/" + f.temp)
	}
	return err
}

// folderTries is how often a Put and a DeleteURL of two processes may take a
// folder away from each other, or fill it again, before one of them gives up.
const folderTries = 100

// create opens the temporary file and makes its folder when that is missing.
func (s *Stage) create(f staged) (*os.File, error) {
	for try := 0; ; try++ {
		file, err := s.c.root.OpenFile(f.dir+"/"+f.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || try == folderTries {
			return file, err
		}
		if err := s.c.root.MkdirAll(f.dir, 0o755); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// Commit makes the files of the stage durable and gives them their names; the
// stage is finished then. It syncs the bytes of all files at once, renames, and
// syncs the folders. On an error files not yet renamed are removed; those that
// were are whole, and harmless without their rows. A URL or site that was
// deleted since Put keeps no file, and that is no error. An empty stage costs
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
		return fmt.Errorf("rawcache: sync files: %w", err)
	}
	for len(s.files) > 0 {
		f := s.files[0]
		err := s.c.root.Rename(f.dir+"/"+f.temp, f.dir+"/"+f.name)
		if err != nil && !s.deleted(f, err) {
			return fmt.Errorf("rawcache: rename: %w", err)
		}
		s.files = s.files[1:]
	}
	if err := s.syncDirs(); err != nil {
		return fmt.Errorf("rawcache: sync folders: %w", err)
	}
	return nil
}

// deleted tells whether a rename failed because the whole folder is gone.
func (s *Stage) deleted(f staged, err error) bool {
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, err = s.c.root.Lstat(f.dir)
	return errors.Is(err, fs.ErrNotExist)
}

// Abort removes what the stage has written and finishes it. After Commit, or
// a second time, it does nothing.
func (s *Stage) Abort() {
	if s.done {
		return
	}
	s.done = true
	for _, f := range s.files {
		_ = s.c.root.Remove(f.dir + "/" + f.temp)
	}
	s.files = nil
	if s.disk != nil {
		_ = s.disk.Close()
	}
}
