//go:build e2e

package e2e

import (
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

const (
	// restarts is the number of ends in a test run; RESTARTS overrides it.
	restarts = 25
	// chunk is the number of pages that a crawler-task stores at once. A kill loses
	// fetched pages that are not stored.
	chunk = 8
	// lostAtAStop limits the pages that a stop may lose: the one that is being fetched.
	lostAtAStop = 1
)

// lostAtAKill limits the pages that a kill may lose: the one that is being fetched, those
// being parsed or waiting for it, a chunk being filled and one being stored.
func lostAtAKill() int { return 1 + 4*runtime.GOMAXPROCS(0) + 2*chunk }

// A daemon ends many times at random moments of a crawl, two thirds by SIGKILL and one third by
// SIGTERM. It loses no URL, and fetches only those twice that were in a batch at
// an end. After each end the counters are exact. At the end the stored pages equal those
// of the origin, byte for byte (checkTree).
func TestRestarts(t *testing.T) {
	t.Parallel()
	times := restarts
	if text := os.Getenv("RESTARTS"); text != "" {
		var err error
		if times, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	const n = 1000
	data := t.TempDir()
	settings := []string{
		fmt.Sprintf("DC_CrawlerTask_chunk_items=%d", chunk), "DC_CrawlerTask_chunk_time=50",
		"DC_BatchTasksManager_BatchDefaultMaxURLs=100", "DC_BatchTasksManagerProcess_BatchDefaultMaxURLs=100",
	}
	random := rand.New(rand.NewPCG(seed(t)))
	begin := time.Now()
	var sites []*restartedSite
	r := start(t, data, settings...)
	more := func() {
		w := newWitness(t, slowly(tree(n), 2*time.Millisecond))
		id := newSite(t, r, rig.Site{Root: w.URL + "/"})
		sites = append(sites, &restartedSite{witness: w, id: id})
	}
	more()
	// moreInTime starts another site before the last one ends, so that every end hits a crawl.
	moreInTime := func() {
		if sites[len(sites)-1].count() > n*9/10 {
			more()
		}
	}
	var ends []restart
	for len(ends) < times {
		moreInTime() // a fast crawl may have got on during the start of the daemon
		// A third of the ends hits the start of the daemon, the others the crawl. At
		// least n/10 requests of the last site are still to come.
		if pages := random.IntN(45) - 15; pages > 0 {
			sites[len(sites)-1].awaitRequests(t, pages)
		}
		moreInTime()
		e := restart{stopped: random.IntN(3) == 0, inFlight: map[string]bool{}}
		signal := syscall.SIGKILL
		if e.stopped {
			signal = syscall.SIGTERM
			live := database(t, data)
			e.add(t, live)
			live.Close()
			e.from = time.Now()
		}
		if err := syscall.Kill(r.PID(), signal); err != nil {
			t.Fatal(err)
		}
		<-r.Ended()
		testwait.Until(t, "no task process is left", func() bool { return len(tasksOf(t, data, 0)) == 0 })
		e.to = time.Now()
		onDeadDatabase(t, data, func(dead *sql.DB) {
			e.add(t, dead)
			for _, s := range sites {
				checkCounters(t, dead, s.id)
			}
		})
		ends = append(ends, e)
		if t.Failed() {
			t.Fatalf("after end %d (stopped %v)", len(ends), e.stopped)
		}
		r = start(t, data, settings...)
	}
	ended := time.Since(begin)
	kills, stops := 0, 0
	for _, e := range ends {
		if e.stopped {
			stops++
		} else {
			kills++
		}
	}
	requests, extra, busiest := 0, 0, 0
	for _, s := range sites {
		finish(t, r, s.id)
	}
	for _, s := range sites {
		checkTree(t, r, data, s.id, s.witness.URL, n)
		byPath := map[string][]visit{}
		for _, v := range s.witness.requests() {
			if v.URL != "/robots.txt" && v.URL != "/sitemap.xml" { // neither is a page
				byPath[v.URL] = append(byPath[v.URL], v)
			}
		}
		if len(byPath) != n+1 {
			t.Errorf("site %s: %d URLs were requested, want %d", s.id, len(byPath), n+1)
		}
		for path, visits := range byPath {
			allowed := 1
			for _, e := range ends {
				if e.inBatch(s.witness.URL+path, visits) {
					allowed++
				}
			}
			if len(visits) > allowed {
				t.Errorf("%s: %d requests, and it was in a running batch at %d ends", path, len(visits), allowed-1)
			}
			requests += len(visits)
			extra += len(visits) - 1
			busiest = max(busiest, len(visits))
		}
		var status wire.Site
		if err := r.Ask(t.Context(), "SITE_STATUS", map[string]any{"id": s.id}, &status); err != nil {
			t.Fatal(err)
		}
		d := database(t, data)
		if got, want := countersOf(status), rowCounters(t, d, s.id); got != want {
			t.Errorf("SITE_STATUS of %s: %+v, its rows: %+v", s.id, got, want)
		}
		d.Close()
	}
	if most := kills*lostAtAKill() + stops*lostAtAStop; extra > most {
		t.Errorf("%d repeated requests, want at most %d", extra, most)
	}
	t.Logf("%d kills and %d stops in %v, %v in all; %d sites, %d requests, %d of them repeated, at most %d per URL",
		kills, stops, ended.Round(time.Second), time.Since(begin).Round(time.Second), len(sites), requests, extra, busiest)
}

type restartedSite struct {
	*witness
	id string
}

// restart is one end of the daemon.
type restart struct {
	stopped  bool            // by SIGTERM, not by SIGKILL
	inFlight map[string]bool // URLs of running batches, according to the database
	from, to time.Time       // of a stop: URLs requested in between also were in a running batch
}

// add adds the URLs whose rows are in a crawling batch.
func (e *restart) add(t *testing.T, d *sql.DB) {
	t.Helper()
	list, err := d.Query(`SELECT URL FROM "dc_urls.urls" WHERE Status IN (2, 3, 8)`)
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	for list.Next() {
		var url string
		if err := list.Scan(&url); err != nil {
			t.Fatal(err)
		}
		e.inFlight[url] = true
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
}

// inBatch reports whether the URL may have been in a running batch at this end.
func (e *restart) inBatch(url string, visits []visit) bool {
	if e.inFlight[url] {
		return true
	}
	for _, v := range visits {
		if e.stopped && !v.End.Before(e.from) && !v.Start.After(e.to) {
			return true
		}
	}
	return false
}

// onDeadDatabase calls look with a copy of the database of a dead daemon. Opening the
// original files would recover them, which the next daemon has to do itself.
func onDeadDatabase(t *testing.T, data string, look func(*sql.DB)) {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) // a copy for each end would need much space
	for _, name := range []string{"dc.db", "dc.db-wal"} {
		from, err := os.Open(filepath.Join(data, name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		to, err := os.Create(filepath.Join(dir, name))
		if err == nil {
			_, err = io.Copy(to, from)
			to.Close()
		}
		from.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "dc.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	look(d)
}

// counters are the counters of a site (docs/spec/storage.md 4.0.4).
type counters struct {
	Resources, Contents, CollectedURLs, NewURLs, DeletedURLs, Errors, Size int64
}

func countersOf(s wire.Site) counters {
	return counters{s.Resources, s.Contents, s.CollectedURLs, s.NewURLs, s.DeletedURLs, s.Errors, s.Size}
}

// rowCounters computes the counters from the rows (docs/spec/storage.md 4.0.4).
func rowCounters(t *testing.T, d *sql.DB, id string) counters {
	t.Helper()
	const foreign = "NOT (Status = 4 AND Crawled = 0)"
	var sums []string
	for _, c := range []string{
		"Status = 4 AND Crawled > 0 AND Size > 0 AND ErrorMask & 4198399 = 0 AND ContentType = 'text/html'",
		"Status = 7 AND TagsCount > 0 AND Processed > 0",
		"ParentMd5 <> '' AND " + foreign,
		"Status = 1",
	} {
		sums = append(sums, "COALESCE(SUM("+c+"), 0)")
	}
	var c counters
	err := d.QueryRow(`SELECT `+strings.Join(sums, ", ")+`,
		(SELECT COUNT(*) FROM "dc_urls_deleted.urls" WHERE Site_Id = ?1),
		COALESCE(SUM(ErrorMask > 0 AND `+foreign+`), 0), COALESCE(SUM(CASE WHEN `+foreign+` THEN Size ELSE 0 END), 0)
		FROM "dc_urls.urls" WHERE Site_Id = ?1`, id).
		Scan(&c.Resources, &c.Contents, &c.CollectedURLs, &c.NewURLs, &c.DeletedURLs, &c.Errors, &c.Size)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checkCounters compares the stored counters of a site with its rows.
func checkCounters(t *testing.T, d *sql.DB, id string) {
	t.Helper()
	var c counters
	err := d.QueryRow(`SELECT Resources, Contents, CollectedURLs, NewURLs, DeletedURLs, Errors, Size FROM "dc_sites.sites" WHERE Id = ?`, id).
		Scan(&c.Resources, &c.Contents, &c.CollectedURLs, &c.NewURLs, &c.DeletedURLs, &c.Errors, &c.Size)
	if err != nil {
		t.Fatal(err)
	}
	if want := rowCounters(t, d, id); c != want {
		t.Errorf("site %s: counters %+v, rows %+v", id, c, want)
	}
}
