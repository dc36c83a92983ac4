package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/search/query"
	api "github.com/blevesearch/bleve_index_api"

	"hce/dc/internal/apps/search"
)

// reader asks an open index: the writer's or a snapshot. Goroutines may share it.
type reader struct {
	bleve bleve.Index
}

// Snapshot is an open snapshot. Goroutines may share it.
type Snapshot struct {
	reader
	name, path string
}

// ErrNone means that the folder has no published index.
var ErrNone = errors.New("no index is published; start hce-search index")

// OpenSnapshot opens the newest snapshot of a folder, and compares each file with its checksum that this
// process has not read yet. The error is ErrNone, ErrFormat or ErrDamaged, or that of the system.
func OpenSnapshot(dir string) (*Snapshot, error) {
	for last := ""; ; {
		h, found, err := readHead(dir)
		switch {
		case err != nil:
			return nil, err
		case !found, h.Snapshot == "":
			return nil, fmt.Errorf("open index %s: %w", dir, ErrNone)
		}
		if err := h.checkFormat(); err != nil {
			return nil, fmt.Errorf("open index %s: %w", dir, err)
		}
		s := &Snapshot{name: h.Snapshot, path: filepath.Join(dir, "snapshots", h.Snapshot)}
		if err = checkSnapshot(s.path, false); err == nil {
			s.bleve, err = openFolder(s.path, true)
		}
		if err == nil {
			return s, nil
		}
		// The writer may have removed it since the head was read: then another one is there.
		if last == h.Snapshot {
			return nil, fmt.Errorf("open snapshot %s: %w", s.path, err)
		}
		last = h.Snapshot
	}
}

// Verify reads all files of an index and compares them with their checksums: those of the newest snapshot, and those of
// the working index unless a writer has it open. It changes nothing. The error is ErrNone, ErrFormat or ErrDamaged, or
// that of the system.
func Verify(dir string) error {
	h, found, err := readHead(dir)
	if err == nil && !found {
		err = ErrNone
	}
	if err == nil {
		err = h.checkFormat()
	}
	if err == nil && h.Snapshot != "" {
		err = checkSnapshot(filepath.Join(dir, "snapshots", h.Snapshot), true)
	}
	if err != nil {
		return fmt.Errorf("check index %s: %w", dir, err)
	}
	work, err := readSums(h.workPath(dir))
	if errors.Is(err, fs.ErrNotExist) { // a writer works, or was killed: the next one checks it
		return nil
	}
	if err == nil {
		err = work.checkFiles(h.workPath(dir), true)
	}
	return err
}

// Newest reports whether s is the newest snapshot of the folder. It reads one small file.
func (s *Snapshot) Newest(dir string) bool {
	h, found, err := readHead(dir)
	return err != nil || !found || h.Snapshot == s.name
}

// Check reads all files of the snapshot again. The error is ErrDamaged if one has other bytes than were written.
func (s *Snapshot) Check() error { return checkSnapshot(s.path, true) }

// Name returns the number of the snapshot.
func (s *Snapshot) Name() string { return s.name }

// Close closes the snapshot. No call may run.
func (s *Snapshot) Close() error { return s.bleve.Close() }

// Get returns the document with a UUID. found is false for an unknown one.
func (r *reader) Get(uuid string) (d search.Document, found bool, err error) {
	if !search.ValidUUID(uuid) {
		return d, false, nil
	}
	e, err := r.bleve.Document(uuid)
	if err != nil || e == nil {
		return d, false, err
	}
	d, err = decodeDocument(e)
	return d, err == nil, err
}

// Count returns the number of documents, without entries about hosts and sites.
func (r *reader) Count(ctx context.Context) (n uint64, err error) {
	for _, kind := range search.Kinds {
		request := bleve.NewSearchRequestOptions(newTermQuery(fieldKind, string(kind)), 0, 0, false)
		request.Score = "none"
		result, err := r.bleve.SearchInContext(ctx, request)
		if err != nil {
			return 0, fmt.Errorf("count documents: %w", err)
		}
		n += result.Total
	}
	return n, nil
}

// readState decodes the entry of a host or a site; a missing one changes nothing.
func (r *reader) readState(kind, name string, into any) (err error) {
	e, err := r.bleve.Document(kind + ":" + name)
	if err != nil || e == nil {
		return err
	}
	return decodeState(e, into)
}

