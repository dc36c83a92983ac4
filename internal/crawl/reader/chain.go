package reader

import (
	"strings"
	"sync"
	"time"

	"hce/dc/internal/crawl/item"
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
	begun map[item.Key]*chain   // by the key of their first page
	next  map[item.Key][]string // parts that continue a page, in the order of the page
	of    map[item.Key]item.Key // first page, by part
}

type chain struct {
	number int64
	at     time.Time // time in the file names of its first page
}

// continueChain takes a link that continues the page's chain, regardless of filters and
// limits. A link to the first page continues nothing.
func (c *collection) continueChain(target string) {
	it := c.page.Item
	first := it.FirstOfChain()
	row := c.row
	row.URL, row.URLMd5, row.Type = target, urlkey.Of(target), wire.TypeChain
	if row.URLMd5 == first.URL {
		return
	}
	c.out.Result.Links = append(c.out.Result.Links, wire.Link{URL: row, Chain: true})
	if c.Last {
		return
	}
	number := c.chains.joinChain(first, it.Key(), row.URLMd5, c.page.fileTime(c.now), it.Row.ChainID)
	if first.URL == it.URLID {
		c.out.Holds, it.Row.ChainID = true, &number
	}
	next := it.NextPassItem(row)
	next.URL.ChainID = &number
	it.Found = append(it.Found, next)
}

// joinChain records that part continues page in the chain of first. It returns the number of the
// chain: asked, or the next number. at is the time in the file names of the first page.
func (c *chains) joinChain(first, page item.Key, part string, at time.Time, asked *int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun == nil {
		c.begun, c.next, c.of = map[item.Key]*chain{}, map[item.Key][]string{}, map[item.Key]item.Key{}
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
	if key := (item.Key{Site: page.Site, URL: part}); c.of[key].URL == "" {
		c.of[key] = first
	}
	return one.number
}

// leaveChain removes what a page added to the chain of first, because the page is not stored.
func (c *chains) leaveChain(first, page item.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.next, page)
	if first == page {
		delete(c.begun, first)
	}
}

// firstOf returns the first page of the chain that contains a part.
func (c *chains) firstOf(part item.Key) item.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[part]
}

// crawledParts returns the keys of the crawled pages of a chain without the first one, each once, in
// breadth-first order.
func (c *chains) crawledParts(first item.Key, crawled map[item.Key]bool) []string {
	met := map[string]bool{first.URL: true}
	var list []string
	queue := []string{first.URL}
	for len(queue) > 0 {
		page := item.Key{Site: first.Site, URL: queue[0]}
		queue = queue[1:]
		for _, part := range c.next[page] {
			if met[part] {
				continue
			}
			met[part] = true
			queue = append(queue, part)
			if crawled[item.Key{Site: first.Site, URL: part}] {
				list = append(list, part)
			}
		}
	}
	return list
}

// FirstOfChain returns the first page of the chain that contains a part.
func (r *Reader) FirstOfChain(part item.Key) item.Key { return r.chains.firstOf(part) }

// ListChains returns the results that store the lists of the chains with their first pages, and release the rows of
// those.
func (r *Reader) ListChains(all []*item.Item, now time.Time) []wire.SiteFetched {
	crawled := map[item.Key]bool{}
	for _, it := range all {
		if it.Begun && !it.Empty {
			crawled[it.Key()] = true
		}
	}
	bySite := map[string][]wire.Fetched{}
	r.chains.mu.Lock()
	for first, c := range r.chains.begun {
		date := string(schema.DateOf(now))
		result := wire.Fetched{URLMd5: first.URL, At: c.at, Set: schema.Patch{"Status": int64(wire.StatusCrawled), "TcDate": date, "UDate": date}}
		if parts := r.chains.crawledParts(first, crawled); len(parts) > 0 {
			result.Files = []wire.File{{Type: wire.ContentChain, Data: []byte(strings.Join(parts, "\n") + "\n")}}
		}
		bySite[first.Site] = append(bySite[first.Site], result)
	}
	r.chains.mu.Unlock()
	var list []wire.SiteFetched
	for site, results := range bySite {
		list = append(list, wire.SiteFetched{Site: site, Results: results})
	}
	return list
}
