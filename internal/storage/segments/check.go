package segments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hce/dc/internal/storage/sqldb"
)

// Checked is the summary of Check.
type Checked struct {
	Segments int64 `json:"segments"`
	Runs     int64 `json:"runs"`   // in segments
	Bytes    int64 `json:"bytes"`  // of the runs
	Faults   int64 `json:"faults"` // all that were reported
	Fixed    int64 `json:"fixed"`  // counters that were wrong
}

// Check reads all runs and compares the database with the segments. It calls report with each
// fault: a run outside of its segment or with another digest, a segment without a file or with
// a short one, a file without a segment, a wrong counter. With fix it corrects the counters;
// then no other process may have the stores open.
func (s *Store) Check(ctx context.Context, fix bool, report func(fault string)) (done Checked, err error) {
	fault := func(format string, args ...any) {
		done.Faults++
		report(fmt.Sprintf(format, args...))
	}
	names, err := filepath.Glob(filepath.Join(s.dir, "*.warc")) // before the rows: new files have a row
	if err != nil {
		return done, err
	}
	rows := map[int64]segmentRow{}
	err = s.db.View(ctx, func(tx *sqldb.Tx) error {
		clear(rows)
		list, err := segmentRows(tx)
		for _, r := range list {
			rows[r.id] = r
		}
		return err
	})
	if err != nil {
		return done, err
	}
	for _, name := range names {
		id, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(name), ".warc"), 10, 64)
		if _, known := rows[id]; err != nil || !known {
			fault("file %s: not in the database, as after the restore of an older copy", name)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		done.Segments++
		info, err := os.Stat(s.segmentPath(id))
		switch row := rows[id]; {
		case row.size == 0 || errors.Is(err, fs.ErrNotExist) && row.live == 0:
		case err != nil:
			fault("segment %s: %v; restore it from a backup, or crawl its pages again", s.segmentPath(id), err)
		case info.Size() < row.size:
			fault("segment %s: has %d bytes instead of %d", s.segmentPath(id), info.Size(), row.size)
		}
	}
	if err := s.checkRuns(ctx, &done, fault); err != nil {
		return done, err
	}
	return done, s.checkCounters(ctx, fix, &done, fault)
}

func (s *Store) checkRuns(ctx context.Context, done *Checked, fault func(string, ...any)) error {
	return s.eachPage(ctx, func(page []record) error {
		// In the order of the disk.
		slices.SortFunc(page, func(a, b record) int {
			return cmp.Or(cmp.Compare(a.segment, b.segment), cmp.Compare(a.start, b.start))
		})
		for _, r := range page {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			done.Runs++
			done.Bytes += r.bytes
			for _, v := range r.liveVersions() {
				_, err := s.Read(ctx, v)
				if err != nil && !errors.Is(err, fs.ErrNotExist) { // that one was deleted meanwhile
					fault("site %s, key %s, name %q: %v", r.site, r.md5, r.name, err)
					break
				}
			}
		}
		return nil
	})
}

// checkCounters compares the live bytes of all segments with their runs, in one snapshot.
func (s *Store) checkCounters(ctx context.Context, fix bool, done *Checked, fault func(string, ...any)) error {
	var rows []segmentRow
	sums := map[int64]int64{}
	err := s.db.View(ctx, func(tx *sqldb.Tx) (err error) {
		clear(sums)
		if rows, err = segmentRows(tx); err != nil {
			return err
		}
		return tx.All("raw_sizes", nil, func(scan func(...any) error) error {
			var id, bytes int64
			err := scan(&id, &bytes)
			sums[id] = bytes
			return err
		})
	})
	if err != nil {
		return err
	}
	for _, r := range rows {
		if sums[r.id] != r.live {
			fault("segment %s: counts %d live bytes instead of %d", s.segmentPath(r.id), r.live, sums[r.id])
			if fix {
				err := s.db.Update(ctx, func(tx *sqldb.Tx) error {
					_, err := tx.Do("segment_set_live", sums[r.id], r.id)
					return err
				})
				if err != nil {
					return err
				}
				done.Fixed++
			}
		}
		delete(sums, r.id)
	}
	for _, id := range slices.Sorted(maps.Keys(sums)) {
		fault("segment %s: has runs of %d bytes and is not in the database", s.segmentPath(id), sums[id])
	}
	return nil
}
