//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/canonical"
	"hce/dc/examples/hostileweb/web"
	"hce/dc/examples/siteserver/site"
	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/wire"
)

const (
	// hostileMemory limits the memory of the crawler with bodies of up to 16 MiB. Half of
	// it is max_memory of the ini file, which bodies being read share.
	hostileMemory = 400 << 20
	// hostileTime limits the time of the whole test. Some twenty answers end only by their
	// time-out.
	hostileTime  = 4 * time.Minute
	hostileDelay = 20 * time.Millisecond
	stalled      = 1500 // ms: time-out of endless answers
)

// One batch crawls every trap of the hostile web: each row gets the right error bit, and
// memory and time stay limited.
func TestHostileWeb(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	logFile, err := os.Create(filepath.Join(data, "requests.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer logFile.Close()
	w, err := web.Start(web.Options{Log: logFile})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	authority := filepath.Join(data, "authority.pem")
	if err := os.WriteFile(authority, w.Authority(), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"DC_Application_data_dir=" + data, "DC_CrawlerTask_AllowedNetworks=127.0.0.0/8",
		"DC_CrawlerTask_max_resource_size=16777216", "SSL_CERT_FILE=" + authority,
	}
	id := rig.SiteID(w.Root())
	newTaskSites(t, env, map[string]any{"urls": []string{w.Root()}, "requestDelay": 0,
		"properties": []map[string]any{{"name": "CONNECTION_TIMEOUT", "value": "3"}}})

	var items []any
	for _, trap := range web.Traps() {
		timeout := 60_000
		if trap.Stalls {
			timeout = stalled
		}
		items = append(items, batchItem(id, w.URL(trap), timeout, int(hostileDelay.Milliseconds())))
	}
	usage := crawl(t, batchOf(items, int(hostileTime.Seconds())), env)
	t.Logf("%d traps in %v, peak of %d MiB", len(items), usage.took.Round(time.Millisecond), usage.memory>>20)
	if usage.memory > hostileMemory {
		t.Errorf("the crawler used %d MiB, want at most %d", usage.memory>>20, hostileMemory>>20)
	}
	if usage.took > hostileTime {
		t.Errorf("the crawl took %v, want at most %v", usage.took, hostileTime)
	}

	var all []string
	for _, trap := range web.Traps() {
		all = append(all, w.URL(trap))
	}
	stored := status(t, id, all, env)
	for _, trap := range web.Traps() {
		name := strings.TrimSpace(trap.Host + " " + trap.Path[:min(len(trap.Path), 60)])
		u, ok := stored[md5Of(t, w.URL(trap))]
		switch {
		case !ok:
			t.Errorf("%s (%s): no row", name, trap.What)
		case trap.PutOff && u.Status != wire.StatusNew, !trap.PutOff && u.Status != wire.StatusCrawled:
			t.Errorf("%s (%s): status %d, errors %v", name, trap.What, u.Status, u.ErrorMask.Names())
		case !trap.Fits(u.ErrorMask):
			t.Errorf("%s (%s): code %d, errors %v, want %s", name, trap.What, u.HTTPCode, u.ErrorMask.Names(), trap.End())
		case !trap.PutOff && trap.Keeps(u.ErrorMask) != (u.State == wire.URLEnabled):
			t.Errorf("%s (%s): state %d, errors %v; stored: %s", name, trap.What, u.State, u.ErrorMask.Names(), trap.Stored())
		}
	}
	checkLinkRows(t, data, id)
	checkLog(t, logFile.Name())
}

// checkLinkRows checks that no page adds more rows than max_links.
func checkLinkRows(t *testing.T, data, id string) {
	t.Helper()
	const maxLinks = 20_000 // of crawler-task.ini
	d := database(t, data)
	most := number(t, d, `SELECT coalesce(max(n),0) FROM (SELECT count(*) AS n FROM "dc_urls.urls" WHERE Site_Id=? AND ParentMd5<>'' GROUP BY ParentMd5)`, id)
	if most == 0 || most > maxLinks {
		t.Errorf("a page added %d rows, want 1 to %d", most, maxLinks)
	}
}

// checkLog checks that the requests to each host neither overlap nor follow within the
// delay. The server notices late that a client gave up, so the end of a request may follow
// the start of the next one by a second.
func checkLog(t *testing.T, path string) {
	t.Helper()
	const late = time.Second
	byHost := map[string][]visit{}
	for _, r := range requestsIn(t, path) {
		byHost[r.Host] = append(byHost[r.Host], visit{URL: r.Path, Start: time.Unix(0, r.Start), End: time.Unix(0, r.End)})
	}
	if len(byHost) < 20 {
		t.Errorf("only %d hosts had requests", len(byHost))
	}
	for host, list := range byHost {
		slices.SortFunc(list, func(a, b visit) int { return a.Start.Compare(b.Start) })
		for i := 1; i < len(list); i++ {
			before, next := list[i-1], list[i]
			if gap := next.Start.Sub(before.Start); gap < hostileDelay {
				t.Errorf("%s: %.80s began %v after the start of %.80s, want at least %v", host, next.URL, gap, before.URL, hostileDelay)
			}
			if over := before.End.Sub(next.Start); over > late {
				t.Errorf("%s: %.80s began %v before the end of %.80s", host, next.URL, over, before.URL)
			}
		}
	}
}

func requestsIn(t *testing.T, path string) []site.Request {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []site.Request
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r site.Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		list = append(list, r)
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return list
}

// newTaskSites creates sites with db-task.
func newTaskSites(t *testing.T, env []string, requests ...map[string]any) {
	t.Helper()
	var all bytes.Buffer
	encoder := json.NewEncoder(&all)
	for _, r := range requests {
		if err := encoder.Encode([]any{"SITE_NEW", r}); err != nil {
			t.Fatal(err)
		}
	}
	stdout, stderr, code := run(t, "db-task", []string{"-c", filepath.Join(ini, "db-task.ini")}, all.String(), env...)
	if n := strings.Count(stdout, `"errorCode":0`); code != 0 || n != len(requests) {
		t.Fatalf("%d of %d sites created, status %d, answer %.1000q, stderr %.1000q", n, len(requests), code, stdout, stderr)
	}
}

func batchItem(site, url string, timeout, delay int) map[string]any {
	return map[string]any{"siteId": site, "urlId": "", "urlObj": map[string]any{
		"siteId": site, "url": url, "status": 1, "httpTimeout": timeout, "requestDelay": delay,
	}}
}

func batchOf(items []any, seconds int) map[string]any {
	return map[string]any{"id": 7, "crawlerType": 1, "dbMode": 3, "maxIterations": 1, "maxExecutionTime": seconds, "items": items}
}

// used is the consumption of a task process.
type used struct {
	took   time.Duration
	memory int64 // bytes, maximum
}

// crawl runs crawler-task with one batch.
func crawl(t *testing.T, batch any, env []string) used {
	t.Helper()
	text, err := json.Marshal(batch)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "crawler-task"), "-c", filepath.Join(ini, "crawler-task.ini"))
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &stdout, &stderr
	cmd.Env = append(os.Environ(), env...)
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	memory := make(chan int64, 1)
	go func() { memory <- peakMemory(cmd.Process.Pid, ended) }()
	err = cmd.Wait()
	u := used{took: time.Since(start)}
	close(ended)
	u.memory = <-memory
	if err != nil {
		t.Fatalf("crawler-task: %v, stderr %.2000q", err, stderr.String())
	}
	if n := strings.Count(stdout.String(), "\n"); n != 1 || !json.Valid(stdout.Bytes()) {
		t.Errorf("%d lines of answer: %.300q", n, stdout.String())
	}
	if strings.Contains(stderr.String(), "panic") {
		t.Errorf("a panic: %.4000s", stderr.String())
	}
	return u
}

