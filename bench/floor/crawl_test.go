package floor

import (
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"hce/dc/examples/siteserver/site"
)

func TestCrawl(t *testing.T) {
	dir := t.TempDir()
	// Four pages with links in several spellings, and a picture.
	for name, text := range map[string]string{
		"index.html": `<a href="a.html#x">a</a> <a href="./a.html">a</a> <a href="sub/c.html">c</a> <a href="http://192.0.2.1/">away</a> <a href="mailto:x@y">mail</a>`,
		"a.html":     `<img src="p.png"><a href="b.html">b</a><a href="/">home</a>`,
		"b.html":     `<a href="missing.html">broken</a>`,
		"sub/c.html": `<base href="/"><a href="a.html">a</a>`,
		"p.png":      "picture",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(site.Handler(site.Options{Dir: dir}))
	defer server.Close()
	for _, workers := range []int{1, 4} {
		root, err := url.Parse(server.URL + "/")
		if err != nil {
			t.Fatal(err)
		}
		got, err := Crawl(root, workers)
		if err != nil {
			t.Fatal(err)
		}
		if got.Pages != 4 || got.URLs != 6 {
			t.Errorf("%d workers: %+v", workers, got)
		}
	}
}

func TestFirstPageMustAnswer(t *testing.T) {
	server := httptest.NewServer(site.Handler(site.Options{Dir: t.TempDir()}))
	root, _ := url.Parse(server.URL + "/nothing.html")
	if _, err := Crawl(root, 2); err == nil {
		t.Error("no error for a missing page")
	}
	server.Close()
	if _, err := Crawl(root, 2); err == nil {
		t.Error("no error without a server")
	}
}
