package realtime_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/gateway"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/daemon/realtime"
	"hce/dc/internal/testkit/testgolden"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// title returns the title in processed contents.
func title(t *testing.T, list []wire.Content) string {
	t.Helper()
	if len(list) != 1 || list[0].TypeID != wire.ContentProcessed {
		return ""
	}
	text, err := base64.StdEncoding.DecodeString(list[0].Buffer)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), `"name":"title","data":["`)
	found, _, _ := strings.Cut(rest, `"`)
	return found
}

// TestBatch: one request is crawled, processed and answered with a result for each item. No
// files remain.
func TestBatch(t *testing.T) {
	w := newWorld(t, nil)
	batch := batchOf(
		w.item("/one", map[string]any{"properties": map[string]any{"FETCH_RAW_CONTENT": "1"}}),
		w.item("/missing", nil),
		w.item("/closed/page", nil),
		w.item("http://10.0.0.1/", nil),
		w.item("/given", map[string]any{"urlPut": map[string]any{"contentType": 0, "putDict": map[string]any{
			"data": strings.ReplaceAll(article, "PATH", "the client"), "properties": map[string]any{"mine": 1},
		}}}),
		w.item("/as-it-is", map[string]any{"properties": map[string]any{"PROCESSOR_NAME": "NONE", "FETCH_RAW_CONTENT": "1"}}),
		w.item("/json-only", map[string]any{"siteObj": map[string]any{"properties": []any{map[string]any{"name": "PROCESS_CTYPES", "value": "application/json"}}}}),
	)
	got := w.contents(w.ask(w.client(), batch))
	want := []struct {
		title string
		raw   int
		code  int64
		errs  string
	}{
		{"Title of /one", 1, 200, ""},
		{"", 0, 404, "HTTP_ERROR"},
		{"", 0, 400, "ROBOTS_NOT_ALLOW"},
		{"", 0, 400, "CONNECTION_ERROR SSRF_GUARD"},
		{"Title of the client", 0, 200, ""},
		{"", 1, 200, ""},
		{"", 0, 200, "UNSUPPORTED_CONTENT_TYPE"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d contents: %+v", len(got), got)
	}
	for i, x := range want {
		c := got[i]
		if title(t, c.ProcessedContents) != x.title || len(c.RawContents) != x.raw || c.Status != wire.StatusProcessed || c.SiteID != "s" ||
			c.URLMd5 != wire.Md5(c.URL) || c.DBFields.HttpCode != x.code || strings.Join(c.DBFields.ErrorNames, " ") != x.errs {
			t.Errorf("item %d: title %q, %d raw, %+v", i, title(t, c.ProcessedContents), len(c.RawContents), c)
		}
	}
	if string(got[4].ItemProperties) != `{"mine":1}` || w.count("/given") != 0 {
		t.Errorf("given content: properties %s, %d requests", got[4].ItemProperties, w.count("/given"))
	}
	if files, folders := w.files(), w.folders(); len(files)+len(folders) > 0 {
		t.Errorf("remaining files: %q %q", files, folders)
	}
	for name, want := range map[string]any{"batches_crawl_total": 1.0, "batches_crawl_urls": 7.0, "batches_crawl_fault": 0.0,
		"batches_crawl_urls_fault": 0.0, "batches_realtime_threads_created": 1.0} {
		if got := w.stat(name); got != want {
			t.Errorf("%s = %v", name, got)
		}
	}
	if mean, _ := w.stat("batches_crawl_time_avg").(string); mean == "" || mean == "0.000" {
		t.Errorf("mean time %q", mean)
	}
	testwait.Until(w, "the thread is free", func() bool { return w.stat("batches_realtime_threads") == 0.0 })
}

// moving are the fields of an answer that differ between runs.
var moving = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "HOST"},
	{regexp.MustCompile(`"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d+)?"`), `"TIME"`},
	{regexp.MustCompile(`"(urlMd5|RawContentMd5|rawContentMd5)": "[0-9a-f]{32}"`), `"$1": "MD5"`},
	{regexp.MustCompile(`"(CrawlingTime|ProcessingTime|time|id|BatchId)": \d+`), `"$1": 0`},
	{regexp.MustCompile(`"buffer": "[^"]+"`), `"buffer": "BASE64"`},
}

