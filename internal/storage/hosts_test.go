package storage

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqldb/dbtest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/placement"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
)

// movesWorld are the stores of a node of a cluster, in a folder. Its clock stands still.
type movesWorld struct {
	testing.TB
	Config
	name string
}

var (
	movesNow   = time.Date(2026, 1, 9, 12, 0, 0, 0, time.UTC)
	movesSites = []string{"s1", "s2", "S3"}
)

// movesPlaces are the kinds of stores of the tests. The two nodes of a move may differ.
var movesPlaces = map[string][2]func(*Config){
	"segments and key-value files": {func(*Config) {}, func(*Config) {}},
	"raw files":                    {func(c *Config) { c.RawFiles = true }, func(c *Config) { c.RawFiles = true }},
	"from raw files to segments":   {func(c *Config) { c.RawFiles = true }, func(c *Config) { c.InSQL = true }},
	"from segments to raw files":   {func(c *Config) { c.InSQL = true }, func(c *Config) { c.RawFiles = true }},
}

func newMovesWorld(t testing.TB, name string, members []string, change func(*Config)) movesWorld {
	folder := t.TempDir()
	w := movesWorld{t, Config{DB: dbtest.Config(t, backend), RawDir: filepath.Join(folder, "raw"), KeyDir: filepath.Join(folder, "keys"),
		Moves: filepath.Join(folder, "moves"), Placement: filepath.Join(folder, "placement.json"), MaxFile: 1 << 20, NoSync: true, StatFreq: true,
		Now: func() time.Time { return movesNow }}, name}
	w.DB.Synchronous, w.DB.Path = "NORMAL", cmp.Or(w.DB.Path, filepath.Join(folder, "dc.db")) // the lock of the trash is next to it
	change(&w.Config)
	w.place(placement.Placement{Epoch: 1, Members: members})
	return w
}

func (w movesWorld) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%s: %v", w.name, err)
	}
}

// place writes the placement of the node.
func (w movesWorld) place(p placement.Placement) {
	p.Self = w.name
	raw, err := json.Marshal(p)
	w.must(err)
	w.must(os.WriteFile(w.Placement, raw, 0o600))
}

func (w movesWorld) open() (*Repository, func()) {
	w.Helper()
	repo, closeAll, err := Open(w.Context(), w.Config, slog.New(slog.DiscardHandler))
	w.must(err)
	return repo, closeAll
}

// with runs do with open stores.
func (w movesWorld) with(do func(*Repository)) {
	w.Helper()
	repo, closeAll := w.open()
	defer closeAll()
	do(repo)
}

func movesURL(host, page int) string { return fmt.Sprintf("http://host%d.test/%d", host, page) }

const (
	movesHosts = 12
	movesPages = 9
)

// fill makes sites with a root, filters, properties and attributes, and rows of some hosts in all
// states with contents.
func (w movesWorld) fill() {
	w.with(func(repo *Repository) {
		for i, site := range movesSites {
			_, err := repo.SiteNew(w.Context(), wire.SiteNewRequest{ID: site, MoveURLs: true,
				Site: schema.Patch{"Id": site, "Description": "site " + site, "Priority": int64(i), "MaxURLs": int64(1000)},
				SiteLists: wire.SiteLists{
					Filters:    []schema.Patch{{"Pattern": "a", "Subject": "s", "Stage": int64(1)}, {"Pattern": "b", "Subject": "t"}},
					Properties: []schema.Patch{{"Name": "STATS_LOG_ENABLED", "Value": "1"}, {"Name": "x", "Value": "y", "URLMd5": urlkey.Of(movesURL(1, 1))}},
					URLs:       []schema.Patch{rootOf(movesURL(i, 0)), rootOf(movesURL(i+4, 0))},
				}})
			w.must(err)
			_, err = repo.AttributeSet(w.Context(), []wire.AttributeRequest{{SiteID: site, Name: textOf("of"), Value: textOf(site)}})
			w.must(err)
			w.fillSite(repo, site)
		}
		_, err := repo.ProxyNew(w.Context(), []wire.ProxyRequest{{SiteID: "s1", Host: "proxy.test:1", Row: schema.Patch{"Priority": int64(3)}}})
		w.must(err)
	})
}

