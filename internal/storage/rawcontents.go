package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"hce/dc/internal/files"
	"hce/dc/internal/manual"
	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/segments"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

// Places of raw contents: the values of raw_store, and of to in MoveRaw.
const (
	RawFiles    = "files"
	RawSegments = "segments"
)

// compactTime bounds one compaction of segments by URL_PURGE.
const compactTime = 20 * time.Second

// compactAfter compacts the segments of raw contents after do, for a bounded time. It only logs
// errors, because the next call repeats it.
func compactAfter(do handler) handler {
	return func(repo *Repository, ctx context.Context, raw json.RawMessage, n *lenient.Notes) (any, error) {
		answer, err := do(repo, ctx, raw, n)
		if err != nil {
			return nil, err
		}
		done, e := repo.Raw.Compact(ctx, compactTime)
		switch {
		case e != nil:
			repo.Log.Warn("cannot compact raw contents", "error", e)
		case done.Segments > 0:
			repo.Log.Info("raw contents compacted", "segments", done.Segments, "copied", done.Copied, "freed", done.Freed)
		}
		return answer, nil
	}
}

// CompactRaw compacts all segments of raw contents that have deleted contents, without a limit of time, and writes
// the summary to out as one line of JSON. Other programs may have the stores open.
func CompactRaw(ctx context.Context, c Config, out io.Writer, log *slog.Logger) error {
	repo, closeAll, err := Open(ctx, c, log)
	if err != nil {
		return err
	}
	defer closeAll()
	done, err := repo.Raw.CompactAll(ctx)
	return errors.Join(err, writeSummary(out, done))
}

// Vacuum rewrites the SQLite database (sqldb.DB.Vacuum) and writes the summary to out as one line of JSON. Other programs may
// have the stores open.
func Vacuum(ctx context.Context, c Config, out io.Writer, log *slog.Logger) error {
	s, closeAll, err := openShared(ctx, c, log)
	if err != nil {
		return err
	}
	defer closeAll()
	done, err := s.db.Vacuum(ctx)
	if err != nil {
		return err
	}
	return writeSummary(out, done)
}

// SiteSpace is what the deletion of a site frees, in bytes.
type SiteSpace struct {
	Now   int64 `json:"now"`   // files of the site alone: processed contents, and raw contents in files
	Later int64 `json:"later"` // raw contents in segments, when these are compacted
}

// Space writes the SiteSpace of a site to out as one line of JSON. Other programs may have the stores open.
func Space(ctx context.Context, c Config, site string, out io.Writer, log *slog.Logger) error {
	if !wire.ValidSiteID(site) {
		return fmt.Errorf("%q is not the id of a site", site)
	}
	repo, closeAll, err := Open(ctx, c, log)
	if err != nil {
		return err
	}
	defer closeAll()
	var space SiteSpace
	if space.Later, err = repo.Raw.SiteBytes(ctx, site); err != nil {
		return err
	}
	size := func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // the site has no such file, or it was removed meanwhile
			return nil
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			space.Now += info.Size()
		}
		return files.IgnoreMissing(err)
	}
	for _, path := range []string{filepath.Join(c.RawDir, site), filepath.Join(c.KeyDir, site+".db"), filepath.Join(c.KeyDir, site+".db-wal")} {
		if err := filepath.WalkDir(path, size); err != nil {
			return err
		}
	}
	return writeSummary(out, space)
}

// MoveRaw moves all raw contents to the place to, RawFiles or RawSegments. It reports progress
// in lines on progress, and at the end, also after an error, writes segments.Moved to out as
// one line of JSON. A stop at any point loses nothing, and the next run continues.
//
// If both places have a content, that of c.RawFiles wins, because it was written last.
// MoveContents describes how other processes are kept out.
func MoveRaw(ctx context.Context, c Config, to string, out, progress io.Writer, log *slog.Logger) error {
	if to != RawFiles && to != RawSegments {
		return fmt.Errorf("raw contents can be moved to %q or %q, not to %q", RawFiles, RawSegments, to)
	}
	m := segments.Mover{Older: c.RawFiles == (to == RawFiles)}
	c.DB.Synchronous, c.NoSync, c.RawFiles = "FULL", false, to == RawFiles
	s, closeAll, err := openedAlone(ctx, c, log)
	if err != nil {
		return err
	}
	defer closeAll()
	due := newProgressTimer()
	m.Store, m.Progress = s.repo.Raw, func(done segments.Moved) {
		if due() {
			fmt.Fprintf(progress, "%d URLs, %d contents, %d bytes so far\n", done.URLs, done.Moved, done.Bytes)
		}
	}
	err = m.Run(ctx)
	if e := writeSummary(out, m.Done); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "all raw contents are now in %s: set raw_store = %s in [TasksManager]\n", to, to)
	return nil
}

// RawChecked is the summary of CheckRaw.
type RawChecked struct {
	segments.Checked
	// Without are crawled URLs without a raw content. They are no faults: a site may store
	// only some types of contents.
	Without int64 `json:"without"`
}

// CheckRaw reads all contents and compares rows, places, segments and files of raw contents, and rows with
// processed contents. It prints each fault in
// a line on report, and the summary on out as one line of JSON. The error is ErrFaults if there
// are faults. With fix it corrects wrong counters and needs the stores for itself.
func CheckRaw(ctx context.Context, c Config, fix bool, out, report io.Writer, log *slog.Logger) error {
	use := openShared
	if fix {
		use = openedAlone
	}
	s, closeAll, err := use(ctx, c, log)
	if err != nil {
		return err
	}
	defer closeAll()
	var done RawChecked
	said := func(fault string) { fmt.Fprintln(report, fault) }
	done.Checked, err = s.repo.Raw.Check(ctx, fix, said)
	more := func(fault string) {
		done.Faults++
		said(fault)
	}
	if err == nil {
		err = s.db.Check(ctx, more)
	}
	if err == nil {
		err = s.repo.lookForFaults(ctx, c, more)
	}
	if err == nil {
		err = s.checkContents(ctx, more)
	}
	if err == nil {
		err = s.repo.CheckLinks(ctx, more)
	}
	if err == nil {
		done.Without, err = s.repo.withoutRaw(ctx)
	}
	if e := writeSummary(out, done); err == nil {
		err = e
	}
	if err == nil && done.Faults > done.Fixed {
		err = fmt.Errorf("%d %w", done.Faults-done.Fixed, ErrFaults)
	}
	return err
}

// ErrFaults means that CheckRaw has found faults.
var ErrFaults = errors.New(manual.Locate("faults of the stores; see \"Raw contents\" in docs/operations.md"))

// withoutRaw counts the crawled URLs without a raw content.
func (repo *Repository) withoutRaw(ctx context.Context) (n int64, err error) {
	sites, err := repo.SiteIDs(ctx)
	for _, site := range sites {
		selection := repo.Select("check", site, wire.Criterion{Where: "Status>=4 AND Crawled>0 AND RawContentMd5<>''"})
		for err == nil {
			var md5s []string
			if md5s, err = selection.Next(ctx); len(md5s) == 0 {
				break
			}
			for _, md5 := range md5s {
				if _, found, e := repo.Raw.Newest(ctx, site, md5, rawfiles.Raw); e != nil {
					err = e
				} else if !found {
					n++
				}
			}
		}
	}
	return n, err
}
