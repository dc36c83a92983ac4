// Package storestest has real stores for tests of programs that talk to a daemon: in a temporary
// folder, with pages that a test puts there.
//
//	stores := storestest.Open(t)
//	site := stores.NewSite("https://example.org/")
//	stores.AddPage(site, "https://example.org/a", "Title", "text")
//	address := "127.0.0.1:" + stores.Port // a daemon with one node
package storestest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/config"
	"hce/dc/internal/storage"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
	"hce/dc/internal/wire/urlkey"
)

// Stores answer operations themselves (service.Service) and as a daemon at Port.
type Stores struct {
	t   testing.TB
	job storage.Job
	// Port of the loopback address that answers clients like a daemon with one node.
	Port string
	// Asked counts the operations by name.
	Asked map[wire.Op]int

	dir   string     // of the data
	mu    sync.Mutex // guards onAsk and Asked
	onAsk func(op wire.Op)
	runs  sync.Mutex // job has one operation at a time
}

// Open opens empty stores until the test ends.
func Open(t testing.TB) *Stores {
	t.Helper()
	s := &Stores{t: t, Asked: map[wire.Op]int{}}
	s.Port = clitest.Serve(t, s.serveEvent) // first: it ends last, after the connections of the stores
	f, err := config.Parse(t.TempDir()+"/db-task.ini", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.dir = t.TempDir()
	c := storage.ReadConfig(f, s.dir)
	c.NoSync = true
	repo, closeAll, err := storage.Open(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeAll)
	s.runs.Lock() // serve runs already
	defer s.runs.Unlock()
	s.job = storage.Job{Repository: repo}
	return s
}

// Dir is the data folder.
func (s *Stores) Dir() string { return s.dir }

// String names the stores in messages.
func (s *Stores) String() string { return "the stores of the test" }

// Ask answers an operation.
func (s *Stores) Ask(ctx context.Context, op wire.Op, request, answer any) error {
	object, err := json.Marshal(request)
	if err != nil {
		return err
	}
	raw, err := s.runOperation(ctx, op, object)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	var refused wire.Refusal
	if json.Unmarshal(raw, &refused) == nil && refused.Refused {
		return &service.Refusal{Op: op, Code: refused.ErrorCode, Message: refused.ErrorMessage}
	}
	return service.Decode(op, raw, answer)
}

func (s *Stores) runOperation(ctx context.Context, op wire.Op, object json.RawMessage) (json.RawMessage, error) {
	s.mu.Lock()
	s.Asked[op]++
	onAsk := s.onAsk
	s.mu.Unlock()
	if onAsk != nil {
		onAsk(op)
	}
	line, err := json.Marshal(wire.Call{Op: op, ByName: true, Object: object})
	if err != nil {
		return nil, err
	}
	s.runs.Lock()
	defer s.runs.Unlock()
	reply, err := s.job.Run(ctx, line)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(reply)
	if err != nil {
		return nil, err
	}
	var pair []json.RawMessage
	if err := json.Unmarshal(text, &pair); err != nil || len(pair) != 2 {
		return nil, fmt.Errorf("the reply is no pair: %.200s", text)
	}
	return pair[1], nil
}

// serveEvent answers one request of a client.
func (s *Stores) serveEvent(e wire.Event) []wire.Event {
	raw, err := s.runOperation(s.t.Context(), wire.Op(e.Type), e.Object)
	response := wire.ErrorItem(fmt.Sprint(err))
	var refused wire.Refusal
	switch {
	case err != nil:
	case json.Unmarshal(raw, &refused) == nil && refused.Refused:
		response = wire.ErrorItem(refused.ErrorMessage)
	default:
		response = wire.ClientResponse{ItemsList: []wire.ClientResponseItem{{ErrorCode: 0, ItemObject: raw}}}
	}
	answer := wire.Event{Class: e.Class, UID: e.UID, Type: e.Type + wire.ResponseOffset}
	if answer.Object, err = json.Marshal(response); err != nil {
		s.t.Error(err)
	}
	return []wire.Event{answer}
}

// OnAsk lets f be called before each operation, after it was counted. f may use the stores; nil ends
// that.
func (s *Stores) OnAsk(f func(op wire.Op)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onAsk = f
}

// NewSite creates a site that is not crawled and returns its id.
func (s *Stores) NewSite(root string) (id string) {
	s.t.Helper()
	s.mustAsk(wire.SiteNew, map[string]any{"urls": []string{root}, "description": "a site of a test", "moveURLs": false})
	return wire.Md5(root)
}

// AddPage stores a processed page.
func (s *Stores) AddPage(site, url, title, text string) {
	s.t.Helper()
	raw := "<title>" + title + "</title><p>" + text
	s.mustAsk(wire.URLNew, []any{processedRow(site, url, raw)})
	s.mustAsk(wire.URLPut, s.pageContents(site, url, title, text, raw))
}

// DamageRaw flips a bit of the raw content that has text.
func (s *Stores) DamageRaw(text string) {
	s.t.Helper()
	names, err := filepath.Glob(filepath.Join(s.dir, "dc_rdata", ".segments", "*.warc"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, name := range names {
		all, err := os.ReadFile(name)
		if err != nil {
			s.t.Fatal(err)
		}
		if at := bytes.Index(all, []byte(text)); at >= 0 {
			all[at] ^= 1
			if err := os.WriteFile(name, all, 0o600); err != nil {
				s.t.Fatal(err)
			}
			return
		}
	}
	s.t.Fatalf("no raw content has %q", text)
}

// AddURL stores a row without contents.
func (s *Stores) AddURL(site, url string, fields map[string]any) {
	s.t.Helper()
	r := processedRow(site, url, "")
	maps.Copy(r, fields)
	s.mustAsk(wire.URLNew, []any{r})
}

// AddPages stores n processed pages, root0 and so on, with the titles "Title 0" and so on.
func (s *Stores) AddPages(site, root string, n int) {
	s.t.Helper()
	s.addPages(site, root, n, func(title string) (raw, text string) { return title, "text of " + title })
}

// AddLargePages stores n processed pages as AddPages, whose raw contents have size bytes each that do not compress well, the
// same in each run.
func (s *Stores) AddLargePages(site, root string, n, size int) {
	s.t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	s.addPages(site, root, n, func(title string) (raw, text string) {
		b := make([]byte, size*3/4)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return "<title>" + title + "</title><p>" + base64.StdEncoding.EncodeToString(b), "text of " + title
	})
}

func (s *Stores) addPages(site, root string, n int, contentsOf func(title string) (raw, text string)) {
	s.t.Helper()
	const atOnce = 500
	for first := 0; first < n; first += atOnce {
		var rows, contents []any
		for i := first; i < min(first+atOnce, n); i++ {
			url, title := fmt.Sprint(root, i), fmt.Sprint("Title ", i)
			raw, text := contentsOf(title)
			rows = append(rows, processedRow(site, url, raw))
			contents = append(contents, s.pageContents(site, url, title, text, raw)...)
		}
		s.mustAsk(wire.URLNew, rows)
		s.mustAsk(wire.URLPut, contents)
	}
}

// ChangePage stores a new version of a page: first its contents, then its row, which counts another
// fetch.
func (s *Stores) ChangePage(site, url, title, text string, fetches int) {
	s.t.Helper()
	raw := "<title>" + title + "</title><p>" + text
	s.mustAsk(wire.URLPut, s.pageContents(site, url, title, text, raw))
	s.mustAsk(wire.URLUpdate, []any{map[string]any{"siteId": site, "urlMd5": urlkey.Of(url), "crawled": fetches, "processed": fetches, "size": len(raw)}})
}

// DeletePage deletes a URL with its contents.
func (s *Stores) DeletePage(site, url string) {
	s.t.Helper()
	s.mustAsk(wire.URLDelete, []any{map[string]any{"siteId": site, "url": urlkey.Of(url), "urlType": wire.ByMd5, "delayedType": wire.Immediate}})
}

// processedRow is a processed page for URL_NEW.
func processedRow(site, url, raw string) map[string]any {
	return map[string]any{
		"siteId": site, "url": url, "siteSelect": wire.SelectExplicit, "status": wire.StatusProcessed, "crawled": 1, "processed": 1,
		"httpCode": 200, "contentType": "text/html", "size": len(raw), "tagsCount": 2, "parentMd5": wire.Md5("parent"),
		"UDate": "'2026-03-04 05:06:07'", "crawlingTime": 12,
	}
}

// pageContents are those of a page for URL_PUT.
func (s *Stores) pageContents(site, url, title, text, raw string) []any {
	return []any{putContent(site, url, "1", wire.ContentRaw, raw), putContent(site, url, "1", wire.ContentHeaders, "Content-Type: text/html\r\n"), s.processedContent(site, url, title, text)}
}

func (s *Stores) processedContent(site, url, title, text string) any {
	s.t.Helper()
	r := result.Result{ID: urlkey.Of(url)}
	for name, value := range map[string]string{"title": title, "content_encoded": text, "content_markdown": "# " + title + "\n\n" + text, "pubdate": "2026-01-02 03:04:05"} {
		r.Add(result.Tag{Name: name, Data: []string{value}, Extractor: "NewspaperExtractor"})
	}
	processed, err := result.Encode([]result.Result{r}, nil)
	if err == nil {
		processed, err = result.Expand(processed)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return putContent(site, url, "1", wire.ContentProcessed, string(processed))
}

// AddVersion stores a further body of a page, without headers.
func (s *Stores) AddVersion(site, url, raw string) {
	s.t.Helper()
	s.mustAsk(wire.URLPut, []any{putContent(site, url, "2", wire.ContentRaw, raw)})
}

func putContent(site, url, suffix string, kind int, data string) map[string]any {
	return map[string]any{
		"siteId": site, "urlMd5": urlkey.Of(url), "contentType": kind, "fileStorageSuffix": suffix,
		"putDict": map[string]any{"data": base64.StdEncoding.EncodeToString([]byte(data))},
	}
}

// NotModified makes a recrawl that found the page as it was (304).
func (s *Stores) NotModified(site, url string) {
	s.t.Helper()
	s.mustAsk(wire.URLUpdate, []any{map[string]any{"siteId": site, "urlMd5": urlkey.Of(url), "crawled": 2, "status": wire.StatusCrawled, "httpCode": 304}})
}

// AddFailed stores a URL that could not be fetched.
func (s *Stores) AddFailed(site, url string, code int, mask errormask.Mask) {
	s.t.Helper()
	s.mustAsk(wire.URLNew, []any{map[string]any{
		"siteId": site, "url": url, "siteSelect": wire.SelectExplicit, "status": wire.StatusCrawled, "state": wire.URLError, "crawled": 1,
		"httpCode": code, "errorMask": mask, "parentMd5": wire.Md5("parent"), "UDate": "'2026-03-04 05:06:07'",
	}})
}

func (s *Stores) mustAsk(op wire.Op, request any) {
	s.t.Helper()
	if err := s.Ask(s.t.Context(), op, request, nil); err != nil {
		s.t.Fatal(err)
	}
}
