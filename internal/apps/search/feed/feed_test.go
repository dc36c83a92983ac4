package feed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/apps/search"
	"hce/dc/internal/apps/search/index"
	"hce/dc/internal/apps/webserver/packet"
	"hce/dc/internal/apps/webserver/webstore"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/urlkey"
)

const root = "https://example.org/"

// world is a cluster and an index of it.
type world struct {
	t      *testing.T
	stores *storestest.Stores
	site   string
	index  *index.Index
	now    time.Time
	*Feed
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, stores: storestest.Open(t), now: time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)}
	w.site = w.stores.NewSite(root)
	x, err := index.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	w.index = x
	w.start(w.stores)
	return w
}

// start makes a new feed on the index, as after a restart.
func (w *world) start(service service.Service) {
	w.Feed = New(Config{Index: w.index, Service: service, Now: func() time.Time { return w.now }})
}

// update changes columns of a row; the change date is given as minutes after a fixed time.
func (w *world) update(path string, minute int, columns map[string]any) {
	w.t.Helper()
	request := map[string]any{"siteId": w.site, "urlMd5": urlkey.Of(root + path), "UDate": date(minute)}
	for name, value := range columns {
		request[name] = value
	}
	if err := w.stores.Ask(w.t.Context(), wire.URLUpdate, []any{request}, nil); err != nil {
		w.t.Fatal(err)
	}
}

func date(minute int) string {
	return time.Date(2026, 3, 5, 0, minute, 0, 0, time.UTC).Format("2006-01-02 15:04:05")
}

// round makes a round and checks how many documents it changed.
func (w *world) round(want int) {
	w.t.Helper()
	n, err := w.Round(w.t.Context())
	if err != nil || n != want {
		w.t.Errorf("%d documents changed, want %d, %v", n, want, err)
	}
}

