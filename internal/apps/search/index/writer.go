package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"hce/dc/internal/apps/search"
	"hce/dc/internal/files"
)

// format is the version of the folder. A change of fields or analysers makes a new one.
const format = 3

// ErrFormat means that an earlier version of this program wrote the folder. Rebuild converts it.
var ErrFormat = errors.New("the index has an earlier format")

// checkFormat returns an error for a folder of another format.
func (h head) checkFormat() error {
	switch {
	case h.Format < format:
		return fmt.Errorf("%w: %d; this program has %d, and hce-search index converts it", ErrFormat, h.Format, format)
	case h.Format > format:
		return fmt.Errorf("the index has format %d, of a later version of this program, which knows %d; use that version, or another folder", h.Format, format)
	}
	return nil
}

// head is the file index.json.
type head struct {
	Format   int    `json:"format"`
	Work     string `json:"work"`
	Snapshot string `json:"snapshot,omitempty"`
	Sum      uint32 `json:"sum"`
}

// checksum is a checksum of the other fields.
func (h head) checksum() uint32 {
	return crc32.Checksum(fmt.Appendf(nil, "%d\x00%s\x00%s", h.Format, h.Work, h.Snapshot), castagnoli)
}

func headFile(dir string) string { return filepath.Join(dir, "index.json") }

// readHead returns the head of a folder; found is false for a folder without an index.
func readHead(dir string) (h head, found bool, err error) {
	text, err := os.ReadFile(headFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return h, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if old := h.Sum == 0 && 0 < h.Format && h.Format < format; err == nil && h.Sum != h.checksum() && !old {
		return h, false, newDamagedError(headFile(dir), wrongSum)
	}
	if err == nil && (filepath.Base(h.Work) != h.Work || h.Snapshot != "" && filepath.Base(h.Snapshot) != h.Snapshot) {
		err = errors.New("it names a folder elsewhere")
	}
	if err != nil {
		return h, false, fmt.Errorf("read %s: %w", headFile(dir), err)
	}
	return h, true, nil
}

func (h head) writeFile(dir string) error {
	h.Sum = h.checksum()
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return files.Write(headFile(dir), append(text, '\n'), 0o600)
}

// Index is the writer of an index. Goroutines may share it.
type Index struct {
	reader
	dir    string
	unlock func()

	mu     sync.Mutex // of head, and one Apply at a time
	head   head
	late   bool                 // changes that are not published
	sums   sums                 // of the segments that were read, by their path in the working index
	broken error                // of a change that failed
	seen   map[string]time.Time // of hosts that were written, at most maxHosts
}

const maxHosts = 100_000

// Open opens the index of a folder for writing, and creates a missing one. The error is
// files.ErrLocked if another process has it open, ErrFormat if Rebuild must convert it.
func Open(dir string) (*Index, error) {
	x, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	if err = x.openWorkIndex(); err != nil {
		x.unlock()
		return nil, fmt.Errorf("open index %s: %w", dir, err)
	}
	return x, nil
}

// lockFolder returns an index that is locked and not open.
func lockFolder(dir string) (*Index, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "snapshots"), 0o700); err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	unlock, err := files.TryLockPID(filepath.Join(dir, "lock"))
	if errors.Is(err, files.ErrLocked) {
		err = fmt.Errorf("%w; one process writes an index: stop that one, or choose another folder with --dir", err)
	}
	if err != nil {
		return nil, fmt.Errorf("open index %s for writing: %w", dir, err)
	}
	return &Index{dir: dir, unlock: unlock, seen: map[string]time.Time{}}, nil
}

func (x *Index) openWorkIndex() error {
	h, found, err := readHead(x.dir)
	switch {
	case err != nil:
		return err
	case found:
		if err := h.checkFormat(); err != nil {
			return err
		}
		x.bleve, x.sums, err = openWork(h.workPath(x.dir))
	default:
		h = head{Format: format, Work: "work-1"}
		if x.bleve, err = createIndex(filepath.Join(x.dir, h.Work)); err == nil {
			err = h.writeFile(x.dir)
		}
	}
	if err != nil {
		return err
	}
	x.head = h
	return x.removeLeftovers()
}

// createIndex makes an empty bleve index. What a killed process left there is removed. Documents are built
// field by field, so its mapping has no fields.
func createIndex(path string) (bleve.Index, error) {
	if err := os.RemoveAll(path); err != nil {
		return nil, err
	}
	m := bleve.NewIndexMapping()
	m.DefaultMapping.Enabled = false
	return bleve.NewUsing(path, m, scorch.Name, scorch.Name, nil)
}