// peakMemory polls the high-water mark of a process until it ends. Maxrss of the resource
// usage would include the memory of the test, which the process shares until exec.
func peakMemory(pid int, ended <-chan struct{}) (peak int64) {
	for {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if _, rest, ok := strings.Cut(string(text), "VmHWM:"); ok {
			var kb int64
			fmt.Sscan(rest, &kb)
			peak = max(peak, kb<<10)
		}
		select {
		case <-ended:
			return peak
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// status reads rows with URL_STATUS of db-task, by key.
func status(t *testing.T, site string, urls []string, env []string) map[string]wire.URL {
	t.Helper()
	found := map[string]wire.URL{}
	for part := range slices.Chunk(urls, 100) {
		var selections []any
		for _, u := range part {
			selections = append(selections, map[string]any{"siteId": site, "url": md5Of(t, u), "urlType": 1})
		}
		text, err := json.Marshal([]any{"URL_STATUS", selections})
		if err != nil {
			t.Fatal(err)
		}
		stdout, stderr, code := run(t, "db-task", []string{"-c", filepath.Join(ini, "db-task.ini")}, string(text), env...)
		var answer []json.RawMessage
		if err := json.Unmarshal([]byte(stdout), &answer); err != nil || code != 0 || len(answer) != 2 {
			t.Fatalf("URL_STATUS: status %d, %v, answer %.300q, stderr %q", code, err, stdout, stderr)
		}
		var rows []wire.URL
		if err := json.Unmarshal(answer[1], &rows); err != nil {
			var whole struct{ ItemObject []wire.URL }
			if err := json.Unmarshal(answer[1], &whole); err != nil {
				t.Fatalf("%v in %.300q", err, stdout)
			}
			rows = whole.ItemObject
		}
		for _, u := range rows {
			found[u.URLMd5] = u
		}
	}
	return found
}

// md5Of is the key of a URL.
func md5Of(t *testing.T, url string) string {
	t.Helper()
	target, err := canonical.Canonical(url)
	if err != nil {
		t.Fatal(err)
	}
	return rig.SiteID(target)
}