// found returns the paths of the pages with a word, sorted.
func (w *world) found(text string) string {
	w.t.Helper()
	r := w.index.Run(w.t.Context(), search.Ask{Op: search.OpSearch, Kind: search.Pages, Text: text, Limit: 50})
	if r.Error != "" {
		w.t.Fatal(r.Error)
	}
	var list []string
	for _, h := range r.Hits {
		list = append(list, strings.TrimPrefix(h.URL, root))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func TestRounds(t *testing.T) {
	w := newWorld(t)
	for n := range 3 {
		w.stores.AddPage(w.site, fmt.Sprint(root, n), fmt.Sprint("Title ", n), fmt.Sprint("apple ", n))
	}
	w.stores.AddFailed(w.site, root+"gone", 404, errormask.HTTP)
	w.round(3)
	if got := w.found("apple"); got != "0 1 2" {
		t.Errorf("found %q", got)
	}
	w.round(0)

	// Two rows of the same second, one of which is stored after the round that has seen the other.
	w.stores.ChangePage(w.site, root+"0", "Title 0", "banana", 2)
	w.update("0", 10, nil)
	w.round(1)
	w.stores.ChangePage(w.site, root+"1", "Title 1", "banana 1", 2)
	w.update("1", 10, nil)
	w.round(1)
	// And one that is a little late.
	w.stores.ChangePage(w.site, root+"2", "Title 2", "banana 2", 2)
	w.update("2", 9, nil)
	w.round(1)
	if got := w.found("banana"); got != "0 1 2" {
		t.Errorf("found %q", got)
	}
	if got := w.found("apple"); got != "" {
		t.Errorf("found %q", got)
	}

	// A new feed continues from the stored watermark and reads no content again.
	w.start(w.stores)
	before := w.stores.Asked[wire.URLContent]
	w.round(0)
	if n := w.stores.Asked[wire.URLContent]; n != before {
		t.Errorf("%d requests for contents", n-before)
	}

	// A page that fails now stays, and is named; one that is deleted goes with the next round, also if
	// another one comes at the same time.
	w.update("0", 20, map[string]any{"httpCode": 404, "errorMask": errormask.HTTP})
	w.stores.DeletePage(w.site, root+"1")
	w.stores.AddPage(w.site, root+"new", "New", "cherry")
	w.round(2)
	if s := w.Skipped(); len(s) != 1 || s[0].Count != 2 || !slices.Contains(s[0].URLs, root+"0") {
		t.Errorf("skipped %+v", s)
	}
	if got := w.found("banana"); got != "0 2" {
		t.Errorf("found %q", got)
	}
}

// A page that says noindex leaves in the next round and comes back without it; so does one whose time is
// over. Copies of a page that says noarchive are not shown.
func TestRobotsOfPages(t *testing.T) {
	w := newWorld(t)
	w.stores.AddPages(w.site, root, 3)
	w.round(3)
	w.update("0", 30, map[string]any{"robotsMask": wire.RobotsNoIndex})
	w.update("1", 30, map[string]any{"unavailableAfter": "2026-03-31 00:00:00"})
	w.update("2", 30, map[string]any{"robotsMask": wire.RobotsNoArchive, "unavailableAfter": "2026-04-02 00:00:00"})
	w.round(3)
	if got := w.found("text"); got != "2" {
		t.Errorf("found %q", got)
	}
	if s := w.Skipped(); len(s) != 2 || !strings.Contains(s[0].String()+s[1].String(), "noindex") {
		t.Errorf("skipped %v", s)
	}
	if r := w.index.Run(t.Context(), search.Ask{Op: search.OpGet, UUID: search.UUIDOf(root + "2")}); r.Count != 1 || r.Hits[0].Cached {
		t.Errorf("a copy is shown: %+v", r.Hits)
	}
	w.update("0", 31, map[string]any{"robotsMask": 0})
	w.round(1)
	w.now = w.now.Add(48 * time.Hour)
	w.round(1)
	if got := w.found("text"); got != "0" {
		t.Errorf("found %q", got)
	}
}

// A site at rest is not read; a crawl that touches the site is seen, whenever it comes.
func TestSitesAtRest(t *testing.T) {
	w := newWorld(t)
	w.stores.AddPage(w.site, root+"a", "A", "apple")
	w.round(1)
	w.round(0)
	w.now = w.now.Add(time.Hour)
	w.round(0)
	before := w.stores.Asked[wire.URLFetch]
	w.round(0)
	if n := w.stores.Asked[wire.URLFetch]; n != before {
		t.Errorf("%d requests for a site at rest", n-before)
	}
	w.stores.ChangePage(w.site, root+"a", "A", "banana", 2)
	w.update("a", 50, nil)
	if err := w.stores.Ask(t.Context(), wire.SiteUpdate, map[string]any{"id": w.site, "tcDate": date(50)}, nil); err != nil {
		t.Fatal(err)
	}
	w.round(1)
	if got := w.found("banana"); got != "a" {
		t.Errorf("found %q", got)
	}
}

// A row that is far too late for the stream is found by the sweep, which a change of the site causes.
func TestSweepFindsLateRows(t *testing.T) {
	w := newWorld(t)
	w.stores.AddPage(w.site, root+"a", "A", "apple")
	w.update("a", 60, nil)
	w.round(1)
	w.stores.AddPage(w.site, root+"b", "B", "apple pie") // its change date is a day before
	w.round(1)
	if got := w.found("apple"); got != "a b" {
		t.Errorf("found %q", got)
	}
}

// broken fails after some operations, and names a node that is away in others.
type broken struct {
	*storestest.Stores
	left int
}

var errBroken = errors.New("broken")

func (b *broken) Ask(ctx context.Context, op wire.Op, request, answer any) error {
	if b.left--; b.left < 0 {
		return errBroken
	}
	return b.Stores.Ask(ctx, op, request, answer)
}

// A first sweep that ends at any request, such as by a kill of the daemon, continues where it was:
// each page is stored once.
func TestSweepContinues(t *testing.T) {
	const n = rowsAtOnce + 60
	w := newWorld(t)
	w.stores.AddPages(w.site, root, n)
	total, requests := 0, 0
	for left := 2; ; left += 2 {
		w.start(&broken{w.stores, left})
		changed, err := w.Round(t.Context())
		total += changed
		if requests++; err == nil {
			break
		}
		if !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
	}
	count, err := w.index.Count(t.Context())
	if err != nil || count != n || requests < 3 {
		t.Errorf("%d documents after %d rounds, %v", count, requests, err)
	}
	if state, err := w.index.Site(w.site); err != nil || state.Swept.IsZero() || state.Sweep != "" || state.Watermark == "" {
		t.Errorf("%+v, %v", state, err)
	}
	if total > n+rowsAtOnce*requests {
		t.Errorf("%d documents were stored", total)
	}
}

// The documents of a site leave with it, and those of a host that nobody visits by expiry.
func TestSitesAndHostsLeave(t *testing.T) {
	w := newWorld(t)
	w.stores.AddPages(w.site, root, 3)
	other := w.stores.NewSite("https://other.example/")
	w.stores.AddPage(other, "https://other.example/x", "X", "text of x")
	w.round(4)
	if err := w.stores.Ask(t.Context(), wire.SiteDelete, map[string]any{"id": other, "delayedType": wire.Immediate}, nil); err != nil {
		t.Fatal(err)
	}
	w.round(1)
	if got := w.found("text"); got != "0 1 2" {
		t.Errorf("found %q", got)
	}
	w.Expire = 20 * 24 * time.Hour // the pages were seen on March 4; it is April 1
	w.round(3)
	if got := w.found("text"); got != "" {
		t.Errorf("found %q", got)
	}
}

func TestDocument(t *testing.T) {
	w := newWorld(t)
	w.stores.AddPage(w.site, root+"a", "Der Titel", "Dieser Text ist in deutscher Sprache geschrieben, und er ist lang genug für eine Erkennung.")
	w.round(1)
	r := w.index.Run(t.Context(), search.Ask{Op: search.OpGet, UUID: search.UUIDOf(root + "a")})
	if r.Count != 1 {
		t.Fatal(r.Error)
	}
	d := r.Hits[0].Document
	if d.Title != "Der Titel" || d.Language != "de" || d.Site != w.site || !d.Cached || d.Date.Format(time.DateOnly) != "2026-01-02" || d.Host != "example.org" {
		t.Errorf("%+v", d)
	}
	if got := w.found("geschriebene sprachen"); got != "a" {
		t.Errorf("found %q", got)
	}
}

// What a Web Store has in its journal is found by title, keywords and the words of names. A new feed
// continues where the last one was; a line that is being written waits; a new journal is read whole.
func TestWebStore(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "documents.jsonl")
	store := func(docs ...packet.Document) {
		t.Helper()
		j, err := webstore.OpenJournal(file, func() time.Time { return w.now })
		if err == nil {
			_, err = j.Store(t.Context(), docs)
			err = errors.Join(err, j.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	page := func(path, title, html string, words ...string) packet.Document {
		return packet.Document{Kind: packet.Page, URL: root + path, Title: title, Words: words, HTML: html, Size: int64(len(html))}
	}
	start := func() {
		w.start(w.stores)
		w.WebStore = file
	}
	start()
	w.round(0) // no journal yet
	store(page("a", "Cows", "<p>moo", "milk", "grass"), page("b", "Goats", "<p>meh", "milk"),
		packet.Document{Kind: packet.File, URL: root + "brown_cow.jpg", Extension: "jpg", Words: []string{"brown", "cow"}, Size: 9})
	w.round(3)
	w.round(0)
	if got := w.found("milk"); got != "a b" {
		t.Errorf("found %q", got)
	}
	if r := w.index.Run(t.Context(), search.Ask{Op: search.OpSearch, Kind: search.Images, Text: "brown", Limit: 5}); len(r.Hits) != 1 || r.Hits[0].Format != "JPG" || r.Hits[0].Size != 9 {
		t.Errorf("%+v", r)
	}
	if r := w.index.Run(t.Context(), search.Ask{Op: search.OpGet, UUID: search.UUIDOf(root + "a")}); r.Copy != "<p>moo" {
		t.Errorf("%+v", r)
	}
	start()
	store(page("a", "Sheep", "<p>baa", "wool"))
	torn, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = torn.WriteString(`{"url":"` + root + `torn",`)
		err = errors.Join(err, torn.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	w.round(1)
	w.round(0)
	if got := w.found("milk"); got != "b" {
		t.Errorf("found %q", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	store(page("c", "Bees", "", "honey"))
	w.round(1)
	if got := w.found("honey"); got != "c" {
		t.Errorf("found %q", got)
	}
}
