package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/wire"
)

// Scratch keeps the raw files of batches in real time, each batch's in a folder of
// its own: its crawler writes them, its last stage reads and removes them (docs/spec/crawling.md
// 1.4, 6.3). Folders are named by the manager of such batches and begin with the
// name of its run, so that what a killed run left can be told from what is in use.
//
// Nothing here outlives its batch, so nothing is made durable. Goroutines and
// processes may share it.
type Scratch struct {
	repo *Repository
	dir  string
	o    rawfiles.Options
}

// scratchDir is the folder of all batches in that of the raw files. No id of a site
// has a dot.
const scratchDir = ".realtime"

// NewScratch opens nothing. c is what repo was opened with.
func NewScratch(repo *Repository, c Config) *Scratch {
	return &Scratch{repo: repo, dir: filepath.Join(c.RawDir, scratchDir), o: rawfiles.Options{MaxFile: c.MaxFile, NoSync: true}}
}

// open gives the files of a batch; a folder that is missing is made.
func (s *Scratch) open(folder string) (*rawfiles.Cache, error) {
	if !wire.FolderName(folder) {
		return nil, fmt.Errorf("%w: folder %.100q of a batch", rawfiles.ErrName, folder)
	}
	return rawfiles.Open(filepath.Join(s.dir, folder), s.o)
}

// PutFiles stores files of URLs of a site, by their keys. At is the moment in their
// names.
func (s *Scratch) PutFiles(_ context.Context, folder, site string, files map[string][]wire.File, at time.Time) error {
	cache, err := s.open(folder)
	if err != nil {
		return fmt.Errorf("store raw files of batch folder %s: %w", folder, err)
	}
	defer cache.Close()
	stage := cache.Stage()
	defer stage.Abort()
	for _, md5 := range slices.Sorted(maps.Keys(files)) {
		if err := stageFiles(stage, site, md5, at, files[md5]); err != nil {
			return fmt.Errorf("store raw files of batch folder %s: %w", folder, err)
		}
	}
	if err := stage.Commit(); err != nil {
		return fmt.Errorf("store raw files of batch folder %s: %w", folder, err)
	}
	return nil
}

// RawContent reads the newest raw content of a URL that a batch fetched; nil when
// there is none.
func (s *Scratch) RawContent(ctx context.Context, folder, site, md5 string) (data []byte, err error) {
	err = s.with(folder, func(files *Repository) (err error) {
		data, err = files.RawContent(ctx, site, md5)
		return err
	})
	return data, err
}

// AddFiles adds the raw files that mask asks for to an answer, as URL_CONTENT does:
// of the batch, or of the node when folder is "".
func (s *Scratch) AddFiles(_ context.Context, folder, site, md5 string, mask int64, answer *wire.URLContentResponse) error {
	add := func(files *Repository) error {
		return files.rawContents(wire.URLContentRequest{SiteID: site, URLMd5: md5, Mask: mask}, answer)
	}
	if folder == "" {
		return add(s.repo)
	}
	return s.with(folder, add)
}

// with calls f with a repository of a batch's files; not when there are none.
func (s *Scratch) with(folder string, f func(*Repository) error) error {
	if _, err := os.Lstat(filepath.Join(s.dir, folder)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	cache, err := s.open(folder)
	if err != nil {
		return err
	}
	defer cache.Close()
	return f(&Repository{Raw: cache})
}

// Stored reads the processed content that the node has of a URL.
func (s *Scratch) Stored(ctx context.Context, site, md5 string) (wire.Entry, bool, error) {
	return s.repo.Contents.Get(ctx, site, md5)
}

// Processed gives what the bits of mask ask for of a processed content, as
// URL_CONTENT does.
func (s *Scratch) Processed(e wire.Entry, mask int64) []any {
	if mask&(wire.MaskProcessed|wire.MaskInternal|wire.MaskCustom) == 0 {
		return []any{}
	}
	return processed(e, mask)
}

// Remove removes the files of a batch. That there are none is no error.
func (s *Scratch) Remove(folder string) error {
	if !wire.FolderName(folder) {
		return fmt.Errorf("remove batch folder %.100q: %w", folder, rawfiles.ErrName)
	}
	if err := os.RemoveAll(filepath.Join(s.dir, folder)); err != nil {
		return fmt.Errorf("remove batch folder %s: %w", folder, err)
	}
	return nil
}

// RemoveOthers removes what batches of other runs than this one left behind. Of one
// node's files only one manager may be at work.
func (s *Scratch) RemoveOthers(run string) error {
	if !wire.FolderName(run) {
		return fmt.Errorf("remove folders of other runs than %.100q: %w", run, rawfiles.ErrName)
	}
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var failed error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), run+"-") {
			failed = errors.Join(failed, os.RemoveAll(filepath.Join(s.dir, e.Name())))
		}
	}
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("remove folders of other runs than %s: %w", run, err)
	}
	return nil
}
