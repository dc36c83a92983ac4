package wacz

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// written writes a file with n captures and returns it.
func written(t *testing.T, n, most int) []byte {
	t.Helper()
	var file bytes.Buffer
	scratch := filepath.Join(t.TempDir(), "scratch")
	w, err := New(&file, scratch, noon)
	if err != nil {
		t.Fatal(err)
	}
	w.captures.Most = most
	for _, i := range rand.Perm(n) {
		url := fmt.Sprintf("https://example.org/p%06d", i)
		_, err := io.WriteString(w, url)
		err = errors.Join(err, w.Capture(Capture{URL: url, At: noon, Status: "200", Type: "text/html", Offset: int64(i), Length: 7}))
		if err = errors.Join(err, w.Page(Page{ID: fmt.Sprint(i), URL: url, At: noon, Title: "Title"})); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// contents returns the files of a container, and which of them are compressed.
func contents(t *testing.T, file []byte) (names []string, texts map[string][]byte) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	texts = map[string][]byte{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		if stored := f.Method == zip.Store; stored == (f.Name == "pages/pages.jsonl") {
			t.Errorf("%s has the method %d", f.Name, f.Method)
		}
		names = append(names, f.Name)
		texts[f.Name] = text
	}
	return names, texts
}

func lines(text []byte) []string { return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") }

func TestContainer(t *testing.T) {
	for n, most := range map[int]int{0: 100, 1: 100, 999: 1 << 20, 1000: 5000, 2500: 10000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			names, texts := contents(t, written(t, n, most))
			if want := []string{"archive/data.warc.gz", "indexes/index.cdx.gz", "indexes/index.idx", "pages/pages.jsonl", "datapackage.json", "datapackage-digest.json"}; !slices.Equal(names, want) {
				t.Fatalf("%q", names)
			}
			checkPackage(t, texts)
			checkIndex(t, texts, n)
			if pages := lines(texts["pages/pages.jsonl"]); len(pages) != n+1 || !strings.Contains(pages[0], "json-pages-1.0") {
				t.Errorf("%d lines of pages: %.100q", len(pages), pages)
			}
		})
	}
}

// checkPackage checks the digests.
func checkPackage(t *testing.T, texts map[string][]byte) {
	t.Helper()
	hashOf := func(path string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(texts[path])) }
	var list struct {
		Profile   string
		Version   string `json:"wacz_version"`
		Created   time.Time
		Resources []resource
	}
	if err := json.Unmarshal(texts["datapackage.json"], &list); err != nil || list.Profile != "data-package" || list.Version != "1.1.1" || !list.Created.Equal(noon) {
		t.Errorf("%+v, %v", list, err)
	}
	if len(list.Resources) != 4 {
		t.Errorf("%d resources", len(list.Resources))
	}
	for _, r := range list.Resources {
		if r.Hash != hashOf(r.Path) || r.Bytes != int64(len(texts[r.Path])) || r.Name != filepath.Base(r.Path) {
			t.Errorf("%+v", r)
		}
	}
	var digest map[string]string
	if err := json.Unmarshal(texts["datapackage-digest.json"], &digest); err != nil || digest["path"] != "datapackage.json" || digest["hash"] != hashOf("datapackage.json") {
		t.Errorf("%v, %v", digest, err)
	}
}

// checkIndex reads the blocks one by one, as a reader of the index does.
func checkIndex(t *testing.T, texts map[string][]byte, n int) {
	t.Helper()
	blocks := lines(texts["indexes/index.idx"])
	if blocks[0]+"\n" != indexMeta {
		t.Errorf("the index begins with %q", blocks[0])
	}
	var all []string
	for _, line := range blocks[1:] {
		key, text, _ := strings.Cut(line, " {")
		var block struct {
			Offset, Length   int
			Digest, Filename string
		}
		if err := json.Unmarshal([]byte("{"+text), &block); err != nil {
			t.Fatal(err)
		}
		member := texts["indexes/"+block.Filename][block.Offset : block.Offset+block.Length]
		if block.Digest != fmt.Sprintf("sha256:%x", sha256.Sum256(member)) {
			t.Errorf("digest of %s", line)
		}
		r, err := gzip.NewReader(bytes.NewReader(member))
		if err != nil {
			t.Fatal(err)
		}
		first := len(all)
		for s := bufio.NewScanner(r); s.Scan(); {
			all = append(all, s.Text())
		}
		if !strings.HasPrefix(all[first], key+" {") {
			t.Errorf("block %q begins with %q", key, all[first])
		}
	}
	if len(all) != n || !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != n {
		t.Errorf("%d lines of %d, sorted %t", len(all), n, slices.IsSorted(all))
	}
	if n > 1 && !strings.HasPrefix(all[1], `org,example)/p000001 20260304120000 {"digest":"","filename":"data.warc.gz","length":"7","mime":"text/html","offset":"1","status":"200","url":"https://example.org/p000001"}`) {
		t.Errorf("%q", all[1])
	}
}

// A scratch folder that a kill has left is used again.
func TestLeftScratchFolder(t *testing.T) {
	scratch := t.TempDir()
	if err := os.WriteFile(filepath.Join(scratch, "run-0"), []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := New(io.Discard, scratch, noon)
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(scratch); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// The keys are those of readers of WACZ files, which compute them from a URL.
func TestSURT(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.org":                   "org,example)/",
		"https://www.Example.org/A?b=2&a=1":     "org,example)/a?a=1&b=2",
		"http://www12.example.org:80/":          "org,example)/",
		"https://example.org:8443/a%2Fb/%C3%A4": "org,example:8443)/a%2fb/%c3%a4",
		"http://127.0.0.1:5504/?":               "1,0,0,127:5504)/",
		"http://[::1]:80/x":                     "[::1])/x",
		"ftp://example.org/a b":                 "ftp://example.org/a%20b",
		"http://%zz/ ":                          "http://%zz/%20",
	} {
		if got := lookupKey(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
