package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hce/dc/internal/files"
	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/segments"
	"hce/dc/internal/storage/sqlstore"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/schema"
)

const (
	packURLs     = 100     // URLs whose rows are in memory at the same time
	unpackBytes  = 8 << 20 // of contents that wait for a sync
	unpackValues = 1000    // contents that wait for a sync
)

// HostsPack writes the rows that leave in a step, with their contents, to a file for each node that
// gets some. A new node gets all sites in the first step. No batch and no other operation may change
// rows at the same time. A damaged content is left out with a line in the log, and counted; its row leaves as
// one that the new owner processes or fetches again. Files of earlier steps are removed.
func (repo *Repository) HostsPack(ctx context.Context, r cluster.HostsPackRequest) (cluster.HostsPacked, error) {
	answer := cluster.HostsPacked{Packs: []cluster.HostsPackFile{}}
	var err error
	if answer.Done, err = repo.HostsLeft(ctx, r.Move); err != nil || answer.Done {
		return answer, err
	}
	if err := os.MkdirAll(repo.Moves, 0o700); err != nil {
		return answer, fmt.Errorf("make the folder of moves: %w", err)
	}
	if err := repo.removeOldPacks(r.Move); err != nil {
		return answer, err
	}
	p := packing{repo: repo, move: r.Move, writers: map[string]*packWriter{}}
	defer p.abortAll()
	if err := p.run(ctx); err != nil {
		return answer, fmt.Errorf("pack group %d of epoch %d: %w", r.Move.Moved, r.Move.Epoch, err)
	}
	for _, to := range r.Move.Members {
		w := p.writers[to]
		if w == nil {
			continue
		}
		size, err := w.close()
		if err != nil {
			return answer, err
		}
		answer.Packs = append(answer.Packs, cluster.HostsPackFile{To: to, File: filepath.Base(w.path), Rows: w.rows, Bytes: size, Damaged: w.damaged})
	}
	return answer, nil
}

func packName(m cluster.HostsMove, to string) string {
	return fmt.Sprintf("%d-%d-%s-%s.pack", m.Epoch, m.Moved, m.Self, to)
}

// removeOldPacks removes the files of earlier steps. A faster node may have sent those of a later one.
func (repo *Repository) removeOldPacks(m cluster.HostsMove) error {
	entries, err := os.ReadDir(repo.Moves)
	for _, e := range entries {
		var epoch int64
		var group int
		if n, _ := fmt.Sscanf(e.Name(), "%d-%d-", &epoch, &group); n < 2 || !strings.Contains(e.Name(), ".pack") {
			continue
		}
		if epoch < m.Epoch || epoch == m.Epoch && group < m.Moved {
			err = errors.Join(err, files.IgnoreMissing(os.Remove(filepath.Join(repo.Moves, e.Name()))))
		}
	}
	if err != nil {
		return fmt.Errorf("remove packs of earlier steps: %w", err)
	}
	return nil
}

// packing is the state of one HostsPack.
type packing struct {
	repo    *Repository
	move    cluster.HostsMove
	writers map[string]*packWriter // by target
}

func (p *packing) abortAll() {
	for _, w := range p.writers {
		w.abort()
	}
}

// newNodes are the members that have no sites yet. Only a node that had them before can send them.
func (p *packing) newNodes() (list []string) {
	if p.move.Moved > 0 || !slices.Contains(p.move.Previous, p.move.Self) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.move.Members), func(name string) bool { return slices.Contains(p.move.Previous, name) })
}

func (p *packing) run(ctx context.Context) error {
	sites, err := p.repo.SiteIDs(ctx)
	if err != nil {
		return err
	}
	slices.Sort(sites)
	fresh := p.newNodes()
	for _, to := range fresh {
		w, err := p.writerFor(to)
		if err != nil {
			return err
		}
		proxies, err := p.repo.AllProxies(ctx)
		if err == nil && len(proxies) > 0 {
			err = w.writeValue(packed{Proxies: proxies})
		}
		if err != nil {
			return err
		}
	}
	for _, site := range sites {
		for _, to := range fresh {
			if _, err := p.writerOf(ctx, to, site); err != nil {
				return err
			}
		}
		if err := p.packSite(ctx, site); err != nil {
			return fmt.Errorf("site %s: %w", site, err)
		}
	}
	return nil
}

func (p *packing) writerFor(to string) (*packWriter, error) {
	if w := p.writers[to]; w != nil {
		return w, nil
	}
	w, err := newPackWriter(filepath.Join(p.repo.Moves, packName(p.move, to)), packHeader{
		Version: packVersion, Epoch: p.move.Epoch, Group: p.move.Moved, From: p.move.Self, To: to, New: slices.Contains(p.newNodes(), to)})
	if w != nil {
		p.writers[to] = w
	}
	return w, err
}

