package events

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/testkit/testlog"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/urlkey"
)

const root = "https://coast.example/"

// watch is a log over real stores.
type watch struct {
	testing.TB
	*storestest.Stores
	*Events
	log *testlog.Recorder
}

// open opens a log that looks for events all the time.
func open(t testing.TB, stores *storestest.Stores, change func(*Config)) *watch {
	t.Helper()
	w := &watch{TB: t, Stores: stores, log: &testlog.Recorder{}}
	c := Config{Dir: t.TempDir() + "/api", Service: stores, Every: time.Millisecond, Log: slog.New(slog.NewTextHandler(w.log, nil))}
	if change != nil {
		change(&c)
	}
	e, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	w.Events = e
	t.Cleanup(e.Close)
	return w
}

// begin begins the log and waits until it tells.
func (w *watch) begin() {
	w.Helper()
	if err := w.Begin(); err != nil {
		w.Fatal(err)
	}
	select {
	case <-w.Ready():
	case <-time.After(testwait.Deadline):
		w.Fatalf("the log is not ready: %s", w.log)
	}
}

// all returns the events of some types as lines.
func (w *watch) all(types ...string) (lines []string) {
	w.Helper()
	list, err := w.After(context.Background(), 0, 100_000)
	if err != nil {
		w.Fatal(err)
	}
	for i, e := range list {
		if e.ID != int64(i+1) {
			w.Fatalf("event %d has the number %d", i+1, e.ID)
		}
		line := e.Type + " " + e.Data.URL
		if e.Data.Reason != "" {
			line += " (" + e.Data.Reason + ")"
		}
		if (Filter{Types: types}).Allows(e) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// pageTypes are the types of events about pages, and the one about a deleted site.
var pageTypes = []string{PageNew, PageChanged, PageGone, SiteDeleted}

// expect waits until the log has these events about pages and no others.
func (w *watch) expect(want ...string) {
	w.Helper()
	testwait.Until(w, "the events come: "+strings.Join(want, ", "), func() bool { return len(w.all(pageTypes...)) >= len(want) })
	if got := strings.Join(w.all(pageTypes...), "\n"); got != strings.Join(want, "\n") {
		w.Errorf("events\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// updateRow changes columns of a row.
func (w *watch) updateRow(site, url string, fields map[string]any) {
	w.Helper()
	fields["siteId"], fields["urlMd5"] = site, urlkey.Of(url)
	w.mustAsk(wire.URLUpdate, []any{fields})
}

func (w *watch) mustAsk(op wire.Op, request any) {
	w.Helper()
	if err := w.Ask(w.Context(), op, request, nil); err != nil {
		w.Fatal(err)
	}
}

// Pages that are there are not told. New, changed, gone, deleted and returned ones are, once each; failed ones keep their version.
func TestPages(t *testing.T) {
	stores := storestest.Open(t)
	site := stores.NewSite(root)
	stores.AddPages(site, root+"old", 3)
	w := open(t, stores, nil)
	w.begin()
	want := []string{}
	expect := func(line string) {
		t.Helper()
		want = append(want, line)
		w.expect(want...)
	}
	stores.AddPage(site, root+"a", "A", "text")
	expect("page.new " + root + "a")
	stores.ChangePage(site, root+"a", "A2", "text", 2)
	expect("page.changed " + root + "a")
	stores.ChangePage(site, root+"old1", "A2", "text", 2)
	expect("page.changed " + root + "old1")
	w.updateRow(site, root+"a", map[string]any{"crawled": 3, "httpCode": 503, "status": wire.StatusCrawled})
	w.updateRow(site, root+"a", map[string]any{"crawled": 4, "httpCode": 404, "status": wire.StatusCrawled})
	expect("page.gone " + root + "a (answer)")
	w.updateRow(site, root+"a", map[string]any{"crawled": 5, "httpCode": 200, "status": wire.StatusProcessed})
	expect("page.new " + root + "a")
	stores.DeletePage(site, root+"old2")
	expect("page.gone " + root + "old2 (deleted)")
	w.mustAsk(wire.SiteDelete, map[string]any{"id": site, "taskType": 1, "delayedType": wire.Immediate})
	expect("site.deleted")
	if strings.Contains(w.log.String(), "WARN") {
		t.Errorf("log: %s", w.log)
	}
}

// A site is finished after its pages, once for all that was done, and again after further work. One without work says nothing.
func TestSiteFinished(t *testing.T) {
	stores := storestest.Open(t)
	idle := stores.NewSite("https://idle.example/")
	w := open(t, stores, nil)
	w.begin()
	site := stores.NewSite(root)
	stores.AddPages(site, root, 400) // in one request
	finished := func() int { return len(w.all(SiteFinished)) }
	testwait.Until(t, "the site is finished", func() bool { return finished() > 0 })
	list, err := w.After(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	last := list[len(list)-1]
	if last.Type != SiteFinished || last.Data.Site != site || last.Data.Counts.Pages != 400 || len(list) != 401 {
		t.Errorf("%d events, the last one is %+v", len(list), last)
	}
	stores.ChangePage(site, root+"1", "Other", "text", 2)
	testwait.Until(t, "the site is finished again", func() bool { return finished() > 1 })
	for _, e := range list {
		if e.Data.Site == idle {
			t.Errorf("event of the idle site: %+v", e)
		}
	}
}

// A site is in trouble when the managers pause while URLs wait, and when its server serves nothing. Each trouble is told once.
func TestSiteTrouble(t *testing.T) {
	stores := storestest.Open(t)
	w := open(t, stores, func(c *Config) { c.Pauses = func(context.Context) string { return "the disk is full" } })
	w.begin()
	waits := stores.NewSite("https://waits.example/")
	stores.AddURL(waits, "https://waits.example/a", map[string]any{"status": wire.StatusNew, "crawled": 0, "processed": 0, "httpCode": 0})
	testwait.Until(t, "a pause is told", func() bool { return len(w.all(SiteTrouble)) > 0 })
	site := stores.NewSite(root)
	for i := range 12 {
		stores.AddFailed(site, fmt.Sprint(root, i), 503, errormask.HTTP)
	}
	testwait.Until(t, "the site is in trouble", func() bool { return len(w.all(SiteTrouble)) > 1 })
	if got := w.all(SiteTrouble); len(got) != 2 || !strings.Contains(got[0], "the daemon pauses: the disk is full") || !strings.Contains(got[1], allFailed) {
		t.Error(got)
	}
}

// A log of an idle service writes nothing.
func TestIdleWritesNothing(t *testing.T) {
	stores := storestest.Open(t)
	site := stores.NewSite(root)
	w := open(t, stores, func(c *Config) { c.Overlap = time.Millisecond })
	w.begin()
	stores.AddPages(site, root, 10)
	testwait.Until(t, "the site is finished", func() bool { return len(w.all(SiteFinished)) > 0 })
	rounds := func(n int) {
		looks := 0
		done := make(chan struct{})
		stores.OnAsk(func(op wire.Op) {
			if op == wire.SiteFind {
				if looks++; looks == n {
					close(done)
				}
			}
		})
		<-done
		stores.OnAsk(nil)
	}
	one, err := w.store.read.Conn(t.Context()) // it sees the changes of others
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	version := func() (n int) {
		if err := one.QueryRowContext(t.Context(), "PRAGMA data_version").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	testwait.Until(t, "the log is not written in 200 looks", func() bool {
		before := version()
		rounds(200)
		return version() == before
	})
}