func rootOf(url string) schema.Patch { return schema.Patch{"URL": url, "URLMd5": urlkey.Of(url)} }

func textOf(s string) *string { return &s }

func (w movesWorld) fillSite(repo *Repository, site string) {
	first, second := map[string][]wire.File{}, map[string][]wire.File{}
	var entries []wire.Entry
	var list []wire.URLNewRequest
	for host := range movesHosts {
		for page := 1; page < movesPages; page++ {
			url := movesURL(host, page)
			n := int64(len(list))
			row := schema.Patch{"Site_Id": site, "URL": url, "URLMd5": urlkey.Of(url), "ParentMd5": urlkey.Of(movesURL(0, 0)), "Freq": n,
				"CDate": time.Date(2026, 1, 1, 0, 0, int(n), 0, time.UTC).Format(schema.DateLayout), "UDate": "2026-01-02 03:04:05", "Depth": n % 3}
			text := []byte(strings.Repeat(site+url+" ", 20))
			switch page % 8 {
			case 1: // crawled, two versions
				maps.Copy(row, schema.Patch{"Status": int64(4), "Crawled": int64(2), "Size": n + 1, "CrawlingTime": int64(7), "ContentType": "text/html", "HTTPCode": int64(200)})
			case 2: // processed
				maps.Copy(row, schema.Patch{"Status": int64(7), "Crawled": int64(1), "Processed": int64(1), "TagsCount": int64(3), "Size": n, "LastModified": "2026-01-01 00:00:00", "PDate": "2026-01-03 01:00:00"})
				entries = append(entries, wire.Entry{ID: urlkey.Of(url), Data: append([]byte("processed "), text...), CDate: movesNow.Add(-time.Hour)})
			case 3: // failed
				maps.Copy(row, schema.Patch{"Status": int64(4), "State": int64(2), "Crawled": int64(1), "ErrorMask": int64(1) << (n % 40), "HTTPTimeout": 1.5})
			case 4:
				row["ClassifierMask"] = int64(1) << 60
			}
			if page%8 < 3 {
				first[urlkey.Of(url)] = []wire.File{{Type: wire.ContentRaw, Data: text}, {Type: int(rawfiles.Headers), Data: []byte("h: 1")}}
			}
			if page%8 == 1 {
				second[urlkey.Of(url)] = []wire.File{{Type: wire.ContentRaw, Data: append([]byte("second "), text...)}}
			}
			list = append(list, wire.URLNewRequest{Row: row, SiteSelect: wire.SelectNone, Attributes: []wire.Attribute{{Name: "url", Value: url}, {Name: "n", Value: fmt.Sprint(n)}}})
		}
	}
	answer, _, err := repo.URLNew(w.Context(), list)
	w.must(err)
	if answer.ErrorMessage != "" {
		w.Fatal(answer.ErrorMessage)
	}
	w.must(repo.PutRaw(w.Context(), site, first, movesNow.Add(-48*time.Hour)))
	w.must(repo.PutRaw(w.Context(), site, second, movesNow.Add(-24*time.Hour)))
	_, err = repo.Contents.PutAll(w.Context(), site, entries)
	w.must(err)
	w.label(repo, site, urlkey.Of(movesURL(3, 5)))
	var held []wire.URL
	for host := range movesHosts {
		url := movesURL(host, 6)
		held = append(held, wire.URL{SiteID: site, URL: url, URLMd5: urlkey.Of(url)})
	}
	_, err = repo.MarkCrawling(w.Context(), site, 77, held)
	w.must(err)
	_, err = repo.MarkProcessing(w.Context(), site, 78, []string{urlkey.Of(movesURL(2, 1)), urlkey.Of(movesURL(7, 1))})
	w.must(err)
	_, _, err = repo.URLHeld(w.Context(), wire.URLReturnRequest{Sites: []string{site}, BatchID: 77, Fault: true, Keep: true})
	w.must(err)
}

// label adds a content with a name of a client, which is older than the others.
func (w movesWorld) label(repo *Repository, site, md5 string) {
	st := repo.Raw.Stage()
	defer st.Abort()
	w.must(st.PutVersion(rawfiles.Version{Site: site, MD5: md5, Name: "of-client", Time: movesNow.Add(-72 * time.Hour), Kind: rawfiles.Meta}, []byte("labelled")))
	w.must(st.Commit(w.Context()))
}