// TestGoldenAnswer checks the contract with clients: the whole answer.
func TestGoldenAnswer(t *testing.T) {
	w := newWorld(t, nil)
	e := w.client().Ask(wire.ClassClient, int(wire.BatchRun), batchOf(
		w.item("/one", map[string]any{"contentMask": wire.MaskProcessed | wire.MaskRawLast | wire.MaskHeaders, "attributes": []any{map[string]any{"siteId": "s", "name": "topic", "value": "sport", "urlMd5": "", "cDate": nil}}}),
		w.item("/missing", nil)))
	var object any
	if err := json.Unmarshal(e.Object, &object); err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(object, "", "    ")
	if err != nil {
		t.Fatal(err)
	}
	got := string(text) + "\n"
	for _, m := range moving {
		got = m.find.ReplaceAllString(got, m.put)
	}
	testgolden.Equal(t, filepath.Join("testdata", "answer.json"), got)
}

// TestContentMask: each bit of contentMask adds its contents.
func TestContentMask(t *testing.T) {
	w := newWorld(t, nil)
	c := w.client()
	all := map[string]any{"STORE_COOKIES": "1", "HTML_RECOVER": "1"}
	tests := []struct {
		name string
		mask int64
		want string // processed, then type ids of raw contents, then h, r, m, c
	}{
		{"none", 0, "1 []"},
		{"processed", wire.MaskProcessed, "1 []"},
		{"raw, last", wire.MaskRawLast, "0 [0]"},
		{"raw, first", wire.MaskRawFirst, "0 [0]"},
		{"raw, all", wire.MaskRawAll, "0 [0]"},
		{"headers", wire.MaskHeaders, "0 [] h"},
		{"requests", wire.MaskRequests, "0 [] r"},
		{"meta", wire.MaskMeta, "0 [] -"},
		{"cookies", wire.MaskCookies, "0 [] c"},
		{"tidy", wire.MaskTidy, "0 [1]"},
		{"tidy and headers", wire.MaskTidy | wire.MaskHeaders, "0 [1] h"},
		{"dynamic", wire.MaskDynamic, "0 []"},
		{"raw", wire.MaskRaw, "0 [0]"},
		{"chain", wire.MaskChain, "0 []"},
		{"internal", wire.MaskInternal, "1 []"},
		{"custom", wire.MaskCustom, "0 []"},
		{"everything", wire.MaskProcessed | wire.MaskRawLast | wire.MaskRaw | wire.MaskTidy | wire.MaskHeaders | wire.MaskRequests | wire.MaskCookies | wire.MaskAttributes, "1 [0 1] hrc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := w.contents(w.ask(c, batchOf(w.item("/mask", map[string]any{"contentMask": tt.mask, "properties": all}))))[0]
			types := []string{}
			for _, r := range got.RawContents {
				types = append(types, strconv.Itoa(r.TypeID))
			}
			marks := ""
			for _, list := range []struct {
				mark string
				list []*wire.Content
			}{{"h", got.Headers}, {"r", got.Requests}, {"m", got.Meta}, {"c", got.Cookies}} {
				for _, c := range list.list {
					if c == nil {
						marks += "-"
					} else {
						marks += list.mark
					}
				}
			}
			text := strings.TrimSpace(strconv.Itoa(len(got.ProcessedContents)) + " [" + strings.Join(types, " ") + "] " + marks)
			if text != tt.want || got.DBFields.ErrorMask != 0 {
				t.Errorf("got %q, want %q; errors %v", text, tt.want, got.DBFields.ErrorNames)
			}
		})
	}
}

