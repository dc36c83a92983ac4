// Package archivetest has an archive in memory for tests, and the conformance suite of archive.Store.
//
//	store := archivetest.New(t)
//	store.Crawl(t, "example.org", map[string]string{"/a.html": "<p>text"})
//	list, err := store.Query(ctx, archive.Query{})
package archivetest

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/protocol"
	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
)

// Store is an archive in memory. Goroutines may share it.
type Store struct {
	mu       sync.Mutex
	db       *sql.DB
	versions map[string]*version // by url and commit tag
	current  map[string]*version // by url
	commits  []archive.Commit
	clock    time.Time

	writes  int // writers that were neither closed nor aborted
	written int // bytes that all writers have taken
}

// version is a page in one crawl.
type version struct {
	meta  archive.Meta
	files map[string][]byte
	tags  map[string]string
}

// New returns an empty archive, which the end of the test closes.
func New(t testing.TB) *Store {
	t.Helper()
	s := &Store{
		db: sqldb.OpenMemory(), versions: map[string]*version{}, current: map[string]*version{},
		clock: time.Date(2026, 1, 5, 10, 0, 0, 0, archive.Zone),
	}
	t.Cleanup(func() { s.db.Close() })
	if _, err := s.db.Exec("CREATE TABLE versions (" + strings.Join(columns, ",") + ")"); err != nil {
		t.Fatal(err)
	}
	return s
}

// columns are the columns of a query.
var columns = []string{"url", "mimeType", "title", "path", "domain", "commitTime", "createTime", "commitTag"}

// Crawl stores one crawl of a domain: pages maps paths to contents. Pages that it does not name have
// vanished. Each crawl begins one second after the one before.
func (s *Store) Crawl(t testing.TB, domain string, pages map[string]string) archive.Commit {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = s.clock.Add(time.Second)
	commit := archive.Commit{Number: int64(len(s.commits) + 1), CommitTag: archive.Tag(domain, s.clock), Time: s.clock}
	for url, v := range s.current {
		if v.meta.Domain == domain {
			delete(s.current, url)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		v := &version{
			meta: archive.Meta{
				URL: "http://" + domain + name, MIMEType: mimeOf(name), Path: domain + name, Domain: domain,
				CommitTime: s.clock, CreateTime: s.clock, CommitTag: commit.CommitTag,
			},
			files: map[string][]byte{"data" + path.Ext(name): []byte(pages[name])}, tags: map[string]string{},
		}
		s.current[v.meta.URL] = v
		s.versions[v.meta.URL+" "+commit.CommitTag] = v
		m, when := v.meta, s.clock.Format(archive.TimeFormat)
		if _, err := s.db.Exec("INSERT INTO versions VALUES (?,?,?,?,?,?,?,?)", m.URL, m.MIMEType, m.Title, m.Path, m.Domain, when, when, m.CommitTag); err != nil {
			t.Fatal(err)
		}
	}
	s.commits = append(s.commits, commit)
	return commit
}

func mimeOf(name string) string {
	if path.Ext(name) == ".html" {
		return "text/html"
	}
	return "application/octet-stream"
}

func (s *Store) countWrites(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes += n
}

// OpenWriters returns the number of writers that were neither closed nor aborted.
func (s *Store) OpenWriters() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// Written returns the number of bytes that all writers have taken.
func (s *Store) Written() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written
}

