package sqlstore

import (
	"fmt"
	"testing"
	"time"

	"hce/dc/internal/storage/sqlstore/limits"
	"hce/dc/internal/storage/sqlstore/outcomes"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/placement"
	"hce/dc/internal/wire/schema"
)

// report reads what the node says of a site.
func (b *bench) report(site string) cluster.QuotaReport {
	b.Helper()
	answer, err := b.QuotaRead(ctx, cluster.QuotaReadRequest{Site: site})
	b.must(err)
	return answer.Reports[0]
}

// order applies an order of the head.
func (b *bench) order(o cluster.QuotaOrder) (cluster.QuotaReport, int) {
	b.Helper()
	o.Site, o.Limit = "s", b.report("s").Limit
	answer, err := b.QuotaSet(ctx, cluster.QuotaSetRequest{Orders: []cluster.QuotaOrder{o}})
	b.must(err)
	return answer.Reports[0], answer.Added
}

func (b *bench) wanted() (ids []string) {
	b.Helper()
	answer, err := b.QuotaRead(ctx, cluster.QuotaReadRequest{Wanted: true})
	b.must(err)
	for _, r := range answer.Reports {
		ids = append(ids, r.Site)
	}
	return ids
}

func urlLease(n int64) cluster.Amounts { return cluster.Amounts{cluster.QuotaURLs: n} }

// leased is a node of a cluster with a site of one root.
func leased(t *testing.T, limits string) (b *bench, root string) {
	b = member(t, "n1")
	root = "http://" + hostOf(t, "n1", 0) + "/"
	same(t, "answer", b.newSite(fmt.Sprintf(`{"id":"s","urls":[%q],%s}`, root, limits)).ErrorCode, 0)
	return b, root
}

func linksAt(root string, from, to int) (list []wire.Link) {
	for i := from; i < to; i++ {
		list = append(list, linkAt(wire.Md5(root), fmt.Sprintf("%s%d", root, i)))
	}
	return list
}

// Links without room in the lease wait, and get their rows in the order in which they were found when it
// grows. Those that the limit has no room for are dropped at once, the others when the lease is final.
func TestLinksWaitForTheLease(t *testing.T) {
	b, root := leased(t, `"maxURLs":10`)
	same(t, "wanted", b.wanted(), []string{"s"})
	saved := b.crawled(root, 7, true, linksAt(root, 0, 12)...)
	same(t, "left out", saved.Skipped, 3) // 9 of 12 may get rows
	b.crawled(root+"x", 7, true, linksAt(root, 0, 2)...)
	same(t, "waiting links", b.count("links_held", "Site_Id = 's'"), 9)
	r := b.report("s")
	same(t, "report", []any{r.Used[cluster.QuotaURLs], r.Short[cluster.QuotaURLs], r.Limit[cluster.QuotaURLs], r.Active}, []any{int64(2), true, int64(10), true})

	order := cluster.QuotaOrder{Seq: 1, Lease: urlLease(5)}
	r, added := b.order(order)
	same(t, "added", added, 3)
	same(t, "report", []any{r.Seq, r.Used[cluster.QuotaURLs], r.Lease[cluster.QuotaURLs], r.Short[cluster.QuotaURLs]}, []any{int64(1), int64(5), int64(5), true})
	for i := range 4 {
		if found := b.row("s", fmt.Sprintf("%s%d", root, i)).URL != ""; found != (i < 3) {
			t.Errorf("link %d has a row: %v", i, found)
		}
	}
	same(t, "wanted", b.wanted(), []string{"s"})
	for _, again := range []cluster.QuotaOrder{order, {Seq: 0, Lease: urlLease(50)}} {
		r, added = b.order(again)
		same(t, "lease after a repeated or older order", []any{r.Lease[cluster.QuotaURLs], added}, []any{int64(5), 0})
	}
	same(t, "mask before the end", b.site("s").ErrorMask, errormask.MaxItems) // of the three

	r, added = b.order(cluster.QuotaOrder{Seq: 2, Lease: urlLease(7), Final: cluster.Kinds{cluster.QuotaURLs: true}})
	same(t, "final", []any{added, r.Used[cluster.QuotaURLs], r.Short[cluster.QuotaURLs]}, []any{2, int64(7), false})
	same(t, "waiting links", b.count("links_held", "Site_Id = 's'"), 0)
	same(t, "wanted", len(b.wanted()), 0)
	same(t, "left out of a full site", b.crawled(root+"0", 7, true, linksAt(root, 20, 22)...).Skipped, 2)
	b.now = b.now.Add(limits.FinalTime + time.Second)
	same(t, "left out later", b.crawled(root+"1", 7, true, linksAt(root, 20, 22)...).Skipped, 0)
	same(t, "wanted", b.wanted(), []string{"s"})
	b.checkCounters("s", "leases")
}