// writerOf returns the writer of a target after it has written a site.
func (p *packing) writerOf(ctx context.Context, to, site string) (*packWriter, error) {
	w, err := p.writerFor(to)
	if err != nil || w.site == site {
		return w, err
	}
	moved, err := p.repo.MovedSite(ctx, site)
	if err != nil || moved == nil {
		return w, err
	}
	w.site = site
	return w, w.writeValue(packed{Site: moved})
}

func (p *packing) packSite(ctx context.Context, site string) error {
	for after, end := "", false; !end; end = after == "" {
		var list []sqlstore.LeavingURL
		var err error
		if list, after, err = p.repo.HostsLeaving(ctx, p.move, site, after); err != nil {
			return err
		}
		for _, same := range wire.Groups(list, func(l sqlstore.LeavingURL) string { return l.To }) {
			w, err := p.writerOf(ctx, same[0].To, site)
			if err != nil {
				return err
			}
			for part := range slices.Chunk(same, packURLs) {
				md5s := make([]string, len(part))
				for i, l := range part {
					md5s[i] = l.MD5
				}
				if err := p.packURLs(ctx, w, site, md5s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// packURLs writes rows and their contents.
func (p *packing) packURLs(ctx context.Context, w *packWriter, site string, md5s []string) error {
	rows, err := p.repo.MovedURLs(ctx, site, md5s)
	if err != nil {
		return err
	}
	versions, err := p.repo.Raw.Lists(ctx, site, md5s)
	for i := 0; i < len(rows) && err == nil; i++ {
		row := &rows[i].Row
		var damaged bool
		if damaged, err = p.repo.renewDamaged(ctx, row, versions[row.URLMd5]); damaged {
			w.damaged++
		}
		if err == nil {
			err = w.writeValue(packed{URL: &rows[i]})
		}
	}
	if err != nil {
		return err
	}
	for _, md5 := range md5s {
		for _, v := range versions[md5] {
			if err := p.packRawContent(ctx, w, v); err != nil {
				return err
			}
		}
	}
	for _, md5 := range md5s {
		if err := p.packEntry(ctx, w, site, md5); err != nil {
			return err
		}
	}
	return nil
}

// renewDamaged makes a row that is crawled or processed due again if its newest raw content or its processed one is
// damaged, as Repair does. It changes only row.
func (repo *Repository) renewDamaged(ctx context.Context, row *wire.URL, versions []rawfiles.Version) (damaged bool, err error) {
	if row.Crawled == 0 || row.Status != wire.StatusCrawled && row.Status != wire.StatusProcessed {
		return false, nil
	}
	raw := noRaw
	for _, v := range slices.Backward(versions) { // the last one is the newest
		if v.Kind != rawfiles.Raw {
			continue
		}
		raw = wholeRaw
		if _, err := repo.Raw.Read(ctx, v); errors.Is(err, segments.ErrDamaged) {
			raw = damagedRaw
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		break
	}
	damaged = raw == damagedRaw
	if !damaged && hasContent(row) {
		_, _, err := repo.Contents.Get(ctx, row.SiteID, row.URLMd5)
		if damaged = err != nil && wire.IsDamage(err.Error()); err != nil && !damaged {
			return false, err
		}
	}
	if !damaged {
		return false, nil
	}
	status := int64(wire.StatusNew)
	if raw == wholeRaw {
		status = wire.StatusCrawled
	}
	schema.Apply(row, wire.URLColumns, dueAgain(status), "")
	return true, nil
}

// packEntry writes the processed content of a URL, if there is one.
func (p *packing) packEntry(ctx context.Context, w *packWriter, site, md5 string) error {
	e, found, err := p.repo.Contents.Get(ctx, site, md5)
	switch {
	case err != nil && wire.IsDamage(err.Error()):
		p.repo.Log.Error("a processed content is damaged and does not move", "site", site, "url", md5, "error", err)
		return nil
	case err != nil || !found:
		return err
	}
	return w.writeValue(packed{Entry: &packedEntry{site, e}})
}

func (p *packing) packRawContent(ctx context.Context, w *packWriter, v rawfiles.Version) error {
	data, err := p.repo.readRawContent(ctx, v)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, segments.ErrDamaged):
		p.repo.Log.Error("a raw content is damaged and does not move", "site", v.Site, "url", v.MD5, "error", err)
		return nil
	case err != nil:
		return err
	}
	return w.writeValue(packed{Raw: &packedRaw{Site: v.Site, MD5: v.MD5, Name: v.Name, Time: v.Time, Kind: v.Kind, Data: data}})
}

// HostsUnpack stores a pack of another node: first the contents, which a repetition replaces, then
// the rows and the note of it in one transaction. A row that exists is replaced, and so are its
// contents. The file is removed then. Without a file it only makes the note.
func (repo *Repository) HostsUnpack(ctx context.Context, r cluster.HostsUnpackRequest) (moved cluster.HostsMoved, err error) {
	if r.File == "" {
		return repo.HostsArrive(ctx, r, func(*sqlstore.Arriving) error { return nil })
	}
	path := filepath.Join(repo.Moves, r.File)
	came, err := repo.HostsCame(ctx, r)
	if err != nil {
		return moved, err
	}
	if !came {
		if moved, err = repo.unpackHosts(ctx, r, path); err != nil {
			return cluster.HostsMoved{}, fmt.Errorf("unpack %s: %w", r.File, err)
		}
	}
	moved.Repeated = moved.Repeated || came
	return moved, files.IgnoreMissing(os.Remove(path))
}

func (repo *Repository) unpackHosts(ctx context.Context, r cluster.HostsUnpackRequest, path string) (moved cluster.HostsMoved, err error) {
	p, err := openPack(path)
	if err != nil {
		return moved, err
	}
	defer p.file.Close()
	place, err := repo.Placement()
	if err != nil {
		return moved, err
	}
	if p.Epoch != r.Epoch || p.Group != r.Group || p.From != r.From || place.Active() && p.To != place.Self {
		return moved, fmt.Errorf("%w: it is group %d of epoch %d from %s to %s", errPack, p.Group, p.Epoch, p.From, p.To)
	}
	// A pending deletion must not remove the contents.
	if err := repo.EmptyTrash(ctx); err != nil {
		return moved, err
	}
	u := unpacking{repo: repo, stage: repo.Raw.Stage()}
	defer func() { u.stage.Abort() }() // commit replaces it
	if err = p.forEachValue(func(one packed) error { return u.unpackValue(ctx, one) }); err == nil {
		err = u.commitPending(ctx)
	}
	if err != nil {
		return moved, err
	}
	return repo.HostsArrive(ctx, r, func(a *sqlstore.Arriving) error {
		return p.forEachValue(func(one packed) error {
			switch {
			case one.Site != nil:
				return a.Site(one.Site, p.New)
			case one.URL != nil:
				return a.URL(*one.URL)
			}
			return a.Proxies(one.Proxies)
		})
	})
}

// unpacking stores the contents of a pack, in groups with one sync.
type unpacking struct {
	repo    *Repository
	stage   *segments.Stage
	site    string // of md5s and entries
	md5s    []string
	entries []wire.Entry
	values  int
	bytes   int
}

func (u *unpacking) unpackValue(ctx context.Context, one packed) error {
	switch {
	case one.Site != nil:
		err := u.commitPending(ctx)
		u.site = one.Site.Site.ID
		return err
	case one.URL != nil:
		u.md5s = append(u.md5s, one.URL.Row.URLMd5)
		if len(u.md5s) < unpackValues {
			return nil
		}
		return u.dropOlder(ctx)
	case one.Raw == nil && one.Entry == nil:
		return nil
	}
	if err := u.dropOlder(ctx); err != nil {
		return err
	}
	if raw := one.Raw; raw != nil {
		v := rawfiles.Version{Site: raw.Site, MD5: raw.MD5, Name: raw.Name, Time: raw.Time, Kind: raw.Kind}
		if err := u.stage.PutVersion(v, raw.Data); err != nil {
			return err
		}
		u.bytes += len(raw.Data)
	} else {
		u.entries = append(u.entries, one.Entry.Entry)
		u.bytes += len(one.Entry.Entry.Data)
	}
	if u.values++; u.values < unpackValues && u.bytes < unpackBytes {
		return nil
	}
	return u.commitPending(ctx)
}

// dropOlder removes the contents of rows of this node that will be replaced.
func (u *unpacking) dropOlder(ctx context.Context) error {
	known, err := u.repo.KnownURLs(ctx, u.site, u.md5s)
	if wire.CodeOf(err) == wire.CodeNotFound {
		err = nil
	}
	older := slices.DeleteFunc(u.md5s, func(md5 string) bool { return !known[md5] })
	if u.md5s = u.md5s[:0]; err != nil || len(older) == 0 {
		return err
	}
	return errors.Join(u.repo.Raw.DeleteURLs(ctx, u.site, older), u.repo.Contents.Delete(ctx, u.site, older...))
}

// commitPending stores the contents that wait.
func (u *unpacking) commitPending(ctx context.Context) error {
	err := u.dropOlder(ctx)
	if err == nil {
		err = u.stage.Commit(ctx)
	}
	if err != nil {
		return fmt.Errorf("store raw contents: %w", err)
	}
	if len(u.entries) > 0 {
		if _, err := u.repo.Contents.PutAll(ctx, u.site, u.entries); err != nil {
			return fmt.Errorf("store processed contents of site %s: %w", u.site, err)
		}
	}
	u.stage, u.entries, u.values, u.bytes = u.repo.Raw.Stage(), nil, 0, 0
	return nil
}

// HostsDrop deletes what left in a step, when the receivers have stored it, and removes the files of
// HostsPack. The caller empties the trash.
func (repo *Repository) HostsDrop(ctx context.Context, r cluster.HostsPackRequest) (cluster.HostsMoved, error) {
	moved, err := repo.Store.HostsDrop(ctx, r)
	for _, to := range r.Move.Members {
		if err == nil {
			err = files.IgnoreMissing(os.Remove(filepath.Join(repo.Moves, packName(r.Move, to))))
		}
	}
	return moved, err
}
