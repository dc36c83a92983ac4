package segments

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"hce/dc/internal/files"
	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqldb"
)

// Stage collects contents. Commit makes all of them durable and visible, Abort none. A stage
// belongs to one goroutine. A store may have many stages.
type Stage struct {
	s        *Store
	files    *rawfiles.Stage // nil if the contents go to a segment
	runs     []*run
	byName   map[[3]string]*run // by site, key and name
	labelled []rawfiles.Version // contents that replace those of the other kind of storage
	written  *written           // after Flush
	done     bool
}

// Index makes the contents of a stage visible in a transaction. The transaction may run
// several times.
type Index func(*sqldb.Tx) error

// Stage begins a stage. The caller must end it with Commit or Abort.
func (s *Store) Stage() *Stage {
	st := &Stage{s: s, byName: map[[3]string]*run{}}
	if s.o.Files {
		st.files = s.files.Stage()
	}
	return st
}

// Put adds one content of the version of a URL that was fetched at at, rounded down to
// milliseconds. A second Put of the same kind and time replaces the first. The stage stays
// usable after ErrName and ErrTooLarge of package rawfiles. site "" means "0". The caller must
// not change data before the end of the stage.
func (st *Stage) Put(site, md5 string, at time.Time, kind rawfiles.Kind, data []byte) error {
	if st.files != nil {
		return st.files.Put(site, md5, at, kind, data)
	}
	return st.stageContent(site, md5, rawfiles.TimeName(at), at, kind, data)
}

// Left returns the time of the newest version of a URL if it has this body and is in files. After a
// kill such a version may have no row: its transaction did not follow. The caller puts the same
// version again instead of a second one. A segment cuts such bodies off by itself.
func (s *Store) Left(site, md5 string, body []byte) (at time.Time, found bool, err error) {
	if !s.o.Files {
		return at, false, nil
	}
	v, found, err := s.files.Newest(site, md5, rawfiles.Raw)
	if err != nil || !found || v.Label() != "" {
		return at, false, err
	}
	if size, err := s.files.Size(v); err != nil || size != int64(len(body)) {
		return at, false, files.IgnoreMissing(err)
	}
	data, err := s.files.Read(v)
	if err != nil {
		return at, false, files.IgnoreMissing(err)
	}
	return v.Time, bytes.Equal(data, body), nil
}

// PutLabelled adds a content with a name instead of a time. It replaces the content of that
// name and kind. The name of a version adds a companion to it.
func (st *Stage) PutLabelled(site, md5, name string, kind rawfiles.Kind, data []byte) error {
	id, err := rawfiles.CheckName(site, md5, name, kind)
	if err != nil {
		return err
	}
	if st.files != nil {
		err = st.files.PutLabelled(site, md5, name, kind, data)
	} else {
		at := rawfiles.NameTime(name)
		if at.IsZero() {
			at = st.s.o.Now()
		}
		err = st.stageContent(site, md5, name, at, kind, data)
	}
	if err == nil {
		st.labelled = append(st.labelled, rawfiles.Version{Site: id, MD5: md5, Name: name, Kind: kind})
	}
	return err
}

// PutVersion adds a content of another node with its name and its time. It replaces the content of that
// name and kind.
func (st *Stage) PutVersion(v rawfiles.Version, data []byte) (err error) {
	if st.files != nil {
		err = st.files.PutLabelled(v.Site, v.MD5, v.Name, v.Kind, data)
	} else {
		err = st.stageContent(v.Site, v.MD5, v.Name, v.Time, v.Kind, data)
	}
	if err == nil {
		st.labelled = append(st.labelled, rawfiles.Version{Site: v.Site, MD5: v.MD5, Name: v.Name, Time: v.Time, Kind: v.Kind})
	}
	return err
}

// Name tells the URL of a version that was put before. The segment tells it to other readers.
func (st *Stage) Name(site, md5 string, at time.Time, url string) {
	if r := st.byName[[3]string{orGeneral(site), md5, rawfiles.TimeName(at)}]; r != nil {
		r.uri = url
	}
}

func (st *Stage) stageContent(site, md5, name string, at time.Time, kind rawfiles.Kind, data []byte) error {
	if st.done {
		return rawfiles.ErrDone
	}
	site, err := rawfiles.CheckName(site, md5, "", kind)
	if err != nil {
		return err
	}
	if int64(len(data)) > st.s.o.MaxFile {
		return fmt.Errorf("%w: %d bytes", rawfiles.ErrTooLarge, len(data))
	}
	key := [3]string{site, md5, name}
	r := st.byName[key]
	if r == nil {
		r = &run{site: site, md5: md5, name: name, at: at.UnixMilli()}
		st.byName[key] = r
		st.runs = append(st.runs, r)
	}
	for i, p := range r.parts {
		if p.kind == kind {
			r.parts[i].data = data
			return nil
		}
	}
	r.parts = append(r.parts, part{kind: kind, data: data})
	return nil
}

// Flush makes the contents durable, with one sync. The caller runs index in the transaction of
// the rows that refer to the contents, and calls Abort after it; files are visible before. After
// an error of that transaction the bytes in the segment are dead.
func (st *Stage) Flush(ctx context.Context) (index Index, err error) {
	if st.done {
		return nil, rawfiles.ErrDone
	}
	st.done = true
	none := func(*sqldb.Tx) error { return nil }
	if st.files != nil {
		if err := st.files.Commit(); err != nil || len(st.labelled) == 0 || st.s.db == nil {
			return none, err
		}
		return st.hideRecords, nil
	}
	if len(st.runs) == 0 {
		return none, nil
	}
	w, err := st.s.appendRuns(ctx, st.runs)
	if err != nil {
		return nil, err
	}
	st.written = w
	return func(tx *sqldb.Tx) error { return insertRuns(tx, st.runs, w.places, w.end) }, nil
}

// Commit is Flush with a transaction of its own. An empty stage costs nothing.
func (st *Stage) Commit(ctx context.Context) error {
	defer st.Abort()
	index, err := st.Flush(ctx)
	if err != nil || len(st.runs)+len(st.labelled) == 0 || st.s.db == nil {
		return err
	}
	if err := st.s.db.Update(ctx, index); err != nil {
		return fmt.Errorf("store places of raw contents: %w", err)
	}
	if st.files == nil {
		return st.hideFiles()
	}
	return st.dateFiles()
}

// Abort finishes the stage. It drops the contents unless they are stored.
func (st *Stage) Abort() {
	st.done = true
	if st.written != nil {
		st.s.endTransaction(st.written)
		st.written = nil
	}
	if st.files != nil {
		st.files.Abort()
	}
}

// hideRecords removes runs that labelled files replace.
func (st *Stage) hideRecords(tx *sqldb.Tx) error {
	c := changes{}
	for _, v := range st.labelled {
		if err := c.removeKinds(tx, v, 1<<v.Kind); err != nil {
			return err
		}
	}
	return c.writeDifferences(tx)
}

// hideFiles removes files that labelled contents in the segment replace.
func (st *Stage) hideFiles() error {
	for _, v := range st.labelled {
		file, found, err := st.s.files.Companion(v, v.Kind)
		if err == nil && found {
			err = st.s.files.Remove([]rawfiles.Version{file})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dateFiles gives labelled files the time of PutVersion.
func (st *Stage) dateFiles() error {
	for _, v := range st.labelled {
		if v.Time.IsZero() || v.Label() == "" && v.Name != "" {
			continue
		}
		file, found, err := st.s.files.Companion(v, v.Kind)
		if err == nil && found {
			err = st.s.files.SetTime(file, v.Time)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
