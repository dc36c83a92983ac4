package index

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"hce/dc/internal/files"
)

// Publish makes a snapshot of the present state, which processors open next. The error is ErrDamaged if a
// segment has other bytes than were written; nothing is published then.
func (x *Index) Publish() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.broken != nil {
		return x.broken
	}
	if err := x.publish(); err != nil {
		return fmt.Errorf("publish index %s: %w", x.dir, err)
	}
	return nil
}

func (x *Index) publish() error {
	last, _ := strconv.Atoi(x.head.Snapshot) // 0 for none
	name := strconv.Itoa(last + 1)
	path := filepath.Join(x.dir, "snapshots", name)
	if err := os.RemoveAll(path); err != nil { // a killed process left it
		return err
	}
	linked, err := x.copyTo(path)
	if err != nil {
		return err
	}
	list, err := x.sums.completeSums(path)
	if err != nil {
		return err
	}
	maps.DeleteFunc(list, func(name string, _ sum) bool { return !linked[name] })
	x.sums = list
	if err := files.SyncFolder(filepath.Join(path, "store")); err != nil {
		return err
	}
	h := x.head
	h.Snapshot = name
	if err := h.writeFile(x.dir); err != nil {
		return err
	}
	x.head, x.late = h, false
	return x.removeLeftovers()
}

// copyTo writes the present state to a folder, and returns which of its segments are in files already.
func (x *Index) copyTo(folder string) (map[string]bool, error) {
	advanced, err := x.bleve.Advanced()
	if err != nil {
		return nil, err
	}
	state := advanced.(*scorch.Scorch).CopyReader().(*scorch.IndexSnapshot)
	defer state.CloseCopyReader()
	work, segments := x.head.workPath(x.dir), segmentFiles(state)
	if err := state.CopyTo(linked{work, folder, segments}); err != nil {
		return nil, err
	}
	return segments, os.Link(filepath.Join(work, metaFile), filepath.Join(folder, metaFile))
}

// metaFile has the settings of bleve, which never change.
const metaFile = "index_meta.json"

// segmentFiles returns the paths in the index of the segments that are in files.
func segmentFiles(state *scorch.IndexSnapshot) map[string]bool {
	list := map[string]bool{}
	for _, s := range state.Segments() {
		if p, stored := s.Segment().(segment.PersistedSegment); stored {
			list[filepath.Join("store", filepath.Base(p.Path()))] = true
		}
	}
	return list
}

// Check reads all files of the newest snapshot again. The error is ErrDamaged if one has other bytes than were written.
func (x *Index) Check() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.head.Snapshot == "" {
		return nil
	}
	return checkSnapshot(filepath.Join(x.dir, "snapshots", x.head.Snapshot), true)
}

func (h head) workPath(dir string) string { return filepath.Join(dir, h.Work) }

// linked is the folder of a snapshot. Segments in files become hard links; others are written by the
// library, also where a file of their name is: it may be a part that a full disk has left.
type linked struct {
	from, to string
	segments map[string]bool
}

// GetWriter returns nil for a file that is complete already.
func (l linked) GetWriter(name string) (io.WriteCloser, error) {
	path := filepath.Join(l.to, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if l.segments[name] {
		return nil, os.Link(filepath.Join(l.from, name), path)
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}
