package crawler

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/apps/webserver/folder"
	"hce/dc/internal/apps/webserver/packet"
	"hce/dc/internal/web/content"
)

// Run is what one crawler did.
type Run struct {
	Arrived   time.Time     `json:"arrived"`
	Duration  time.Duration `json:"duration"`
	Files     int           `json:"files"`     // public files
	Private   int           `json:"private"`   // files without write permission
	Unchanged int           `json:"unchanged"` // known by the table
	New       int           `json:"new"`       // answers of the Web Store
	Updated   int           `json:"updated"`
	Repeated  int           `json:"repeated"` // the store had them with this content
	Refused   int           `json:"refused"`
	Removed   int           `json:"removed"` // from the table
	Failed    int           `json:"failed"`  // files and folders that could not be read
	Migrated  int           `json:"migrated"`
	Error     string        `json:"error,omitempty"` // the run ended early
}

// indexing is a run at work.
type indexing struct {
	cfg       *Config
	table     *Table
	log       *slog.Logger
	migration *migration
	sender    *sender
	public    map[string]bool // URLs that stay in the table
	unread    []string        // URLs of files and folders that could not be read: what is there stays

	mu sync.Mutex // for what the answers change
	Run
}

// indexFolder indexes the folder.
func (c *Crawler) indexFolder(ctx context.Context, log *slog.Logger) Run {
	x := &indexing{cfg: &c.cfg, table: c.table, log: log, public: map[string]bool{}, Run: Run{Arrived: c.cfg.Now().UTC()}}
	log.Info("crawler begins", "folder", c.cfg.Folder.Path())
	x.migration = c.cfg.loadMigration(log, canonical.Host(c.cfg.BaseURL))
	err := c.cfg.Folder.Walk(ctx, func(name string) error { return x.indexFile(ctx, name) }, x.recordUnreadable)
	if x.sender != nil {
		err = errors.Join(err, x.sender.finishSending(ctx))
	}
	if err == nil {
		x.Removed, err = c.table.Keep(x.keepsEntry)
	}
	x.migration.askDueServers(ctx)
	x.Migrated, x.Duration = x.migration.accepted, c.cfg.Now().Sub(x.Arrived)
	if err != nil {
		x.Error = err.Error()
		log.Warn("crawler ended early; the next one goes on", "error", err)
	}
	r := x.Run
	log.Info("crawler ends", "files", r.Files, "private", r.Private, "unchanged", r.Unchanged, "new", r.New, "updated", r.Updated, "repeated", r.Repeated,
		"refused", r.Refused, "removed", r.Removed, "failed", r.Failed, "migrated", r.Migrated, "ms", r.Duration.Milliseconds())
	return r
}

// keepsEntry reports whether an entry stays in the table.
func (x *indexing) keepsEntry(url string) bool {
	return x.public[url] || slices.ContainsFunc(x.unread, func(top string) bool {
		return url == top || strings.HasPrefix(url, strings.TrimSuffix(top, "/")+"/")
	})
}

func (x *indexing) recordUnreadable(name string, err error) {
	x.Failed++
	if url, err := fileURL(x.cfg.BaseURL, name); err == nil {
		x.unread = append(x.unread, url)
	}
	x.log.Warn("cannot read", "name", name, "error", err)
}

// indexFile indexes one file. It returns only errors that end the run.
func (x *indexing) indexFile(ctx context.Context, name string) error {
	f, info, err := x.cfg.Folder.File(name)
	if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
		return nil
	}
	if err != nil {
		x.recordUnreadable(name, err)
		return nil
	}
	defer f.Close()
	if folder.Private(info) {
		x.Private++
		return nil
	}
	url, err := fileURL(x.cfg.BaseURL, name)
	if err != nil {
		x.recordUnreadable(name, err)
		return nil
	}
	x.Files++
	x.public[url] = true
	known := x.table.Sum(url)
	d, sum, hosts, err := readDocument(ctx, f, info, url, name, known)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		x.recordUnreadable(name, err)
		return nil
	}
	x.migration.offerHosts(hosts)
	if known == sum {
		x.Unchanged++
		return nil
	}
	return x.sendDocument(ctx, d, sum, name)
}

// readDocument returns the document of a file, the MD5 of exactly the bytes that it describes, and the hosts that
// it links to. Of a file with the known MD5 it makes no document.
func readDocument(ctx context.Context, f *os.File, info fs.FileInfo, url, name, known string) (d packet.Document, sum string, hosts []string, err error) {
	d = packet.Document{URL: url, Modified: info.ModTime().UTC().Truncate(time.Second)}
	kind, err := folder.Kind(f, name)
	if err != nil {
		return d, "", nil, err
	}
	h := md5.New()
	if content.IsHTML(content.Normal(kind)) && info.Size() <= packet.MaxHTML {
		body, err := io.ReadAll(io.LimitReader(f, packet.MaxHTML))
		if err != nil {
			return d, "", nil, err
		}
		_, _ = h.Write(body)
		d.Size, sum = int64(len(body)), hex.EncodeToString(h.Sum(nil))
		if page, hosts, ok := analysePage(analyseFile(d, name), body, sum != known); ok {
			return page, sum, hosts, nil
		}
	} else if d.Size, err = io.Copy(h, reader{ctx, f}); err != nil {
		return d, "", nil, err
	}
	return analyseFile(d, name), hex.EncodeToString(h.Sum(nil)), nil, nil
}

// reader reads until a context ends.
type reader struct {
	ctx context.Context
	io.Reader
}

// Read reads the next part.
func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}

// sendDocument sends a document to the Web Store, which is connected when the first one is sent.
func (x *indexing) sendDocument(ctx context.Context, d packet.Document, sum, name string) error {
	frame, err := packet.Encode(d)
	if errors.Is(err, packet.ErrSize) { // a page of control characters
		frame, err = packet.Encode(analyseFile(packet.Document{URL: d.URL, Size: d.Size, Modified: d.Modified}, name))
	}
	if err != nil {
		x.Failed++
		x.log.Warn("cannot make a packet", "url", d.URL, "error", err)
		return nil
	}
	if x.sender == nil || x.sender.endedIdle() {
		if x.sender, err = connectSender(ctx, x.cfg.DialStore, x.cfg.Store); err != nil {
			return err
		}
	}
	return x.sender.sendPacket(ctx, frame, func(kind packet.Kind, a packet.Answer) error { return x.recordAnswer(d.URL, sum, kind, a) })
}

// recordAnswer notes the answer to a packet: a stored file enters the table.
func (x *indexing) recordAnswer(url, sum string, kind packet.Kind, a packet.Answer) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if kind == packet.Refused {
		x.Refused++
		x.log.Warn("the Web Store refused a document", "url", url, "reason", a.Error)
		return nil
	}
	switch a.Outcome {
	case packet.New:
		x.New++
	case packet.Updated:
		x.Updated++
	default:
		x.Repeated++
	}
	return x.table.Set(url, sum)
}
