package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/renameio/v2"
)

const (
	// temporarySuffix ends the name of the temporary file of WriteUnsynced.
	temporarySuffix = ".tmp"
	// orphanAge is the age at which a temporary file of Write counts as left by a
	// killed writer.
	orphanAge = time.Minute
)

// Write replaces the content of the file at path, or creates the file with perm less the
// umask. When it returns nil, a crash of the machine does not lose the change: the data
// and the folder are synced. The folder must exist. Writers of the same path need no
// lock: the last one wins. A killed writer leaves a temporary file named "." + name +
// digits; a later Write of the same path removes it once it is a minute old.
func Write(path string, data []byte, perm fs.FileMode) error {
	dir, base := filepath.Split(path)
	dir = filepath.Clean(dir)
	removeOrphans(dir, base)
	file, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir), renameio.WithPermissions(perm))
	if err != nil {
		return err
	}
	defer func() { _ = file.Cleanup() }()
	if _, err := file.Write(data); err != nil {
		return err
	}
	if err := file.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return SyncFolder(dir)
}

// WriteUnsynced is Write for the only writer of a path, for example the holder of its
// lock. It syncs nothing: a crash of the machine may lose the change or empty the file;
// a kill of the process does neither. The temporary file is path + ".tmp". A killed
// writer leaves it, and the next WriteUnsynced removes it. A link with that
// name is removed, not followed.
func WriteUnsynced(path string, data []byte, perm fs.FileMode) error {
	return writeAlone(path, data, perm, func(*os.File) error { return nil })
}

// WriteAlone is WriteUnsynced that syncs the data and the folder as Write does. It does not read
// the folder, which may have any number of files.
func WriteAlone(path string, data []byte, perm fs.FileMode) error {
	if err := writeAlone(path, data, perm, (*os.File).Sync); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// writeAlone calls written when the temporary file has the data.
func writeAlone(path string, data []byte, perm fs.FileMode, written func(*os.File) error) error {
	temporary := path + temporarySuffix
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL | syscall.O_NOFOLLOW // no link and no file of others
	file, err := os.OpenFile(temporary, flags, perm)
	if errors.Is(err, fs.ErrExist) { // a killed writer left it
		if err = os.Remove(temporary); err == nil {
			file, err = os.OpenFile(temporary, flags, perm)
		}
	}
	if err != nil {
		return err
	}
	if _, err = file.Write(data); err == nil {
		err = written(file)
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary)
	}
	return err
}

// SyncFolder makes the renames and new entries in dir durable.
func SyncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// removeOrphans removes the temporary files that killed writers of base left in dir. One
// that cannot be removed, for example that of another user, stays.
func removeOrphans(dir, base string) {
	entries, _ := os.ReadDir(dir) // Write reports a folder that cannot be used
	for _, e := range entries {
		digits, found := strings.CutPrefix(e.Name(), "."+base)
		if !found || digits == "" || strings.Trim(digits, "0123456789") != "" {
			continue
		}
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > orphanAge {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// IgnoreMissing returns err, but nil for a file that does not exist.
func IgnoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
