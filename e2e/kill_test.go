//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// The daemon is killed four times during a crawl and restarted: the crawl ends with the
// same pages as without kills. TestRestarts does it on SQLite.
func TestKilledDaemon(t *testing.T) {
	t.Parallel()
	env := databaseOf(t, sqldb.DriverMySQL)
	content := tree(150)
	w := newWitness(t, content)
	data := t.TempDir()
	r := start(t, data, env...)
	id := newSite(t, r, rig.Site{Root: w.URL + "/"})
	random := rand.New(rand.NewPCG(seed(t)))
	for range 4 {
		content.awaitRequests(t, w, 5+random.IntN(20))
		children := descendants(r.PID())
		if err := syscall.Kill(r.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-r.Ended()
		gone(t, children)
		r = start(t, data, env...)
	}
	content.slowFrom(0, 0)
	finish(t, r, id)
	checkTree(t, r, data, id, w.URL, 150)
}

// Task processes are killed: their batches run again in parts, and no URL is given up.
func TestKilledTasks(t *testing.T) {
	t.Parallel()
	content := tree(150)
	w := newWitness(t, content)
	data := t.TempDir()
	r := start(t, data)
	id := newSite(t, r, rig.Site{Root: w.URL + "/"})
	random := rand.New(rand.NewPCG(seed(t)))
	killed := 0
	// Only two rounds wait for the crawl. The others kill what runs meanwhile.
	for round := range 8 {
		if round < 2 {
			content.awaitRequests(t, w, 5+random.IntN(20))
		}
		testwait.Until(t, "a task process runs", func() bool { return len(descendants(r.PID())) > 0 })
		for _, pid := range descendants(r.PID()) {
			if random.IntN(2) == 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
			}
		}
	}
	if killed == 0 {
		t.Fatal("no process was killed")
	}
	content.slowFrom(0, 0)
	finish(t, r, id)
	checkTree(t, r, data, id, w.URL, 150)
	t.Logf("%d processes killed", killed)
}

func seed(t *testing.T) (uint64, uint64) {
	t.Helper()
	n := uint64(time.Now().UnixNano())
	if s := os.Getenv("SEED"); s != "" {
		var err error
		if n, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("SEED=%d", n)
	return n, 1
}

func slowly(p *pages, delay time.Duration) *pages {
	p.delay = delay
	return p
}

// checkTree compares the stores with the site tree(n) at root: each page has one row, is
// processed and has its contents, each raw file equals the page, the counters are exact.
func checkTree(t *testing.T, r *rig.Rig, data, id, root string, n int) {
	t.Helper()
	all := rows(t, r, id)
	if len(all) != n+1 {
		t.Errorf("%d rows, want %d", len(all), n+1)
	}
	origin := tree(n).texts
	var keys []string
	for _, u := range all {
		keys = append(keys, u.URLMd5)
	}
	contents := versionsOf(t, r, id, keys...)
	var pages []rig.Row
	for i := range n {
		u, ok := all[fmt.Sprintf("%s/p%d.html", root, i)]
		if !ok || u.Status != wire.StatusProcessed || u.State != wire.URLEnabled || u.ErrorMask != 0 || u.Crawled < 1 {
			t.Errorf("page %d: known %v, status %d, state %d, errors %v", i, ok, u.Status, u.State, u.ErrorMask.Names())
			continue
		}
		checkRaw(t, u.URLMd5, contents[u.URLMd5], origin[fmt.Sprintf("/p%d.html", i)])
		pages = append(pages, rig.Row{URL: u.URL, MD5: u.URLMd5})
	}
	checkRaw(t, all[root+"/"].URLMd5, contents[all[root+"/"].URLMd5], origin["/"])
	processed, err := r.Contents(t.Context(), id, pages)
	if err != nil || len(processed) != len(pages) {
		t.Errorf("%d of %d contents, %v", len(processed), len(pages), err)
	}
	var site wire.Site
	if err := r.Ask(t.Context(), "SITE_STATUS", map[string]any{"id": id}, &site); err != nil {
		t.Fatal(err)
	}
	if site.Contents != int64(n+1) || site.NewURLs != 0 || site.CollectedURLs != int64(n) || site.Resources != 0 || site.Errors != 0 {
		t.Errorf("counters: %+v", site)
	}
	// The last batch leaves the spool after its rows are done, and an idle daemon still
	// looks for pages to process.
	testwait.Until(t, "the spool has no task", func() bool {
		return !slices.ContainsFunc(files(t, filepath.Join(data, "env")), func(name string) bool { return strings.Contains(name, "task.json") })
	})
}

// checkRaw compares all raw contents of a page with its text at the origin.
func checkRaw(t *testing.T, md5 string, list [][]byte, want string) {
	t.Helper()
	if len(list) == 0 {
		t.Errorf("page %s has no raw content", md5)
	}
	for _, got := range list {
		if string(got) != want {
			t.Errorf("raw content of %s is %q, want %q", md5, got, want)
		}
	}
}

// descendants lists the processes below pid.
func descendants(pid int) []int {
	var list []int
	entries, _ := os.ReadDir("/proc")
	parents := map[int]int{}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) > 1 {
			parents[n], _ = strconv.Atoi(fields[1])
		}
	}
	for n := range parents {
		for p := parents[n]; p > 1; p = parents[p] {
			if p == pid {
				list = append(list, n)
				break
			}
		}
	}
	return list
}

// gone waits until the processes have ended by themselves.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		testwait.Until(t, fmt.Sprintf("process %d ends", pid), func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || strings.Contains(string(stat), ") Z ")
		})
	}
}
