//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// page reads a page of the status server.
func page(t *testing.T, port int, path string) (status int, body string) {
	t.Helper()
	answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", port, path))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// smallDisk makes dir a disk of its own with 2 MiB. fill leaves no free byte on it, and empty
// makes room again. A user who may not mount gets a folder that becomes read-only instead.
func smallDisk(t *testing.T, dir string) (fill, empty func(), reason string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		return func() { seal(t, dir) }, func() {
			err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				return errors.Join(err, os.Chmod(path, 0o755))
			})
			if err != nil {
				t.Fatal(err)
			}
		}, "permission denied"
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Fatalf("mount a small disk at %s: %v", dir, err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	filler := filepath.Join(dir, "filler")
	return func() {
			f, err := os.Create(filler)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			block := make([]byte, 4096)
			for err == nil {
				_, err = f.Write(block)
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
		}, func() {
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
		}, "no space left in "
}

// The disk of the raw contents becomes full in the middle of a crawl. No URL is given up or loses
// an attempt, although one is all they have. /readyz, STAT and the metrics say what is wrong. When
// there is room again, the crawl completes by itself.
func TestFullRawFolder(t *testing.T) {
	t.Parallel()
	content := tree(200)
	w := newWitness(t, content)
	data, raw, port := t.TempDir(), filepath.Join(t.TempDir(), "raw"), freePorts(t, 1)[0]
	fill, empty, reason := smallDisk(t, raw)
	r := start(t, data, "DC_TasksManager_raw_data_dir="+raw, fmt.Sprint("DC_StatusServer_StatusPort=", port),
		"DC_StatusServer_StatusMinFree=0", "DC_BatchTasksManager_BatchDefaultMaxAttempts=1", "DC_BatchTasksManagerProcess_BatchDefaultMaxAttempts=1")
	testwait.Until(t, "the daemon is ready", func() bool { status, _ := page(t, port, "/readyz"); return status == 200 })
	id := newSite(t, r, rig.Site{Root: w.URL + "/"})
	content.awaitRequests(t, w, 50)
	fill()
	if status, body := page(t, port, "/readyz"); status != 503 || !strings.Contains(body, "raw_data_dir "+raw) || !strings.Contains(body, reason) {
		t.Errorf("/readyz of a full disk: %d %s", status, body)
	}
	d := database(t, data)
	var stat map[string]any
	pauses := func() float64 { n, _ := stat["batches_crawl_pauses"].(float64); return n }
	testwait.UntilWithin(t, crawlLimit, "crawling pauses", func() bool {
		var err error
		if stat, err = r.Stat(t.Context(), "BatchTasksManager"); err != nil {
			t.Fatal(err)
		}
		return pauses() >= 1
	})
	if got, _ := stat["batches_crawl_pause"].(string); !strings.Contains(got, reason) {
		t.Errorf("STAT: the reason of the pause is %q", got)
	}
	if _, body := page(t, port, "/metrics"); !strings.Contains(body, `dc_queue_paused{manager="BatchTasksManager",queue="crawl",reason="crawler-task: `) {
		t.Error("/metrics does not show the pause of crawling")
	}
	if _, body := page(t, port, "/readyz"); !strings.Contains(body, "BatchTasksManager pauses: crawler-task: ") {
		t.Errorf("/readyz: %s", body)
	}
	if status, body := page(t, port, "/healthz"); status != 200 || !strings.Contains(body, reason) {
		t.Errorf("/healthz: %d %s", status, body)
	}
	if n := number(t, d, `SELECT count(*) FROM "dc_urls.urls" WHERE State<>0 OR Attempts>0`); n != 0 {
		t.Errorf("%d URLs were given up or have an attempt", n)
	}
	empty()
	content.slowFrom(0, 0)
	finish(t, r, id)
	testwait.Until(t, "the daemon is ready again", func() bool { status, _ := page(t, port, "/readyz"); return status == 200 })
	checkTree(t, r, data, id, w.URL, 200)
	if n := number(t, d, `SELECT count(*) FROM "dc_urls.urls" WHERE State<>0 OR Attempts>0`); n != 0 {
		t.Errorf("%d URLs were given up or have an attempt", n)
	}
}

// One page kills the crawler-task that requests it, each time. The batch is halved until the page
// stands alone, and only that page is given up. Its 200 mates are crawled and have no attempt.
func TestPageKillsItsTask(t *testing.T) {
	t.Parallel()
	site := slowly(tree(200), 3*time.Millisecond)
	const guilty = "/p17.html"
	var r *rig.Rig
	kills := 0
	w := newWitness(t, http.HandlerFunc(func(rw http.ResponseWriter, request *http.Request) {
		if request.URL.Path != guilty {
			site.ServeHTTP(rw, request)
			return
		}
		for _, pid := range descendants(r.PID()) {
			if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); strings.TrimSpace(string(name)) == "crawler-task" {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		kills++
		<-request.Context().Done()
	}))
	data := t.TempDir()
	r = start(t, data, "DC_BatchTasksManager_BatchDefaultMaxAttempts=3")
	id := newSite(t, r, rig.Site{Root: w.URL + "/"})
	finish(t, r, id)
	all := rows(t, r, id)
	u := all[w.URL+guilty]
	if u.State != wire.URLError || u.Crawled > 1 || !slices.Contains(u.ErrorMask.Names(), "MAX_EXECUTION_TIME") {
		t.Errorf("the guilty page: %+v", u)
	}
	d := database(t, data)
	if n := number(t, d, `SELECT count(*) FROM "dc_urls.urls" WHERE Attempts>0`); n != 0 {
		t.Errorf("%d URLs have an attempt", n)
	}
	// The children of the guilty page are unknown.
	lost := 0
	for i := range 200 {
		if above := (i - 1) / 4; i == 17 || above == 17 || (above-1)/4 == 17 && above > 0 {
			lost++
			continue
		}
		if u := all[fmt.Sprintf("%s/p%d.html", w.URL, i)]; u.Status != wire.StatusProcessed || u.State != wire.URLEnabled || u.ErrorMask != 0 {
			t.Errorf("page %d: status %d, state %d, %v", i, u.Status, u.State, u.ErrorMask.Names())
		}
	}
	t.Logf("%d kills, %d pages unknown, %d requests", kills, lost, w.count())
	if kills > 20 {
		t.Errorf("the page was requested %d times", kills)
	}
}
