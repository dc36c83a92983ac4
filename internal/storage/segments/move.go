package segments

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqldb"
)

// Moved is the summary of a move.
type Moved struct {
	URLs  int64 `json:"urls"`  // with contents to move
	Moved int64 `json:"moved"` // contents written to the new place
	Bytes int64 `json:"bytes"` // of the moved contents
	Kept  int64 `json:"kept"`  // contents that the new place already has
}

// Sizes of one step of a move.
const (
	moveURLs  = 200
	moveBytes = 8 << 20
)

// Mover moves all contents to the place of its store's setting. It must be the only user of
// the folder. A content is removed from the old place after the new one has it durably and it
// was read back unchanged; so a stop at any point loses nothing, and the next move continues.
type Mover struct {
	Store *Store // Options.Files is the new place
	// Older means that the contents of the new place win over those of the old place with
	// the same name. The caller knows which place was written last.
	Older    bool
	Progress func(Moved) // called after each step; may be nil
	Done     Moved
}

// Run moves everything.
func (m *Mover) Run(ctx context.Context) error {
	if m.Store.o.Files {
		return m.toFiles(ctx)
	}
	var step []rawfiles.Version
	var size int64
	err := m.Store.files.Walk(func(site, md5 string) error {
		list, err := m.Store.files.List(site, md5)
		if err != nil || len(list) == 0 {
			return err
		}
		m.Done.URLs++
		for _, v := range list {
			info, err := m.Store.files.Size(v)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			step = append(step, v)
			size += info
		}
		if len(step) < moveURLs && size < moveBytes {
			return nil
		}
		err = m.toSegment(ctx, step)
		step, size = nil, 0
		return err
	})
	if err == nil {
		err = m.toSegment(ctx, step)
	}
	return err
}

// toSegment moves files to the segment.
func (m *Mover) toSegment(ctx context.Context, files []rawfiles.Version) error {
	if len(files) == 0 {
		return nil
	}
	s, st := m.Store, m.Store.Stage()
	defer st.Abort()
	var moved []rawfiles.Version
	var contents [][]byte
	for _, v := range files {
		data, err := s.files.Read(v)
		if err != nil {
			return err
		}
		keep, err := m.hasContent(ctx, data, func() (rawfiles.Version, bool, error) {
			r, found, err := s.findRecord(ctx, v, v.Kind)
			c := v
			c.Record = r.place
			return c, found, err
		})
		if err != nil {
			return err
		}
		if keep {
			continue
		}
		if err := st.stageContent(v.Site, v.MD5, v.Name, v.Time, v.Kind, data); err != nil {
			return err
		}
		moved, contents = append(moved, v), append(contents, data)
	}
	if err := st.Commit(ctx); err != nil {
		return err
	}
	for i, v := range moved {
		r, found, err := s.findRecord(ctx, v, v.Kind)
		v.Record = r.place
		if err = m.compareContent(ctx, v, found, err, contents[i]); err != nil {
			return err
		}
	}
	if err := s.files.Remove(files); err != nil {
		return err
	}
	for _, v := range files {
		s.files.RemoveEmpty(v.Site, v.MD5)
	}
	m.reportProgress()
	return nil
}

// hasContent reports whether the new place keeps its content instead of data.
func (m *Mover) hasContent(ctx context.Context, data []byte, find func() (rawfiles.Version, bool, error)) (bool, error) {
	there, found, err := find()
	if err != nil || !found {
		return false, err
	}
	old, err := m.Store.Read(ctx, there)
	if errors.Is(err, ErrDamaged) {
		return false, nil
	}
	if err != nil || !m.Older && !bytes.Equal(old, data) {
		return false, err
	}
	m.Done.Kept++
	return true, nil
}

