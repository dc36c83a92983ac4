//go:build e2e

package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// greedyMemory limits the memory of the crawler while many hosts send as much as they
// can. Half of it is max_memory of the ini file, for bodies.
const greedyMemory = 400 << 20

// greedy are the answers of the hosts of TestMemory, in turn: pages just below the limit
// and endless ones.
var greedy = []struct {
	what  string
	serve http.HandlerFunc
	want  errormask.Mask
}{
	{"a page of 15 MiB", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Length", fmt.Sprint(15<<20))
		write(w, greedyPage, 15<<20)
	}, 0},
	{"a page of 15 MiB without Content-Length", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		write(w, greedyPage, 15<<20)
	}, 0},
	{"a page of 15 MiB that triples in UTF-8", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=windows-1251")
		write(w, strings.Repeat("\xcf\xf0\xe8\xe2\xe5\xf2 ", 8<<10), 15<<20)
	}, 0},
	{"an endless page", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		write(w, greedyPage, 1<<40)
	}, errormask.Size},
	{"15 MiB of gzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(greedyGzip)
	}, 0},
	{"15 MiB of bytes", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		write(w, strings.Repeat("\x00\x01\x02\x03", 16<<10), 15<<20)
	}, 0},
}

var (
	greedyPage = strings.Repeat(`<p>Some text <b>of a page</b> that goes on and on, and <a href="/next/page">a link</a>.</p>`+"\n", 700)
	greedyGzip = func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		random := rand.New(rand.NewPCG(1, 2))
		for n := 0; n < 15<<20; { // compresses like normal text
			m, _ := fmt.Fprintf(z, "<p>Number %x of many.\n", random.Uint64())
			n += m
		}
		_ = z.Close()
		return b.Bytes()
	}()
)

// write repeats text up to limit bytes, or until the client is gone.
func write(w io.Writer, text string, limit int) {
	for n := 0; n < limit; n += len(text) {
		if _, err := io.WriteString(w, text[:min(len(text), limit-n)]); err != nil {
			return
		}
	}
}

// Hosts send bodies of the largest allowed size or more at the same time, together more than the
// limit: each row gets the right result, and the memory of the process stays limited.
func TestMemory(t *testing.T) {
	data := t.TempDir()
	env := []string{"DC_Application_data_dir=" + data, "DC_CrawlerTask_AllowedNetworks=127.0.0.0/8"}
	const root = "http://greedy.test/"
	id := rig.SiteID(root)
	newTaskSites(t, env, map[string]any{"urls": []string{root}, "requestDelay": 0,
		"properties": []map[string]any{{"name": "ROBOTS_MODE", "value": "0"}, {"name": "HOST_IS_PART", "value": "0"}}})
	const hosts, pages = 36, 1
	var items []any
	var urls []string
	for i := range hosts {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.3.%d:0", i+1))
		if err != nil {
			t.Fatal(err)
		}
		server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: greedy[i%len(greedy)].serve, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}}
		server.Start()
		defer server.Close()
		for page := range pages {
			urls = append(urls, fmt.Sprintf("http://%s/%d", listener.Addr(), page))
			items = append(items, batchItem(id, urls[len(urls)-1], 60_000, 0))
		}
	}
	usage := crawl(t, batchOf(items, 240), env)
	t.Logf("%d bodies of up to 16 MiB in %v, peak of %d MiB", len(items), usage.took.Round(time.Millisecond), usage.memory>>20)
	if usage.memory > greedyMemory {
		t.Errorf("the crawler used %d MiB, want at most %d", usage.memory>>20, greedyMemory>>20)
	}
	stored := status(t, id, urls, env)
	for i, u := range urls {
		kind := greedy[i/pages%len(greedy)]
		if row, ok := stored[md5Of(t, u)]; !ok || row.Status != wire.StatusCrawled || row.ErrorMask != kind.want {
			t.Errorf("%s, %s: status %d, errors %v, want %v", u, kind.what, row.Status, row.ErrorMask.Names(), kind.want.Names())
		}
	}
}
