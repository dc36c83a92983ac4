package realtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/daemon"
	"hce/dc/internal/daemon/admin"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/gateway"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/daemon/realtime"
	"hce/dc/internal/daemon/sites"
	"hce/dc/internal/wire"
)

const article = `<html lang="en"><head><title>Title of PATH</title><meta name="description" content="What it says">
<meta property="article:published_time" content="2026-01-02T03:04:05Z"></head>
<body><h1>Title of PATH</h1><p>A paragraph of the article, long enough to be taken for one by whoever looks at it.
It goes on for a while, as paragraphs do, and says nothing that anybody would want to know.</p></body></html>`

// world is a daemon with its TCP interfaces, task programs, and a web site.
type world struct {
	*testing.T
	home      string
	web       *httptest.Server
	release   chan struct{} // lets /slow pages go
	slow      chan string   // paths of /slow pages that are asked for
	bus       *bus.Bus
	endpoints map[string]string

	mu    sync.Mutex
	asked []string
}

// newWorld starts a world. change may be nil; the default allows six batches at once.
func newWorld(t *testing.T, change func(*realtime.Config)) *world {
	t.Helper()
	managertest.NoLeaks(t)
	w := &world{T: t, home: t.TempDir(), release: make(chan struct{}), slow: make(chan string, 100)}
	w.web = httptest.NewServer(http.HandlerFunc(w.serve))
	w.startDaemon(change)
	t.Cleanup(func() {
		w.web.CloseClientConnections()
		w.web.Close()
	})
	return w
}

// warm starts the task programs, so that a time limit of the test does not contain their start.
func (w *world) warm() {
	w.Helper()
	w.ask(w.client(), batchOf(w.item("/one", nil)))
}

func (w *world) startDaemon(change func(*realtime.Config)) (stop func()) {
	w.Helper()
	home := w.home
	cfg := daemon.Config{
		DataDir:  home,
		Sequence: []string{admin.Name, realtime.Name, gateway.Name},
		Executor: executor.LocalConfig{KillGrace: 200 * time.Millisecond},
		Admin:    admin.Config{Port: -1},
		Gateway:  gateway.Config{Port: -1},
		Sites:    sites.Config{DBTask: executor.Stage{Program: "db-task"}},
		RealTime: realtime.Config{
			Crawler: program("crawler-task", home), Finalizer: program("processor-task", home),
			MaxThreads: realtime.DefaultMaxThreads, Routing: realtime.DefaultRouting,
		},
		Log: managertest.Quiet(),
	}
	if change != nil {
		change(&cfg.RealTime)
	}
	cfg.Executor.Slots = map[string]int{realtime.TaskType: 16}
	ready, done := make(chan struct{}), make(chan error, 1)
	cfg.Ready = func(e map[string]string) { w.endpoints = e; close(ready) }
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- daemon.Run(ctx, cfg) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				w.Error(err)
			}
		})
	}
	select {
	case <-ready:
	case err := <-done:
		cancel()
		w.Fatal(err)
	}
	if w.bus == nil {
		w.bus = managertest.Bus(w)
	}
	w.Cleanup(stop)
	return stop
}