// A final lease marks the site as a full one.
func TestFinalLeaseMarksTheSite(t *testing.T) {
	b, root := leased(t, `"maxURLs":10`)
	b.crawled(root, 7, true, linksAt(root, 0, 3)...)
	same(t, "mask", b.site("s").ErrorMask, errormask.Mask(0))
	b.order(cluster.QuotaOrder{Seq: 1, Lease: urlLease(1), Final: cluster.Kinds{cluster.QuotaURLs: true}})
	same(t, "mask", b.site("s").ErrorMask, errormask.MaxItems)
	same(t, "rows", b.report("s").Used[cluster.QuotaURLs], int64(1))
}

// A held link of a host that has moved goes to its owner.
func TestHeldLinkMoves(t *testing.T) {
	b, root := leased(t, `"maxURLs":10`)
	b.crawled(root, 7, true, linksAt(root, 0, 3)...)
	b.Store.db.Options.Placement = func() (placement.Placement, error) {
		return placement.Placement{Epoch: 2, Self: "n1", Members: []string{"n2"}}, nil
	}
	b.order(cluster.QuotaOrder{Seq: 1, Lease: urlLease(9)})
	same(t, "held", b.count("links_held", "1=1"), 0)
	same(t, "links for the owner", b.take(0)[0].Count, int64(3))
}

// AUTO_REMOVE_* removes rows when the cluster has nothing more, not when the lease must grow.
func TestAutoRemoveWaitsForTheCluster(t *testing.T) {
	b, root := leased(t, `"maxURLs":10,"properties":{"AUTO_REMOVE_RESOURCES":"5","AUTO_REMOVE_WHERE":"ParentMd5<>'' AND Status=1","AUTO_REMOVE_ORDER":"URL"}`)
	b.order(cluster.QuotaOrder{Seq: 1, Lease: urlLease(3)})
	rules := *outcomes.DefaultRules
	rules.RemoveMost, rules.RemoveWhere, rules.RemoveBy = 5, "ParentMd5<>'' AND Status=1", "URL"
	page := func(links ...wire.Link) wire.Saved {
		item := wire.NewURL("s", root)
		_, err := b.MarkCrawling(ctx, "s", 8, []wire.URL{item})
		b.must(err)
		return b.saved(b.FinishCrawl(ctx, "s", 8, []wire.Fetched{{URLMd5: item.URLMd5, Crawled: true, Set: schema.Patch{"Status": int64(1)}, Links: links, Rules: &rules}}))
	}
	same(t, "removed", page(linksAt(root, 0, 5)...).Removed, 0)
	same(t, "held", b.count("links_held", "1=1"), 3)
	_, added := b.order(cluster.QuotaOrder{Seq: 2, Lease: urlLease(3), Final: cluster.Kinds{cluster.QuotaURLs: true}})
	same(t, "links that took the place of older rows", added, 2)
	same(t, "rows", b.report("s").Used[cluster.QuotaURLs], int64(3))
}