// compareContent reads a content back from the new place.
func (m *Mover) compareContent(ctx context.Context, v rawfiles.Version, found bool, err error, data []byte) error {
	var got []byte
	if err == nil && found {
		got, err = m.Store.Read(ctx, v)
	}
	if err != nil {
		return err
	}
	if !found || !bytes.Equal(got, data) {
		return fmt.Errorf("content %d of %s_%s of site %s reads back changed; the old place keeps it", v.Kind, v.MD5, v.Name, v.Site)
	}
	m.Done.Moved++
	m.Done.Bytes += int64(len(data))
	return nil
}

func (m *Mover) reportProgress() {
	if m.Progress != nil {
		m.Progress(m.Done)
	}
}

// toFiles moves all runs to files and removes the segments.
func (m *Mover) toFiles(ctx context.Context) error {
	err := m.Store.eachPage(ctx, func(page []record) error {
		for from := 0; from < len(page); {
			to, size := from, int64(0)
			for to < len(page) && to-from < moveURLs && size < moveBytes {
				size += page[to].bytes
				to++
			}
			if err := m.toFilesStep(ctx, page[from:to]); err != nil {
				return err
			}
			from = to
		}
		return nil
	})
	if err == nil {
		_, err = m.Store.Compact(ctx, 0)
	}
	return err
}

func (m *Mover) toFilesStep(ctx context.Context, step []record) error {
	s, st := m.Store, m.Store.files.Stage()
	defer st.Abort()
	var moved []rawfiles.Version
	var contents [][]byte
	last := ""
	for _, r := range step {
		if r.md5 != last {
			last = r.md5
			m.Done.URLs++
		}
		for _, v := range r.liveVersions() {
			data, err := s.readContent(r.place, v.Kind)
			if err != nil {
				return fmt.Errorf("site %s, content %d of %s_%s: %w", v.Site, v.Kind, v.MD5, v.Name, err)
			}
			keep, err := m.hasContent(ctx, data, func() (rawfiles.Version, bool, error) { return s.files.Companion(v, v.Kind) })
			if err != nil {
				return err
			}
			if keep {
				continue
			}
			if err := st.PutLabelled(v.Site, v.MD5, v.Name, v.Kind, data); err != nil {
				return err
			}
			moved, contents = append(moved, v), append(contents, data)
		}
	}
	if err := st.Commit(); err != nil {
		return err
	}
	for i, v := range moved {
		file, found, err := s.files.Companion(v, v.Kind)
		if err == nil && found {
			err = s.files.SetTime(file, v.Time)
		}
		if err = m.compareContent(ctx, file, found, err, contents[i]); err != nil {
			return err
		}
	}
	err := s.db.Update(ctx, func(tx *sqldb.Tx) error {
		c := changes{}
		for _, r := range step {
			if err := c.narrowOne(tx, r, r.kinds); err != nil {
				return err
			}
		}
		return c.writeDifferences(tx)
	})
	if err == nil {
		m.reportProgress()
	}
	return err
}

// eachPage calls each with all runs, ordered by site and key, at most some thousand at a time.
func (s *Store) eachPage(ctx context.Context, each func([]record) error) error {
	var sites []string
	err := s.db.View(ctx, func(tx *sqldb.Tx) error {
		sites = nil
		return tx.All("raw_sites", nil, func(scan func(...any) error) error {
			var site string
			err := scan(&site)
			sites = append(sites, site)
			return err
		})
	})
	for _, site := range sites {
		for after := ""; err == nil; {
			var page []record
			last := ""
			err = s.db.View(ctx, func(tx *sqldb.Tx) (err error) {
				page = nil
				if last, err = lastOf(tx, site, after); err != nil || last == "" {
					return err
				}
				return tx.All("raw_range", []any{site, after, last}, func(scan func(...any) error) error {
					r := record{site: site}
					err := scan(append([]any{&r.md5}, r.scanTargets()...)...)
					page = append(page, r)
					return err
				})
			})
			if err == nil && len(page) > 0 {
				err = each(page)
			}
			if last == "" {
				break
			}
			after = last
		}
	}
	return err
}
