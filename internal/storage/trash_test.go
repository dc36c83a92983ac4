package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// holds counts the contents of the page.
func (n *node) holds() string {
	n.t.Helper()
	got := n.content(1 + 1024 + 8)
	return fmt.Sprintf("%d raw, %d processed", len(got.RawContents), len(got.ProcessedContents))
}

func TestContentsAreDeletedWithTheURL(t *testing.T) {
	for name, c := range map[string]struct{ request, want string }{
		"URL_DELETE now":      {`["URL_DELETE",[{"siteId":%q,"url":%q}]]`, "0 raw, 0 processed"},
		"URL_DELETE delayed":  {`["URL_DELETE",[{"siteId":%q,"url":%q,"delayedType":0}]]`, "1 raw, 1 processed"},
		"URL_CLEANUP now":     {`["URL_CLEANUP",[{"siteId":%q,"url":%q}]]`, "0 raw, 0 processed"},
		"URL_CLEANUP delayed": {`["URL_CLEANUP",[{"siteId":%q,"url":%q,"delayedType":0}]]`, "1 raw, 1 processed"},
		"URL_AGE now":         {`["URL_AGE",[{"sitesCriterions":{"WHERE":"Id='%s'"},"urlsCriterions":{"WHERE":"URL='%s'"}}]]`, "0 raw, 0 processed"},
		"URL_AGE delayed":     {`["URL_AGE",[{"sitesCriterions":{"WHERE":"Id='%s'"},"urlsCriterions":{"WHERE":"URL='%s'"},"delayedType":0}]]`, "1 raw, 1 processed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := withPage(t)
			n.fill()
			n.good(fmt.Sprintf(c.request, site, page))
			if got := n.holds(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			n.good(fmt.Sprintf(`["URL_PURGE",[{"siteId":%q,"url":%q}]]`, site, page))
			if got := n.holds(); got != "0 raw, 0 processed" {
				t.Errorf("after the purge %s", got)
			}
			if files := strings.Join(filesBelow(t, n.raw), " "); strings.Contains(files, md5[2:]) {
				t.Errorf("left: %s", files)
			}
		})
	}
}

// docs/spec/storage.md 6.2 #5.
func TestDelayedSiteDeleteIsPurgedWhole(t *testing.T) {
	n := withPage(t)
	n.fill()
	n.good(fmt.Sprintf(`["SITE_DELETE",{"id":%q,"delayedType":0}]`, site))
	if got := n.holds(); got != "1 raw, 1 processed" {
		t.Errorf("before the purge %s", got)
	}
	if got := n.good(`["URL_PURGE",[{"siteId":null,"url":null,"urlType":1,"siteLimits":[0,-1]}]]`); !strings.Contains(got, fmt.Sprintf(`[[%q,2]]`, site)) {
		t.Errorf("purge: %s", got)
	}
	if rows := n.left(); len(rows) != 0 {
		t.Errorf("rows %v", rows)
	}
	for _, name := range append(filesBelow(t, n.raw), filesBelow(t, n.keys)...) {
		if strings.Contains(name, site) {
			t.Errorf("%s is left", name)
		}
	}
}

// A purge keeps the contents of a new site with the id of the deleted one.
func TestPurgeKeepsNewSite(t *testing.T) {
	n := withPage(t)
	n.fill()
	n.good(fmt.Sprintf(`["SITE_DELETE",{"id":%q,"delayedType":0}]`, site))
	n.good(fmt.Sprintf(`["SITE_NEW",{"id":%q,"urls":[%q]}]`, site, page))
	_, err := n.MarkCrawling(t.Context(), site, 5, []wire.URL{wire.NewURL(site, page)})
	n.must(err)
	n.saved(n.SaveCrawl(t.Context(), site, 5, []wire.Fetched{{URLMd5: md5, At: n.now.Add(1e9), Crawled: true, Set: schema.Patch{"Status": int64(4)}, Files: []wire.File{{Type: 0, Data: []byte("new")}}}}))
	n.good(fmt.Sprintf(`["URL_PURGE",[{"siteId":%q}]]`, site))
	if got := texts(t, n.content(2).RawContents); got != "0:new" {
		t.Errorf("newest: %s", got)
	}
	status := n.good(fmt.Sprintf(`["SITE_STATUS",{"id":%q}]`, site))
	if !strings.Contains(status, `"deletedURLs":0`) || !strings.Contains(status, `"state":1`) {
		t.Errorf("site: %s", status)
	}
}

