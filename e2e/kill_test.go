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

	"hce/dc/examples/rig"
	"hce/dc/internal/wire"
)

// kill -9 of the daemon in the middle of a crawl, again and again, then a new
// start: the crawl ends with the same pages as without the kills.
func TestKilledDaemon(t *testing.T) { onBothDatabases(t, testKilledDaemon) }

func testKilledDaemon(t *testing.T, env []string) {
	w := newWitness(t, slowly(tree(300), 3*time.Millisecond))
	data := t.TempDir()
	r := start(t, data, env...)
	id := newSite(t, r, rig.Site{Root: w.URL + "/"})
	random := rand.New(rand.NewPCG(seed(t)))
	for range 4 {
		time.Sleep(time.Duration(150+random.IntN(500)) * time.Millisecond)
		children := descendants(r.PID())
		if err := syscall.Kill(r.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-r.Ended()
		gone(t, children)
		r = start(t, data, env...)
	}
	finish(t, r, id)
	checkTree(t, r, data, id, w.URL, 300)
}

// kill -9 of task processes: their batches are faults, and their rows are done
// by others.
func TestKilledTasks(t *testing.T) {
	w := newWitness(t, slowly(tree(300), 3*time.Millisecond))
	data := t.TempDir()
	// Attempts without end: what is killed here is not the URLs' fault.
	r := start(t, data, "DC_BatchTasksManager_BatchDefaultMaxAttempts=0", "DC_BatchTasksManagerProcess_BatchDefaultMaxAttempts=0")
	id := newSite(t, r, rig.Site{Root: w.URL + "/"})
	random := rand.New(rand.NewPCG(seed(t)))
	killed := 0
	for range 8 {
		time.Sleep(time.Duration(50+random.IntN(250)) * time.Millisecond)
		for _, pid := range descendants(r.PID()) {
			if random.IntN(2) == 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
			}
		}
	}
	if killed == 0 {
		t.Fatal("nothing was killed")
	}
	finish(t, r, id)
	checkTree(t, r, data, id, w.URL, 300)
	t.Logf("%d processes were killed", killed)
}

// SIGTERM leaves no process and no half batch behind, and the next start goes
// on.
func TestStoppedDaemon(t *testing.T) {
	w := newWitness(t, slowly(tree(200), 3*time.Millisecond))
	data := t.TempDir()
	r := start(t, data)
	id := newSite(t, r, rig.Site{Root: w.URL + "/"})
	time.Sleep(400 * time.Millisecond)
	children := descendants(r.PID())
	if err := r.Stop(limited(t)); err != nil {
		t.Fatal(err)
	}
	gone(t, children)
	r = start(t, data)
	finish(t, r, id)
	checkTree(t, r, data, id, w.URL, 200)
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

// checkTree compares what is stored with the site: each page once, processed,
// its counters exact, its contents there.
func checkTree(t *testing.T, r *rig.Rig, data, id, root string, n int) {
	t.Helper()
	all := rows(t, r, id)
	if len(all) != n+1 {
		t.Errorf("%d rows, want %d", len(all), n+1)
	}
	var pages []rig.Row
	for i := range n {
		u, ok := all[fmt.Sprintf("%s/p%d.html", root, i)]
		if !ok || u.Status != wire.StatusProcessed || u.State != wire.URLEnabled || u.ErrorMask != 0 || u.Crawled < 1 {
			t.Errorf("page %d: known %v, status %d, state %d, errors %v", i, ok, u.Status, u.State, u.ErrorMask.Names())
			continue
		}
		if versions(t, data, id, u.URLMd5) < 1 {
			t.Errorf("page %d has no raw content", i)
		}
		pages = append(pages, rig.Row{URL: u.URL, MD5: u.URLMd5})
	}
	contents, err := r.Contents(t.Context(), id, pages)
	if err != nil || len(contents) != len(pages) {
		t.Errorf("%d of %d contents, %v", len(contents), len(pages), err)
	}
	var site wire.Site
	if err := r.Ask(t.Context(), "SITE_STATUS", map[string]any{"id": id}, &site); err != nil {
		t.Fatal(err)
	}
	if site.Contents != int64(n+1) || site.NewURLs != 0 || site.CollectedURLs != int64(n) || site.Resources != 0 || site.Errors != 0 {
		t.Errorf("counters: %+v", site)
	}
	// The last batch is forgotten a moment after its rows are done, and an idle
	// daemon looks for pages to process now and then.
	until(t, "no task is left in the spool", func() bool {
		return !slices.ContainsFunc(files(t, filepath.Join(data, "env")), func(name string) bool { return strings.Contains(name, "task.json") })
	})
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

// gone waits until the processes have ended; they must, by themselves.
func gone(t *testing.T, pids []int) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for _, pid := range pids {
		for {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil || strings.Contains(string(stat), ") Z ") {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("process %d is left: %s", pid, stat)
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}
