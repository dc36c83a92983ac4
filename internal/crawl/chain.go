package crawl

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"hce/dc/internal/dc"
)

// A chain is a page that goes on in others (URL_CHAIN). The links that continue it
// become rows of type chain, and items of the next pass. The row of its first page
// stays held until the batch ends, when the list of the pages that were crawled is
// stored beside it (crawling 5.11). A kill in between is the fault of its batch,
// and the first page is crawled again.

// chains are the chains of a batch, by the key of their first page. The zero value
// is ready.
type chains struct {
	mu    sync.Mutex
	first map[chainKey]*chain
	of    map[chainKey]chainKey // the first page, by a page that continues it
	last  int64                 // number of the chain begun last
}

type chainKey struct{ site, url string }

type chain struct {
	held   bool     // its row waits for the end
	status int64    // that it gets then
	parts  []string // keys of the pages that were crawled
}

// continueChain takes a link that continues the chain of the page at hand: whatever
// filters and limits say.
func (c *collection) continueChain(target string) {
	it := c.page.item
	row := c.row
	row.URL, row.URLMd5, row.Type = target, dc.Md5(target), dc.TypeChain
	c.out.result.Links = append(c.out.result.Links, dc.Link{URL: row, Chain: true})
	if c.last {
		return
	}
	first := it.chainKey()
	number := c.chains.begin(first)
	c.chains.mu.Lock()
	c.chains.first[first].held = true
	c.chains.mu.Unlock()
	if first.url == it.URLID {
		c.out.holds = true
	}
	next := it.next(row)
	next.URL.ChainID = &number
	it.found = append(it.found, next)
	c.chains.join(chainKey{it.SiteID, row.URLMd5}, first)
}

// chainKey is the first page of the chain that an item belongs to: itself, when it
// begins one.
func (it *item) chainKey() chainKey {
	if it.chainOf.url != "" {
		return it.chainOf
	}
	return chainKey{it.SiteID, it.URLID}
}

// begin gives the number of a chain, a new one for a new chain.
func (c *chains) begin(first chainKey) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first == nil {
		c.first = map[chainKey]*chain{}
	}
	if c.first[first] == nil {
		c.last++
		c.first[first] = &chain{status: dc.StatusCrawled}
	}
	return c.last
}

// join notes that a page continues the chain of first.
func (c *chains) join(part, first chainKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[chainKey]chainKey{}
	}
	if _, known := c.of[part]; !known {
		c.of[part] = first
	}
}

// firstOf is the first page of the chain that a page continues.
func (c *chains) firstOf(part chainKey) chainKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[part]
}

// crawled notes a page of a chain.
func (c *chains) crawled(it *item) {
	if it.chainOf.url == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if held := c.first[it.chainOf]; held != nil {
		held.parts = append(held.parts, it.URLID)
	}
}

// endChains stores the lists of the chains, and lets their first rows go.
func (r *batchRun) endChains(ctx context.Context) error {
	bySite := map[string][]dc.Fetched{}
	r.chains.mu.Lock()
	for first, c := range r.chains.first {
		if !c.held {
			continue
		}
		date := string(dc.DateOf(r.Now()))
		result := dc.Fetched{URLMd5: first.url, At: r.Now(), Set: dc.Patch{"Status": c.status, "TcDate": date, "UDate": date}}
		if len(c.parts) > 0 {
			result.Files = []dc.File{{Type: dc.ContentChain, Data: []byte(strings.Join(c.parts, "\n") + "\n")}}
		}
		bySite[first.site] = append(bySite[first.site], result)
	}
	r.chains.mu.Unlock()
	for site, results := range bySite {
		if err := r.keep(ctx, site, results); err != nil {
			return fmt.Errorf("crawl.endChains: %w", err)
		}
	}
	return nil
}
