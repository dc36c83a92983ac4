package segments

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"hce/dc/internal/files"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/warc"
)

// segment is the segment that a process writes. The process holds its lock.
type segment struct {
	id     int64
	file   *os.File
	end    int64 // of the last run; the next one begins there
	unlock func()

	// pending counts the writes whose transaction may still come: until then the lock stays,
	// or the next process would cut them off.
	pending int
	full    bool // no more writes
}

const (
	writeSize = 1 << 20 // bytes of one write
	roomShare = 16      // a segment has room if a sixteenth of its size is free
)

// written are runs in a segment without rows.
type written struct {
	segment *segment
	places  []place
	end     int64 // of the last run
}

// appendRuns writes runs to the segment of this process and syncs it. The caller calls settled after
// the transaction of the runs.
func (s *Store) appendRuns(ctx context.Context, runs []*run) (*written, error) {
	var size int64
	for _, r := range runs {
		size += r.maxSize()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ensureWritable(ctx, size); err != nil {
		return nil, err
	}
	w := writer{segment: s.own, at: s.own.end, buffer: s.buffer[:0]}
	if w.at == 0 {
		w.buffer = appendInfo(w.buffer, filepath.Base(s.segmentPath(s.own.id)), s.o.Now())
	}
	places := make([]place, len(runs))
	for i, r := range runs {
		places[i] = w.writeRun(r)
	}
	w.flush()
	if w.err == nil && !s.o.NoSync {
		w.err = syncData(s.own.file)
	}
	s.buffer = w.buffer
	if w.err != nil {
		_ = s.own.file.Truncate(s.own.end)
		return nil, fmt.Errorf("write segment of raw contents: %w", w.err)
	}
	s.own.end = w.at
	s.own.pending++
	return &written{s.own, places, w.at}, nil
}

// endTransaction ends the transaction of runs, whatever became of it.
func (s *Store) endTransaction(w *written) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.segment.pending--
	if w.segment.full {
		_ = w.segment.unlockSegment()
	}
}

// writer encodes runs behind the end of a segment.
type writer struct {
	segment *segment
	at      int64 // offset of the buffer's start
	buffer  []byte
	err     error
}

func (w *writer) writeRun(r *run) place {
	p := place{at: r.at, kinds: r.kindMask(), segment: w.segment.id, start: w.at + int64(len(w.buffer))}
	if r.encoded != nil {
		w.buffer = append(w.buffer, r.encoded...)
		p.bytes, p.digest = int64(len(r.encoded)), crc32.Checksum(r.encoded, castagnoli)
	}
	first := ""
	for _, part := range r.parts {
		id := warc.NewID()
		from := len(w.buffer)
		w.buffer = r.appendHead(w.buffer, part, id, first)
		p.digest = crc32.Update(p.digest, castagnoli, w.buffer[from:])
		w.buffer = append(w.buffer, part.data...)
		p.digest = crc32.Update(p.digest, castagnoli, part.data)
		w.buffer = append(w.buffer, warc.RecordEnd...)
		p.digest = crc32.Update(p.digest, castagnoli, []byte(warc.RecordEnd))
		if first == "" {
			first = id
		}
		p.bytes = w.at + int64(len(w.buffer)) - p.start
		w.flushFull()
	}
	w.flushFull()
	return p
}

func (w *writer) flushFull() {
	if len(w.buffer) >= writeSize {
		w.flush()
	}
}

func (w *writer) flush() {
	if w.err == nil {
		_, w.err = w.segment.file.WriteAt(w.buffer, w.at)
	}
	w.at += int64(len(w.buffer))
	w.buffer = w.buffer[:0]
	if cap(w.buffer) > 4*writeSize {
		w.buffer = nil // after a large content
	}
}

// ensureWritable makes own a segment with room for size bytes.
func (s *Store) ensureWritable(ctx context.Context, size int64) (err error) {
	if s.own != nil && (s.own.end == 0 || s.own.end+size <= s.o.Size) {
		return nil
	}
	if err := s.releaseOwn(); err != nil {
		return err
	}
	s.own, err = s.takeOver(ctx, size)
	if err != nil {
		return fmt.Errorf("open a segment of raw contents: %w", err)
	}
	return nil
}

// releaseOwn frees own.
func (s *Store) releaseOwn() error {
	if s.own == nil {
		return nil
	}
	err := s.own.unlockSegment()
	s.own = nil
	return err
}

// unlockSegment unlocks a segment after its last write and the last transaction of its runs.
func (seg *segment) unlockSegment() error {
	if seg.full = true; seg.pending > 0 {
		return nil
	}
	err := seg.file.Close()
	seg.unlock()
	return err
}

