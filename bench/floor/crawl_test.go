package main

import (
	"net/http/httptest"
	"net/url"
	"testing"

	"hce/dc/examples/siteserver/site"
)

func TestCrawl(t *testing.T) {
	dir := t.TempDir()
	writeSite(t, dir)
	server := httptest.NewServer(site.Handler(site.Options{Dir: dir}))
	defer server.Close()
	for _, workers := range []int{1, 4} {
		root, err := url.Parse(server.URL + "/")
		if err != nil {
			t.Fatal(err)
		}
		got, err := crawl(root, workers)
		if err != nil {
			t.Fatal(err)
		}
		// index, a, b and sub/c are pages; the picture and the broken link are not.
		if got.Pages != 4 || got.URLs != 6 || got.Bytes == 0 || got.MaxRSS == 0 {
			t.Errorf("%d workers: %+v", workers, got)
		}
	}
}

func TestFirstPageMustAnswer(t *testing.T) {
	server := httptest.NewServer(site.Handler(site.Options{Dir: t.TempDir()}))
	root, _ := url.Parse(server.URL + "/nothing.html")
	if _, err := crawl(root, 2); err == nil {
		t.Error("no error for a missing page")
	}
	server.Close()
	if _, err := crawl(root, 2); err == nil {
		t.Error("no error without a server")
	}
}
