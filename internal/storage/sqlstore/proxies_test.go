package sqlstore

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

func (b *bench) newProxies(raw string) wire.GeneralResponse {
	b.Helper()
	list, err := wire.ReadProxies("ProxyNew", json.RawMessage(raw), nil)
	b.must(err)
	answer, err := b.ProxyNew(ctx, list)
	b.must(err)
	return answer
}

func (b *bench) updateProxies(raw string) wire.GeneralResponse {
	b.Helper()
	list, err := wire.ReadProxies("ProxyUpdate", json.RawMessage(raw), nil)
	b.must(err)
	answer, err := b.ProxyUpdate(ctx, list)
	b.must(err)
	return answer
}

// proxies names the proxies that PROXY_FIND returns.
func (b *bench) proxies(raw string) string {
	b.Helper()
	list, err := wire.ReadProxyFind("ProxyFind", json.RawMessage(raw), nil)
	b.must(err)
	found, err := b.ProxyFind(ctx, list)
	b.must(err)
	return proxyNames(found)
}

func proxyNames(list []wire.Proxy) string {
	var names []string
	for _, p := range list {
		names = append(names, p.SiteID+"/"+p.Host)
	}
	return strings.Join(names, " ")
}

// docs/spec/storage.md 6.2 #10: an update changed columns that it did not name.
func TestProxyUpdateChangesOnlyGivenColumns(t *testing.T) {
	const all = `"domains":["*"],"priority":2,"state":1,"countryCode":"DE","countryName":"Germany","regionCode":3,"regionName":"r","cityName":"Köln 🏙",
		"zipCode":"50667","timeZone":"CET","latitude":50.9,"longitude":6.9,"metroCode":4,"faults":5,"faultsMax":6,"categoryId":7,"limits":{"a":1},"description":"d"`
	b := newBench(t)
	same(t, "new", b.newProxies(`[{"siteId":"s","host":"h:1","id":99,"cDate":1767600000,`+all+`}]`).Statuses, statuses(0))
	row := func() wire.Proxy {
		site, host := "s", "H:1"
		found, err := b.ProxyStatus(ctx, []wire.ProxySelection{{SiteID: &site, Host: &host}})
		b.must(err)
		if len(found) != 1 {
			t.Fatalf("%d rows", len(found))
		}
		return found[0]
	}
	before := row()
	same(t, "of the request", []any{before.ID, before.Domains, before.Limits, before.CityName, before.CDate, before.UDate},
		[]any{int64(1), `["*"]`, `{"a":1}`, "Köln 🏙", schema.Date("2026-01-05 10:00:00"), schema.Date("2026-01-05 10:00:00")})
	b.now = b.now.Add(90 * 60e9)
	cases := []struct {
		name, raw string
		ok        bool
		change    func(*wire.Proxy)
	}{
		{"one number", `"priority":9`, true, func(p *wire.Proxy) { p.Priority, p.UDate = 9, "2026-01-05 11:30:00" }},
		{"zero and empty", `"faults":0,"countryCode":""`, true, func(p *wire.Proxy) { p.Faults, p.CountryCode = 0, "" }},
		{"null", `"state":null,"description":null,"uDate":null`, false, func(*wire.Proxy) {}},
		{"nothing", `"id":4`, false, func(*wire.Proxy) {}},
		{"dates", `"cDate":"2020-01-01","uDate":"DATE_ADD(CDate, INTERVAL 1 DAY)"`, true, func(p *wire.Proxy) { p.UDate = "2026-01-06 10:00:00" }},
		{"no date", `"uDate":"NULL","limits":"[]"`, true, func(p *wire.Proxy) { p.UDate, p.Limits = "", "[]" }},
	}
	want := before
	for _, c := range cases {
		same(t, c.name, b.updateProxies(`[{"siteId":"s","host":"h:1",`+c.raw+`}]`).Statuses, statuses(c.ok))
		c.change(&want)
		same(t, c.name, row(), want)
	}
	raw, err := json.Marshal(row())
	b.must(err)
	if s := string(raw); !strings.Contains(s, `"uDate":null`) || !strings.Contains(s, `"cDate":"2026-01-05T10:00:00"`) {
		t.Errorf("on the wire: %s", s)
	}
	answer := b.updateProxies(`[{"siteId":"s","host":"h:1","priority":1,"uDate":"SLEEP(9)"},{"siteId":"s","host":"h:1","priority":3}]`)
	same(t, "refused", []any{answer.Statuses, row().Priority}, []any{statuses(false, true), int64(3)})
	if !strings.Contains(answer.ErrorMessage, "ProxyUpdate[0].uDate") {
		t.Errorf("message = %s", answer.ErrorMessage)
	}
}

