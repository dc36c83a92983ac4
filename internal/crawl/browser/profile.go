package browser

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// profilePrefix begins the names of the folders of browsers.
const profilePrefix = "dc-browser-"

// unlockedAge is how old a folder without a lock must be to be nobody's.
const unlockedAge = time.Hour

// profile is the private folder of one Chromium: its profile, its home and its
// temporary files. It is locked as long as its process lives, so that others can
// tell what a killed process left.
type profile struct {
	path string
	lock *os.File
}

// newProfile makes a folder in parent, and removes those there that killed
// processes left.
func newProfile(parent string) (*profile, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, err
	}
	sweepProfiles(parent)
	path, err := os.MkdirTemp(parent, profilePrefix)
	if err != nil {
		return nil, err
	}
	p := &profile{path: path}
	if p.lock, err = lockFile(filepath.Join(path, "lock"), os.O_CREATE); err != nil {
		os.RemoveAll(path)
		return nil, err
	}
	return p, nil
}

// remove removes the folder. Processes that end may still write to it, so it
// tries for a while.
func (p *profile) remove() error {
	var err error
	for range 100 {
		if err = os.RemoveAll(p.path); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.lock.Close()
	return err
}

// lockFile opens the file at path and locks it, or fails if it is locked.
func lockFile(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweepProfiles removes the folders below parent whose owner is gone. Those of
// other users fail to be removed and stay.
func sweepProfiles(parent string) {
	found, err := filepath.Glob(filepath.Join(parent, profilePrefix+"*"))
	if err != nil {
		return
	}
	for _, path := range found {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() {
			continue
		}
		lock, err := lockFile(filepath.Join(path, "lock"), 0)
		switch {
		case err == nil:
			os.RemoveAll(path)
			lock.Close()
		case os.IsNotExist(err) && time.Since(info.ModTime()) > unlockedAge:
			os.RemoveAll(path) // its owner was killed before it could lock it
		}
	}
}
