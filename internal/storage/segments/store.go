// Package segments stores the raw contents of pages in append-only segment files, with their
// places in the SQL database, and reads and writes the files of package rawfiles too.
//
// All contents of one fetch of a URL (its version) are one run of WARC 1.1 records in a
// segment. A chunk of pages costs one write and one sync, and its places are rows of the
// transaction that stores the rows of the pages.
//
//	s := segments.Open(files, database, segments.Options{Dir: rawDataDir})
//	st := s.Stage()
//	defer st.Abort() // does nothing after Commit
//	err = st.Put("s1", key, fetchedAt, rawfiles.Raw, body)
//	err = st.Put("s1", key, fetchedAt, rawfiles.Headers, headers)
//	err = st.Commit(ctx) // both contents now survive a power cut
//
//	v, ok, err := s.Newest(ctx, "s1", key, rawfiles.Raw)
//	body, err := s.Read(ctx, v)
//
// Options.Files chooses where new contents go. Contents of both kinds are readable under both
// settings; if both have the same content, the one of the setting counts.
//
// # Layout
//
//	<Dir>/.segments/<number>.warc
//	table dc_sites.raw_records: the place, length, digest and kinds of each run
//	table dc_sites.raw_segments: the end of the last committed run, and the live bytes
//
// # Crash safety
//
// A process locks the segment that it writes (flock) for as long as it lives. It syncs the
// bytes of a run before the transaction with its place. So bytes behind raw_segments.Size
// were never referred to. A process that takes over a segment first changes its row, which
// waits for a transaction of a killed process, and then cuts the file there. Nothing is
// overwritten before Size.
//
// Compact copies the live runs of a mostly dead segment and removes its file.
// docs/decisions/0011-segment-files.md says why.
package segments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// DefaultSize is the default of Options.Size.
const DefaultSize = 256 << 20

// folder is the folder of the segments. Ids of sites have no dot, so it never is the folder
// of a site.
const folder = ".segments"

// Options are the settings of a store.
type Options struct {
	Dir     string           // raw_data_dir; the store creates the folder of the segments in it
	Files   bool             // new contents go to files (raw_store = files)
	Size    int64            // bytes of a segment; 0 means DefaultSize. A single run may be larger
	MaxFile int64            // limit of one content in bytes; 0 means rawfiles.DefaultMaxFile
	NoSync  bool             // disables syncs: a power cut may then lose contents
	Log     *slog.Logger     // no log if nil
	Now     func() time.Time // time.Now if nil
}

// Store are the raw contents of a node. Goroutines and processes may share them.
type Store struct {
	files *rawfiles.Cache
	db    *sqldb.DB
	o     Options
	dir   string

	mu     sync.Mutex
	own    *segment // that this process writes; nil before the first write
	buffer []byte
}

// Open returns a store; it opens and creates nothing. Without a database it has only files.
// The caller closes the store, then files and database.
func Open(files *rawfiles.Cache, db *sqldb.DB, o Options) *Store {
	if o.Size == 0 {
		o.Size = DefaultSize
	}
	if o.MaxFile == 0 {
		o.MaxFile = rawfiles.DefaultMaxFile
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if db == nil {
		o.Files = true
	}
	return &Store{files: files, db: db, o: o, dir: filepath.Join(o.Dir, folder)}
}

// Close frees the segment of this process.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.releaseOwn()
}

// segmentPath is the file of a segment.
func (s *Store) segmentPath(id int64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%08d.warc", id))
}

// place is where a run is, the type of Version.Record.
type place struct {
	part, at, kinds int64
	segment         int64
	start, bytes    int64
	digest          uint32
}

// record is a row of raw_records.
type record struct {
	site, md5, name string
	place
}

func (r *record) scanTargets() []any {
	return []any{&r.name, &r.part, &r.at, &r.kinds, &r.segment, &r.start, &r.bytes, &r.digest}
}

// liveVersions returns the contents of a run that count.
func (r record) liveVersions() (list []rawfiles.Version) {
	for kind := rawfiles.Raw; kind <= rawfiles.Chain; kind++ {
		if r.kinds&(1<<kind) != 0 {
			list = append(list, rawfiles.Version{
				Site: r.site, MD5: r.md5, Name: r.name, Time: time.UnixMilli(r.at).UTC(), Kind: kind, Record: r.place,
			})
		}
	}
	return list
}

// lockMode tells whether find keeps other transactions from changing the rows.
type lockMode bool

const (
	locked   lockMode = true
	unlocked lockMode = false
)

