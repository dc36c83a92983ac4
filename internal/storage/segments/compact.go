package segments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hce/dc/internal/files"
	"hce/dc/internal/storage/sqldb"
)

const (
	// compactLock admits one Compact at a time. A backup of a running node holds it, so that
	// no segment disappears meanwhile.
	compactLock = "compact.lock"
	deadSuffix  = ".dead" // of the file of a removed segment

	stepRuns  = 500
	stepBytes = 8 << 20
	diskSpare = 64 << 20 // bytes of the disk that Compact leaves free
)

// Compacted is the result of Compact.
type Compacted struct {
	Segments int   `json:"segments"` // removed
	Copied   int64 `json:"copied"`   // bytes of live runs
	Freed    int64 `json:"freed"`    // bytes of the removed segments
	Left     int   `json:"left"`     // segments that a later run can remove
	Dead     int64 `json:"dead"`     // bytes of deleted contents and of heads of files that all segments have afterwards
}

// Compact removes segments of which less than half is live. It copies their live runs to the
// segment of this process. It ends soon after most (0: no limit), and before the disk is full;
// the next call continues. It does nothing while another process compacts or backs up, and
// skips segments that a process writes.
func (s *Store) Compact(ctx context.Context, most time.Duration) (done Compacted, err error) {
	return s.compactSegments(ctx, most, segmentRow.mostlyDead)
}

// CompactAll is Compact without a limit of time for all segments of which more than a twentieth is dead. It copies
// more than it frees, so people ask for it. A second call finds nothing to do.
func (s *Store) CompactAll(ctx context.Context) (Compacted, error) {
	done, err := s.compactSegments(ctx, 0, segmentRow.partlyDead)
	rows, e := s.listSegments(ctx)
	for _, r := range rows {
		done.Dead += r.size - r.live
	}
	return done, errors.Join(err, e)
}

func (s *Store) compactSegments(ctx context.Context, most time.Duration, isDue func(segmentRow) bool) (done Compacted, err error) {
	rows, err := s.listSegments(ctx)
	rows = slices.DeleteFunc(rows, func(r segmentRow) bool { return !isDue(r) })
	if err != nil || len(rows) == 0 {
		return done, err
	}
	if err := s.makeFolder(); err != nil {
		return done, err
	}
	unlock, err := files.TryLock(filepath.Join(s.dir, compactLock))
	if errors.Is(err, files.ErrLocked) {
		return done, nil
	}
	if err != nil {
		return done, fmt.Errorf("compact raw contents: %w", err)
	}
	defer unlock()
	if err := s.removeSegmentFiles(); err != nil {
		return done, fmt.Errorf("compact raw contents: %w", err)
	}
	if most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, most, errLater)
		defer cancel()
	}
	for _, row := range rows {
		err := s.compactOne(ctx, row, &done)
		switch {
		case errors.Is(context.Cause(ctx), errLater), errors.Is(err, errLater):
			done.Left++
		case err != nil:
			return done, fmt.Errorf("compact segment %s: %w", s.segmentPath(row.id), err)
		}
	}
	return done, nil
}

// errLater means that a segment has to wait for the next call.
var errLater = errors.New("the time or the disk does not suffice")

