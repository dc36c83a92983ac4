package realtime_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/daemon/realtime"
	"hce/dc/internal/storage"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

// TestKeys: each key that an operator may set has effect at once, and an invalid value is
// refused with the range.
func TestKeys(t *testing.T) {
	w := newWorld(t, nil)
	w.warm()
	c := w.client()
	two := batchOf(w.item("/one", nil), w.item("/two", nil))
	deep := func() map[string]any {
		b := batchOf(w.item("/links", map[string]any{"depth": 1}))
		b["maxIterations"] = 5
		return b
	}
	tests := []struct {
		key      string
		value    any
		usual    any
		wrong    any
		refusal  string
		observed func() string
		want     string
	}{
		{"BatchMaxURLs", 1, 10, 0, "must be 1 to 10000", func() string {
			a := w.ask(c, two)
			return fmt.Sprint(a.ErrorCode, " ", a.ErrorMessage)
		}, "2 the batch has 2 items; BatchMaxURLs allows 1"},
		{"BatchMaxExecutionTime", 2, 360, 0, "must be 1 to 86400", func() string {
			a := w.contents(w.ask(c, batchOf(w.item("/slow/1", nil))))
			<-w.slow
			return strings.Join(a[0].DBFields.ErrorNames, " ")
		}, "MAX_EXECUTION_TIME"},
		{"DRCETimeout", 2000, 1200000, 0, "must be 1 to 86400000", func() string {
			a := w.contents(w.ask(c, batchOf(w.item("/slow/2", nil))))
			<-w.slow
			return strings.Join(a[0].DBFields.ErrorNames, " ")
		}, "MAX_EXECUTION_TIME"},
		{"BatchMaxIterations", 1, 10, 101, "must be 1 to 100", func() string {
			return fmt.Sprint(len(w.contents(w.ask(c, deep()))))
		}, "1"},
		{"BatchMaxIterations", 10, 10, "x", "must be a whole number", func() string {
			return fmt.Sprint(len(w.contents(w.ask(c, deep()))))
		}, "2"},
		{"DRCERequestRouting", 5, 1, 2, "must be 0, 1, 4 or 5", func() string {
			return fmt.Sprint(len(w.contents(w.ask(c, batchOf(w.item("/one", nil))))))
		}, "1"},
		{"MaxThreads", 7, 6, -1, "must be 0 to 64", func() string { return fmt.Sprint(w.operator(wire.AdminGet, nil).Fields["MaxThreads"]) }, "7"},
	}
	for _, tt := range tests {
		t.Run(tt.key, func(t *testing.T) {
			before := w.operator(wire.AdminGet, nil).Fields[tt.key]
			got := w.operator(wire.AdminSet, map[string]any{tt.key: tt.wrong})
			if !strings.Contains(got.Errors[tt.key], tt.refusal) || !strings.Contains(got.Errors[tt.key], tt.key) {
				t.Errorf("SET %v says %q", tt.wrong, got.Errors[tt.key])
			}
			if after := w.operator(wire.AdminGet, nil).Fields[tt.key]; after != before {
				t.Errorf("a refused value changed %v to %v", before, after)
			}
			w.set(tt.key, tt.value)
			if got := tt.observed(); got != tt.want {
				t.Errorf("with %v: %q, want %q", tt.value, got, tt.want)
			}
			w.set(tt.key, tt.usual)
		})
	}
	for _, fixed := range []string{"DRCECrawlerAppName", "DRCEProcessorAppName"} {
		if got := w.operator(wire.AdminSet, map[string]any{fixed: "/bin/true"}); !strings.Contains(got.Errors[fixed], "cannot be changed") {
			t.Errorf("SET %s: %v", fixed, got)
		}
	}
	close(w.release)
}

// TestSuspended: a suspended manager refuses batches with a message, and accepts them after
// resume.
func TestSuspended(t *testing.T) {
	w := newWorld(t, nil)
	c := w.client()
	w.suspend(0)
	if a := w.ask(c, batchOf(w.item("/one", nil))); a.ErrorCode == 0 || !strings.Contains(a.ErrorMessage, "suspended") {
		t.Errorf("suspended: %+v", a)
	}
	w.suspend(1)
	if got := w.contents(w.ask(c, batchOf(w.item("/one", nil)))); len(got) != 1 {
		t.Errorf("resumed: %+v", got)
	}
}

// TestInvalidBatch: an invalid batch is refused with the reason.
func TestInvalidBatch(t *testing.T) {
	w := newWorld(t, nil)
	c := w.client()
	for _, tt := range []struct {
		name   string
		object any
		want   string
	}{
		{"null", nil, "is not an object"},
		{"list", []any{1}, "is not an object"},
		{"other object", map[string]any{"siteId": "s"}, "items is missing"},
		{"item without a URL", batchOf(map[string]any{"siteId": "s", "urlId": "", "urlObj": map[string]any{}}), "url is missing"},
		{"invalid site id", batchOf(map[string]any{"siteId": "../s", "urlObj": map[string]any{"url": "http://h/"}}), "siteId"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := w.ask(c, tt.object)
			if a.ErrorCode != 1 || !strings.Contains(a.ErrorMessage, tt.want) {
				t.Errorf("answer %+v", a)
			}
		})
	}
	if got := w.contents(w.ask(c, batchOf())); len(got) != 0 {
		t.Errorf("empty batch: %+v", got)
	}
	// Only the manager chooses the folder of a batch.
	b := batchOf(w.item("/one", nil))
	b["contentFolder"], b["dbMode"], b["crawlerType"] = "mine", 3, 1
	if got := w.contents(w.ask(c, b)); title(t, got[0].ProcessedContents) != "Title of /one" || len(w.folders()) > 0 {
		t.Errorf("folder of the client: %+v, %q", got, w.folders())
	}
}

