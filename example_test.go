package dc_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"

	"hce/dc"
	"hce/dc/extract"
)

// newWeb serves three pages on the loopback address, in a folder for stored pages.
func newWeb() (url, folder string, end func()) {
	folder, err := os.MkdirTemp("", "dc-example-")
	if err != nil {
		log.Fatal(err)
	}
	pages := map[string]string{
		"/":     `<title>Tides</title><p>The sea rises twice a day. <a href="/moon">The moon</a> <a href="/sun">The sun</a> <a href="/lost">Lost</a>`,
		"/moon": `<title>The moon</title><p>The moon pulls the sea, and the sea follows it around the earth.`,
		"/sun":  `<title>The sun</title><p>The sun helps the moon twice a month, and hinders it twice a month.`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, known := pages[r.URL.Path]
		if !known {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, text)
	}))
	return server.URL, filepath.Join(folder, "pages"), func() { server.Close(); os.RemoveAll(folder) }
}

// A crawl stores all pages and yields each when it is read.
func Example() {
	url, folder, end := newWeb()
	defer end()

	engine, err := dc.Open(folder, dc.Options{AllowNetworks: []string{"127.0.0.0/8"}})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	var titles []string
	for page, err := range engine.Crawl(context.Background(), dc.Site{URLs: []string{url + "/"}, Delay: -1}) {
		if err != nil {
			log.Fatal(err)
		}
		titles = append(titles, fmt.Sprintf("%d %s", page.Code, page.Title))
	}
	slices.Sort(titles)
	for _, title := range titles {
		fmt.Println(title)
	}
	// Output:
	// 200 The moon
	// 200 The sun
	// 200 Tides
	// 404
}

// What is stored can be read and exported later.
func ExampleEngine_Pages() {
	url, folder, end := newWeb()
	defer end()
	ctx := context.Background()
	engine, err := dc.Open(folder, dc.Options{AllowNetworks: []string{"127.0.0.0/8"}})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	for _, err := range engine.Crawl(ctx, dc.Site{ID: "tides", URLs: []string{url + "/"}, Delay: -1, MaxDepth: 1}) {
		if err != nil {
			log.Fatal(err)
		}
	}
	words := 0
	for page, err := range engine.Pages(ctx, "tides") {
		if err != nil {
			log.Fatal(err)
		}
		words += len(page.Text)
	}
	n, err := engine.Export(ctx, "tides", filepath.Join(folder, "pages.jsonl"))
	fmt.Println(words > 100, n, err)
	// Output: true 3 <nil>
}

// A page that the caller has needs no store.
func ExampleEngine_Extract() {
	page, err := extract.Read([]byte(`<title>The moon</title><p>The moon pulls the sea, and the sea follows it.`), extract.Options{URL: "https://site.example/moon"})
	fmt.Println(page.Title, "-", page.Text, err)
	// Output: The moon - The moon pulls the sea, and the sea follows it. <nil>
}
