package crawl

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/wire"
)

// A chain is a page that goes on in others (URL_CHAIN). The links that continue it
// become rows of type chain, and items of the next pass. The row of its first page
// stays held until the batch ends, when the list of the pages that were crawled is
// stored beside it (docs/spec/crawling.md 5.11). A kill in between is the fault of its batch,
// and the first page is crawled again.

// chains are the chains of a batch. The zero value is ready; it is safe for many
// goroutines.
type chains struct {
	mu    sync.Mutex
	count int64                 // chains that were begun
	begun map[chainKey]*chain   // by the key of their first page
	next  map[chainKey][]string // keys of the pages that continue a page, in its order
	of    map[chainKey]chainKey // the first page, by a page that continues it
}

type chainKey struct{ site, url string }

type chain struct {
	number int64
	at     time.Time // of the files of its first page
}

// continueChain takes a link that continues the chain of the page at hand: whatever
// filters and limits say. A link back to the first page continues nothing.
func (c *collection) continueChain(target string) {
	it := c.page.item
	first := it.chainKey()
	row := c.row
	row.URL, row.URLMd5, row.Type = target, wire.Md5(target), wire.TypeChain
	if row.URLMd5 == first.url {
		return
	}
	c.out.result.Links = append(c.out.result.Links, wire.Link{URL: row, Chain: true})
	if c.last {
		return
	}
	number := c.chains.join(first, chainKey{it.SiteID, it.URLID}, row.URLMd5, c.page.at(c.now), it.url.ChainID)
	if first.url == it.URLID {
		c.out.holds, it.url.ChainID = true, &number
	}
	next := it.next(row)
	next.URL.ChainID = &number
	it.found = append(it.found, next)
}

// chainKey is the first page of the chain that an item belongs to: itself, when it
// begins one.
func (it *item) chainKey() chainKey {
	if it.chainOf.url != "" {
		return it.chainOf
	}
	return chainKey{it.SiteID, it.URLID}
}

// join notes that part continues page, in the chain of first, and gives the number
// of the chain: the one that is asked for, else the next. At is the moment in the
// names of the files of the first page, which begins the chain by its first call.
func (c *chains) join(first, page chainKey, part string, at time.Time, asked *int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun == nil {
		c.begun, c.next, c.of = map[chainKey]*chain{}, map[chainKey][]string{}, map[chainKey]chainKey{}
	}
	one := c.begun[first]
	if one == nil {
		c.count++
		one = &chain{number: c.count, at: at}
		if asked != nil {
			one.number = *asked
		}
		c.begun[first] = one
	}
	c.next[page] = append(c.next[page], part)
	if key := (chainKey{page.site, part}); c.of[key].url == "" {
		c.of[key] = first
	}
	return one.number
}

// leave forgets what a page brought to the chain of first: the page is not stored.
func (c *chains) leave(first, page chainKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.next, page)
	if first == page {
		delete(c.begun, first)
	}
}

// firstOf is the first page of the chain that a page continues.
func (c *chains) firstOf(part chainKey) chainKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[part]
}

// parts are the keys of the pages of a chain that were crawled, the first one left
// out, each once: those that a page leads to stand behind it.
func (c *chains) parts(first chainKey, crawled map[chainKey]bool) []string {
	met := map[string]bool{first.url: true}
	var list []string
	queue := []string{first.url}
	for len(queue) > 0 {
		page := chainKey{first.site, queue[0]}
		queue = queue[1:]
		for _, part := range c.next[page] {
			if met[part] {
				continue
			}
			met[part] = true
			queue = append(queue, part)
			if crawled[chainKey{first.site, part}] {
				list = append(list, part)
			}
		}
	}
	return list
}

// endChains stores the lists of the chains beside their first pages, and lets the
// rows of those go.
func (r *batchRun) endChains(ctx context.Context, all []*item) error {
	crawled := map[chainKey]bool{}
	for _, it := range all {
		if it.started && !it.empty {
			crawled[chainKey{it.SiteID, it.URLID}] = true
		}
	}
	bySite := map[string][]wire.Fetched{}
	r.chains.mu.Lock()
	for first, c := range r.chains.begun {
		date := string(wire.DateOf(r.Now()))
		result := wire.Fetched{URLMd5: first.url, At: c.at, Set: wire.Patch{"Status": int64(wire.StatusCrawled), "TcDate": date, "UDate": date}}
		if parts := r.chains.parts(first, crawled); len(parts) > 0 {
			result.Files = []wire.File{{Type: wire.ContentChain, Data: []byte(strings.Join(parts, "\n") + "\n")}}
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