// One request removes more contents than one page of the trash.
func TestLongTrashIsEmptied(t *testing.T) {
	n := withPage(t)
	n.fill()
	var urls []string
	for i := range 5200 {
		urls = append(urls, fmt.Sprintf(`{"siteId":%q,"url":"%s%d"}`, site, root, i))
	}
	urls = append(urls, fmt.Sprintf(`{"siteId":%q,"url":%q}`, site, page))
	n.good(`["URL_DELETE",[` + strings.Join(urls, ",") + `]]`)
	if got := n.holds(); got != "0 raw, 0 processed" {
		t.Errorf("left: %s", got)
	}
	items, err := n.Store.Trash(t.Context())
	n.must(err)
	if len(items) != 0 {
		t.Errorf("%d items", len(items))
	}
}

// If the site keeps a journal, reading contents adds an entry with code 25.
func TestContentRequestIsLogged(t *testing.T) {
	n := newNode(t)
	n.good(fmt.Sprintf(`["SITE_NEW",{"id":%q,"urls":[%q],"properties":{"STATS_LOG_ENABLED":"1"}}]`, site, page))
	n.good(fmt.Sprintf(`["URL_CONTENT",[{"siteId":%q,"url":%q,"contentTypeMask":1},null,{"siteId":%q,"url":"","contentTypeMask":1,"urlFetch":{"maxURLs":5}}]]`, site, page, site))
	got := n.good(fmt.Sprintf(`["URL_HISTORY",[{"siteId":%q,"urlMd5":%q,"logCriterions":{"WHERE":"OpCode=25"}}]]`, site, md5))
	if strings.Count(got, `"OpCode":25`) != 2 || !strings.Contains(got, `\"contentTypeMask\":1`) {
		t.Errorf("journal: %s", got)
	}
}

// A process that is killed between the commit and the removal of files leaves them in the
// trash. The next writer empties the trash first, so that its contents stay.
func TestTrashOfAKilledProcess(t *testing.T) {
	for name, next := range map[string]func(n *node) error{
		"start":    func(n *node) error { return n.EmptyTrash(n.t.Context()) },
		"new site": func(n *node) error { n.good(`["SITE_NEW",{"id":"x","urls":["http://x.test/"]}]`); return nil },
		"batch": func(n *node) error {
			_, err := n.MarkCrawling(n.t.Context(), site, 5, []wire.URL{{SiteID: site, URL: root, URLMd5: site}})
			return err
		},
		"next of a batch": func(n *node) error {
			n.good(`["URL_NEW",[{"siteId":"` + site + `","url":"http://example.test/next"}]]`)
			rows, err := n.Take(n.t.Context(), []wire.URLFetchRequest{{Sites: []string{site}, MaxURLs: 5, URLUpdate: schema.Patch{"Status": int64(2), "Batch_Id": int64(5)}}}, 5)
			if len(rows) == 0 {
				n.t.Error("no rows")
			}
			return err
		},
		"processing": func(n *node) error { _, err := n.MarkProcessing(n.t.Context(), site, 5, []string{site}); return err },
		"deletion":   func(n *node) error { n.good(`["SITE_DELETE",{"id":"unknown"}]`); return nil },
		"concurrent": func(n *node) error { return twice(func() error { return n.EmptyTrash(n.t.Context()) }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := withPage(t)
			n.fill()
			list, err := wire.ReadSiteCleanup(json.RawMessage(fmt.Sprintf(`{"id":%q}`, site)), nil)
			n.must(err)
			_, err = n.Store.SiteCleanup(t.Context(), list) // the process is killed here
			n.must(err)
			if _, ok, _ := n.Raw.Newest(t.Context(), site, md5, rawfiles.Raw); !ok {
				t.Fatal("the files are removed too early")
			}
			n.must(next(n))
			if got := n.content(1 + 1024 + 8); len(got.RawContents) != 0 || len(got.ProcessedContents) != 0 {
				t.Errorf("contents %+v", got)
			}
			n.fill()
			n.must(n.EmptyTrash(t.Context()))
			if got := n.content(1 + 1024 + 8); len(got.RawContents) != 1 || len(got.ProcessedContents) != 1 {
				t.Error("new contents were removed")
			}
		})
	}
}

func twice(do func() error) error {
	var errs [2]error
	var both sync.WaitGroup
	for i := range errs {
		both.Go(func() { errs[i] = do() })
	}
	both.Wait()
	return errors.Join(errs[:]...)
}
