package segments

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqldb"
)

// changes are the differences of live bytes that a transaction makes, by segment.
type changes map[int64]int64

// writeDifferences writes the differences, in one order for all processes.
func (c changes) writeDifferences(tx *sqldb.Tx) error {
	for _, id := range slices.Sorted(maps.Keys(c)) {
		if c[id] == 0 {
			continue
		}
		if _, err := tx.Do("segment_live", c[id], id); err != nil {
			return err
		}
	}
	return nil
}

// removeKinds removes kinds from the runs of a version, and runs without a kind left.
func (c changes) removeKinds(tx *sqldb.Tx, v rawfiles.Version, kinds int64) error {
	list, err := findRuns(tx, locked, v.Site, v.MD5, v.Name)
	if err != nil {
		return err
	}
	for _, r := range list {
		if err := c.narrowOne(tx, r, kinds); err != nil {
			return err
		}
	}
	return nil
}

func (c changes) narrowOne(tx *sqldb.Tx, r record, kinds int64) error {
	left := r.kinds &^ kinds
	switch left {
	case r.kinds:
		return nil
	case 0:
		n, err := tx.Do("raw_drop", r.site, r.md5, r.name, r.part)
		c[r.segment] -= n * r.bytes
		return err
	}
	_, err := tx.Do("raw_narrow", left, r.site, r.md5, r.name, r.part)
	return err
}

const (
	insertColumns = "Site_Id, URLMd5, Name, Part, At, Kinds, Segment, Start, Bytes, Digest"
	insertRow     = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	insertMost    = 100 // rows of one statement
)

// insertRuns adds the places of runs, which end at end in their segment.
func insertRuns(tx *sqldb.Tx, runs []*run, places []place, end int64) error {
	c := changes{}
	for from := 0; from < len(runs); from += insertMost {
		to := min(from+insertMost, len(runs))
		inserted, err := insertRows(tx, runs[from:to], places[from:to], 0)
		if err != nil {
			return err
		}
		for i := from; i < to; i++ {
			if !inserted {
				if err := c.insertOne(tx, runs[i], places[i]); err != nil {
					return err
				}
			}
			c[places[i].segment] += places[i].bytes
		}
	}
	own := places[0].segment
	if _, err := tx.Do("segment_grow", end, end, c[own], own); err != nil {
		return err
	}
	delete(c, own)
	return c.writeDifferences(tx)
}

// insertRows adds rows with one number of a part. It adds none if one of them exists.
func insertRows(tx *sqldb.Tx, runs []*run, places []place, number int64) (inserted bool, err error) {
	args := make([]any, 0, 10*len(runs))
	for i, r := range runs {
		p := places[i]
		args = append(args, r.site, r.md5, r.name, number, p.at, p.kinds, p.segment, p.start, p.bytes, int64(p.digest))
	}
	_, inserted, err = tx.Insert("INSERT INTO "+recordsTable(tx)+" ("+insertColumns+") VALUES "+
		strings.Repeat(insertRow+", ", len(runs)-1)+insertRow, args...)
	return inserted, err
}

func recordsTable(tx *sqldb.Tx) string { return tx.DB.Table(sqldb.Sites, "raw_records") }

// maxConflicts limits the attempts of processes that add to one version at the same time.
const maxConflicts = 10

// insertOne adds a run to a version that may exist. Its contents replace older ones of their
// kinds.
func (c changes) insertOne(tx *sqldb.Tx, r *run, p place) error {
	for range maxConflicts {
		list, err := findRuns(tx, locked, r.site, r.md5, r.name)
		if err != nil {
			return err
		}
		next := int64(0)
		for _, old := range list {
			next = max(next, old.part+1)
			if err := c.narrowOne(tx, old, p.kinds); err != nil {
				return err
			}
		}
		if inserted, err := insertRows(tx, []*run{r}, []place{p}, next); inserted || err != nil {
			return err
		}
	}
	return fmt.Errorf("raw content %s_%s of site %s changes all the time", r.md5, r.name, r.site)
}

// Trim removes old versions of URLs according to RAW_VERSIONS_MAX of the site, in the
// transaction that stored newer ones. The caller removes the returned files with Remove after
// the commit.
func (s *Store) Trim(tx *sqldb.Tx, site string, md5s []string) (files []rawfiles.Version, err error) {
	var name, value string
	if _, err := tx.Get("site_property", []any{site, "RAW_VERSIONS_MAX"}, &name, &value); err != nil {
		return nil, err
	}
	keep, err := strconv.Atoi(value)
	if err != nil || keep <= 0 {
		return nil, nil
	}
	c := changes{}
	for _, md5 := range md5s {
		records, err := findRuns(tx, locked, site, md5)
		if err != nil {
			return nil, err
		}
		list, err := s.files.List(site, md5)
		if err != nil {
			return nil, err
		}
		for _, v := range rawfiles.Surplus(s.mergeVersions(list, records), keep) {
			if v.Record == nil {
				files = append(files, v)
			} else if err := c.removeKinds(tx, v, 1<<v.Kind); err != nil {
				return nil, err
			}
		}
	}
	return files, c.writeDifferences(tx)
}