// serve is the site: articles, slow pages and faulty pages.
func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.asked = append(w.asked, r.URL.Path)
	w.mu.Unlock()
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	switch {
	case r.URL.Path == "/robots.txt":
		fmt.Fprint(rw, "User-agent: *\nDisallow: /closed")
	case strings.HasPrefix(r.URL.Path, "/slow"):
		w.slow <- r.URL.Path
		select {
		case <-w.release:
		case <-r.Context().Done():
		}
		fmt.Fprint(rw, strings.ReplaceAll(article, "PATH", r.URL.Path))
	case r.URL.Path == "/links":
		fmt.Fprint(rw, strings.ReplaceAll(article, "PATH", r.URL.Path), `<a href="/linked">x</a>`)
	case r.URL.Path == "/missing":
		http.NotFound(rw, r)
	case r.URL.Path == "/script":
		fmt.Fprintf(rw, `<html><body><script>document.documentElement.innerHTML = %s</script></body></html>`,
			strings.ReplaceAll(string(must(json.Marshal(strings.ReplaceAll(article, "PATH", "a script")))), "</", `<\/`))
	default:
		rw.Header().Set("Set-Cookie", "c=1")
		fmt.Fprint(rw, strings.ReplaceAll(article, "PATH", r.URL.Path))
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// count returns the number of requests for a path.
func (w *world) count(path string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.asked {
		if p == path {
			n++
		}
	}
	return n
}

func (w *world) client() *managertest.Caller {
	return managertest.Call(w, w.bus, w.endpoints[gateway.Name])
}

// item returns an item of a batch; more overrides members of it and of its urlObj.
func (w *world) item(path string, more map[string]any) map[string]any {
	u := path
	if strings.HasPrefix(path, "/") {
		u = w.web.URL + path
	}
	url := map[string]any{"siteId": "s", "url": u, "urlMd5": wire.Md5(u), "status": 2, "requestDelay": 0, "httpTimeout": 20000}
	item := map[string]any{"siteId": "s", "urlId": wire.Md5(u), "urlObj": url}
	for name, value := range more {
		switch name {
		case "properties", "siteObj", "depth":
			item[name] = value
		default:
			url[name] = value
		}
	}
	return item
}

func batchOf(items ...map[string]any) map[string]any {
	return map[string]any{"id": 0, "items": append([]map[string]any{}, items...)}
}

// answer is the ClientResponse to BATCH.
type answer struct {
	ErrorCode    int
	ErrorMessage string
	ItemsList    []struct {
		ErrorCode    int
		ErrorMessage string
		Node         string
		ItemObject   []content
	}
}

type content struct {
	URL               string
	URLMd5            string
	SiteID            string
	Status            int
	RawContents       []wire.Content
	ProcessedContents []wire.Content
	Headers           []*wire.Content
	Requests          []*wire.Content
	Cookies           []*wire.Content
	Meta              []*wire.Content
	DBFields          struct {
		Status, HttpCode, TagsCount, ErrorMask, Crawled int64
		ErrorNames                                      []string `json:"errorNames"`
	}
	ItemProperties json.RawMessage
	Attributes     []wire.Attribute
}

// ask sends a batch and waits for the answer.
func (w *world) ask(c *managertest.Caller, batch any) answer {
	w.Helper()
	e := c.Ask(wire.ClassClient, int(wire.BatchRun), batch)
	if e.Type != int(wire.BatchRun)+wire.ResponseOffset {
		w.Fatalf("answer of type %d: %s", e.Type, e.Object)
	}
	return managertest.Object[answer](w, e)
}

// contents returns the contents of an answer without an error.
func (w *world) contents(a answer) []content {
	w.Helper()
	if a.ErrorCode != 0 || len(a.ItemsList) != 1 || a.ItemsList[0].ErrorCode != 0 {
		w.Fatalf("answer %+v", a)
	}
	return a.ItemsList[0].ItemObject
}

// operator sends an administrative request to the manager.
func (w *world) operator(eventType int, fields map[string]any) wire.AdminFields {
	w.Helper()
	c := managertest.Call(w, w.bus, w.endpoints[admin.Name])
	return managertest.Object[wire.AdminFields](w, c.Ask(wire.ClassAdmin, eventType, wire.AdminFields{ClassName: realtime.Name, Fields: fields}))
}

func (w *world) set(name string, value any) {
	w.Helper()
	if got := w.operator(wire.AdminSet, map[string]any{name: value}); len(got.Errors) > 0 {
		w.Fatalf("SET %s: %v", name, got.Errors)
	}
}

func (w *world) stat(name string) any {
	w.Helper()
	return w.operator(wire.AdminStat, nil).Fields[name]
}

func (w *world) suspend(kind int) {
	w.Helper()
	c := managertest.Call(w, w.bus, w.endpoints[admin.Name])
	c.Ask(wire.ClassAdmin, wire.AdminSuspend, manager.Suspension{SuspendType: kind})
}

// files returns the raw files of batches.
func (w *world) files() (list []string) {
	root := filepath.Join(w.home, "raw")
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			list = append(list, strings.TrimPrefix(path, root))
		}
		return nil
	})
	return list
}

// folders returns the folders of batches.
func (w *world) folders() []string {
	entries, _ := os.ReadDir(filepath.Join(w.home, "raw", ".realtime"))
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
