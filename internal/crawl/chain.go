package crawl

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
)

// A chain is a page that continues in other pages (URL_CHAIN). Links that continue it become
// rows of type chain and items of the next pass. The row of the first page stays held until
// the batch ends; then the list of crawled parts is stored with it
// (docs/spec/crawling.md 5.11). After a kill in between, the first page is crawled again.

// chains holds the chains of a batch. The zero value is ready to use. It is safe for
// concurrent use.
type chains struct {
	mu    sync.Mutex
	count int64                 // chains that were started
	begun map[chainKey]*chain   // by the key of their first page
	next  map[chainKey][]string // parts that continue a page, in the order of the page
	of    map[chainKey]chainKey // first page, by part
}

type chainKey struct{ site, url string }

type chain struct {
	number int64
	at     time.Time // time in the file names of its first page
}

// continueChain takes a link that continues the page's chain, regardless of filters and
// limits. A link to the first page continues nothing.
func (c *collection) continueChain(target string) {
	it := c.page.item
	first := it.chainKey()
	row := c.row
	row.URL, row.URLMd5, row.Type = target, urlkey.Of(target), wire.TypeChain
	if row.URLMd5 == first.url {
		return
	}
	c.out.result.Links = append(c.out.result.Links, wire.Link{URL: row, Chain: true})
	if c.last {
		return
	}
	number := c.chains.joinChain(first, chainKey{it.SiteID, it.URLID}, row.URLMd5, c.page.fileTime(c.now), it.url.ChainID)
	if first.url == it.URLID {
		c.out.holds, it.url.ChainID = true, &number
	}
	next := it.nextPassItem(row)
	next.URL.ChainID = &number
	it.found = append(it.found, next)
}

// chainKey returns the key of the first page of the item's chain, which may be the item.
func (it *item) chainKey() chainKey {
	if it.chainOf.url != "" {
		return it.chainOf
	}
	return chainKey{it.SiteID, it.URLID}
}

// joinChain records that part continues page in the chain of first. It returns the number of the
// chain: asked, or the next number. at is the time in the file names of the first page.
func (c *chains) joinChain(first, page chainKey, part string, at time.Time, asked *int64) int64 {
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

// leaveChain removes what a page added to the chain of first, because the page is not stored.
func (c *chains) leaveChain(first, page chainKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.next, page)
	if first == page {
		delete(c.begun, first)
	}
}

// firstOf returns the first page of the chain that contains a part.
func (c *chains) firstOf(part chainKey) chainKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[part]
}

// crawledParts returns the keys of the crawled pages of a chain without the first one, each once, in
// breadth-first order.
func (c *chains) crawledParts(first chainKey, crawled map[chainKey]bool) []string {
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

// endChains stores the lists of the chains with their first pages, and releases the rows of
// those.
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
		date := string(schema.DateOf(r.Now()))
		result := wire.Fetched{URLMd5: first.url, At: c.at, Set: schema.Patch{"Status": int64(wire.StatusCrawled), "TcDate": date, "UDate": date}}
		if parts := r.chains.crawledParts(first, crawled); len(parts) > 0 {
			result.Files = []wire.File{{Type: wire.ContentChain, Data: []byte(strings.Join(parts, "\n") + "\n")}}
		}
		bySite[first.site] = append(bySite[first.site], result)
	}
	r.chains.mu.Unlock()
	var list []wire.SiteFetched
	for site, results := range bySite {
		list = append(list, wire.SiteFetched{Site: site, Results: results})
	}
	if err := r.keepResults(ctx, list); err != nil {
		return fmt.Errorf("store the lists of chains: %w", err)
	}
	return nil
}
