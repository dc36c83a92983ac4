package sqlstore

import (
	"encoding/json"
	"testing"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// Faults of the original in the operations on sites (docs/spec/storage.md 6.2).

// 1: SITE_NEW must not change an existing site of another user.
func TestFaultDuplicateSiteOfAnotherUser(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","userId":1,"urls":["http://a/"],"properties":{"P":"1"}}`)
	same(t, "answer", b.newSite(`{"id":"s","userId":2,"urls":["http://b/"],"properties":{"Q":"1"}}`),
		wire.GeneralResponse{ErrorCode: wire.CodeDuplicateSite, ErrorMessage: "Duplicate site", Statuses: statuses(nil)})
	s := b.site("s")
	same(t, "site", []any{s.UserID, len(s.URLs), s.Properties[0].Name, b.row("s", "http://a/").Status, len(b.trash())}, []any{int64(1), 1, "P", int64(1), 0})
}

// 2: a site is made completely or not at all; a null list is empty.
func TestFaultHalfMadeSite(t *testing.T) {
	b := newBench(t)
	same(t, "null lists", b.newSite(`{"id":"n","urls":null,"filters":null,"properties":null}`).ErrorCode, wire.CodeOK)
	same(t, "refused", b.newSite(`{"id":"s","urls":["http://a/"],"filters":[{"pattern":"x"}],"properties":[{"name":"P"},{"name":"Q","uDate":"x()"}]}`).ErrorCode, wire.CodeSQLError)
	var left int
	b.must(b.runReadTx(ctx, "test", func(t *tx) error {
		for _, table := range []string{"sites_urls", "sites_filters", "sites_properties"} {
			var n int
			if _, err := t.Row("SELECT COUNT(*) FROM "+t.DB.Table(sqldb.Sites, table)+" WHERE Site_Id = ?", []any{"s"}, &n); err != nil {
				return err
			}
			left += n
		}
		return nil
	}))
	same(t, "left", []any{left, b.site("s").State, b.row("s", "http://a/").URL}, []any{0, int64(wire.SiteNotFound), ""})
}

// 4: a cleanup makes kept root URLs new, also those that SITE_UPDATE stored with Status 7.
func TestFaultCleanedRootsStayCrawled(t *testing.T) {
	for name, raw := range map[string]string{"kept": `{"id":"s"}`, "moved": `{"id":"s","saveRootURLs":0}`} {
		t.Run(name, func(t *testing.T) {
			b := rootBench(t, "")
			b.change(`{"id":"s","updateType":1,"urls":["http://a/"]}`)
			same(t, "before", b.row("s", "http://a/").Status, int64(wire.StatusProcessed))
			list, err := wire.ReadSiteCleanup(json.RawMessage(raw), nil)
			b.must(err)
			_, err = b.SiteCleanup(ctx, list)
			b.must(err)
			u := b.row("s", "http://a/")
			same(t, "root", []int64{u.Status, u.State, u.Crawled, b.site("s").NewURLs}, []int64{wire.StatusNew, 0, 0, 1})
			b.checkCounters("s", name)
		})
	}
}

// 6: every delayed cleanup keeps copies of its rows, also for the general site.
func TestFaultDeletedRowsAreLost(t *testing.T) {
	b := newBench(t)
	for round := range 2 {
		b.newURLs(`[{"siteId":"0","url":"http://a/"},{"siteId":"0","url":"http://a/1","parentMd5":"` + wire.Md5("http://a/") + `"}]`)
		answer, err := b.SiteCleanup(ctx, []wire.SiteCleanupRequest{{ID: "0", DelayedType: wire.Delayed, State: 1}})
		b.must(err)
		same(t, "answer", answer, wire.GeneralResponse{ErrorMessage: "OK", Statuses: statuses(0)})
		same(t, "waiting", []int64{b.site("0").DeletedURLs, int64(len(b.trash()))}, []int64{int64(2 * (round + 1)), 0})
	}
	b.checkCounters("0", "cleanup")
}

// 7: properties of an automatic site, and listed properties without a site id, do not go
// to the general site.
func TestFaultPropertiesOfTheGeneralSite(t *testing.T) {
	b := newBench(t)
	b.newURLs(`[{"url":"http://auto.x/p","siteSelect":1}]`)
	b.newSite(`{"id":"s","properties":[{"name":"P","value":"1"},{"siteId":"","name":"Q"},{"siteId":"0","name":"R"}],"filters":[{"pattern":"x","siteId":"0"}]}`)
	same(t, "properties", []int{len(b.site(wire.Md5("http://auto.x/")).Properties), len(b.site("s").Properties), len(b.site("0").Properties)}, []int{5, 3, 1})
	same(t, "filters", []int{len(b.site("s").Filters), len(b.site("0").Filters)}, []int{1, 2})
}

// 8, 15: each URL has its own key and its own status.
func TestFaultURLNewWithoutMd5(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	answer := b.newURLs(`[{"siteId":"s","url":"http://a/","urlMd5":null},{"siteId":"no","url":"http://a/"},{"siteId":"s","url":"http://b/","urlMd5":""},
		{"siteId":"s","url":"http://b/"},{"siteId":"s","url":"http://c/","siteSelect":9},{"siteId":"no","url":"http://c/","siteSelect":3},{"siteId":"s","url":"http://d/","pDate":"x()"}]`)
	same(t, "statuses", answer.Statuses, statuses(0, 1, 0, 2, 0, 1, 1))
	for _, text := range []string{"http://a/", "http://b/", "http://c/"} {
		same(t, text, b.row("s", text).URLMd5, wire.Md5(text))
	}
	same(t, "new", b.site("s").NewURLs, int64(3))
}

// 20: a site is found once even if several of its rows match; conditions apply to sites;
// unset dates are null.
func TestFaultSiteFind(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s1","state":2,"urls":["http://a/1","http://a/2","http://a/3"],"properties":{"P":"1","Q":"1"}}`)
	b.newSite(`{"id":"s2","urls":["http://a/1"]}`)
	for raw, want := range map[string][]string{
		`{"url":"http://a/","criterions":{"WHERE":"State=2"}}`:                                                         {"s1"},
		`{"url":null,"criterions":{"TABLES":"sites_properties","WHERE":"Value='1'","LIMIT":5}}`:                        {"s1"},
		`{"url":null,"criterions":{"TABLES":"sites, sites_urls","WHERE":"sites_urls.URL LIKE '%a%'","ORDER BY":"Id"}}`: {"s1", "s2"},
	} {
		r, err := wire.ReadSiteFind(json.RawMessage(raw), nil)
		b.must(err)
		sites, err := b.SiteFind(ctx, r)
		b.must(err)
		var ids []string
		for _, s := range sites {
			ids = append(ids, s.ID)
			text, err := json.Marshal(s.UDate)
			b.must(err)
			same(t, "uDate", string(text), "null")
		}
		same(t, raw, ids, want)
	}
}
