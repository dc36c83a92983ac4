package index

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	bolt "go.etcd.io/bbolt/errors"

	"hce/dc/internal/files"
)

// openWork opens a working index for writing, and returns the sums of its segments. It has sums of all
// files if its writer closed it; after a kill the segments are compared with the checksum that each has
// at its end.
func openWork(folder string) (index bleve.Index, segments sums, err error) {
	segments, faults, closed, err := checkWork(folder)
	if err == nil && closed {
		err = removeSums(folder)
	}
	if err != nil {
		return nil, nil, err
	}
	if index, err = openFolder(folder, false); err != nil {
		return nil, nil, err
	}
	used, err := segmentsUsed(index)
	if err == nil {
		err = faults.errorIfUsed(used)
	}
	if err != nil {
		_ = index.Close() // nothing was written
		return nil, nil, err
	}
	maps.DeleteFunc(segments, func(name string, _ sum) bool { return !used[name] })
	return index, segments, nil
}

// checkWork checks the files of a working index. closed reports whether it has sums. Without them, a segment in
// faults may be a part that is not used.
func checkWork(folder string) (segments sums, faults faults, closed bool, err error) {
	segments, err = readSums(folder)
	if errors.Is(err, fs.ErrNotExist) {
		segments, faults, err = sumSegments(folder)
		return segments, faults, false, err
	}
	if err == nil {
		err = segments.checkFiles(folder, true)
	}
	return segments, nil, true, err
}

// faults are the paths of damaged segments by their names.
type faults map[string]string

// errorIfUsed returns an error if a segment that is used is damaged.
func (f faults) errorIfUsed(used map[string]bool) error {
	for name := range used {
		if path, wrong := f[name]; wrong {
			return newDamagedError(path, wrongSum)
		}
	}
	return nil
}

// removeSums makes sure that sums do not outlive the files that they were made of.
func removeSums(folder string) error {
	if err := os.Remove(filepath.Join(folder, sumsFile)); err != nil {
		return err
	}
	return files.SyncFolder(folder)
}

// sumSegments reads the segments of an index that was not closed, and finds those that do not fit their own
// checksum.
func sumSegments(folder string) (list sums, wrong faults, err error) {
	root := filepath.Join(folder, "store", "root.bolt")
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, newDamagedError(root, "it is missing") // the library would create it
	}
	paths, err := filepath.Glob(filepath.Join(folder, "store", "*.zap"))
	list, wrong = sums{}, faults{}
	for _, path := range paths {
		one, own, err := sumFile(path)
		if err != nil {
			return nil, nil, err
		}
		name := path[len(folder)+1:]
		if list[name] = one; !own {
			wrong[name] = path
		}
	}
	return list, wrong, err
}

func segmentsUsed(index bleve.Index) (map[string]bool, error) {
	advanced, err := index.Advanced()
	if err != nil {
		return nil, err
	}
	r, err := advanced.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return segmentFiles(r.(*scorch.IndexSnapshot)), nil
}

// openFolder opens an index of bleve. What it cannot read, apart from errors of the system, is damage.
func openFolder(folder string, readOnly bool) (index bleve.Index, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			index, err = nil, newDamagedError(folder, fmt.Sprint(fault))
		}
	}()
	config := map[string]any{"bolt_timeout": "5s"}
	if readOnly {
		config["read_only"] = true
	}
	index, err = bleve.OpenUsing(folder, config)
	var system syscall.Errno
	if err == nil || errors.Is(err, bolt.ErrTimeout) || errors.As(err, &system) && system != syscall.ENOENT {
		return index, err
	}
	return nil, newDamagedError(folder, err.Error())
}

// Replace begins an empty index in the folder of a damaged one. Questions are answered from its newest
// snapshot, if that is whole, until the next one is published. The error is files.ErrLocked if another process writes it.
func Replace(dir string) error {
	x, err := lockFolder(dir)
	if err != nil {
		return err
	}
	defer x.unlock()
	h := head{Format: format, Work: "work-" + strconv.Itoa(highestNumber(x.dir, "work-")+1)}
	if n := highestNumber(filepath.Join(x.dir, "snapshots"), ""); n > 0 {
		h.Snapshot = strconv.Itoa(n)
	}
	empty, err := createIndex(h.workPath(x.dir))
	if err == nil {
		err = empty.Close()
	}
	if err == nil {
		err = h.writeFile(x.dir)
	}
	if err != nil {
		return fmt.Errorf("replace index %s: %w", x.dir, err)
	}
	return nil
}

// highestNumber returns the highest number of folders that are named by a prefix and a number, 0 for none.
func highestNumber(dir, prefix string) (n int) {
	paths, _ := filepath.Glob(filepath.Join(dir, prefix+"*"))
	for _, path := range paths {
		k, _ := strconv.Atoi(filepath.Base(path)[len(prefix):])
		n = max(n, k)
	}
	return n
}