func TestProxyNewFails(t *testing.T) {
	b := newBench(t)
	answer := b.newProxies(`[{"siteId":"s","host":"h"},{"siteId":"S","host":"H"},{"siteId":"0","host":"h"},{"siteId":"s","host":"x","uDate":"SLEEP(9)"},{"siteId":"*","host":"h"}]`)
	same(t, "statuses", answer.Statuses, statuses(0, 2, 0, 1, 0))
	same(t, "there", b.proxies(`[{"criterions":{"WHERE":"1"}}]`), "s/h 0/h */h")
}

// Concurrent requests insert one row (docs/spec/storage.md 6.2 #27).
func TestConcurrentProxyNew(t *testing.T) {
	b := newBench(t)
	var wg sync.WaitGroup
	inserted := make(chan any, 8)
	for range 8 {
		wg.Go(func() {
			answer, err := b.ProxyNew(ctx, []wire.ProxyRequest{{SiteID: "s", Host: "h", Row: schema.Patch{}}})
			if err != nil {
				t.Error(err)
				return
			}
			inserted <- answer.Statuses[0]
		})
	}
	wg.Wait()
	close(inserted)
	counts := map[any]int{}
	for status := range inserted {
		counts[status]++
	}
	same(t, "statuses", counts, map[any]int{0: 1, 2: 7})
}

func TestProxySelections(t *testing.T) {
	const rows = `[{"siteId":"s1","host":"a","faults":1},{"siteId":"s1","host":"b","faults":200},{"siteId":"s2","host":"a","faults":200},{"siteId":"*","host":"c","faults":300}]`
	cases := map[string]struct {
		raw      string
		statuses []any // nil: refused
		left     string
		status   string // answer of PROXY_STATUS to the same request
	}{
		"row":                   {`{"siteId":"s1","host":"a"}`, statuses(true), "s1/b s2/a */c", "s1/a"},
		"row, criterion":        {`{"siteId":"s1","host":"a","criterions":{"WHERE":"0"}}`, statuses(true), "s1/b s2/a */c", "s1/a"},
		"row that is not there": {`{"siteId":"s3","host":"a"}`, statuses(true), "s1/a s1/b s2/a */c", ""},
		"empty criterion":       {`{"siteId":"s1"}`, statuses(), "s1/a s1/b s2/a */c", ""},
		"empty text":            {`{"criterions":{"WHERE":"","LIMIT":null}}`, statuses(), "s1/a s1/b s2/a */c", ""},
		"criterion":             {`{"criterions":{"WHERE":"Faults>100"}}`, statuses(true, true, true), "s1/a", "s1/b s2/a */c"},
		// docs/spec/storage.md 6.2 #19: the site was ignored, and an OR bypassed the condition.
		"criterion of a site": {`{"siteId":"s1","criterions":{"WHERE":"Faults>100 OR 1=1"}}`, statuses(true, true), "s2/a */c", "s1/a s1/b s2/a */c"},
		"criterion of a host": {`{"host":"a","criterions":{"WHERE":"1"}}`, statuses(true, true), "s1/b */c", "s1/a s1/b s2/a */c"},
		"macro":               {`{"siteId":"s2","criterions":{"WHERE":"Site_Id='%SITE_ID%'"}}`, statuses(true), "s1/a s1/b */c", "s2/a"},
		"macro without site":  {`{"criterions":{"WHERE":"Site_Id=%SITE_ID%"}}`, nil, "s1/a s1/b s2/a */c", "!"},
		"order and limit":     {`{"criterions":{"ORDER BY":"Faults DESC, Host","LIMIT":2}}`, statuses(true, true), "s1/a s1/b", "*/c s2/a"},
		"sub-select":          {`{"criterions":{"WHERE":"Site_Id IN (SELECT Id FROM sites WHERE User_Id=7)"}}`, statuses(true, true), "s2/a */c", "s1/a s1/b"},
		"refused":             {`{"criterions":{"WHERE":"1); DROP TABLE sites_proxy"}}`, nil, "s1/a s1/b s2/a */c", "!"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.newSite(`{"id":"s1","userId":7}`)
			b.newProxies(rows)
			list, err := wire.ReadProxySelections("Proxy", json.RawMessage("["+c.raw+"]"), nil)
			b.must(err)
			found, err := b.ProxyStatus(ctx, list)
			switch {
			case c.status == "!":
				if err == nil || !strings.Contains(err.Error(), "ProxyStatus[0].criterions.WHERE") {
					t.Errorf("status: %v", err)
				}
			case err != nil:
				t.Error(err)
			default:
				same(t, "status", proxyNames(found), c.status)
			}
			answer, err := b.ProxyDelete(ctx, list)
			if c.statuses == nil {
				if err == nil || !strings.Contains(err.Error(), "ProxyDelete[0].criterions.WHERE") {
					t.Errorf("delete: %v", err)
				}
			} else {
				b.must(err)
				same(t, "statuses", answer.Statuses, c.statuses)
			}
			same(t, "left", b.proxies(`[{"criterions":{"WHERE":"1"}}]`), c.left)
		})
	}
}

