//go:build e2e

package e2e

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"hce/dc/examples/hostileweb/web"
	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// A crawl of an endless web, in batches of all sites until no row is New, ends at the limits of
// each site: the number of rows or their depth.
func TestLinkTraps(t *testing.T) {
	t.Parallel()
	w, err := web.Start(web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	byDepth := map[string]any{"pattern": "%MAX_DEPTH%", "subject": "1", "opCode": 5, "type": 0} // 1 < depth of the page
	below := map[string]any{"pattern": "(.*)", "type": 1}
	property := func(pairs ...string) (list []map[string]any) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, map[string]any{"name": pairs[i], "value": pairs[i+1]})
		}
		return list
	}
	cases := map[string]struct {
		path       string
		maxURLs    int
		filters    []any
		properties []map[string]any
		rows       int
		depth      int // of the deepest row; 0 means any
	}{
		"calendar by number":    {path: "/trap/calendar", maxURLs: 120, filters: []any{below}, rows: 120},
		"session by number":     {path: "/trap/session", maxURLs: 40, filters: []any{below}, rows: 40},
		"growing by number":     {path: "/trap/grow/", maxURLs: 50, filters: []any{below}, rows: 50},
		"facets by number":      {path: "/trap/facets", maxURLs: 100, filters: []any{below}, rows: 100},
		"random by number":      {path: "/trap/random/", maxURLs: 75, filters: []any{below}, rows: 75},
		"calendar by depth":     {path: "/trap/calendar", maxURLs: 5000, filters: []any{below, byDepth}, rows: 97, depth: 2},
		"session by depth":      {path: "/trap/session", maxURLs: 5000, filters: []any{below, byDepth}, rows: 7, depth: 2},
		"growing by depth":      {path: "/trap/grow/", maxURLs: 5000, filters: []any{below, byDepth}, rows: 12, depth: 2},
		"facets by depth":       {path: "/trap/facets", maxURLs: 5000, filters: []any{below, byDepth}, rows: 157, depth: 2},
		"random by depth":       {path: "/trap/random/", maxURLs: 5000, filters: []any{below, byDepth}, rows: 111, depth: 2},
		"sitemap of itself":     {path: "/trap/grow/", maxURLs: 30, filters: []any{below}, rows: 30, properties: property("SITEMAPS", w.Root()+"sitemap/self.xml")},
		"sitemaps without end":  {path: "/trap/grow/", maxURLs: 60, filters: []any{below, byDepth}, rows: 60, properties: property("SITEMAPS", w.Root()+"sitemap/endless.xml")},
		"sitemap of a million":  {path: "/trap/grow/", maxURLs: 90, filters: []any{below, byDepth}, rows: 90, properties: property("SITEMAPS", w.Root()+"sitemap/million.xml.gz")},
		"sitemap that explodes": {path: "/trap/grow/", maxURLs: 90, filters: []any{below, byDepth}, rows: 13, depth: 2, properties: property("SITEMAPS", w.Root()+"sitemap/bomb.xml.gz")},
		"feed of entities":      {path: "/feed/laughs.xml", maxURLs: 90, filters: []any{below}, rows: 2, properties: property("PROCESSOR_NAME", "RSS")},
		"feed of many items":    {path: "/feed/items.xml", maxURLs: 90, filters: []any{below}, rows: 2, properties: property("PROCESSOR_NAME", "RSS")},
	}
	data := t.TempDir()
	env := []string{"DC_Application_data_dir=" + data, "DC_CrawlerTask_AllowedNetworks=127.0.0.0/8"}
	var sites []map[string]any
	for name, c := range cases {
		sites = append(sites, map[string]any{
			"id": wire.Md5(name), "urls": []string{w.Root() + strings.TrimPrefix(c.path, "/")}, "requestDelay": 0, "maxURLs": c.maxURLs, "maxURLsFromPage": 1000,
			"filters": c.filters, "properties": append(property("ROBOTS_MODE", "0"), c.properties...),
		})
	}
	newTaskSites(t, env, sites...)
	d := database(t, data)
	peak, batches := int64(0), 0
	for ; batches < 100; batches++ {
		items := newItems(t, d)
		if len(items) == 0 {
			break
		}
		peak = max(peak, crawl(t, batchOf(items, 240), env).memory)
	}
	t.Logf("%d batches, peak of %d MiB", batches, peak>>20)
	if peak > hostileMemory {
		t.Errorf("the crawler used %d MiB, want at most %d", peak>>20, hostileMemory>>20)
	}
	for name, c := range cases {
		id := wire.Md5(name)
		all := number(t, d, `SELECT count(*) FROM "dc_urls.urls" WHERE Site_Id=?`, id)
		deepest := number(t, d, `SELECT max(Depth) FROM "dc_urls.urls" WHERE Site_Id=?`, id)
		left := number(t, d, `SELECT count(*) FROM "dc_urls.urls" WHERE Site_Id=? AND Status<>4`, id)
		if all != c.rows {
			t.Errorf("%s: %d rows, want %d", name, all, c.rows)
		}
		if c.depth > 0 && deepest != c.depth {
			t.Errorf("%s: rows of depth %d, want %d", name, deepest, c.depth)
		}
		if left > 0 {
			t.Errorf("%s: %d rows not crawled after %d batches", name, left, batches)
		}
	}
}