func decodeState(e api.Document, into any) (err error) {
	e.VisitFields(func(f api.Field) {
		if f.Name() == fieldMeta {
			err = json.Unmarshal(f.Value(), into)
		}
	})
	return err
}

func (r *reader) readHostState(name string) (h HostState, err error) {
	return h, r.readState(hostKind, name, &h)
}

// Site returns how far the feed of a site is; the zero value for a new one.
func (r *reader) Site(id string) (s SiteState, err error) {
	return s, r.readState(siteKind, id, &s)
}

// Sites returns the ids of all sites with a state.
func (r *reader) Sites(ctx context.Context) ([]string, error) {
	ids, err := r.findIDs(ctx, newTermQuery(fieldKind, siteKind), 1<<20)
	for i := range ids {
		ids[i] = ids[i][len(siteKind)+1:]
	}
	return ids, err
}

// findIDs returns at most most ids of matching entries, sorted.
func (r *reader) findIDs(ctx context.Context, q query.Query, most int) (list []string, err error) {
	request := bleve.NewSearchRequestOptions(q, most, 0, false)
	request.SortBy([]string{"_id"})
	request.Score = "none"
	result, err := r.bleve.SearchInContext(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("list documents: %w", err)
	}
	for _, hit := range result.Hits {
		list = append(list, hit.ID)
	}
	return list, nil
}

// Row is a document of a site of the cluster.
type Row struct{ UUID, Key, Version string }

// Rows returns at most most documents of a site with keys above after and up to last ("": all), in
// the order of their keys.
func (r *reader) Rows(ctx context.Context, site, after, last string, most int) (list []Row, err error) {
	no, yes := false, true
	until := rowTerm(site, last)
	if last == "" {
		until = site + ";" // the character behind the colon
	}
	q := query.NewTermRangeInclusiveQuery(rowTerm(site, after), until, &no, &yes)
	q.SetField(fieldRow)
	request := bleve.NewSearchRequestOptions(q, most, 0, false)
	request.SortBy([]string{fieldRow, fieldVersion})
	request.Score = "none"
	result, err := r.bleve.SearchInContext(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("list documents of site %s: %w", site, err)
	}
	for _, hit := range result.Hits {
		if len(hit.Sort) == 2 && len(hit.Sort[0]) > len(site) {
			list = append(list, Row{hit.ID, hit.Sort[0][len(site)+1:], hit.Sort[1]})
		}
	}
	return list, nil
}

// Version returns the version of the document with a UUID, "" for an unknown one.
func (r *reader) Version(uuid string) (string, error) {
	d, _, err := r.Get(uuid)
	return d.Version, err
}

// OfSite returns at most most UUIDs of documents of a site.
func (r *reader) OfSite(ctx context.Context, site string, most int) (list []string, err error) {
	rows, err := r.Rows(ctx, site, "", "", most)
	for _, one := range rows {
		list = append(list, one.UUID)
	}
	return list, err
}

// Expire removes the documents of hosts that were not seen since a time, and the hosts themselves. It
// returns the number of documents. After a kill it continues with its next call.
func (x *Index) Expire(ctx context.Context, since time.Time) (n int, err error) {
	limit := float64(since.Unix())
	old := bleve.NewNumericRangeQuery(nil, &limit)
	old.SetField(fieldSeen)
	hosts, err := x.findIDs(ctx, bleve.NewConjunctionQuery(newTermQuery(fieldKind, hostKind), old), 10_000)
	if err != nil {
		return 0, err
	}
	for _, id := range hosts {
		host := id[len(hostKind)+1:]
		for {
			list, err := x.findIDs(ctx, newTermQuery(fieldHost, host), 500)
			if err != nil {
				return n, err
			}
			c := Change{Delete: list}
			if len(list) < 500 {
				c.Forget = []string{host}
			}
			if err := x.Apply(c); err != nil {
				return n, err
			}
			if n += len(list); len(list) < 500 {
				break
			}
		}
	}
	return n, nil
}