func TestProxyFind(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s1","userId":7,"cDate":"2026-01-01"}`)
	b.newSite(`{"id":"s2","userId":7,"cDate":"2026-01-02"}`)
	b.newProxies(`[{"siteId":"s1","host":"a","state":1},{"siteId":"s1","host":"b"},{"siteId":"s2","host":"a","state":1},{"siteId":"s3","host":"z","state":1}]`)
	cases := map[string]struct{ raw, want string }{
		"no condition":         {`{}`, ""},
		"empty criterion":      {`{"criterions":{"WHERE":""},"siteCriterions":{"LIMIT":""}}`, ""},
		"site":                 {`{"siteId":"s1"}`, "s1/a s1/b"},
		"site and criterion":   {`{"siteId":"s1","criterions":{"WHERE":"State=1 OR 0"}}`, "s1/a"},
		"any site":             {`{"criterions":{"WHERE":"State=1","ORDER BY":"Site_Id DESC"}}`, "s3/z s2/a s1/a"},
		"sites":                {`{"siteCriterions":{"WHERE":"User_Id=7","ORDER BY":"CDate DESC"}}`, "s2/a s1/a s1/b"},
		"sites and limit":      {`{"siteCriterions":{"WHERE":"User_Id=7"},"criterions":{"LIMIT":1}}`, "s1/a s2/a"},
		"no such sites":        {`{"siteCriterions":{"WHERE":"User_Id=8"},"criterions":{"WHERE":"1"}}`, ""},
		"site wins over sites": {`{"siteId":"s3","siteCriterions":{"WHERE":"User_Id=7"}}`, "s3/z"},
		"macro of each site":   {`{"siteCriterions":{"WHERE":"User_Id=7"},"criterions":{"WHERE":"'%SITE_ID%'='s2'"}}`, "s2/a"},
		"one after the other":  {`{"siteId":"s3"},{"siteId":"s2"}`, "s3/z s2/a"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { same(t, "found", (&bench{Store: b.Store, TB: t}).proxies("["+c.raw+"]"), c.want) })
	}
	for _, raw := range []string{`{"siteCriterions":{"WHERE":"Host='a'"}}`, `{"siteId":"s1","criterions":{"WHERE":"User_Id=7"}}`, `{"siteId":"s1","criterions":{"ORDER BY":"SLEEP(1)"}}`} {
		list, err := wire.ReadProxyFind("ProxyFind", json.RawMessage("["+raw+"]"), nil)
		b.must(err)
		if found, err := b.ProxyFind(ctx, list); err == nil || !strings.Contains(err.Error(), "ProxyFind[0].") {
			t.Errorf("%s: %v, %v", raw, found, err)
		}
	}
}

// The proxies of a deleted site stay (docs/spec/storage.md 4.5).
func TestProxiesOfDeletedSiteStay(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s1"}`)
	b.newProxies(`[{"siteId":"s1","host":"a"}]`)
	_, err := b.SiteDelete(ctx, []wire.SiteDeleteRequest{{ID: "s1", DelayedType: wire.Immediate}})
	b.must(err)
	same(t, "left", b.proxies(`[{"siteId":"s1"}]`), "s1/a")
}

func TestManyProxies(t *testing.T) {
	b := newBench(t)
	var list []wire.ProxyRequest
	for i := range 700 {
		list = append(list, wire.ProxyRequest{SiteID: "s", Host: fmt.Sprintf("h%d:1", i), Row: schema.Patch{}})
	}
	_, err := b.ProxyNew(ctx, list)
	b.must(err)
	answer, err := b.ProxyDelete(ctx, []wire.ProxySelection{{Criterion: wire.Criterion{Where: "Host <> 'h7:1'"}}})
	b.must(err)
	same(t, "deleted", []any{len(answer.Statuses), b.proxies(`[{"siteId":"s"}]`)}, []any{699, "s/h7:1"})
}