// findRuns returns the runs of a URL, or only those of one name.
func findRuns(tx *sqldb.Tx, mode lockMode, site, md5 string, name ...string) (list []record, err error) {
	query, args := "raw_find", []any{site, md5}
	if len(name) > 0 {
		query, args = "raw_find_name", append(args, name[0])
	}
	text, err := tx.DB.Text(query, "")
	if err != nil {
		return nil, err
	}
	if mode == locked {
		text += tx.DB.ForUpdate()
	}
	err = tx.Each(text, args, func(scan func(...any) error) error {
		r := record{site: site, md5: md5}
		err := scan(r.scanTargets()...)
		list = append(list, r)
		return err
	})
	return list, err
}

// List returns all contents of a URL, oldest first.
func (s *Store) List(ctx context.Context, site, md5 string) ([]rawfiles.Version, error) {
	lists, err := s.Lists(ctx, site, []string{md5})
	return lists[md5], err
}

// Lists is List for several URLs of a site, by key.
func (s *Store) Lists(ctx context.Context, site string, md5s []string) (map[string][]rawfiles.Version, error) {
	lists, err := s.files.Lists(site, md5s)
	if err != nil {
		return nil, err
	}
	if s.db == nil {
		return lists, nil
	}
	records := make(map[string][]record, len(md5s))
	err = s.db.View(ctx, func(tx *sqldb.Tx) error { return findAll(tx, orGeneral(site), md5s, records) })
	if err != nil {
		return nil, fmt.Errorf("find raw contents: %w", err)
	}
	for _, md5 := range md5s {
		lists[md5] = s.mergeVersions(lists[md5], records[md5])
	}
	return lists, nil
}

// findMost is the number of keys of one statement of findAll. A list is filled up with its last
// key, so that there are two texts only.
const findMost = 64

// findAll adds the runs of URLs to records, by key.
func findAll(tx *sqldb.Tx, site string, md5s []string, records map[string][]record) error {
	text, err := tx.DB.Text("raw_find_all", "")
	if err != nil {
		return err
	}
	for len(md5s) > 0 {
		size := 1
		if len(md5s) > 1 {
			size = findMost
		}
		args := make([]any, 1, size+1)
		args[0] = site
		for i := range size {
			args = append(args, md5s[min(i, len(md5s)-1)])
		}
		err := tx.Each(strings.TrimSuffix(text, ")")+strings.Repeat(", ?", size-1)+")", args, func(scan func(...any) error) error {
			r := record{site: site}
			err := scan(append([]any{&r.md5}, r.scanTargets()...)...)
			records[r.md5] = append(records[r.md5], r)
			return err
		})
		if err != nil {
			return err
		}
		md5s = md5s[min(size, len(md5s)):]
	}
	return nil
}

// CompareStored orders contents as they are stored, those of files first.
func CompareStored(a, b rawfiles.Version) int {
	p, _ := a.Record.(place)
	q, _ := b.Record.(place)
	return cmp.Or(cmp.Compare(p.segment, q.segment), cmp.Compare(p.start, q.start))
}

func orGeneral(site string) string {
	if site == "" {
		return "0"
	}
	return site
}

// mergeVersions joins files and runs to the contents that count, oldest first.
func (s *Store) mergeVersions(files []rawfiles.Version, records []record) []rawfiles.Version {
	if len(records) == 0 {
		return files
	}
	var list []rawfiles.Version
	for _, r := range records {
		list = append(list, r.liveVersions()...)
	}
	if s.o.Files {
		list = append(slices.Clone(files), list...)
	} else {
		list = append(list, files...)
	}
	type content struct {
		name string
		kind rawfiles.Kind
	}
	seen := make(map[content]bool, len(list))
	list = slices.DeleteFunc(list, func(v rawfiles.Version) bool {
		c := content{v.Name, v.Kind}
		defer func() { seen[c] = true }()
		return seen[c]
	})
	slices.SortStableFunc(list, rawfiles.Version.Compare)
	return list
}

// Versions returns the contents of one kind of a URL, oldest first, with labelled ones.
// Source: docs/spec/DECISIONS.md 5.2.
func (s *Store) Versions(ctx context.Context, site, md5 string, kind rawfiles.Kind) ([]rawfiles.Version, error) {
	if _, err := rawfiles.CheckName(site, md5, "", kind); err != nil {
		return nil, err
	}
	all, err := s.List(ctx, site, md5)
	return slices.DeleteFunc(all, func(v rawfiles.Version) bool { return v.Kind != kind }), err
}

// Newest returns the last of Versions, or false if there is no version.
func (s *Store) Newest(ctx context.Context, site, md5 string, kind rawfiles.Kind) (rawfiles.Version, bool, error) {
	vs, err := s.Versions(ctx, site, md5, kind)
	if err != nil || len(vs) == 0 {
		return rawfiles.Version{}, false, err
	}
	return vs[len(vs)-1], true, nil
}