// TestManyClients: each client gets the answer to its own batch, also with equal ids.
func TestManyClients(t *testing.T) {
	const count = 5
	w := newWorld(t, func(c *realtime.Config) { c.MaxThreads = count })
	callers := make([]*managertest.Caller, count)
	for i := range callers {
		callers[i] = w.client()
		e := managertest.Event(t, wire.ClassClient, int(wire.BatchRun), map[string]any{"id": 5, "items": []any{
			w.item("/many/"+strconv.Itoa(i), nil), w.item("/more/"+strconv.Itoa(i), nil),
		}})
		e.UID = "same"
		callers[i].Send(e)
	}
	for i, c := range callers {
		e, ok := c.Poll(managertest.Patience)
		if !ok {
			t.Fatalf("client %d: no answer", i)
		}
		got := w.contents(managertest.Object[answer](t, e))
		if len(got) != 2 || title(t, got[0].ProcessedContents) != "Title of /many/"+strconv.Itoa(i) || title(t, got[1].ProcessedContents) != "Title of /more/"+strconv.Itoa(i) {
			t.Errorf("client %d: %+v", i, got)
		}
	}
}

// TestOverload: if all threads are busy, a batch is refused at once. A slow site does not delay
// another batch.
func TestOverload(t *testing.T) {
	w := newWorld(t, func(c *realtime.Config) { c.MaxThreads = 2 })
	slow, quick := w.client(), w.client()
	slow.Send(managertest.Event(t, wire.ClassClient, int(wire.BatchRun), batchOf(w.item("/slow/1", nil))))
	<-w.slow
	// Requests to one host are delayed, so the quick page is on another host.
	other := httptest.NewServer(http.HandlerFunc(w.serve))
	defer other.Close()
	got := w.contents(w.ask(quick, batchOf(w.item(other.URL+"/quick", nil))))
	if title(t, got[0].ProcessedContents) != "Title of /quick" {
		t.Errorf("next to a slow site: %+v", got)
	}
	w.set("MaxThreads", 1)
	if got := w.ask(quick, batchOf(w.item("/one", nil))); got.ErrorCode != wire.ResponseOverloaded || len(got.ItemsList) != 0 ||
		got.ErrorMessage != "overloaded: 1 batches run, MaxThreads is 1" {
		t.Errorf("overloaded: %+v", got)
	}
	// With MaxThreads 0 the next batch waits without blocking the loop.
	w.set("MaxThreads", 0)
	quick.Send(managertest.Event(t, wire.ClassClient, int(wire.BatchRun), batchOf(w.item("/one", nil))))
	testwait.Until(w, "the batch waits", func() bool { return w.stat("batches_realtime_queue") == 1.0 })
	close(w.release)
	for i, c := range []*managertest.Caller{slow, quick} {
		if got := w.contents(managertest.Object[answer](t, c.Recv())); title(t, got[0].ProcessedContents) == "" {
			t.Errorf("client %d: %+v", i, got)
		}
	}
}

