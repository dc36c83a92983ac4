package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/warc"
)

// A WACZ export that is killed begins again with the same command and ends with a whole file. Each
// page is in its index once, at the place of its record (TestReplay in e2e shows such files).
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
	stores.AddFailed(site, root+"gone", 404, errormask.HTTP)

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