// No batch selects more rows than the lease of resources has room for, and none of a site with more
// errors than its lease. An order suspends the site.
func TestSelectionKeepsTheLease(t *testing.T) {
	b, root := leased(t, `"maxResources":20,"maxErrors":3`)
	raw := `[`
	for i := range 9 {
		raw += fmt.Sprintf(`{"siteId":"s","url":"%s%d"},`, root, i)
	}
	b.newURLs(raw + fmt.Sprintf(`{"siteId":"s","url":"%s9"}]`, root))
	selection := []wire.URLFetchRequest{{SkipBusySites: true, MaxURLs: 100, Own: []string{"s"}, URLsCriterion: wire.Criterion{Where: "Status=1"}, URLUpdate: schema.Patch{"Status": int64(2)}}}
	take := func() []wire.URL {
		rows, _, err := b.Take(ctx, selection, 9)
		b.must(err)
		return rows
	}
	b.order(cluster.QuotaOrder{Seq: 0})
	same(t, "selected without a lease", len(take()), 0)
	same(t, "short", b.report("s").Short, cluster.Kinds{cluster.QuotaResources: true})
	b.order(cluster.QuotaOrder{Seq: 1, Lease: cluster.Amounts{0, 4, 0}})
	rows := take()
	same(t, "selected", len(rows), 4)
	same(t, "selected while they are crawled", len(take()), 0)
	good := schema.Patch{"Status": int64(4), "Size": int64(9), "ContentType": "text/html"}
	b.saved(b.FinishCrawl(ctx, "s", 9, []wire.Fetched{
		{URLMd5: rows[0].URLMd5, Crawled: true, Set: good}, {URLMd5: rows[1].URLMd5, Crawled: true, Set: good},
		{URLMd5: rows[2].URLMd5, Crawled: true, Set: schema.Patch{"Status": int64(4), "ErrorMask": int64(errormask.MaxURLsFromPage)}},
		{URLMd5: rows[3].URLMd5, Crawled: true, Set: good},
	}))
	same(t, "selected with an error", len(take()), 0)
	r := b.report("s")
	same(t, "report", []any{r.Used, r.Short}, []any{cluster.Amounts{11, 3, 1}, cluster.Kinds{cluster.QuotaErrors: true}})
	same(t, "wanted", b.wanted(), []string{"s"})
	b.order(cluster.QuotaOrder{Seq: 2, Lease: cluster.Amounts{0, 4, 1}})
	same(t, "selected", len(take()), 1)

	stale := cluster.QuotaOrder{Site: "s", Seq: 3, Lease: cluster.Amounts{0, 4, 1}, Limit: cluster.Amounts{0, 19, 3}, Suspend: errormask.SiteMaxErrors}
	_, err := b.QuotaSet(ctx, cluster.QuotaSetRequest{Orders: []cluster.QuotaOrder{stale}})
	b.must(err)
	same(t, "state after an order for other limits", b.site("s").State, int64(wire.SiteActive))
	b.order(cluster.QuotaOrder{Seq: 4, Lease: cluster.Amounts{0, 4, 1}, Suspend: errormask.SiteMaxErrors})
	site := b.site("s")
	same(t, "site", []any{site.State, site.ErrorMask & errormask.SiteMaxErrors, site.Errors}, []any{int64(wire.SiteSuspended), errormask.SiteMaxErrors, int64(1)})
}

// Rows that a site gets to crawl ask for a lease of resources, wherever they come from.
func TestNewWorkWantsALease(t *testing.T) {
	for name, work := range map[string]func(b *bench, root string){
		"links of another node": func(b *bench, root string) {
			b.receive("n2", 1, []cluster.LinkOut{cluster.LinkOut(linkAt("", root+"x").URL)})
		},
		"URL_NEW": func(b *bench, root string) { b.newURLs(fmt.Sprintf(`[{"siteId":"s","url":"%sx"}]`, root)) },
		"SITE_UPDATE": func(b *bench, root string) {
			b.change(fmt.Sprintf(`{"id":"s","urls":["%sx"],"updateType":0,"state":6}`, root))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := member(t, "n1")
			b.newSite(`{"id":"s","urls":[],"maxResources":5}`)
			b.order(cluster.QuotaOrder{Seq: 0})
			same(t, "wanted without work", len(b.wanted()), 0)
			work(b, "http://"+hostOf(t, "n1", 0)+"/")
			same(t, "wanted", b.wanted(), []string{"s"})
			same(t, "short", b.report("s").Short, cluster.Kinds{cluster.QuotaResources: true})
		})
	}
}

