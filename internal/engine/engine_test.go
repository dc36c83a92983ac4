package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hce/dc/internal/cli/follow"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/process"
	"hce/dc/internal/storage"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// TestMain is also the worker of TestCrawlWithWorkers. A page whose date is asked from the expression 'die' ends its process.
func TestMain(m *testing.M) {
	process.RunIfWorker(func(expression string) (string, error) {
		if expression == "'die'" {
			os.Exit(3)
		}
		return storage.Evaluate(expression)
	}, nil)
	os.Exit(m.Run())
}

// newSite serves a root page with links to n pages, one of which is missing and one of which asks to come later once.
func newSite(t *testing.T, n int) (url string, requests func() map[string]int) {
	var mu sync.Mutex
	count := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		count[r.URL.Path]++
		times := count[r.URL.Path]
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		switch {
		case r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
		case r.URL.Path == "/":
			fmt.Fprint(w, "<title>Root</title><h1>Root</h1>")
			for i := range n {
				fmt.Fprintf(w, "<p><a href=/p%d>page %d</a></p>", i, i)
			}
		case r.URL.Path == "/p1":
			http.Error(w, "gone away", http.StatusNotFound)
		case r.URL.Path == "/p2" && times == 1:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "later", http.StatusServiceUnavailable)
		default:
			fmt.Fprintf(w, "<title>Page %s</title><h1>Page %[1]s</h1><p>The text of page %[1]s says enough about the tides and the moon.</p>", r.URL.Path)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/", func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return count
	}
}

const siteID = "0123456789abcdef0123456789abcdef"

// openFolder opens a folder with a site; a folder that has it keeps it.
func openFolder(t *testing.T, dir, root string, more ...func(o *Options, site map[string]any)) (*Engine, wire.Site) {
	t.Helper()
	o := Options{AllowNetworks: "127.0.0.0/8"}
	object := map[string]any{"id": siteID, "urls": []string{root}, "requestDelay": 0, "processingDelay": 0}
	for _, change := range more {
		change(&o, object)
	}
	e, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	var site wire.Site
	if err := e.Ask(t.Context(), wire.SiteStatus, map[string]any{"id": siteID, "deleteTaskId": nil}, &site); err != nil {
		t.Fatal(err)
	}
	if site.State == wire.SiteNotFound {
		if err := e.Ask(t.Context(), wire.SiteNew, object, nil); err != nil {
			t.Fatal(err)
		}
	}
	return e, wire.Site{ID: siteID, URLs: []wire.SiteURL{{URL: wire.URL{URL: root}}}}
}

