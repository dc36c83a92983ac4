package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/wire"
)

// An export is killed in the middle, again and again, while pages are added, changed and deleted.
// The same command continues it: each page that was there all the time is in the output once, and
// no line is broken.
func TestKilledExport(t *testing.T) {
	const n = 1500
	stores := storestest.Open(t)
	site := stores.NewSite(root)
	stores.AddPages(site, root, n)
	for format, keysOf := range map[string]func(t *testing.T, path string) []string{"jsonl": jsonKeys, "csv": csvKeys, "parquet": parquetKeys, "warc": warcKeys} {
		t.Run(format, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "pages"+map[bool]string{true: ".warc.gz"}[format == "warc"])
			args := []string{"export", site, "--server", "127.0.0.1:" + stores.Port, "--format", format, "--out", out}
			if format != "warc" {
				args = append(args, "--fields", "url,urlMd5,title,text")
			}
			for round, requests := range []int{1, 2, 9, 5} {
				c := clitest.Command(t, t.TempDir(), args...)
				// The process is killed while a request for contents is answered, or a moment later, when
				// it may be writing.
				asked, started, killed := 0, make(chan struct{}), make(chan struct{})
				kill := func() {
					<-started
					_ = c.Process.Kill()
					close(killed)
				}
				stores.OnAsk(func(op wire.Op) {
					if op != wire.URLContent {
						return
					}
					switch asked++; {
					case asked != requests:
					case round%2 == 0:
						kill()
					default:
						go kill()
					}
				})
				var errs bytes.Buffer
				c.Stderr = &errs
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				close(started)
				_ = c.Wait() // it is killed
				if status := c.ProcessState.ExitCode(); status != -1 {
					t.Fatalf("round %d: exit status %d, %s", round, status, &errs)
				}
				<-killed
				stores.OnAsk(nil)
				stores.AddPages(site, fmt.Sprintf("%s%s%d-", root, format, round), 5)
				stores.ChangePage(site, root+fmt.Sprint(round), fmt.Sprint("Title ", round), "changed", 2)
				stores.DeletePage(site, fmt.Sprintf("%s%s%d-0", root, format, round))
			}
			_, stderr, status := clitest.Run(t, t.TempDir(), args...)
			if status != 0 || !strings.Contains(stderr, "wrote ") {
				t.Fatalf("exit status %d, %s", status, stderr)
			}
			keys := keysOf(t, out)
			if !slices.IsSorted(keys) || len(slices.Compact(slices.Clone(keys))) != len(keys) {
				t.Error("a page is there twice, or out of order")
			}
			for i := range n {
				if _, found := slices.BinarySearch(keys, wire.Md5(fmt.Sprint(root, i))); !found {
					t.Errorf("page %d is missing", i)
				}
			}
			if left, err := filepath.Glob(out + ".*"); len(left) > 0 || err != nil {
				t.Errorf("files are left: %q, %v", left, err)
			}
		})
	}
}

// jsonKeys reads the keys of a jsonl export. Each line is whole, and its text belongs to its title.
func jsonKeys(t *testing.T, path string) (keys []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var page struct{ URL, URLMd5, Title, Text string }
		if err := json.Unmarshal([]byte(line), &page); err != nil || page.URLMd5 != wire.Md5(page.URL) {
			t.Fatalf("%q: %v", line, err)
		}
		if page.Text != "text of "+page.Title && page.Text != "changed" {
			t.Errorf("page %s has the title %q and the text %q", page.URL, page.Title, page.Text)
		}
		keys = append(keys, page.URLMd5)
	}
	return keys
}

// parquetKeys reads the keys of a Parquet export.
func parquetKeys(t *testing.T, path string) []string {
	t.Helper()
	return jsonKeys(t, clitest.Write(t, t.TempDir(), "pages.jsonl", readParquet(t, path)))
}

func csvKeys(t *testing.T, path string) (keys []string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) == 0 || rows[0][1] != "urlMd5" {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows[1:] {
		keys = append(keys, row[1])
	}
	return keys
}
