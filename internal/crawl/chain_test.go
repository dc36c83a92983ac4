package crawl_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/wire"
)

const chainRule = `{"url_pattern": "part=\\d", "tags_name": [], "delimiter": " "}`

// story is a host with two pages that continue in others.
func story(t *testing.T) *server {
	return pages(t, map[string]string{
		"/a":  `<a href="/a2?part=2">on</a> <a href="/other">x</a>`,
		"/a2": `<a href="/a?part=1">back</a> <a href="/a3?part=3">on</a> <a href="/not">x</a>`,
		"/a3": `<a href="/a2?part=2">back</a> the end`,
		"/b":  `<a href="/b2?part=2">on</a>`,
		"/b2": "the end",
	})
}

// TestChain: the row of the first page is held until the batch ends; then the list of its parts is
// stored with it.
func TestChain(t *testing.T) {
	s, w := story(t), newWorld(t)
	w.addSite("s", "URL_CHAIN", chainRule)
	a, b := w.item("s", s.URL+"/a?part=1"), w.item("s", s.URL+"/b")
	heldAt := w.hold(a)
	batch := batchOf(a, b)
	batch.MaxIterations = 5
	answer := w.run(batch)
	if got := left(answer); !slices.Equal(got, []string{"/a", "/b", "/a2", "/b2", "/a3"}) {
		t.Fatalf("the answer has %v", got)
	}
	numbers := map[string]int64{}
	for _, it := range answer.Items {
		if it.URL.ChainID == nil {
			t.Fatalf("%s has no number", it.URL.URL)
		}
		numbers[strings.TrimPrefix(it.URL.URL, s.URL)] = *it.URL.ChainID
	}
	if numbers["/a?part=1"] == numbers["/b"] || numbers["/a?part=1"] != numbers["/a2?part=2"] || numbers["/a2?part=2"] != numbers["/a3?part=3"] || numbers["/b"] != numbers["/b2?part=2"] {
		t.Errorf("numbers %v", numbers)
	}
	two, three, b2 := wire.Md5(s.URL+"/a2?part=2"), wire.Md5(s.URL+"/a3?part=3"), wire.Md5(s.URL+"/b2?part=2")
	if got := w.file(a, wire.ContentChain); got != two+"\n"+three+"\n" {
		t.Errorf("chain of a: %q", got)
	}
	if got := w.file(b, wire.ContentChain); got != b2+"\n" {
		t.Errorf("chain of b: %q", got)
	}
	for _, it := range []wire.BatchItem{a, b} {
		if row := w.row(it); row.Status != wire.StatusCrawled || row.Type != wire.TypeRegular || row.Crawled != 1 {
			t.Errorf("first page %+v", row)
		}
	}
	for _, key := range []string{two, three, b2} {
		if row := w.URLs["s "+key]; row.Type != wire.TypeChain || row.Status != wire.StatusCrawled {
			t.Errorf("part %+v", row)
		}
	}
	if got := heldAt(); got != wire.StatusCrawling {
		t.Errorf("while its parts were crawled the first page had status %d", got)
	}
	if _, found := w.URLs["s "+wire.Md5(s.URL+"/not")]; found {
		t.Error("an ordinary link of a part is collected")
	}
	if _, found := w.URLs["s "+wire.Md5(s.URL+"/other")]; !found {
		t.Error("an ordinary link of the first page is lost")
	}
}

// hold returns a function that reports the last status of a row before its outcome.
func (w *world) hold(it wire.BatchItem) func() int64 {
	var last int64
	w.OnSave = func() {
		if row := w.URLs[it.SiteID+" "+it.URLID]; row.Crawled > 0 && row.Status != wire.StatusCrawled {
			last = row.Status
		}
	}
	return func() int64 { return last }
}

// TestChainOfOnePass: with one pass, parts become rows and nothing is held.
func TestChainOfOnePass(t *testing.T) {
	s, w := story(t), newWorld(t)
	site := w.addSite("s", "URL_CHAIN", chainRule)
	// Filters and limits do not apply to parts.
	site.Filters = append(site.Filters, wire.SiteFilter{Pattern: "part=2", Stage: 5, Action: -1, State: 1})
	site.MaxURLsFromPage = 1
	a := w.item("s", s.URL+"/a?part=1")
	held := w.hold(a)
	answer := w.run(batchOf(a))
	if row := w.row(a); row.Status != wire.StatusCrawled || held() != 0 || len(answer.Items) != 1 {
		t.Errorf("row %+v, held in %d", row, held())
	}
	if got := w.file(a, wire.ContentChain); got != "" {
		t.Errorf("chain %q", got)
	}
	if part := w.URLs["s "+wire.Md5(s.URL+"/a2?part=2")]; part.Type != wire.TypeChain || part.Status != wire.StatusNew || part.ParentMd5 != a.URLID {
		t.Errorf("part %+v", part)
	}
}

// TestChainPartsOfTheBatch: the list includes a part that is an item of the batch itself, but not a
// part that cannot be fetched.
func TestChainPartsOfTheBatch(t *testing.T) {
	s := pages(t, map[string]string{"/a": `<a href="/2?part=2">2</a><a href="/3?part=3">3</a><a href="/4?part=4">4</a>`, "/2": "x", "/4": "x"})
	w := newWorld(t)
	w.addSite("s", "URL_CHAIN", chainRule)
	a, two := w.item("s", s.URL+"/a"), w.item("s", s.URL+"/2?part=2", func(u *wire.URL) { u.Type = wire.TypeChain })
	batch := batchOf(two, a)
	batch.MaxIterations = 2
	w.run(batch)
	if got, want := w.file(a, wire.ContentChain), two.URLID+"\n"+wire.Md5(s.URL+"/4?part=4")+"\n"; got != want {
		t.Errorf("chain %q, want %q", got, want)
	}
}

// TestChainThatIsKilled: if the task dies between passes, the first page is still held; after
// URL_RETURN it is crawled again.
func TestChainThatIsKilled(t *testing.T) {
	s, w := story(t), newWorld(t)
	w.addSite("s", "URL_CHAIN", chainRule)
	a := w.item("s", s.URL+"/a?part=1")
	w.OnSave = func() {
		if w.URLs["s "+a.URLID].Crawled > 0 {
			w.Fails["MarkCrawling"] = errors.New("killed")
		}
	}
	batch := batchOf(a)
	batch.MaxIterations = 5
	if _, err := w.try(context.Background(), batch); err == nil {
		t.Fatal("the batch went on")
	}
	if row := w.row(a); row.Status != wire.StatusCrawling {
		t.Fatalf("row %+v", row)
	}
	w.OnSave, w.Fails = nil, map[string]error{}
	w.run(batch) // the same batch again
	if row := w.row(a); row.Status != wire.StatusCrawled || w.file(a, wire.ContentChain) == "" {
		t.Errorf("row %+v, chain %q", row, w.file(a, wire.ContentChain))
	}
}
