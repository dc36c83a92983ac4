package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/warc"
	"hce/dc/internal/wire"
)

// A WACZ export that is killed begins again with the same command and ends with a whole file. Each
// page is in its index once, at the place of its record, and ReplayWeb.page shows it.
func TestWACZ(t *testing.T) {
	const n = 120
	stores := storestest.Open(t)
	site := stores.NewSite(root)
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("%spage/%d?b=2&a=1", root, i))
		stores.AddPage(site, want[i], fmt.Sprint("Title ", i), fmt.Sprintf("the mill of page %d works <b>twice</b> a day", i))
	}
	for _, name := range []string{"same", "again"} { // the second one becomes a revisit
		want = append(want, root+name)
		stores.AddPage(site, root+name, "Same", "a body that two pages have")
	}
	stores.AddFailed(site, root+"gone", 404, wire.ErrHTTP)

	folder := t.TempDir()
	args := []string{"export", site, "--server", "127.0.0.1:" + stores.Port, "--format", "wacz", "--out", "pages.wacz"}
	killExport(t, stores, clitest.Command(t, folder, args...), 2)
	if _, stderr, status := clitest.Run(t, folder, args...); status != 0 || !strings.Contains(stderr, fmt.Sprintf("wrote %d pages", len(want))) {
		t.Fatalf("exit status %d, %s", status, stderr)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("files are left: %v, %v", entries, err)
	}
	path := filepath.Join(folder, "pages.wacz")
	got := indexedURLs(t, path)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d URLs in the index, want %d:\n%q", len(got), len(want), got)
	}
	replay(t, replayServer(t, path), map[string]string{
		root + "page/7?b=2&a=1": "the mill of page 7 works twice a day",
		root + "same":           "a body that two pages have",
		root + "again":          "a body that two pages have",
	})
}

// killExport starts an export and kills it while a request for contents is answered.
func killExport(t *testing.T, stores *storestest.Stores, c *exec.Cmd, requests int) {
	t.Helper()
	asked, started := 0, make(chan struct{})
	stores.OnAsk(func(op wire.Op) {
		if op != wire.URLContent {
			return
		}
		if asked++; asked == requests {
			<-started
			_ = c.Process.Kill()
		}
	})
	defer stores.OnAsk(nil)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	close(started)
	_ = c.Wait() // it is killed
	if status := c.ProcessState.ExitCode(); status != -1 {
		t.Fatalf("exit status %d", status)
	}
}

// indexedURLs returns the URLs of the index. Each entry leads to a record of its URL.
func indexedURLs(t *testing.T, path string) (urls []string) {
	t.Helper()
	archive := entryOf(t, path, "archive/data.warc.gz")
	index, err := gzip.NewReader(bytes.NewReader(entryOf(t, path, "indexes/index.cdx.gz")))
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(index); lines.Scan(); {
		_, text, _ := strings.Cut(lines.Text(), " {")
		var line struct{ URL, MIME, Status, Offset, Length string }
		if err := json.Unmarshal([]byte("{"+text), &line); err != nil {
			t.Fatal(err)
		}
		offset, err1 := strconv.Atoi(line.Offset)
		length, err2 := strconv.Atoi(line.Length)
		if err1 != nil || err2 != nil || line.Status != "200" {
			t.Fatalf("%s", text)
		}
		r, err := warc.NewReader(bytes.NewReader(archive[offset : offset+length]))
		if err != nil {
			t.Fatal(err)
		}
		record, err := r.Next()
		if err != nil || record.TargetURI() != line.URL || (record.Type == warc.Revisit) != (line.MIME == "warc/revisit") {
			t.Fatalf("%+v %+v, %v", line, record, err)
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("%s has more than one record: %v", line.URL, err)
		}
		urls = append(urls, line.URL)
	}
	return urls
}

// entryOf reads a file of a container.
func entryOf(t *testing.T, path, name string) []byte {
	t.Helper()
	r, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	file, err := r.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// replayServer serves ReplayWeb.page and a file as /pages.wacz.
func replayServer(t *testing.T, path string) string {
	t.Helper()
	program := filepath.Join(modules, "replaywebpage")
	if _, err := os.Stat(filepath.Join(program, "sw.js")); err != nil {
		t.Fatalf("%v; run scripts/setup.sh test", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(program)))
	mux.HandleFunc("/pages.wacz", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, path) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// findText looks for a text in a document, its frames and its shadow trees.
const findText = `(() => {
  const has = (root) => {
    if (root.body && root.body.innerText.includes(%[1]s)) return true
    for (const e of root.querySelectorAll('*')) {
      if (e.shadowRoot && has(e.shadowRoot)) return true
      if (e.tagName === 'IFRAME' && e.contentDocument && has(e.contentDocument)) return true
    }
    return false
  }
  return has(document)
})()`

// replay lets ReplayWeb.page show pages, and waits for the text of each one.
func replay(t *testing.T, server string, texts map[string]string) {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	defer stop()
	browser, stop := chromedp.NewContext(allocator)
	defer stop()
	if _, err := chromedp.Run(browser, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	for page, text := range texts {
		wanted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		tab, stop := chromedp.NewContext(browser)
		_, err = chromedp.Run(tab, chromedp.Navigate(server+"/?source=/pages.wacz#view=pages&url="+url.QueryEscape(page)))
		if err == nil {
			_, err = chromedp.Run(tab, chromedp.Poll[bool](fmt.Sprintf(findText, wanted), chromedp.WithPollingInterval(100*time.Millisecond), chromedp.WithPollingTimeout(time.Minute)))
		}
		stop()
		if err != nil {
			t.Errorf("%s: %v", page, err)
		}
	}
}