// TestCrawledBefore: a URL that the node has crawled is not requested again unless recrawl is set;
// with reprocess = 0 the answer is the stored result.
func TestCrawledBefore(t *testing.T) {
	w := newWorld(t, nil)
	repo, closeStores, err := storage.Open(context.Background(), stores(w.home), managertest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer closeStores()
	url := w.web.URL + "/known"
	old := wire.File{Type: wire.ContentRaw, Data: []byte(strings.ReplaceAll(article, "PATH", "before"))}
	if err := repo.PutRaw(context.Background(), "s", map[string][]wire.File{wire.Md5(url): {old}}, time.Now()); err != nil {
		t.Fatal(err)
	}
	content := `{"default":{"data":{"tagList":[[{"name":"title","data":["Stored"]}]]}},"internal":[],"custom":[]}`
	if _, err := repo.Contents.PutAll(context.Background(), "s", []wire.Entry{{ID: wire.Md5(url), Data: []byte(content)}}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, path string
		properties map[string]any
		title      string
		asked      int
		errs       string
	}{
		{"crawled before", "/known", nil, "Title of before", 0, ""},
		{"stored result", "/known", map[string]any{"reprocess": "0"}, "Stored", 0, ""},
		{"processed again", "/known", map[string]any{"reprocess": "1"}, "Title of before", 0, ""},
		{"crawled again", "/known", map[string]any{"recrawl": "1"}, "Title of /known", 1, ""},
		{"recrawl overrides reprocess", "/known", map[string]any{"recrawl": "1", "reprocess": "0"}, "Title of /known", 1, ""},
		{"not stored in spite of its status", "/unknown", nil, "", 0, "MISSED_RAW_CONTENT_ON_DISK"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := w.count(tt.path)
			got := w.contents(w.ask(w.client(), batchOf(w.item(tt.path, map[string]any{
				"status": 2, "crawled": 1, "processed": 1, "tagsCount": 5, "httpCode": 200, "contentType": "text/html", "properties": tt.properties,
			}))))
			found := title(t, got[0].ProcessedContents)
			if found != tt.title || w.count(tt.path)-before != tt.asked || strings.Join(got[0].DBFields.ErrorNames, " ") != tt.errs {
				t.Errorf("title %q, %d requests, %+v", found, w.count(tt.path)-before, got[0])
			}
		})
	}
	if n := len(w.files()); n != 1 {
		t.Errorf("%d raw files; a real-time batch stores none", n)
	}
}

// TestRealRequests: requests as clients of the original send them are answered without errors.
func TestRealRequests(t *testing.T) {
	files, err := filepath.Glob("../../wire/testdata/requests/BATCH/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no requests in testdata: %v", err)
	}
	w := newWorld(t, nil)
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			batch, err := wire.ReadBatch(text, &lenient.Notes{})
			if err != nil || len(batch.Items) == 0 {
				t.Fatalf("%d items, %v", len(batch.Items), err)
			}
			// Redirect the hosts to the test server; keep the ids.
			moved := string(text)
			for _, it := range batch.Items {
				scheme, rest, _ := strings.Cut(it.URL.URL, "://")
				host, _, _ := strings.Cut(rest, "/")
				moved = strings.ReplaceAll(moved, scheme+"://"+host+"/", w.web.URL+"/")
			}
			e := managertest.Event(t, wire.ClassClient, int(wire.BatchRun), nil)
			e.Object = []byte(moved)
			c := w.client()
			c.Send(e)
			got := w.contents(managertest.Object[answer](t, c.Recv()))
			if len(got) != len(batch.Items) {
				t.Fatalf("%d contents of %d items", len(got), len(batch.Items))
			}
			for i, x := range got {
				if x.URLMd5 != batch.Items[i].URLID || x.SiteID != batch.Items[i].SiteID || title(t, x.ProcessedContents) == "" || x.DBFields.ErrorMask != 0 {
					t.Errorf("item %d: %+v", i, x)
				}
			}
		})
	}
}

// TestSeveralHosts: in a batch with pages of two sites, the slow one does not remove the
// content of the quick one.
func TestSeveralHosts(t *testing.T) {
	w := newWorld(t, func(c *realtime.Config) { c.MaxExecution = 3 * time.Second })
	w.warm()
	other := httptest.NewServer(http.HandlerFunc(w.serve))
	defer other.Close()
	got := w.contents(w.ask(w.client(), batchOf(w.item("/slow/1", nil), w.item(other.URL+"/quick", nil))))
	if len(got) != 2 || got[0].DBFields.ErrorMask == 0 || title(t, got[1].ProcessedContents) != "Title of /quick" {
		t.Errorf("contents %+v", got)
	}
	close(w.release)
}