// takeOver locks a segment with room, or a new one.
func (s *Store) takeOver(ctx context.Context, size int64) (*segment, error) {
	if err := s.makeFolder(); err != nil {
		return nil, err
	}
	all, err := s.listSegments(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range all {
		if row.size+max(size, s.o.Size/roomShare) > s.o.Size || row.mostlyDead() || row.size > 0 && !s.segmentExists(row.id) {
			continue
		}
		seg, err := s.lockSegment(ctx, row.id)
		if seg != nil || err != nil && !errors.Is(err, ErrDamaged) {
			return seg, err
		}
		if err != nil {
			s.o.Log.Error("a segment of raw contents is damaged; run db-task --check", "segment", s.segmentPath(row.id), "error", err)
		}
	}
	for {
		id, err := s.newSegment(ctx)
		if err != nil {
			return nil, err
		}
		if id == 0 {
			continue
		}
		if seg, err := s.lockSegment(ctx, id); seg != nil || err != nil {
			return seg, err
		}
	}
}

// makeFolder creates the folder of the segments, durably.
func (s *Store) makeFolder() error {
	err := os.Mkdir(s.dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil && !s.o.NoSync {
		err = files.SyncFolder(s.o.Dir)
	}
	return err
}

func (s *Store) segmentExists(id int64) bool {
	_, err := os.Lstat(s.segmentPath(id))
	return err == nil
}

// segmentRow is a row of raw_segments.
type segmentRow struct{ id, size, live int64 }

// mostlyDead reports whether Compact removes the segment.
func (r segmentRow) mostlyDead() bool { return 2*r.live < r.size }

// Of the dead bytes of a segment, CompactAll leaves the larger of a share and a number of bytes: no run has the heads
// of a file.
const (
	deadShare = 20 // a twentieth
	deadBytes = 64 << 10
)

// partlyDead reports whether CompactAll removes the segment.
func (r segmentRow) partlyDead() bool {
	return r.mostlyDead() || r.size-r.live > max(r.size/deadShare, deadBytes)
}

// SiteBytes returns the bytes that the contents of a site have in segments.
func (s *Store) SiteBytes(ctx context.Context, site string) (bytes int64, err error) {
	err = s.db.View(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Get("raw_site_bytes", []any{site}, &bytes)
		return err
	})
	return bytes, err
}

// Segments returns how many segments the database knows.
func (s *Store) Segments(ctx context.Context) (int, error) {
	list, err := s.listSegments(ctx)
	return len(list), err
}

func (s *Store) listSegments(ctx context.Context) (list []segmentRow, err error) {
	err = s.db.View(ctx, func(tx *sqldb.Tx) error {
		list, err = segmentRows(tx)
		return err
	})
	return list, err
}

func segmentRows(tx *sqldb.Tx) (list []segmentRow, err error) {
	err = tx.All("segment_all", nil, func(scan func(...any) error) error {
		var r segmentRow
		err := scan(&r.id, &r.size, &r.live)
		list = append(list, r)
		return err
	})
	return list, err
}

// newSegment adds the row of a new segment. It returns 0 if there is a file with that number:
// one that an older copy of the database does not know.
func (s *Store) newSegment(ctx context.Context) (id int64, err error) {
	err = s.db.Update(ctx, func(tx *sqldb.Tx) error {
		text, err := s.db.Text("segment_new", "")
		if err == nil {
			id, _, err = tx.Insert(text)
		}
		if err != nil || !s.segmentExists(id) {
			return err
		}
		s.o.Log.Error("a segment of raw contents is not in the database; run db-task --check", "segment", s.segmentPath(id))
		_, err = tx.Do("segment_drop", id)
		id = 0
		return err
	})
	return id, err
}

// lockSegment takes over a segment: it locks the file and cuts it behind the last committed run. It
// returns nil if another process has the segment or it is gone, and ErrDamaged if the file is
// shorter.
func (s *Store) lockSegment(ctx context.Context, id int64) (_ *segment, err error) {
	path := s.segmentPath(id)
	unlock, err := files.TryLock(path)
	if errors.Is(err, files.ErrLocked) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	seg := &segment{id: id, unlock: unlock}
	kept := false
	defer func() {
		if !kept {
			if seg.file != nil {
				_ = seg.file.Close()
			}
			unlock()
		}
	}()
	var row segmentRow
	found := false
	err = s.db.Update(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Do("segment_take", id)
		if found = n > 0; err != nil || !found {
			return err
		}
		_, err = tx.Get("segment_get", []any{id}, &row.size, &row.live)
		return err
	})
	if err != nil {
		return nil, err
	}
	if seg.file, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	info, err := seg.file.Stat()
	if err != nil {
		return nil, err
	}
	if !found || row.size > 0 && info.Size() == 0 {
		if info.Size() == 0 { // TryLock has created it, after the removal of the segment
			err = os.Remove(path)
		}
		return nil, err
	}
	if info.Size() < row.size {
		return nil, fmt.Errorf("%w: %d bytes instead of %d", ErrDamaged, info.Size(), row.size)
	}
	if info.Size() > row.size {
		if err := seg.file.Truncate(row.size); err != nil {
			return nil, err
		}
	}
	if row.size == 0 && !s.o.NoSync {
		if err := files.SyncFolder(s.dir); err != nil {
			return nil, err
		}
	}
	seg.end, kept = row.size, true
	return seg, nil
}
