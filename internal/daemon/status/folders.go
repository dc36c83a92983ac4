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
	// Grows: it holds stored data, so that MinFree is compared.
	Grows bool
}

// probeBytes is the size of the file that checkFolders writes: one block of a disk.
const probeBytes = 4096

// checkFolders returns a reason for each folder that cannot be written, and a warning for each one whose disk has less
// than MinFree: work goes on there. It writes a small file in each folder and removes it.
func (c Config) checkFolders() (reasons, warnings []string) {
	folders := c.Folders
	if c.DataDir != "" {
		folders = append([]Folder{{"data_dir", c.DataDir, true}}, folders...)
	}
	for _, f := range folders {
		free, err := f.probeWrite()
		switch {
		case err != nil:
			reasons = append(reasons, fmt.Sprintf("%s %s: %v", f.Name, f.Path, err))
		case f.Grows && free < c.MinFree:
			warnings = append(warnings, fmt.Sprintf("%s %s: its disk has %d MiB free, less than StatusMinFree (%d MiB)", f.Name, f.Path, free>>20, c.MinFree>>20))
		}
	}
	return reasons, warnings
}

// probeWrite writes a small file in the folder and removes it. It returns the free bytes of its disk.
func (f Folder) probeWrite() (free int64, err error) {
	path := filepath.Clean(f.Path)
	for {
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() {
			return 0, fmt.Errorf("%s is not a folder", path)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return 0, err
		}
		path = filepath.Dir(path) // the program creates the folder
	}
	if free, err = files.Free(path); err != nil {
		return 0, err
	}
	probe, err := os.CreateTemp(path, ".dc-ready-*")
	if err != nil {
		return 0, files.ExplainFull(err, path)
	}
	defer os.Remove(probe.Name())
	_, err = probe.Write(make([]byte, probeBytes))
	return free, files.ExplainFull(errors.Join(err, probe.Close()), path)
}
