// Package datafolder is the folder in which hce and Go programs crawl: ini (files that the user may edit) and data.
//
//	f, err := datafolder.Open(dir) // creates what is missing
//	release, err := f.Occupy()     // one crawl at a time
package datafolder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hce/dc/ini"
	"hce/dc/internal/files"
)

// DefaultDir returns the folder of hce in the user's data directory (XDG_DATA_HOME).
func DefaultDir(getenv func(string) string) (string, error) {
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hce"), nil
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", "hce"), nil
	}
	return "", errors.New("neither XDG_DATA_HOME nor HOME is set; give a folder with --data")
}

// Exists reports whether dir is the folder of a node with stored data.
func Exists(dir string) bool {
	for _, name := range []string{"dc.db", "dc_rdata", "dc_dbdata"} { // the last two with MySQL
		if _, err := os.Stat(filepath.Join(dir, "data", name)); err == nil {
			return true
		}
	}
	return false
}

// Folder has ini and data.
type Folder struct{ Dir string } // absolute

// Open creates what is missing of the folder. It changes no ini file that exists.
func Open(dir string) (*Folder, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open data folder: %w", err)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(dir, "ini", "dc-daemon.ini")); err != nil {
			return nil, fmt.Errorf("open data folder %s: it has other files; give an empty or a new folder", dir)
		}
	}
	f := &Folder{Dir: dir}
	for _, folder := range []string{f.IniDir(), filepath.Join(f.DataDir(), "log")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("open data folder: %w", err)
		}
	}
	if err := f.writeIni(); err != nil {
		return nil, fmt.Errorf("open data folder %s: %w", dir, err)
	}
	return f, nil
}

// writeIni writes the ini files that are missing. dc-daemon.ini comes last: it marks a whole folder.
func (f *Folder) writeIni() error {
	const last = "dc-daemon.ini"
	entries, err := ini.Files.ReadDir(".")
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if e.Name() != last {
			names = append(names, e.Name())
		}
	}
	for _, name := range append(names, last) {
		path := filepath.Join(f.IniDir(), name)
		if _, err := os.Stat(path); err == nil {
			continue
		}
		text, err := ini.Files.ReadFile(name)
		if err != nil {
			return err
		}
		if err := files.Write(path, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Reserve makes sure that no other crawl works in the folder until release is called. The error wraps
// files.ErrLocked if one does, and names its process.
func (f *Folder) Reserve() (release func(), err error) {
	release, err = files.TryLockPID(f.lockPath())
	if err != nil {
		return nil, err
	}
	unlock, err := files.TryLock(filepath.Join(f.DataDir(), "dc-daemon.lock")) // a daemon started by hand
	if err != nil {
		release()
		return nil, err
	}
	unlock()
	return release, nil
}

// Occupy is Reserve for a process that crawls without a daemon: no daemon can start in the folder meanwhile.
func (f *Folder) Occupy() (release func(), err error) {
	free, err := f.Reserve()
	if err != nil {
		return nil, err
	}
	unlock, err := files.TryLockPID(filepath.Join(f.DataDir(), "dc-daemon.lock"))
	if err != nil {
		free()
		return nil, err
	}
	return func() { unlock(); free() }, nil
}

// Crawler returns the process that crawls in the folder; 0: none, or it is not visible here.
func (f *Folder) Crawler() int { return files.Holder(f.lockPath()) }

func (f *Folder) lockPath() string { return filepath.Join(f.Dir, "crawl.lock") }

// IniDir has the ini files, DataDir the stores and LogDir all logs.
func (f *Folder) IniDir() string  { return filepath.Join(f.Dir, "ini") }
func (f *Folder) DataDir() string { return filepath.Join(f.Dir, "data") }
func (f *Folder) LogDir() string  { return filepath.Join(f.DataDir(), "log") }

// GatesDir returns the folder of the host gates for programs that send requests without a daemon: that of the crawler of hce,
// if hce has crawled, else one that they share. It makes the folder.
func GatesDir(getenv func(string) string) (string, error) {
	dir, err := DefaultDir(getenv)
	if err != nil {
		return "", err
	}
	if Exists(dir) {
		return filepath.Join(dir, "data", "dc_hosts"), nil
	}
	shared := filepath.Join(filepath.Dir(dir), "ose", "hosts")
	return shared, os.MkdirAll(shared, 0o700)
}
