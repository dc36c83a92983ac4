package status

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hce/dc/internal/files"
)

// Folder is a folder that programs of the daemon write.
type Folder struct {
	Name string // as in the ini file
	Path string // if it is missing, its nearest parent is meant
	// Grows: it holds stored data, so that MinFree applies.
	Grows bool
}

// probeBytes is the size of the file that unwritable writes: one block of a disk.
const probeBytes = 4096

// unwritable returns a reason for each folder that cannot be written, or whose disk has less than
// MinFree. It writes a small file in each and removes it.
func (c Config) unwritable() (reasons []string) {
	folders := c.Folders
	if c.DataDir != "" {
		folders = append([]Folder{{"data_dir", c.DataDir, true}}, folders...)
	}
	for _, f := range folders {
		if err := f.check(c.MinFree); err != nil {
			reasons = append(reasons, fmt.Sprintf("%s %s: %v", f.Name, f.Path, err))
		}
	}
	return reasons
}

func (f Folder) check(minFree int64) error {
	path := filepath.Clean(f.Path)
	for {
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%s is not a folder", path)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return err
		}
		path = filepath.Dir(path) // the program creates the folder
	}
	if free, err := files.Free(path); err != nil {
		return err
	} else if f.Grows && free < minFree {
		return fmt.Errorf("its disk has %d bytes free, at least %d are wanted", free, minFree)
	}
	probe, err := os.CreateTemp(path, ".dc-ready-*")
	if err != nil {
		return err
	}
	defer os.Remove(probe.Name())
	_, err = probe.Write(make([]byte, probeBytes))
	return errors.Join(err, probe.Close())
}