// removeLeftovers removes what the head does not name: parts of a rebuild or of a snapshot that was not finished,
// and old snapshots but the one before the newest.
func (x *Index) removeLeftovers() error {
	work, err := filepath.Glob(filepath.Join(x.dir, "work-*"))
	if err != nil {
		return err
	}
	snapshots, err := filepath.Glob(filepath.Join(x.dir, "snapshots", "*"))
	if err != nil {
		return err
	}
	newest, _ := strconv.Atoi(x.head.Snapshot)
	for _, path := range append(work, snapshots...) {
		base := filepath.Base(path)
		n, err := strconv.Atoi(base)
		if base == x.head.Work || err == nil && (n == newest || n == newest-1) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove old parts of the index: %w", err)
		}
	}
	return nil
}

// Close closes the index.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	defer x.unlock()
	err := x.bleve.Close()
	if err == nil {
		_, err = x.sums.completeSums(x.head.workPath(x.dir))
	}
	if err != nil {
		return fmt.Errorf("close index %s: %w", x.dir, err)
	}
	return nil
}

// Change is one transaction.
type Change struct {
	Put    []search.Document    // replaces the document of the same URL. URL and Kind are required, UUID and Host are set; Copy is HTML code to show
	Delete []string             // UUIDs
	State  map[string]SiteState // by site
	Hosts  []HostState          // hosts that were seen; those of Put are added
	Forget []string             // hosts that leave the expiry directory

	DropSites []string // sites whose state is forgotten
}

func (c Change) isEmpty() bool {
	return len(c.Put)+len(c.Delete)+len(c.State)+len(c.Hosts)+len(c.Forget)+len(c.DropSites) == 0
}

// ErrBroken means that a change could not be written, for want of space perhaps. The library is in no state to go
// on then: each later change fails with the same error until the index is opened again.
var ErrBroken = errors.New("write index")

// Apply makes a change. It is durable and complete when Apply returns nil; after an error or a kill
// there is all or nothing of it. A document that Check refuses makes it an error; others are ErrBroken.
func (x *Index) Apply(c Change) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if c.isEmpty() || x.broken != nil {
		return x.broken
	}
	b := x.bleve.NewBatch()
	hosts := map[string]time.Time{}
	for _, id := range c.Delete {
		b.Delete(id)
	}
	for _, d := range c.Put {
		if err := Check(d); err != nil {
			return err
		}
		d = completeDocument(d)
		if err := batchAdder(b)(indexEntry(d)); err != nil {
			return err
		}
		if d.Seen.After(hosts[d.Host]) {
			hosts[d.Host] = d.Seen
		}
	}
	for _, h := range c.Hosts {
		if h.Seen.After(hosts[h.Host]) {
			hosts[h.Host] = h.Seen
		}
	}
	if err := x.addHosts(b, hosts); err != nil {
		return err
	}
	for _, host := range c.Forget {
		b.Delete(hostKind + ":" + host)
	}
	for _, site := range c.DropSites {
		b.Delete(siteKind + ":" + site)
	}
	for site, state := range c.State {
		if err := batchAdder(b)(newStateEntry(siteKind, site, state, time.Time{})); err != nil {
			return err
		}
	}
	if err := x.bleve.Batch(b); err != nil {
		x.broken = fmt.Errorf("%w %s: %w", ErrBroken, x.dir, err)
		return x.broken
	}
	x.rememberHosts(hosts, c.Forget)
	x.late = x.late || len(c.Put)+len(c.Delete) > 0
	return nil
}

// Unpublished reports whether documents have changed since the last Publish.
func (x *Index) Unpublished() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.late
}

// batchAdder adds an entry to a batch.
func batchAdder(b *bleve.Batch) func(*document.Document, error) error {
	return func(e *document.Document, err error) error {
		if err == nil {
			err = b.IndexAdvanced(e)
		}
		return err
	}
}

// addHosts adds the hosts that were seen later than the expiry directory says; it removes the others
// from hosts.
func (x *Index) addHosts(b *bleve.Batch, hosts map[string]time.Time) error {
	for host, seen := range hosts {
		last, known := x.seen[host]
		if !known {
			h, err := x.readHostState(host)
			if err != nil {
				return err
			}
			last = h.Seen
		}
		if !seen.After(last) {
			hosts[host] = last
			continue
		}
		if err := batchAdder(b)(newStateEntry(hostKind, host, HostState{host, seen.UTC().Truncate(time.Second)}, seen)); err != nil {
			return err
		}
	}
	return nil
}

func (x *Index) rememberHosts(hosts map[string]time.Time, forgotten []string) {
	if len(x.seen)+len(hosts) > maxHosts {
		clear(x.seen)
	}
	maps.Copy(x.seen, hosts)
	for _, host := range forgotten {
		delete(x.seen, host)
	}
}