// keys returns the keys of the rows of a site.
func (w movesWorld) keys(repo *Repository, site string) (keys []string) {
	selection := repo.Select("test", site, wire.Criterion{Where: "1 = 1"})
	for {
		md5s, err := selection.Next(w.Context())
		w.must(err)
		if len(md5s) == 0 {
			return keys
		}
		keys = append(keys, md5s...)
	}
}

// dump is all of the node, by site and key: rows as URL_RETURN releases them, with what belongs to them.
func (w movesWorld) dump() map[string]string {
	w.Helper()
	all := map[string]string{}
	w.with(func(repo *Repository) {
		ids, err := repo.SiteIDs(w.Context())
		w.must(err)
		for _, site := range ids {
			keys := w.keys(repo, site)
			rows, err := repo.MovedURLs(w.Context(), site, keys)
			w.must(err)
			versions, err := repo.Raw.Lists(w.Context(), site, keys)
			w.must(err)
			for _, u := range rows {
				md5 := u.Row.URLMd5
				text, err := json.Marshal(u)
				w.must(err)
				line := string(text)
				for _, v := range versions[md5] {
					data, err := repo.Raw.Read(w.Context(), v)
					w.must(err)
					line += fmt.Sprintf("\nraw %s %s %d %x", v.Name, v.Time.UTC().Format(time.DateTime), v.Kind, sha256.Sum256(data))
				}
				if e, found, err := repo.Contents.Get(w.Context(), site, md5); err != nil {
					w.Fatal(err)
				} else if found {
					line += fmt.Sprintf("\nprocessed %s %x", e.CDate, sha256.Sum256(e.Data))
				}
				all[site+" "+u.Row.URL] = line
			}
		}
	})
	return all
}

// counters checks that the counters of all sites are those of their rows, and returns their sums.
func (w movesWorld) check() {
	w.Helper()
	w.with(func(repo *Repository) {
		ids, err := repo.SiteIDs(w.Context())
		w.must(err)
		for _, id := range ids {
			before, err := repo.Site(w.Context(), id)
			w.must(err)
			_, err = repo.Recalculate(w.Context(), []wire.RecalcRequest{{SiteID: id}})
			w.must(err)
			after, err := repo.Site(w.Context(), id)
			w.must(err)
			if a, b := asJSON(w, before), asJSON(w, after); a != b {
				w.Errorf("%s: counters of site %s\n%s\nare of the rows\n%s", w.name, id, a, b)
			}
		}
	})
	var out, faults strings.Builder
	if err := CheckRaw(w.Context(), w.Config, false, &out, &faults, slog.New(slog.DiscardHandler)); err != nil {
		w.Errorf("%s: %v\n%s", w.name, err, faults.String())
	}
}

