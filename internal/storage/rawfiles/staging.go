package rawfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/files"
)

// Files that are not committed are in a folder of their process, below stagingDir. The process locks
// the file <folder>.lock as long as it lives, so Sweep knows the folders of killed processes.
const (
	stagingDir = ".staging"
	lockSuffix = ".lock"
)

// staging is the folder of this cache for files that are not committed.
type staging struct {
	root   *os.Root // nil: not made yet
	dir    string   // below the root of the cache
	unlock func()
}

// stagingRoot returns the folder of uncommitted files, and makes it when it is first needed.
func (c *Cache) stagingRoot() (_ *os.Root, dir string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.staging.root != nil {
		return c.staging.root, c.staging.dir, nil
	}
	if err := c.root.Mkdir(stagingDir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, "", err
	}
	for {
		dir = stagingDir + "/" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
		unlock, err := files.TryLock(filepath.Join(c.root.Name(), dir+lockSuffix))
		if errors.Is(err, files.ErrLocked) { // a sweep looks at it
			continue
		}
		if err != nil {
			return nil, "", err
		}
		err = c.root.Mkdir(dir, 0o700)
		if err == nil {
			c.staging.root, err = c.root.OpenRoot(dir)
		}
		if err != nil {
			unlock()
			return nil, "", err
		}
		c.staging.dir, c.staging.unlock = dir, unlock
		return c.staging.root, dir, nil
	}
}

// closeStaging removes the folder of uncommitted files.
func (c *Cache) closeStaging() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.staging.root == nil {
		return nil
	}
	err := errors.Join(c.staging.root.Close(), c.root.RemoveAll(c.staging.dir), c.root.Remove(c.staging.dir+lockSuffix))
	c.staging.unlock()
	c.staging = staging{}
	return err
}

// Sweep removes the uncommitted files of killed processes, and returns their number. Others may use
// the cache meanwhile. Without such files it reads one folder.
func (c *Cache) Sweep() (removed int, err error) {
	entries, err := readDir(c.root, stagingDir)
	if err != nil {
		return 0, fmt.Errorf("sweep raw files: %w", err)
	}
	var errs []error
	for _, e := range entries {
		folder, found := strings.CutSuffix(e.Name(), lockSuffix)
		if !found {
			continue
		}
		n, err := c.sweepOne(stagingDir + "/" + folder)
		removed += n
		if err != nil {
			errs = append(errs, fmt.Errorf("sweep raw files of a killed process: %w", err))
		}
	}
	return removed, errors.Join(errs...)
}

func (c *Cache) sweepOne(dir string) (removed int, err error) {
	unlock, err := files.TryLock(filepath.Join(c.root.Name(), dir+lockSuffix))
	if errors.Is(err, files.ErrLocked) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer unlock()
	left, err := readDir(c.root, dir)
	if err == nil {
		err = c.root.RemoveAll(dir)
	}
	if err == nil { // last, so that a kill leaves nothing without a lock file
		err = c.root.Remove(dir + lockSuffix)
	}
	return len(left), err
}
