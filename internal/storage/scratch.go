package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/segments"
	"hce/dc/internal/wire"
)

// Scratch keeps the raw files of real-time batches, one folder per batch: the crawler of
// the batch writes them, its last stage reads and removes them (docs/spec/crawling.md 1.4,
// 6.3). The manager of such batches names the folders. Each name starts with the name of
// the manager's run, so that orphan folders of a killed run are distinguishable.
//
// No file outlives its batch, so nothing is synced. Goroutines and processes may share it.
type Scratch struct {
	repo    *Repository
	dir     string
	options rawfiles.Options
}

// scratchDir is the folder of all batches, below the folder of the raw files. Ids of sites
// have no dot, so it never is the folder of a site.
const scratchDir = ".realtime"

// NewScratch opens nothing. c is the configuration that repo was opened with.
func NewScratch(repo *Repository, c Config) *Scratch {
	return &Scratch{repo: repo, dir: filepath.Join(c.RawDir, scratchDir), options: rawfiles.Options{MaxFile: c.MaxFile, NoSync: true}}
}

// openCache opens the files of a batch and creates a missing folder.
func (s *Scratch) openCache(folder string) (*rawfiles.Cache, error) {
	if !wire.FolderName(folder) {
		return nil, fmt.Errorf("open batch folder %.100q: %w", folder, rawfiles.ErrName)
	}
	return rawfiles.Open(filepath.Join(s.dir, folder), s.options)
}

// filesOnly returns the files of a batch as raw contents.
func filesOnly(cache *rawfiles.Cache) *segments.Store {
	return segments.Open(cache, nil, segments.Options{})
}

// PutFiles stores files of URLs of a site, by key. The names of the files contain the
// time at.
func (s *Scratch) PutFiles(ctx context.Context, folder, site string, files map[string][]wire.File, at time.Time) error {
	cache, err := s.openCache(folder)
	if err == nil {
		defer cache.Close()
		err = putByKey(ctx, filesOnly(cache), site, files, at)
	}
	if err != nil {
		return fmt.Errorf("store raw files of batch folder %s: %w", folder, err)
	}
	return nil
}

// RawContent reads the newest raw content of a URL that a batch fetched, like
// Repository.RawContent.
func (s *Scratch) RawContent(ctx context.Context, folder, site, md5 string, kind int) (data []byte, err error) {
	err = s.withRepository(folder, func(files *Repository) (err error) {
		data, err = files.RawContent(ctx, site, md5, kind)
		return err
	})
	return data, err
}

// AddFiles adds the raw files that mask selects to an answer, like URL_CONTENT. They are
// those of the batch, or of the node if folder is "".
func (s *Scratch) AddFiles(ctx context.Context, folder, site, md5 string, mask int64, answer *wire.URLContentResponse) error {
	add := func(files *Repository) error {
		return files.rawContents(ctx, wire.URLContentRequest{SiteID: site, URLMd5: md5, Mask: mask}, answer)
	}
	if folder == "" {
		return add(s.repo)
	}
	return s.withRepository(folder, add)
}

// withRepository calls f with a repository of the batch's files. It does nothing without a folder.
func (s *Scratch) withRepository(folder string, f func(*Repository) error) error {
	if _, err := os.Lstat(filepath.Join(s.dir, folder)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	cache, err := s.openCache(folder)
	if err != nil {
		return err
	}
	defer cache.Close()
	return f(&Repository{Raw: filesOnly(cache)})
}

// Stored reads the processed content of a URL from the stores of the node.
func (s *Scratch) Stored(ctx context.Context, site, md5 string) (wire.Entry, bool, error) {
	return s.repo.Contents.Get(ctx, site, md5)
}

// Processed returns the parts of a processed content that mask selects, like URL_CONTENT.
func (s *Scratch) Processed(e wire.Entry, mask int64) ([]any, error) {
	if mask&(wire.MaskProcessed|wire.MaskInternal|wire.MaskCustom) == 0 {
		return []any{}, nil
	}
	return selectParts(e, mask, nil)
}

// Remove removes the files of a batch. A missing folder is not an error.
func (s *Scratch) Remove(folder string) error {
	if !wire.FolderName(folder) {
		return fmt.Errorf("remove batch folder %.100q: %w", folder, rawfiles.ErrName)
	}
	if err := os.RemoveAll(filepath.Join(s.dir, folder)); err != nil {
		return fmt.Errorf("remove batch folder %s: %w", folder, err)
	}
	return nil
}

// RemoveOthers removes the folders of other runs. Only one manager may use the folders of
// a node.
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