// Companion returns the content of another kind in the same version. It returns false for a
// missing one.
func (s *Store) Companion(ctx context.Context, v rawfiles.Version, kind rawfiles.Kind) (rawfiles.Version, bool, error) {
	of := func(p place) rawfiles.Version {
		return rawfiles.Version{Site: v.Site, MD5: v.MD5, Name: v.Name, Time: v.Time, Kind: kind, Record: p}
	}
	if p, ok := v.Record.(place); ok && p.kinds&(1<<kind) != 0 {
		return of(p), true, nil
	}
	record := func() (rawfiles.Version, bool, error) {
		if s.db == nil {
			return rawfiles.Version{}, false, nil
		}
		r, found, err := s.findRecord(ctx, v, kind)
		return of(r.place), found, err
	}
	file := func() (rawfiles.Version, bool, error) { return s.files.Companion(v, kind) }
	look := []func() (rawfiles.Version, bool, error){record, file}
	if s.o.Files {
		slices.Reverse(look)
	}
	c, found, err := look[0]()
	if err != nil || found {
		return c, found, err
	}
	return look[1]()
}

// findRecord returns the run that has a content.
func (s *Store) findRecord(ctx context.Context, v rawfiles.Version, kind rawfiles.Kind) (r record, found bool, err error) {
	if _, err := rawfiles.CheckName(v.Site, v.MD5, "", kind); err != nil {
		return r, false, err
	}
	err = s.db.View(ctx, func(tx *sqldb.Tx) error {
		list, err := findRuns(tx, unlocked, v.Site, v.MD5, v.Name)
		i := slices.IndexFunc(list, func(r record) bool { return r.kinds&(1<<kind) != 0 })
		if found = i >= 0; found {
			r = list[i]
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("find raw content: %w", err)
	}
	return r, found, err
}

// Read returns the bytes of v. The error is ErrTooLarge above the limit of one content,
// fs.ErrNotExist if v was deleted, and ErrDamaged if the segment has other bytes.
func (s *Store) Read(ctx context.Context, v rawfiles.Version) ([]byte, error) {
	p, ok := v.Record.(place)
	if !ok {
		return s.files.Read(v)
	}
	for {
		data, err := s.readContent(p, v.Kind)
		if err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrDamaged) {
			return data, err
		}
		r, found, e := s.findRecord(ctx, v, v.Kind)
		switch {
		case e != nil:
			return nil, e
		case !found:
			return nil, fmt.Errorf("read raw content: %w", fs.ErrNotExist)
		case r.segment != p.segment || r.start != p.start:
			p = r.place // Compact has moved the run
		case errors.Is(err, fs.ErrNotExist) && !folderExists(s.dir):
			return nil, fmt.Errorf("%w: %s", ErrAway, s.dir)
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%w: segment %s is missing; run db-task --check", ErrDamaged, s.segmentPath(p.segment))
		default:
			return nil, err
		}
	}
}

// ErrAway means that the folder of the segments is missing, although the database has contents
// in it.
var ErrAway = errors.New("the folder of raw contents is missing; mount its disk, or correct raw_data_dir")

func folderExists(folder string) bool {
	_, err := os.Stat(folder)
	return !errors.Is(err, fs.ErrNotExist)
}

// ErrDamaged means that a segment is missing or has other bytes than were stored.
var ErrDamaged = errors.New(wire.DamagedRaw)

// readContent reads one content of a run.
func (s *Store) readContent(p place, kind rawfiles.Kind) ([]byte, error) {
	data, err := s.readRun(p)
	if err == nil {
		data, err = contentOf(data, kind)
	}
	switch {
	case errors.Is(err, errRecord):
		return nil, fmt.Errorf("%w: segment %s at %d; run db-task --check", ErrDamaged, s.segmentPath(p.segment), p.start)
	case err != nil:
		return nil, fmt.Errorf("read raw content: %w", err)
	case int64(len(data)) > s.o.MaxFile:
		return nil, fmt.Errorf("%w: %d bytes", rawfiles.ErrTooLarge, len(data))
	}
	return data, nil
}

// readRun reads the bytes of a run. It returns errRecord for other bytes than were stored.
func (s *Store) readRun(p place) ([]byte, error) {
	f, err := os.Open(s.segmentPath(p.segment))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readRun(f, p)
}

func readRun(f *os.File, p place) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if p.start < 0 || p.bytes < 0 || p.start+p.bytes > info.Size() {
		return nil, errRecord
	}
	data := make([]byte, p.bytes)
	if _, err := f.ReadAt(data, p.start); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if crc32.Checksum(data, castagnoli) != p.digest {
		return nil, errRecord
	}
	return data, nil
}