// A change of a limit or of the state gives back what is not used; a site that was deleted and made
// again begins without a lease.
func TestChangesShrinkTheLease(t *testing.T) {
	b, root := leased(t, `"maxURLs":10`)
	b.order(cluster.QuotaOrder{Seq: 6, Lease: urlLease(8)})
	same(t, "wanted", len(b.wanted()), 0)
	for _, change := range []string{`{"id":"s","priority":7}`, `{"id":"s","maxURLs":30}`} {
		b.change(change)
	}
	r := b.report("s")
	same(t, "report", []any{r.Seq, r.Lease[cluster.QuotaURLs], r.Limit[cluster.QuotaURLs], b.wanted()}, []any{int64(6), int64(1), int64(30), []string{"s"}})
	b.crawled(root, 7, true, linksAt(root, 0, 5)...)
	b.order(cluster.QuotaOrder{Seq: 7, Lease: cluster.Amounts{cluster.QuotaReturn}})
	same(t, "lease", b.report("s").Lease[cluster.QuotaURLs], int64(1))

	b.change(`{"id":"s","maxURLs":0}`)
	r, added := b.order(cluster.QuotaOrder{Seq: 7, Lease: urlLease(1)})
	same(t, "without a limit", []any{added, r.Short}, []any{5, cluster.Kinds{}})

	b.deleteSite("s", 0)
	same(t, "an unknown site", b.report("s").Gone, true)
	answer, err := b.QuotaSet(ctx, cluster.QuotaSetRequest{Orders: []cluster.QuotaOrder{{Site: "s", Seq: 9}}})
	b.must(err)
	same(t, "an order for it", answer.Reports[0].Gone, true)
	b.newSite(fmt.Sprintf(`{"id":"s","urls":[%q],"maxURLs":10}`, root))
	r = b.report("s")
	same(t, "lease of the new one", []any{r.Seq, r.Lease[cluster.QuotaURLs], r.Used[cluster.QuotaURLs]}, []any{int64(0), int64(0), int64(1)})
}

// A machine without a cluster has no leases: its limits are those of the client.
func TestNoLeaseWithoutACluster(t *testing.T) {
	b := newBench(t)
	root := "http://a.example/"
	b.newSite(fmt.Sprintf(`{"id":"s","urls":[%q],"maxURLs":5,"maxResources":5,"maxErrors":5}`, root))
	same(t, "left out", b.crawled(root, 7, true, linksAt(root, 0, 9)...).Skipped, 5)
	same(t, "held", b.count("links_held", "1=1"), 0)
	same(t, "wanted", len(b.wanted()), 0)
}

// Hosts that move take no lease along: what they used is given back, and their new owner is above its
// lease until the head grants more.
func TestLeaseOfMovedHosts(t *testing.T) {
	mine := "http://" + hostOf(t, "n1", 0) + "/"
	b, root := leased(t, `"maxURLs":10`)
	same(t, "root", root, mine)
	b.order(cluster.QuotaOrder{Seq: 1, Lease: urlLease(8)})
	b.crawled(root, 7, true, linksAt(root, 0, 5)...)
	move := cluster.HostsMove{Placement: placement.Placement{Epoch: 2, Self: "n1", Members: []string{"n2"}, Previous: []string{"n1", "n2"}, Groups: 1}}
	leaving, _, err := b.HostsLeaving(ctx, move, "s", "")
	b.must(err)
	var md5s []string
	for _, l := range leaving {
		md5s = append(md5s, l.MD5)
	}
	rows, err := b.MovedURLs(ctx, "s", md5s)
	b.must(err)
	same(t, "rows that leave", len(rows), 6)
	_, err = b.HostsDrop(ctx, cluster.HostsPackRequest{Move: move})
	b.must(err)
	r := b.report("s")
	same(t, "old owner", []any{r.Used[cluster.QuotaURLs], r.Lease[cluster.QuotaURLs], b.wanted()}, []any{int64(0), int64(0), []string{"s"}})

	to := member(t, "n2")
	to.newSite(`{"id":"s","urls":[],"maxURLs":10}`)
	to.order(cluster.QuotaOrder{Seq: 1, Lease: urlLease(2)})
	_, err = to.HostsArrive(ctx, cluster.HostsUnpackRequest{Epoch: 2, From: "n1", File: "f"}, func(a *Arriving) error {
		for _, u := range rows {
			if err := a.URL(u); err != nil {
				return err
			}
		}
		return nil
	})
	to.must(err)
	r = to.report("s")
	same(t, "new owner", []any{r.Used[cluster.QuotaURLs], r.Lease[cluster.QuotaURLs], to.wanted()}, []any{int64(6), int64(2), []string{"s"}})
}