// Rebuild writes the index of a folder again, with the present fields and analysers. It needs the
// room of a second index. Snapshots stay until the next one is published at its end. After a kill the old index is
// there, and nothing else counts.
func Rebuild(ctx context.Context, dir string) (n int, err error) {
	x, err := lockFolder(dir)
	if err != nil {
		return 0, err
	}
	defer x.unlock()
	h, found, err := readHead(x.dir)
	if err != nil || !found {
		return 0, errors.Join(err, notThere(x.dir, found))
	}
	if err := h.checkFormat(); err != nil && !errors.Is(err, ErrFormat) {
		return 0, fmt.Errorf("rebuild index %s: %w", x.dir, err)
	}
	_, faults, _, err := checkWork(h.workPath(x.dir))
	if err != nil {
		return 0, fmt.Errorf("rebuild index %s: %w", x.dir, err)
	}
	old, end, err := openOld(h.workPath(x.dir))
	if err != nil {
		return 0, fmt.Errorf("rebuild index %s: %w", x.dir, err)
	}
	defer end()
	if err := faults.errorIfUsed(segmentFiles(old.(*scorch.IndexSnapshot))); err != nil {
		return 0, fmt.Errorf("rebuild index %s: %w", x.dir, err)
	}
	var number int
	_, _ = fmt.Sscanf(h.Work, "work-%d", &number)
	x.head = head{Format: format, Work: fmt.Sprintf("work-%d", number+1), Snapshot: h.Snapshot}
	if x.bleve, err = createIndex(x.head.workPath(x.dir)); err != nil {
		return 0, fmt.Errorf("rebuild index %s: %w", x.dir, err)
	}
	defer x.bleve.Close()
	if n, err = x.copyFrom(ctx, old); err != nil {
		return n, fmt.Errorf("rebuild index %s: %w", x.dir, err)
	}
	if err := x.publish(); err != nil { // the head names the new index from here on
		return n, fmt.Errorf("rebuild index %s: %w", x.dir, err)
	}
	return n, nil
}

func notThere(dir string, found bool) error {
	if found {
		return nil
	}
	return fmt.Errorf("rebuild index %s: %w", dir, os.ErrNotExist)
}

// openOld opens what an earlier version wrote, to read it. Its analysers may be gone, which its mapping
// names, so the mapping is not read.
func openOld(path string) (api.IndexReader, func(), error) {
	queue := api.NewAnalysisQueue(1)
	old, err := scorch.NewScorch(scorch.Name, map[string]any{"path": filepath.Join(path, "store"), "read_only": true, "bolt_timeout": "5s"}, queue)
	if err == nil {
		err = old.Open()
	}
	if err != nil {
		queue.Close()
		return nil, nil, err
	}
	r, err := old.Reader()
	end := func() {
		if r != nil {
			_ = r.Close() // it was only read
		}
		_ = old.Close()
		queue.Close()
	}
	if err != nil {
		end()
	}
	return r, end, err
}

// copyFrom writes all entries of another index.
func (x *Index) copyFrom(ctx context.Context, from api.IndexReader) (n int, err error) {
	ids, err := from.DocIDReaderAll()
	if err != nil {
		return 0, err
	}
	defer ids.Close()
	for ctx.Err() == nil {
		c := Change{State: map[string]SiteState{}}
		read := 0
		for ; read < copiedAtOnce; read++ {
			id, err := ids.Next()
			if err != nil {
				return n, err
			}
			if id == nil {
				break
			}
			if err := c.addEntryFrom(from, id); err != nil {
				return n, err
			}
		}
		if err := x.Apply(c); err != nil || read == 0 {
			return n, err
		}
		n += len(c.Put)
	}
	return n, ctx.Err()
}

// copiedAtOnce is how many entries a transaction of Rebuild has.
const copiedAtOnce = 200

// addEntryFrom adds an entry of another index to a change.
func (c *Change) addEntryFrom(from api.IndexReader, internal api.IndexInternalID) error {
	id, err := from.ExternalID(internal)
	if err != nil {
		return err
	}
	e, err := from.Document(id)
	if err != nil || e == nil {
		return err
	}
	switch kind, name, _ := cutKind(id); kind {
	case hostKind:
		var h HostState
		err = decodeState(e, &h)
		c.Hosts = append(c.Hosts, h)
	case siteKind:
		var s SiteState
		err = decodeState(e, &s)
		c.State[name] = s
	default:
		var d search.Document
		d, err = decodeDocument(e)
		c.Put = append(c.Put, d)
	}
	return err
}

func cutKind(id string) (kind, name string, special bool) {
	for _, k := range []string{hostKind, siteKind} {
		if len(id) > len(k) && id[:len(k)+1] == k+":" {
			return k, id[len(k)+1:], true
		}
	}
	return "", "", false
}