func asJSON(t testing.TB, v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// change is a change of members and the nodes that take part in it, by name.
type change struct {
	testing.TB
	nodes map[string]movesWorld
	move  cluster.HostsMove // of no node

	damaged int64 // pages with damaged contents that were packed
}

func newChange(t testing.TB, epoch int64, previous, members []string, groups int, nodes ...movesWorld) *change {
	c := &change{TB: t, nodes: map[string]movesWorld{}, move: cluster.HostsMove{Placement: placement.Placement{Members: previous}.Begun(epoch, members, groups)}}
	for _, w := range nodes {
		c.nodes[w.name] = w
		w.place(c.move.Placement)
	}
	return c
}

// of is the step as a node sees it.
func (c *change) of(w movesWorld) cluster.HostsMove {
	m := c.move
	m.Self = w.name
	return m
}

// step moves the next group. Each operation runs twice, as after a kill.
func (c *change) step() {
	c.Helper()
	packs := map[string]map[string]cluster.HostsPackFile{}
	for _, w := range c.nodes {
		w.with(func(repo *Repository) {
			packs[w.name] = map[string]cluster.HostsPackFile{}
			for range 2 {
				packed, err := repo.HostsPack(c.Context(), cluster.HostsPackRequest{Move: c.of(w)})
				w.must(err)
				for _, p := range packed.Packs {
					packs[w.name][p.To] = p
				}
			}
		})
	}
	for from, files := range packs {
		for to, p := range files {
			c.send(c.nodes[from], c.nodes[to], p)
		}
	}
	for _, w := range c.nodes {
		w.with(func(repo *Repository) {
			r := cluster.HostsPackRequest{Move: c.of(w)}
			moved, err := repo.HostsDrop(c.Context(), r)
			w.must(err)
			w.must(repo.EmptyTrash(c.Context()))
			rows := int64(0)
			for _, p := range packs[w.name] {
				rows += p.Rows
				c.damaged += p.Damaged
			}
			if moved.Rows != rows || moved.Repeated {
				c.Errorf("dropped %+v; want %d rows", moved, rows)
			}
			if again, err := repo.HostsDrop(c.Context(), r); err != nil || again != (cluster.HostsMoved{Repeated: true}) {
				c.Errorf("again: %+v, %v", again, err)
			}
			if packed, err := repo.HostsPack(c.Context(), r); err != nil || !packed.Done || len(packed.Packs) > 0 {
				c.Errorf("packed after the end: %+v, %v", packed, err)
			}
		})
		left, err := os.ReadDir(w.Moves)
		if err != nil || len(left) > 0 {
			c.Errorf("%s: files are left: %v, %v", w.name, left, err)
		}
	}
	c.move.Placement = c.move.Next()
	for _, w := range c.nodes {
		w.place(c.move.Placement)
	}
}

// send copies a pack to its receiver, which unpacks it.
func (c *change) send(from, to movesWorld, p cluster.HostsPackFile) {
	c.Helper()
	data, err := os.ReadFile(filepath.Join(from.Moves, p.File))
	c.Must(err)
	if int64(len(data)) != p.Bytes {
		c.Errorf("pack %+v has %d bytes", p, len(data))
	}
	r := cluster.HostsUnpackRequest{Epoch: c.move.Epoch, Group: c.move.Moved, From: from.name, File: p.File}
	path := filepath.Join(to.Moves, p.File)
	to.with(func(repo *Repository) {
		to.must(os.WriteFile(path, data[:len(data)-1], 0o600))
		if _, err := repo.HostsUnpack(c.Context(), r); !errors.Is(err, errPack) {
			c.Errorf("a torn pack: %v", err)
		}
		changed := slices.Clone(data)
		changed[len(data)/2] ^= 1
		to.must(os.WriteFile(path, changed, 0o600))
		if _, err := repo.HostsUnpack(c.Context(), r); !errors.Is(err, errPack) {
			c.Errorf("a changed pack: %v", err)
		}
		to.must(os.WriteFile(path, data, 0o600))
		if moved, err := repo.HostsUnpack(c.Context(), r); err != nil || moved != (cluster.HostsMoved{Rows: p.Rows}) {
			c.Fatalf("unpacked %+v, %v; want %d rows", moved, err, p.Rows)
		}
		if moved, err := repo.HostsUnpack(c.Context(), r); err != nil || moved != (cluster.HostsMoved{Repeated: true}) {
			c.Errorf("again: %+v, %v", moved, err)
		}
	})
}

func (c *change) Must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// union checks that the nodes together have what one had, each host at its owner.
func (c *change) union(want map[string]string) {
	c.Helper()
	all := map[string]string{}
	for _, w := range c.nodes {
		for key, line := range w.dump() {
			if _, twice := all[key]; twice {
				c.Errorf("%s is on two nodes", key)
			}
			all[key] = line
			_, url, _ := strings.Cut(key, " ")
			if owner := c.move.OwnerOfURL(url); owner != w.name {
				c.Errorf("%s is on %s, not on %s", key, w.name, owner)
			}
		}
		w.check()
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if all[key] != want[key] {
			c.Errorf("%s is\n%s\nwant\n%s", key, all[key], want[key])
			return
		}
	}
	if len(all) != len(want) {
		c.Errorf("%d rows, want %d", len(all), len(want))
	}
}

func TestHostsMoveToNewNodeAndBack(t *testing.T) {
	for name, kinds := range movesPlaces {
		t.Run(name, func(t *testing.T) {
			one, two := []string{"n1"}, []string{"n1", "n2"}
			a, b := newMovesWorld(t, "n1", one, kinds[0]), newMovesWorld(t, "n2", one, kinds[1])
			a.fill()
			want := a.dump()
			c := newChange(t, 2, one, two, 3, a, b)
			for c.move.Groups > 0 {
				c.step()
				c.union(want)
			}
			if n := len(b.dump()); n == 0 || n == len(want) {
				t.Errorf("%d of %d rows are on the new node", n, len(want))
			}
			b.sameSites(a)
			c = newChange(t, 3, two, one, 2, a, b)
			for c.move.Groups > 0 {
				c.step()
				c.union(want)
			}
		})
	}
}

// A page with damaged contents moves without them: the new owner fetches or processes it again, and the node that packs it
// counts it. All others move whole.
func TestHostsMoveDamaged(t *testing.T) {
	one, two := []string{"n1"}, []string{"n1", "n2"}
	a, b := newMovesWorld(t, "n1", one, func(*Config) {}), newMovesWorld(t, "n2", one, func(*Config) {})
	a.fill()
	want := a.dump()
	status := map[string]int64{} // of the rows with damaged contents, after the move
	for host := range movesHosts {
		fetched, processed := movesURL(host, 1), movesURL(host, 2)
		a.flip(filepath.Join(a.RawDir, ".segments", "*.warc"), "second s1"+fetched+" ")
		a.flip(filepath.Join(a.KeyDir, "s1.db"), "processed s1"+processed+" ")
		status["s1 "+fetched], status["s1 "+processed] = wire.StatusNew, wire.StatusCrawled
	}
	c := newChange(t, 2, one, two, 2, a, b)
	for c.move.Groups > 0 {
		c.step()
	}
	n := int64(0)
	for key, line := range b.dump() {
		due, damaged := status[key]
		switch {
		case !damaged && line != want[key]:
			t.Errorf("%s is\n%s\nwant\n%s", key, line, want[key])
		case damaged && !strings.Contains(line, fmt.Sprintf(`"status":%d,`, due)):
			t.Errorf("%s is\n%s\nwant status %d", key, line, due)
		case damaged:
			n++
		}
	}
	if n == 0 || c.damaged != n {
		t.Errorf("%d damaged pages are counted, %d have moved", c.damaged, n)
	}
	b.check()
}

// flip changes a bit of a text wherever a file of the node has it: a database keeps copies in pages that it does not use.
func (w movesWorld) flip(pattern, text string) {
	w.Helper()
	names, err := filepath.Glob(pattern)
	w.must(err)
	for _, name := range names {
		all, err := os.ReadFile(name)
		w.must(err)
		n := 0
		for at := bytes.Index(all, []byte(text)); at >= 0; at = bytes.Index(all, []byte(text)) {
			all[at+len(text)/2] ^= 1
			n++
		}
		if n > 0 {
			w.must(os.WriteFile(name, all, 0o600))
			return
		}
	}
	w.Fatalf("no file %s has %q", pattern, text)
}

// sameSites checks that a node has the sites and proxies of another one, without counters.
func (w movesWorld) sameSites(other movesWorld) {
	w.Helper()
	texts := map[string]string{}
	for _, node := range []movesWorld{w, other} {
		node.with(func(repo *Repository) {
			ids, err := repo.SiteIDs(w.Context())
			w.must(err)
			slices.Sort(ids)
			for _, id := range ids {
				site, err := repo.MovedSite(w.Context(), id)
				w.must(err)
				s := &site.Site
				s.Resources, s.Contents, s.CollectedURLs, s.NewURLs, s.DeletedURLs, s.Errors, s.ErrorMask, s.Size = 0, 0, 0, 0, 0, 0, 0, 0
				s.AVGSpeed, s.AVGSpeedCounter, s.CrawlingURLs, s.ProcessingURLs = 0, 0, 0, 0
				texts[node.name] += asJSON(w, site) + "\n"
			}
			proxies, err := repo.AllProxies(w.Context())
			w.must(err)
			texts[node.name] += asJSON(w, proxies)
		})
	}
	if texts[w.name] != texts[other.name] {
		w.Errorf("sites of %s\n%s\nof %s\n%s", w.name, texts[w.name], other.name, texts[other.name])
	}
}