// Each URL of a site is delivered once, with its processed content, after its retries; a failed one with its code.
func TestCrawl(t *testing.T) {
	root, requests := newSite(t, 40)
	e, site := openFolder(t, t.TempDir(), root)
	titles, codes := map[string]string{}, map[string]int64{}
	err := e.Crawl(t.Context(), site, func(p *pages.Page) error {
		path := strings.TrimPrefix(p.URL.URL, root)
		if _, twice := codes[path]; twice {
			t.Errorf("%s is delivered twice", path)
		}
		titles[path], codes[path] = p.Text("title"), p.HTTPCode
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(codes) != 41 || titles[""] != "Root" || titles["p7"] != "Page /p7" || codes["p1"] != 404 || titles["p2"] != "Page /p2" {
		t.Errorf("%d URLs: %v %v", len(codes), titles, codes)
	}
	for path, n := range requests() {
		if want := map[string]int{"/p2": 2}[path]; n != max(want, 1) {
			t.Errorf("%s was requested %d times", path, n)
		}
	}
	// A second crawl finds nothing to do.
	if err := e.Crawl(t.Context(), site, func(p *pages.Page) error { return errors.New("again " + p.URL.URL) }, nil); err != nil {
		t.Error(err)
	}
}

// A page that ends the process that reads it fails alone, and the records of the crawl are in the logs of the folder.
func TestCrawlWithWorkers(t *testing.T) {
	root, _ := newSite(t, 8)
	e, site := openFolder(t, t.TempDir(), root, func(o *Options, site map[string]any) {
		o.Workers, o.LogFiles = true, true
		site["properties"] = map[string]string{"PDATE_TIME": `[{"pattern":"/p4$","value":"'die'"}]`}
	})
	bits := map[string]errormask.Mask{}
	var last follow.Look
	err := e.Crawl(t.Context(), site, func(p *pages.Page) error {
		bits[strings.TrimPrefix(p.URL.URL, root)] = p.ErrorMask
		return nil
	}, func(look follow.Look, _ bool) error {
		last = look
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, found := range bits {
		if want := map[string]errormask.Mask{"p1": errormask.HTTP, "p4": errormask.BatchItem}[path]; found != want {
			t.Errorf("%s has the errors %v, want %v", path, found.Names(), want.Names())
		}
	}
	if len(bits) != 9 || last.Done != 9 {
		t.Errorf("%d URLs were delivered, %d are done: %v", len(bits), last.Done, bits)
	}
	for name, text := range map[string]string{"crawler-task.log": "/p2 cause=503", "processor-task.log": "ended two processes: exit status 3"} {
		if log, err := os.ReadFile(filepath.Join(e.LogDir(), name)); err != nil || !strings.Contains(string(log), text) {
			t.Errorf("%s has no %q: %s %v", name, text, log, err)
		}
	}
}

// A crawl that waits goes on after a fault of the machine, and says meanwhile why it waits. Another one ends with the fault.
func TestCrawlWaits(t *testing.T) {
	const fault = "dc_rdata/.segments: not a directory"
	for _, waits := range []bool{false, true} {
		t.Run(fmt.Sprint(waits), func(t *testing.T) {
			t.Parallel()
			root, requests := newSite(t, 5)
			e, site := openFolder(t, t.TempDir(), root, func(o *Options, _ map[string]any) { o.Waits = waits })
			raw := filepath.Join(e.DataDir(), "dc_rdata")
			if err := errors.Join(os.RemoveAll(raw), os.WriteFile(raw, nil, 0o600)); err != nil { // no page can be stored
				t.Fatal(err)
			}
			said := ""
			var last follow.Look
			err := e.Crawl(t.Context(), site, nil, func(look follow.Look, _ bool) error {
				last = look
				if look.Why == "" || said != "" {
					return nil
				}
				said = look.Why
				return errors.Join(os.Remove(raw), os.Mkdir(raw, 0o700))
			})
			if !waits {
				if err == nil || !strings.Contains(err.Error(), fault) {
					t.Errorf("the fault: %v", err)
				}
				return
			}
			if err != nil || !strings.Contains(said, fault) || last.Done != 6 || requests()["/p4"] != 1 {
				t.Errorf("%v; it waited because: %s; %d of 6 URLs are done", err, said, last.Done)
			}
		})
	}
}

// A caller that stops, and one whose context ends, lose nothing: the next crawl delivers the others.
func TestCrawlStops(t *testing.T) {
	const n = 2000 // more than wait for the caller
	root, requests := newSite(t, n)
	dir := t.TempDir()
	known := map[string]bool{}
	stopped := errors.New("stopped")
	for round, end := range []error{stopped, context.Canceled, nil} {
		func() {
			e, site := openFolder(t, dir, root)
			defer e.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			delivered := 0
			err := e.Crawl(ctx, site, func(p *pages.Page) error {
				known[p.URL.URL] = true
				if delivered++; delivered < 10 || end == nil {
					return nil
				}
				if end == context.Canceled {
					cancel()
					return nil
				}
				return end
			}, nil)
			if !errors.Is(err, end) {
				t.Fatalf("round %d: %v", round, err)
			}
		}()
	}
	for path, n := range requests() {
		if n > 1 && path != "/p2" && path != "/robots.txt" {
			t.Errorf("%s was requested %d times", path, n)
		}
	}
	e, _ := openFolder(t, dir, root)
	stored := 0
	reader := pages.Reader{Service: e, Site: siteID, Where: wire.FinishedRow}
	if err := reader.Read(t.Context(), "", func(*pages.Page) error { stored++; return nil }, nil); err != nil || stored != n+1 {
		t.Errorf("%d URLs are stored (%v), %d were delivered", stored, err, len(known))
	}
}

// A site whose recrawl date has passed is renewed once, also after a kill in the middle.
func TestRenewDue(t *testing.T) {
	root, requests := newSite(t, 3)
	e, site := openFolder(t, t.TempDir(), root, func(_ *Options, site map[string]any) { site["recrawlPeriod"] = 1440 })
	crawlAgain := func(due, killed bool, times int) {
		t.Helper()
		if due {
			if err := e.Ask(t.Context(), wire.SiteUpdate, map[string]any{"id": siteID, "recrawlDate": "2020-01-01 00:00:00"}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if killed {
			if locked, _, err := e.lockDue(t.Context(), siteID); err != nil || locked == nil {
				t.Fatalf("%v, %v", locked, err)
			}
		}
		renewed, err := e.RenewDue(t.Context(), siteID)
		if err == nil {
			err = e.Crawl(t.Context(), site, nil, nil)
		}
		if err != nil || renewed != due || requests()["/"] != times || requests()["/p0"] != 1 {
			t.Errorf("renewed %t, %v; want %t; %v", renewed, err, due, requests())
		}
	}
	crawlAgain(false, false, 1)
	crawlAgain(true, false, 2)
	crawlAgain(false, false, 2)
	crawlAgain(true, true, 3)
	crawlAgain(false, false, 3)
}

// The pages of a site that is paused wait until it is active again.
func TestPausedSite(t *testing.T) {
	root, _ := newSite(t, 3)
	e, site := openFolder(t, t.TempDir(), root)
	state := func(state int64) {
		t.Helper()
		if err := e.Ask(t.Context(), wire.SiteUpdate, map[string]any{"id": siteID, "state": state}, nil); err != nil {
			t.Fatal(err)
		}
	}
	status := func(want int64) {
		t.Helper()
		if err := e.Crawl(t.Context(), site, nil, nil); err != nil {
			t.Fatal(err)
		}
		rows, err := pages.Rows(t.Context(), e, siteID, "`URLMd5`='"+wire.Md5(root)+"'", "", 1)
		if err != nil || len(rows) != 1 || rows[0].Status != want || rows[0].ErrorMask != 0 {
			t.Errorf("%+v, %v; want status %d", rows, err, want)
		}
	}
	status(wire.StatusProcessed)
	crawled := []any{map[string]any{"siteId": siteID, "urlMd5": wire.Md5(root), "status": wire.StatusCrawled, "state": wire.URLEnabled}}
	if err := e.Ask(t.Context(), wire.URLUpdate, crawled, nil); err != nil {
		t.Fatal(err)
	}
	state(wire.SiteSuspended)
	status(wire.StatusCrawled)
	state(wire.SiteActive)
	status(wire.StatusProcessed)
}

// A folder belongs to one engine, and a site to one call.
func TestOneEngine(t *testing.T) {
	root, _ := newSite(t, 3)
	dir := t.TempDir()
	e, site := openFolder(t, dir, root)
	if _, err := Open(t.Context(), dir, Options{}); err == nil {
		t.Error("a folder was opened twice")
	}
	err := e.Crawl(t.Context(), site, func(*pages.Page) error {
		if err := e.Crawl(t.Context(), site, nil, nil); !errors.Is(err, ErrBusy) {
			t.Errorf("a second crawl of the site: %v", err)
		}
		return nil
	}, nil)
	if err != nil {
		t.Error(err)
	}
}