// Query implements archive.Store.
func (s *Store) Query(ctx context.Context, q archive.Query) ([]archive.Meta, error) {
	kinds := map[string]expr.Kind{}
	for _, name := range columns {
		kinds[name] = expr.Key
	}
	scope := expr.Scope{Dialect: expr.SQLite, Now: time.Now(), Table: expr.Table{Name: "versions", Columns: kinds}}
	where, err := scope.Where(cmp.Or(q.Where, "1"))
	if err != nil {
		return nil, fmt.Errorf("where %w: %w", archive.ErrInvalid, err)
	}
	order, err := scope.OrderBy(q.OrderBy)
	if err != nil {
		return nil, fmt.Errorf("order by %w: %w", archive.ErrInvalid, err)
	}
	text := "SELECT * FROM versions WHERE " + where.Text
	if order.Text != "" {
		text += " ORDER BY " + order.Text
	}
	limit := cmp.Or(q.Limit, -1)
	rows, err := s.db.QueryContext(ctx, text+fmt.Sprintf(" LIMIT %d", limit), slices.Concat(where.Args, order.Args)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []archive.Meta{}
	for rows.Next() {
		var m archive.Meta
		var committed, created string
		if err := rows.Scan(&m.URL, &m.MIMEType, &m.Title, &m.Path, &m.Domain, &committed, &created, &m.CommitTag); err != nil {
			return nil, err
		}
		if m.CommitTime, err = time.ParseInLocation(archive.TimeFormat, committed, archive.Zone); err != nil {
			return nil, err
		}
		m.CreateTime = m.CommitTime
		list = append(list, m)
	}
	return list, rows.Err()
}

// Each implements archive.Store.
func (s *Store) Each(ctx context.Context, q archive.Query, do func(archive.Meta) error) error {
	list, err := s.Query(ctx, q)
	for _, m := range list {
		if err := do(m); err != nil {
			return err
		}
	}
	return err
}

// findVersion finds a version. The caller holds mu.
func (s *Store) findVersion(m archive.Meta) (*version, error) {
	if v := s.versions[m.URL+" "+m.CommitTag]; v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("version %s of %s: %w", m.CommitTag, m.URL, archive.ErrNotFound)
}

// findWritable finds the current version. The caller holds mu.
func (s *Store) findWritable(m archive.Meta) (*version, error) {
	v, err := s.findVersion(m)
	if err == nil && s.current[m.URL] != v {
		return nil, fmt.Errorf("version %s of %s: %w", m.CommitTag, m.URL, archive.ErrOutdated)
	}
	return v, err
}

// List implements archive.Store.
func (s *Store) List(_ context.Context, m archive.Meta) ([]archive.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.findVersion(m)
	if err != nil {
		return nil, err
	}
	list := []archive.File{}
	for _, name := range slices.Sorted(maps.Keys(v.files)) {
		list = append(list, archive.File{Name: name, Size: int64(len(v.files[name]))})
	}
	return list, nil
}

// Open implements archive.Store.
func (s *Store) Open(_ context.Context, m archive.Meta, name string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.findVersion(m)
	if err != nil {
		return nil, err
	}
	data, found := v.files[name]
	if !found {
		return nil, fmt.Errorf("file %s of %s: %w", name, m.URL, archive.ErrNotFound)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// Create implements archive.Store.
func (s *Store) Create(_ context.Context, m archive.Meta, name string) (archive.Writer, error) {
	if err := protocol.CheckName(name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkFree(m, name); err != nil {
		return nil, err
	}
	s.writes++
	return &writer{store: s, meta: m, name: name}, nil
}

// checkFree checks that a file can be added. The caller holds mu.
func (s *Store) checkFree(m archive.Meta, name string) error {
	v, err := s.findWritable(m)
	if err != nil {
		return err
	}
	if _, found := v.files[name]; found {
		return fmt.Errorf("file %s of %s: %w", name, m.URL, archive.ErrExists)
	}
	return nil
}

// writer is an archive.Writer.
type writer struct {
	bytes.Buffer
	store *Store
	meta  archive.Meta
	name  string
	done  bool
}

func (w *writer) Write(p []byte) (int, error) {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	w.store.written += len(p)
	return w.Buffer.Write(p)
}

func (w *writer) Close() error {
	if w.done {
		return fs.ErrClosed
	}
	w.done = true
	w.store.countWrites(-1)
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if err := w.store.checkFree(w.meta, w.name); err != nil {
		return err
	}
	w.store.versions[w.meta.URL+" "+w.meta.CommitTag].files[w.name] = bytes.Clone(w.Bytes())
	return nil
}

func (w *writer) Abort() error {
	if !w.done {
		w.done = true
		w.store.countWrites(-1)
	}
	return nil
}

// Tag implements archive.Store.
func (s *Store) Tag(_ context.Context, m archive.Meta, name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.findVersion(m)
	if err != nil {
		return "", err
	}
	text, found := v.tags[name]
	if !found {
		return "", fmt.Errorf("tag %s of %s: %w", name, m.URL, archive.ErrNotFound)
	}
	return text, nil
}

// SetTag implements archive.Store.
func (s *Store) SetTag(_ context.Context, m archive.Meta, name, content string) error {
	text := "<" + name + ">" + content + "</" + name + ">"
	if err := wellFormed(text); err != nil {
		return fmt.Errorf("tag %q: %w: %w", name, archive.ErrInvalid, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.findWritable(m)
	if err != nil {
		return err
	}
	if _, found := v.tags[name]; found {
		return fmt.Errorf("tag %s of %s: %w", name, m.URL, archive.ErrExists)
	}
	v.tags[name] = text
	return nil
}

func wellFormed(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Commits implements archive.Store.
func (s *Store) Commits(_ context.Context, after int64, limit int) ([]archive.Commit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := min(max(after, 0), int64(len(s.commits)))
	list := s.commits[from:]
	return slices.Clone(list[:min(limit, len(list))]), nil
}
