package processprogram

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/config"
	"hce/dc/internal/storage"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// madePages returns n pages of a host by their URLs.
func madePages(host string, n int) map[string][]byte {
	pages := map[string][]byte{}
	for i := range n {
		pages[fmt.Sprintf("http://%s/%d.html", host, i)] = fmt.Appendf(nil, "<html><head><title>Page %d</title></head><body><article>%s</article></body></html>", i,
			strings.Repeat(fmt.Sprintf("<p>Paragraph of page %d about the <a href=/x>harbour</a>, its <code>cranes</code> and its ships.</p>", i), 50))
	}
	return pages
}

// openStores opens the stores of the data folder home, as the program does.
func openStores(t testing.TB, home string) (*storage.Repository, func()) {
	t.Helper()
	file, err := config.Load(filepath.Join("..", "..", "..", "ini", "db-task.ini"))
	if err != nil {
		t.Fatal(err)
	}
	repo, closeAll, err := storage.Open(context.Background(), storage.ReadConfig(file, home), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return repo, closeAll
}

// typeOf returns the content type of a page by the ending of its URL.
func typeOf(url string) string {
	switch path.Ext(url) {
	case ".pdf":
		return "application/pdf"
	case ".docx":
		return "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	case ".txt":
		return "text/plain"
	case ".png":
		return "image/png"
	case ".bin":
		return "application/octet-stream"
	}
	return "text/html"
}

// storePages stores pages of a new site as crawled. more is the end of the object of SITE_NEW.
func storePages(t testing.TB, home, site string, pages map[string][]byte, more ...string) {
	t.Helper()
	repo, closeAll := openStores(t, home)
	defer closeAll()
	ctx := context.Background()
	job := storage.Job{Repository: repo}
	answer, err := job.Run(ctx, json.RawMessage(`["SITE_NEW", {"id":"`+site+`","urls":[]`+strings.Join(more, "")+`}]`))
	if text, _ := json.Marshal(answer); err != nil || !strings.Contains(string(text), `"errorCode":0`) {
		t.Fatal(err, string(text))
	}
	var rows []wire.URL
	var results []wire.Fetched
	for url, text := range pages {
		row := wire.NewURL(site, url)
		rows = append(rows, row)
		results = append(results, wire.Fetched{
			URLMd5: row.URLMd5, Crawled: true, At: time.Now(),
			Set:   schema.Patch{"Status": int64(wire.StatusCrawled), "HTTPCode": int64(200), "ContentType": typeOf(url), "Size": int64(len(text)), "RequestDelay": int64(0), "ProcessingDelay": int64(0)},
			Files: []wire.File{{Type: wire.ContentRaw, Data: text}},
		})
	}
	if _, err := repo.MarkCrawling(ctx, site, 1, rows); err != nil {
		t.Fatal(err)
	}
	if _, err := repo.SaveCrawl(ctx, 1, []wire.SiteFetched{{Site: site, Results: results}}); err != nil {
		t.Fatal(err)
	}
}

// rowsOf reads the rows of pages.
func rowsOf(t testing.TB, repo *storage.Repository, site string, pages map[string][]byte) map[string]wire.URL {
	t.Helper()
	var keys []string
	for _, url := range slices.Sorted(maps.Keys(pages)) {
		keys = append(keys, wire.Md5(url))
	}
	rows, err := repo.Rows(context.Background(), site, keys)
	if err != nil || len(rows) != len(pages) {
		t.Fatalf("%d rows of %d pages: %v", len(rows), len(pages), err)
	}
	return rows
}

// processedRows counts the pages in Status 7.
func processedRows(t testing.TB, repo *storage.Repository, site string, pages map[string][]byte) (n int) {
	t.Helper()
	for _, row := range rowsOf(t, repo, site, pages) {
		if row.Status == wire.StatusProcessed {
			n++
		}
	}
	return n
}