// newItems returns up to 500 new rows of all sites for a batch.
func newItems(t *testing.T, d *sql.DB) (items []any) {
	t.Helper()
	rows, err := d.Query(`SELECT Site_Id, URL, ParentMd5, Depth, Type FROM "dc_urls.urls" WHERE Status=1 LIMIT 500`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var site, url, parent string
		var depth, kind int
		if err := rows.Scan(&site, &url, &parent, &depth, &kind); err != nil {
			t.Fatal(err)
		}
		it := batchItem(site, url, 20_000, 0)
		u := it["urlObj"].(map[string]any)
		u["parentMd5"], u["depth"], u["type"] = parent, depth, kind
		items = append(items, it)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return items
}

// With fetchType browser, pages that a script writes are complete, and endless scripts end
// at the limits of the browser.
func TestHostileScripts(t *testing.T) {
	t.Parallel()
	w, err := web.Start(web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	data := t.TempDir()
	env := []string{"DC_Application_data_dir=" + data, "DC_CrawlerTask_AllowedNetworks=127.0.0.0/8"}
	id := rig.SiteID(w.Root())
	newTaskSites(t, env, map[string]any{"urls": []string{w.Root()}, "requestDelay": 0, "fetchType": 2,
		"properties": []map[string]any{{"name": "ROBOTS_MODE", "value": "0"}}})
	ends := map[string]func(errormask.Mask) bool{
		"markup/script-only":     func(m errormask.Mask) bool { return m == 0 },
		"markup/script-endless":  func(m errormask.Mask) bool { return m != 0 },
		"markup/refresh/odd":     func(m errormask.Mask) bool { return m == 0 },
		"markup/refresh/endless": func(m errormask.Mask) bool { return true }, // the browser may stop at any page
		"body/endless":           func(m errormask.Mask) bool { return m != 0 },
	}
	var items []any
	var urls []string
	for path := range ends {
		urls = append(urls, w.Root()+path)
		items = append(items, batchItem(id, w.Root()+path, 12_000, 0))
	}
	usage := crawl(t, batchOf(items, 120), env)
	t.Logf("%d pages in %v, peak of %d MiB without the browser", len(items), usage.took.Round(time.Millisecond), usage.memory>>20)
	if usage.memory > hostileMemory {
		t.Errorf("the crawler used %d MiB, want at most %d", usage.memory>>20, hostileMemory>>20)
	}
	if usage.took > 2*time.Minute {
		t.Errorf("the crawl took %v", usage.took)
	}
	stored := status(t, id, urls, env)
	for path, fits := range ends {
		u, ok := stored[md5Of(t, w.Root()+path)]
		if !ok || u.Status != wire.StatusCrawled || !fits(u.ErrorMask) {
			t.Errorf("%s: row %v, status %d, errors %v", path, ok, u.Status, u.ErrorMask.Names())
		}
		t.Logf("%s: %d, %v", path, u.HTTPCode, u.ErrorMask.Names())
	}
	links := number(t, database(t, data), `SELECT count(*) FROM "dc_urls.urls" WHERE Site_Id=? AND URL LIKE '%/trap/scripted'`, id)
	if links != 1 {
		t.Errorf("%d links written by a script, want 1", links)
	}
}