// removeSegmentFiles removes the files of removed segments.
func (s *Store) removeSegmentFiles() error {
	names, err := filepath.Glob(filepath.Join(s.dir, "*"+deadSuffix))
	for _, name := range names {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

func (s *Store) compactOne(ctx context.Context, row segmentRow, done *Compacted) error {
	if ctx.Err() != nil {
		return errLater
	}
	room, err := files.Free(s.dir)
	if err != nil {
		return err
	}
	if row.live+diskSpare > room && row.live > 0 {
		return errLater
	}
	if row.size > 0 && !s.segmentExists(row.id) {
		if row.live != 0 {
			s.o.Log.Error("a segment of raw contents is missing; run db-task --check", "segment", s.segmentPath(row.id))
			return nil
		}
		return s.dropRow(ctx, row.id) // a kill came after the removal of the file
	}
	if s.isOwn(row.id) {
		return nil
	}
	seg, err := s.lockSegment(ctx, row.id)
	if errors.Is(err, ErrDamaged) {
		s.o.Log.Error("a segment of raw contents is damaged; run db-task --check", "segment", s.segmentPath(row.id), "error", err)
		return nil
	}
	if seg == nil && err == nil { // a process writes it
		done.Left++
	}
	if seg == nil || err != nil {
		return err
	}
	defer func() {
		_ = seg.file.Close()
		seg.unlock()
	}()
	if err := s.copyLiveRuns(ctx, seg, done); err != nil {
		return err
	}
	return s.removeSegment(ctx, seg, done)
}

func (s *Store) isOwn(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.own != nil && s.own.id == id
}

// copyLiveRuns copies the live runs of a segment.
func (s *Store) copyLiveRuns(ctx context.Context, seg *segment, done *Compacted) error {
	var step []record
	var bytes int64
	err := scanRuns(seg.file, seg.end, func(r record) error {
		step = append(step, r)
		bytes += r.bytes
		if len(step) < stepRuns && bytes < stepBytes {
			return nil
		}
		if ctx.Err() != nil {
			return errLater
		}
		err := s.moveRuns(ctx, seg, step, done)
		step, bytes = step[:0], 0
		return err
	})
	if errors.Is(err, errRecord) {
		s.o.Log.Error("a segment of raw contents is damaged; run db-task --check", "segment", s.segmentPath(seg.id), "error", err)
		err = nil
	}
	if err == nil {
		err = s.moveRuns(ctx, seg, step, done)
	}
	return err
}

// scanRuns calls each with the runs of a segment up to end. Their place has only start and bytes.
func scanRuns(f *os.File, end int64, each func(record) error) error {
	var r record
	buffer := make([]byte, headRoom)
	for at := int64(0); at < end; {
		n, err := f.ReadAt(buffer, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		h, err := parseHead(buffer[:n])
		if err != nil || at+h.totalSize() > end {
			return fmt.Errorf("%w at %d", errRecord, at)
		}
		if h.first {
			if r.bytes > 0 {
				if err := each(r); err != nil {
					return err
				}
			}
			r = record{site: h.site, md5: h.md5, name: h.name, place: place{start: at}}
		}
		at += h.totalSize()
		if !h.info {
			r.bytes = at - r.start
		}
	}
	if r.bytes > 0 {
		return each(r)
	}
	return nil
}

// moveRuns copies those runs of a segment that count to the segment of this process.
func (s *Store) moveRuns(ctx context.Context, seg *segment, step []record, done *Compacted) error {
	var live []record
	err := s.db.View(ctx, func(tx *sqldb.Tx) error {
		live = live[:0]
		for _, r := range step {
			found, err := findRun(tx, seg.id, r)
			if err != nil {
				return err
			}
			live = append(live, found...)
		}
		return nil
	})
	if err != nil || len(live) == 0 {
		return err
	}
	var runs []*run
	live = slices.DeleteFunc(live, func(r record) bool {
		data, e := readRun(seg.file, r.place)
		switch {
		case errors.Is(e, errRecord):
			s.o.Log.Error("a raw content is damaged; run db-task --check", "segment", s.segmentPath(seg.id), "start", r.start)
		case e != nil:
			err = e
		default:
			runs = append(runs, &run{encoded: data})
		}
		return e != nil
	})
	if err != nil || len(runs) == 0 {
		return err
	}
	w, err := s.appendRuns(ctx, runs)
	if err != nil {
		return err
	}
	defer s.endTransaction(w)
	places := w.places
	moved := int64(0)
	err = s.db.Update(ctx, func(tx *sqldb.Tx) error {
		moved = 0
		for i, r := range live {
			n, err := tx.Do("raw_move", places[i].segment, places[i].start, r.site, r.md5, r.name, r.part, r.segment, r.start)
			if err != nil {
				return err
			}
			moved += n * r.bytes
		}
		if _, err := tx.Do("segment_grow", w.end, w.end, moved, places[0].segment); err != nil {
			return err
		}
		_, err := tx.Do("segment_live", -moved, seg.id)
		return err
	})
	if err == nil {
		done.Copied += moved
	}
	return err
}

// removeSegment removes a segment without live runs. The row is removed only after its file,
// so that a file without a row is never one of ours.
func (s *Store) removeSegment(ctx context.Context, seg *segment, done *Compacted) error {
	var size, live int64
	err := s.db.View(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Get("segment_get", []any{seg.id}, &size, &live)
		return err
	})
	if err != nil {
		return err
	}
	if live != 0 {
		s.o.Log.Error("a segment keeps live bytes after compaction; run db-task --check", "segment", s.segmentPath(seg.id), "live", live)
		return nil
	}
	path := s.segmentPath(seg.id)
	if err := os.Rename(path, path+deadSuffix); err != nil {
		return err
	}
	if !s.o.NoSync {
		if err := files.SyncFolder(s.dir); err != nil {
			return err
		}
	}
	if err := s.dropRow(ctx, seg.id); err != nil {
		return err
	}
	if err := os.Remove(path + deadSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	done.Segments++
	done.Freed += seg.end
	return nil
}

func (s *Store) dropRow(ctx context.Context, id int64) error {
	return s.db.Update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Do("segment_drop", id)
		return err
	})
}