// TestClientGone: the answer to a disconnected client is dropped, and its thread is free again.
func TestClientGone(t *testing.T) {
	w := newWorld(t, func(c *realtime.Config) { c.MaxThreads = 1 })
	leaver, err := w.bus.Connect(w.endpoints[gateway.Name], bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leaver.Send(nil, managertest.Event(t, wire.ClassClient, int(wire.BatchRun), batchOf(w.item("/slow/1", nil)))); err != nil {
		t.Fatal(err)
	}
	<-w.slow
	leaver.Close()
	close(w.release)
	testwait.Until(w, "the thread is free", func() bool { return w.stat("batches_realtime_threads") == 0.0 })
	if got := w.contents(w.ask(w.client(), batchOf(w.item("/one", nil)))); title(t, got[0].ProcessedContents) != "Title of /one" {
		t.Errorf("afterwards: %+v", got)
	}
}

// TestKill: after a kill of the crawler each item has an error at once, the files are removed,
// and the next batch is served.
func TestKill(t *testing.T) {
	w := newWorld(t, nil)
	c := w.client()
	c.Send(managertest.Event(t, wire.ClassClient, int(wire.BatchRun), batchOf(w.item("/one", nil), w.item("/slow/1", nil))))
	<-w.slow
	testwait.Until(w, "the first page is stored", func() bool { return len(w.files()) > 0 })
	text, err := os.ReadFile(filepath.Join(w.home, "crawler-task.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	got := managertest.Object[answer](t, c.Recv())
	if got.ErrorCode != 0 || len(got.ItemsList) != 1 || got.ItemsList[0].ErrorCode != wire.ItemFailed || len(got.ItemsList[0].ItemObject) != 2 {
		t.Fatalf("answer %+v", got)
	}
	for _, item := range got.ItemsList[0].ItemObject {
		if !slices.Equal(item.DBFields.ErrorNames, []string{"PROCESSOR_BATCH_ITEM_PROCESS"}) {
			t.Errorf("item %+v", item)
		}
	}
	if folders := w.folders(); len(folders) > 0 {
		t.Errorf("remaining folders: %q", folders)
	}
	if w.stat("batches_crawl_urls_fault") != 2.0 || w.stat("batches_crawl_fault") != 1.0 {
		t.Errorf("faults: %v of batches, %v of URLs", w.stat("batches_crawl_fault"), w.stat("batches_crawl_urls_fault"))
	}
	close(w.release)
	if got := w.contents(w.ask(c, batchOf(w.item("/two", nil)))); title(t, got[0].ProcessedContents) != "Title of /two" {
		t.Errorf("afterwards: %+v", got)
	}
}

// TestLeftovers: the next start removes the files of a killed daemon.
func TestLeftovers(t *testing.T) {
	w := &world{T: t, home: t.TempDir()}
	left := filepath.Join(w.home, "raw", ".realtime", "0123456789abcdef-x", "s", "ab")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	w.startDaemon(nil)
	testwait.Until(w, "the leftovers are removed", func() bool { return len(w.folders()) == 0 })
}

// TestTime: items that are not ready at the time limit get an error; the others are answered.
func TestTime(t *testing.T) {
	w := newWorld(t, nil)
	w.warm()
	batch := batchOf(w.item("/one", nil), w.item("/slow/1", nil), w.item("/two", nil))
	batch["maxExecutionTime"] = 3
	got := w.contents(w.ask(w.client(), batch))
	if len(got) != 3 || title(t, got[0].ProcessedContents) != "Title of /one" {
		t.Fatalf("contents %+v", got)
	}
	for _, c := range got[1:] {
		if c.DBFields.ErrorMask == 0 || len(c.ProcessedContents) > 0 {
			t.Errorf("item %+v", c)
		}
	}
	close(w.release)
}

// TestAgain: a poor page of a site with automatic fetch type is fetched again by a browser, and
// the better result is answered.
func TestAgain(t *testing.T) {
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Fatal("chromium is missing; run scripts/setup.sh test")
	}
	w := newWorld(t, nil)
	auto := map[string]any{"fetchType": 7, "properties": []any{map[string]any{
		"name": "FINALIZER_METRICS", "value": `{"type":2,"contentMetrics":[{"NAME":"TAGS_NUMBER","LIMIT_MIN":3},{"NAME":"CONTENT_SIZE","LIMIT_MIN":"150"}]}`,
	}}}
	got := w.contents(w.ask(w.client(), batchOf(
		w.item("/script", map[string]any{"siteObj": auto}),
		w.item("/good", map[string]any{"siteObj": auto}),
		w.item("/missing", map[string]any{"siteObj": map[string]any{"fetchType": 1}}),
	)))
	if len(got) != 3 || title(t, got[0].ProcessedContents) != "Title of a script" || title(t, got[1].ProcessedContents) != "Title of /good" {
		t.Fatalf("contents %q %q %+v", title(t, got[0].ProcessedContents), title(t, got[1].ProcessedContents), got)
	}
	if w.count("/script") != 2 || w.count("/good") != 1 || w.count("/missing") != 1 {
		t.Errorf("requests: /script %d, /good %d, /missing %d", w.count("/script"), w.count("/good"), w.count("/missing"))
	}
	if folders := w.folders(); len(folders) > 0 {
		t.Errorf("remaining folders: %q", folders)
	}
}
