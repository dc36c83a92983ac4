package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
	stored "hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/urlkey"
	"hce/dc/warc"
)

// warcKeys reads the keys of the responses of a WARC export. Each record is whole, and each page has
// its request and its metadata.
func warcKeys(t *testing.T, path string) (keys []string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := warc.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[warc.Type]int{}
	ids := map[string]bool{}
	for {
		found, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		counts[found.Type]++
		if found.Type == warc.Response || found.Type == warc.Revisit {
			keys = append(keys, urlkey.Of(found.TargetURI()))
		}
		if ids[found.ID()] {
			t.Errorf("%s %s is there twice", found.Type, found.ID())
		}
		ids[found.ID()] = true
	}
	if counts[warc.Info] != 1 || counts[warc.Request] != len(keys) || counts[warc.Metadata] != len(keys) {
		t.Errorf("records %v", counts)
	}
	return keys
}

// Another library reads an export, plain and compressed: the digests of all records are right, and the
// heads of answers fit their bodies, whatever coding and charset the server used.
func TestWARCWithAnotherLibrary(t *testing.T) {
	folder, err := filepath.Abs(modules)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "warcio")); err != nil {
		t.Fatalf("%v; run scripts/setup.sh test", err)
	}
	stores := storestest.Open(t)
	site := stores.NewSite(root)
	stores.AddPages(site, root, 120)
	stores.AddPage(site, root+"same1", "Same", "text é")
	stores.AddPage(site, root+"same2", "Same", "text é")
	stores.AddFailed(site, root+"gone", 404, errormask.HTTP)
	contents := []any{}
	for i := range 60 {
		contents = append(contents, map[string]any{
			"siteId": site, "urlMd5": wire.Md5(fmt.Sprint(root, i)), "contentType": wire.ContentHeaders, "fileStorageSuffix": "1",
			"putDict": map[string]any{"data": base64.StdEncoding.EncodeToString([]byte("Content-Encoding: gzip\r\nContent-Length: 999\r\nContent-Type: text/html; charset=koi8-r\r\nTransfer-Encoding: chunked\r\n"))},
		})
	}
	if err := stores.Ask(t.Context(), wire.URLPut, contents, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pages.warc", "pages.warc.gz"} {
		path := filepath.Join(t.TempDir(), name)
		if _, stderr, status := clitest.Run(t, t.TempDir(), "export", site, "--server", "127.0.0.1:"+stores.Port, "--format", "warc", "--all", "--out", path); status != 0 {
			t.Fatal(stderr)
		}
		stdout, stderr, status := clitest.Output(t, exec.CommandContext(t.Context(), "node", "testdata/warc.mjs", folder, path))
		if status != 0 || stderr != "" {
			t.Fatalf("%s: exit status %d, %s", name, status, stderr)
		}
		if file, err := os.ReadFile(path); err != nil || name == "pages.warc" && bytes.Count(file, []byte("\r\nX-Archive-Orig-Content-Encoding: gzip\r\n")) != 60 {
			t.Errorf("the fields of codings are not renamed (%v)", err)
		}
		offsets, err := recordOffsets(path)
		if err != nil {
			t.Fatal(err)
		}
		types := map[string]int{}
		for line := range strings.Lines(stdout) {
			var r struct {
				Type, URI, Content string
				Offset             int64
				Status             int
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			n := types["all"]
			if types["all"]++; n >= len(offsets) || offsets[n] != r.Offset {
				t.Errorf("%s: record %d is at %d", name, n, r.Offset)
			}
			types[r.Type]++
			number, title := strings.TrimPrefix(r.URI, root), "<title>Same</title><p>text é"
			if number != "same1" && number != "same2" {
				title = "Title " + number
			}
			if r.Type == "response" && (r.Status != 200 || r.Content != title) {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if want := map[string]int{"all": 1 + 121 + 1 + 122 + 123, "warcinfo": 1, "response": 121, "revisit": 1, "request": 122, "metadata": 123}; !maps.Equal(types, want) {
			t.Errorf("%s: %v", name, types)
		}
	}
}

// recordOffsets returns where the records of a file begin.
func recordOffsets(path string) (offsets []int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, err := warc.NewReader(file)
	for err == nil {
		var found *warc.Found
		if found, err = r.Next(); err == nil {
			offsets = append(offsets, found.Offset)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return offsets, err
}

// An import is killed in the middle, again and again. The same command continues it: each page is
// there once, with one version.
func TestKilledImport(t *testing.T) {
	const n = 300
	from := storestest.Open(t)
	from.AddPages(from.NewSite(root), root, n)
	file := filepath.Join(t.TempDir(), "pages.warc.gz")
	if _, stderr, status := clitest.Run(t, t.TempDir(), "export", wire.Md5(root), "--server", "127.0.0.1:"+from.Port, "--format", "warc", "--out", file); status != 0 {
		t.Fatal(stderr)
	}
	to := storestest.Open(t)
	args := []string{"import", "warc", file, "--site", "mine", "--server", "127.0.0.1:" + to.Port}
	for round, changes := range []int{1, 2, 3, 4} {
		c := clitest.Command(t, t.TempDir(), args...)
		started, killed, seen := make(chan struct{}), make(chan struct{}), 0
		to.OnAsk(func(op wire.Op) {
			if op != wire.URLPut && op != wire.URLNew {
				return
			}
			if seen++; seen == changes {
				<-started
				_ = c.Process.Kill()
				close(killed)
			}
		})
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		close(started)
		_ = c.Wait() // it is killed
		if status := c.ProcessState.ExitCode(); status != -1 {
			t.Fatalf("round %d: exit status %d", round, status)
		}
		<-killed
		to.OnAsk(nil)
	}
	stdout, stderr, status := clitest.Run(t, t.TempDir(), args...)
	if status != 0 || !strings.HasPrefix(stdout, "mine: ") {
		t.Fatalf("exit status %d, %s%s", status, stdout, stderr)
	}
	count := 0
	err := stored.Reader{Service: to, Site: "mine"}.Read(t.Context(), "", func(p *stored.Page) error {
		count++
		list, err := stored.Versions(t.Context(), to, p.URL)
		if err == nil && len(list) != 1 || p.Crawled != 1 {
			t.Errorf("%s: %d versions, fetched %d times", p.URL.URL, len(list), p.Crawled)
		}
		return err
	}, nil)
	if err != nil || count != n {
		t.Errorf("%d pages, %v", count, err)
	}
}