// TrimNow is Trim in a transaction of its own.
func (s *Store) TrimNow(ctx context.Context, site string, md5s []string) (files []rawfiles.Version, err error) {
	err = s.db.Update(ctx, func(tx *sqldb.Tx) (err error) {
		files, err = s.Trim(tx, site, md5s)
		return err
	})
	return files, err
}

// DeleteVersions removes contents that List returned, such as damaged ones.
func (s *Store) DeleteVersions(ctx context.Context, list []rawfiles.Version) error {
	var files []rawfiles.Version
	err := s.db.Update(ctx, func(tx *sqldb.Tx) error {
		c := changes{}
		files = nil
		for _, v := range list {
			if v.Record == nil {
				files = append(files, v)
			} else if err := c.removeKinds(tx, v, 1<<v.Kind); err != nil {
				return err
			}
		}
		return c.writeDifferences(tx)
	})
	if err != nil {
		return fmt.Errorf("delete raw contents: %w", err)
	}
	return s.Remove(files)
}

// Remove removes files that Trim returned.
func (s *Store) Remove(files []rawfiles.Version) error { return s.files.Remove(files) }

const dropMost = 200 // keys of one transaction

// DeleteURLs removes all contents of URLs. A URL without contents is not an error. It checks
// all names first. Source: docs/spec/storage.md 2.
func (s *Store) DeleteURLs(ctx context.Context, site string, md5s []string) error {
	err := s.files.DeleteURLs(site, md5s)
	if s.db == nil || errors.Is(err, rawfiles.ErrName) {
		return err
	}
	for page := range slices.Chunk(md5s, dropMost) {
		args := []any{orGeneral(site)}
		for _, md5 := range page {
			args = append(args, md5)
		}
		e := s.dropRuns(ctx, func(*sqldb.Tx) (string, []any, error) {
			return "Site_Id = ? AND URLMd5 IN (?" + strings.Repeat(", ?", len(page)-1) + ")", args, nil
		})
		err = errors.Join(err, e)
	}
	return err
}

// DeleteSite removes all contents of a site.
func (s *Store) DeleteSite(ctx context.Context, site string) error {
	if err := s.files.DeleteSite(site); err != nil || s.db == nil {
		return err
	}
	site = orGeneral(site)
	for after := ""; ; {
		last := ""
		err := s.dropRuns(ctx, func(tx *sqldb.Tx) (string, []any, error) {
			var err error
			last, err = lastOf(tx, site, after)
			return "Site_Id = ? AND URLMd5 > ? AND URLMd5 <= ?", []any{site, after, last}, err
		})
		if err != nil || last == "" {
			return err
		}
		after = last
	}
}

// lastOf returns the last key of the next page of a site's runs, "" after the last page.
func lastOf(tx *sqldb.Tx, site, after string) (string, error) {
	var last *string
	_, err := tx.Get("raw_last_of", []any{site, after}, &last)
	if last == nil {
		return "", err
	}
	return *last, err
}

// errAdded means that another process added a run between two statements.
var errAdded = errors.New("raw contents were added at the same time")

// dropRuns removes the runs of a condition in one transaction.
func (s *Store) dropRuns(ctx context.Context, where func(*sqldb.Tx) (string, []any, error)) error {
	for {
		err := s.db.Update(ctx, func(tx *sqldb.Tx) error {
			condition, args, err := where(tx)
			if err != nil {
				return err
			}
			c, count := changes{}, int64(0)
			err = tx.Each("SELECT Segment, COUNT(*), SUM(Bytes) FROM "+recordsTable(tx)+" WHERE "+condition+" GROUP BY Segment"+tx.DB.ForUpdate(), args,
				func(scan func(...any) error) error {
					var id, runs, bytes int64
					err := scan(&id, &runs, &bytes)
					c[id] -= bytes
					count += runs
					return err
				})
			if err != nil || count == 0 {
				return err
			}
			n, err := tx.Exec("DELETE FROM "+recordsTable(tx)+" WHERE "+condition, args...)
			if err == nil && n != count {
				err = errAdded
			}
			if err != nil {
				return err
			}
			return c.writeDifferences(tx)
		})
		if errors.Is(err, errAdded) {
			continue
		}
		if err != nil {
			err = fmt.Errorf("delete raw contents: %w", err)
		}
		return err
	}
}
