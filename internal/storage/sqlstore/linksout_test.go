package sqlstore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/limits"
	"hce/dc/internal/storage/sqlstore/outcomes"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/placement"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
	"hce/dc/internal/wire/zpack"
)

// hostOf returns a host that a member of the placement of the tests owns.
func hostOf(t testing.TB, member string, n int) string {
	t.Helper()
	p := pair2("")
	for i := 0; ; i++ {
		host := fmt.Sprintf("h%d.example", i)
		if p.Owner(host) == member {
			if n--; n < 0 {
				return host
			}
		}
	}
}

func pair2(self string) placement.Placement {
	return placement.Placement{Epoch: 1, Self: self, Members: []string{"n1", "n2"}}
}

// member returns a store on a fresh database that is a node of a cluster.
func member(t testing.TB, self string) *bench {
	b := newBench(t)
	b.Store.db.Options.Placement = func() (placement.Placement, error) { return pair2(self), nil }
	return b
}

func (b *bench) take(max int64) []cluster.LinkGroup {
	b.Helper()
	taken, err := b.LinksTake(ctx, cluster.LinksTakeRequest{Max: max})
	b.must(err)
	return taken.Owners
}

// request is what the owner of a group gets.
func (b *bench) request(g cluster.LinkGroup) (m cluster.LinksMessage) {
	b.Helper()
	text, err := zpack.Unpack(g.Message, zpack.MaxMessage)
	b.must(err)
	b.must(json.Unmarshal(text, &m))
	b.must(m.Check("LinksStore"))
	return m
}

// linksOf returns the links of a group of one bundle.
func (b *bench) linksOf(g cluster.LinkGroup) []cluster.LinkOut {
	b.Helper()
	bundles := b.request(g).Bundles
	if len(bundles) != 1 || int64(len(bundles[0].Links)) != g.Count {
		b.Fatalf("%d bundles", len(bundles))
	}
	return bundles[0].Links
}

// receive stores a bundle of a node.
func (b *bench) receive(from string, id int64, links []cluster.LinkOut) cluster.LinksStored {
	b.Helper()
	stored, err := b.tryReceive(from, id, links)
	b.must(err)
	return stored
}

func (b *bench) tryReceive(from string, id int64, links []cluster.LinkOut) (cluster.LinksStored, error) {
	b.Helper()
	text, err := json.Marshal(cluster.LinksMessage{Bundles: []cluster.LinkBundle{{ID: id, From: from, Links: links}}})
	b.must(err)
	return b.LinksStore(ctx, b.request(cluster.LinkGroup{Message: text}))
}

func (b *bench) count(table, where string, args ...any) (n int) {
	b.Helper()
	b.must(b.runReadTx(ctx, "test", func(t *tx) error {
		_, err := t.Row("SELECT COUNT(*) FROM "+t.DB.Table(sqldb.Sites, table)+" WHERE "+where, args, &n)
		return err
	}))
	return n
}

func linkAt(parent, url string) wire.Link {
	u := wire.NewURL("s", url)
	u.ParentMd5, u.Depth, u.Priority = parent, 3, 17
	return wire.Link{URL: u}
}

// crawled stores one page of site s with links.
func (b *bench) crawled(url string, batch int64, first bool, links ...wire.Link) wire.Saved {
	b.Helper()
	item := wire.NewURL("s", url)
	item.ParentMd5 = wire.Md5("p")
	_, err := b.MarkCrawling(ctx, "s", batch, []wire.URL{item})
	b.must(err)
	return b.saved(b.FinishCrawl(ctx, "s", batch, []wire.Fetched{{
		URLMd5: item.URLMd5, Crawled: true, First: first, Set: schema.Patch{"Status": int64(4)}, Links: links,
	}}))
}

// Each node of a cluster stores the roots and the URLs of its own hosts; a client gets the answer
// of a success from all of them.
func TestOwnRowsOnly(t *testing.T) {
	mine, other := "http://"+hostOf(t, "n1", 0)+"/", "http://"+hostOf(t, "n2", 0)+"/"
	for self, want := range map[string]string{"n1": mine, "n2": other, "n3": ""} {
		b := member(t, self)
		same(t, "answer of "+self, b.newSite(fmt.Sprintf(`{"id":"s","urls":[%q,%q]}`, mine, other)).ErrorCode, 0)
		same(t, "answer of "+self, b.newURLs(fmt.Sprintf(`[{"siteId":"s","url":%q},{"siteId":"s","url":%q,"attributes":[{"siteId":"s","name":"a","value":"1"}]}]`, mine+"a", other+"a")).Statuses, statuses(0, 0))
		for _, url := range []string{mine, other, mine + "a", other + "a"} {
			owner := pair2(self).OwnerOfURL(url)
			if found := b.row("s", url).URL != ""; found != (owner == self) {
				t.Errorf("%s has a row of %s, which %s owns: %v", self, url, owner, found)
			}
		}
		if want != "" {
			same(t, "URLs of "+self, b.site("s").NewURLs, int64(2))
		}
		same(t, "roots of "+self, len(b.site("s").URLs), 2)
		b.checkCounters("s", "placement")
		same(t, "queued links", b.count("links_waiting", "1=1"), 0)
	}
}

// A root URL that changes its text moves to the node of its new host.
func TestRootMoves(t *testing.T) {
	mine, other := "http://"+hostOf(t, "n1", 0)+"/", "http://"+hostOf(t, "n2", 0)+"/"
	for _, self := range []string{"n1", "n2"} {
		b := member(t, self)
		b.newSite(fmt.Sprintf(`{"id":"s","urls":[%q]}`, mine))
		r, err := wire.ReadSiteUpdate(json.RawMessage(fmt.Sprintf(`{"id":"s","updateType":2,"urls":[{"url":%q,"urlMd5":%q}]}`, other, urlkey.Of(mine))), nil)
		b.must(err)
		answer, err := b.SiteUpdate(ctx, r)
		b.must(err)
		same(t, "answer", answer.ErrorCode, 0)
		if b.row("s", mine).URL != "" || (b.row("s", other).URL != "") != (self == "n2") {
			t.Errorf("%s: rows %q and %q", self, b.row("s", mine).URL, b.row("s", other).URL)
		}
		b.checkCounters("s", "root")
	}
}

// A link that another node owns is queued once, sent once, and stored by its owner with its depth,
// parent and Freq. Each operation may be repeated.
func TestLinksToOwner(t *testing.T) {
	a, b := member(t, "n1"), member(t, "n2")
	home, there := "http://"+hostOf(t, "n1", 0)+"/", "http://"+hostOf(t, "n2", 0)+"/"
	for _, n := range []*bench{a, b} {
		n.newSite(fmt.Sprintf(`{"id":"s","urls":[%q]}`, home))
	}
	parent := urlkey.Of(home + "page1")
	links := []wire.Link{linkAt(parent, there+"x"), linkAt(parent, home+"own"), linkAt(parent, there+"x"), linkAt(parent, there+"y")}
	a.crawled(home+"page1", 7, true, links...)
	a.crawled(home+"page2", 8, true, links...)
	a.restart()
	a.crawled(home+"page3", 9, true, links...)
	same(t, "rows of the other node", a.row("s", there+"x").URL, "")
	same(t, "row of this node", a.row("s", home+"own").Freq, int64(3))
	same(t, "bundles", a.count("links_waiting", "N = 2"), 1)
	same(t, "keys", a.count("links_out", "Site_Id = ?", "s"), 2)
	a.checkCounters("s", "links")
	same(t, "URLs without the foreign ones", a.site("s").CollectedURLs, int64(4))

	groups := a.take(0)
	same(t, "groups", len(groups), 1)
	same(t, "the same groups again", fmt.Sprint(a.take(1)), fmt.Sprint(groups))
	request := b.request(groups[0])
	same(t, "owner", []string{groups[0].Owner, request.Bundles[0].From}, []string{"n2", "n1"})
	for _, want := range []cluster.LinksStored{{New: 2, Unknown: []string{}}, {Repeated: true, Unknown: []string{}}} {
		stored, err := b.LinksStore(ctx, request)
		b.must(err)
		same(t, "stored", stored, want)
	}
	row := b.row("s", there+"x")
	same(t, "row", []any{row.URL, row.ParentMd5, row.Depth, row.Priority, row.Status, row.BatchID, row.Freq, row.CDate},
		[]any{there + "x", parent, int64(3), int64(17), int64(1), int64(0), int64(1), schema.DateOf(a.now)})
	b.checkCounters("s", "received")

	for range 2 { // the second one has no effect
		_, err := a.LinksSent(ctx, cluster.LinksSentRequest{IDs: groups[0].IDs})
		a.must(err)
	}
	same(t, "left", len(a.take(0)), 0)
	a.crawled(home+"page4", 10, true, links...)
	same(t, "queued again", a.count("links_waiting", "1=1"), 0)
	same(t, "keys", a.count("links_out", "1=1"), 2)

	// A third node's link to the same URL raises its Freq.
	request.Bundles[0].Links[0].Freq = 4
	same(t, "known", b.receive("n3", 1, request.Bundles[0].Links), cluster.LinksStored{Known: 2, Unknown: []string{}})
	same(t, "Freq", b.row("s", there+"x").Freq, int64(5))
}

// Bundles and groups have one owner and a bounded size. A bundle is taken until it is sent.
func TestLinkGroups(t *testing.T) {
	b := member(t, "n3")
	b.newSite(`{"id":"s"}`)
	for page := range 3 {
		var links []wire.Link
		for i := range 40 {
			l := linkAt("", fmt.Sprintf("http://%s/%d/%d", hostOf(t, []string{"n1", "n2"}[i%2], 0), page, i))
			if page == 0 {
				l.URL.URL += strings.Repeat("x", 3500) // two bundles of one owner
				l.URL.URLMd5 = urlkey.Of(l.URL.URL)
			}
			links = append(links, l)
		}
		b.crawled(fmt.Sprintf("http://%s/page%d", hostOf(t, "n1", 0), page), 7, true, links...)
	}
	taken, err := b.LinksTake(ctx, cluster.LinksTakeRequest{Max: 6, MaxBytes: 10_000})
	b.must(err)
	groups := taken.Owners
	same(t, "left", taken.Left, int64(40))
	met := map[string]bool{}
	for _, g := range groups {
		r := b.request(g)
		text, err := zpack.Unpack(g.Message, zpack.MaxMessage)
		b.must(err)
		for _, bundle := range r.Bundles {
			for _, l := range bundle.Links {
				met[l.URLMd5] = true
				if owner := pair2("").OwnerOfURL(l.URL); owner != g.Owner {
					t.Errorf("a link of %s is in a group of %s", owner, g.Owner)
				}
			}
		}
		if len(r.Bundles) > 1 && len(text) > 10_100 || len(text) > limits.MaxBundle+100 || len(g.IDs) != len(r.Bundles) {
			t.Errorf("a group of %s has %d bundles, %d ids, %d bytes", g.Owner, len(r.Bundles), len(g.IDs), len(text))
		}
	}
	if len(groups) < 4 || len(met) != 80 {
		t.Errorf("%d groups of %d links", len(groups), len(met))
	}
	same(t, "again", b.take(6)[0].IDs[0], groups[0].IDs[0])
	_, err = b.LinksSent(ctx, cluster.LinksSentRequest{IDs: groups[0].IDs})
	b.must(err)
	same(t, "the next one", fmt.Sprint(b.take(1)[0].IDs), fmt.Sprint(groups[1].IDs[:1]))
}

// What waits for a node that has left goes to the new owners.
func TestBundlesOfGoneNode(t *testing.T) {
	b := member(t, "n1")
	b.newSite(`{"id":"s"}`)
	there := "http://" + hostOf(t, "n2", 0) + "/"
	b.crawled("http://"+hostOf(t, "n1", 0)+"/page", 7, true, linkAt("", there), linkAt("", there+"x"))
	b.Store.db.Options.Placement = func() (placement.Placement, error) {
		return placement.Placement{Epoch: 2, Self: "n1", Members: []string{"n1", "n4"}}, nil
	}
	groups := b.take(0)
	count := int64(0)
	for _, g := range groups {
		count += g.Count
		if g.Owner == "n2" {
			t.Error("links wait for a node that has left")
		}
	}
	same(t, "links", count, int64(2))
	b.must(b.CheckLinks(ctx, func(fault string) { t.Error(fault) }))
}

// Links that were sent to a node which is lost with its rows are new to a process that goes on, whether this node owns
// them now or a third one.
func TestLinksOfLostNode(t *testing.T) {
	b := member(t, "n1")
	b.newSite(`{"id":"s"}`)
	home := "http://" + hostOf(t, "n1", 0) + "/"
	alone := placement.Placement{Epoch: 2, Self: "n1", Members: []string{"n1", "n4"}}
	var links []wire.Link
	mine := map[string]bool{}
	for n := range 8 {
		url := "http://" + hostOf(t, "n2", n) + "/"
		links = append(links, linkAt("", url))
		mine[url] = alone.Mine(url)
	}
	b.crawled(home+"page", 7, true, links...)
	for _, g := range b.take(0) {
		_, err := b.LinksSent(ctx, cluster.LinksSentRequest{IDs: g.IDs})
		b.must(err)
	}
	b.Store.db.Options.Placement = func() (placement.Placement, error) { return alone, nil }
	_, err := b.HostsAdopt(ctx, cluster.HostsAdoptRequest{Placement: alone})
	b.must(err)
	b.crawled(home+"page", 8, false, links...)
	queued := map[string]bool{}
	for _, g := range b.take(0) {
		for _, l := range b.linksOf(g) {
			queued[l.URL] = true
		}
	}
	for url, is := range mine {
		if stored := b.row("s", url).URL != ""; stored != is || queued[url] == is {
			t.Errorf("%s, of this node: %v: stored %v, queued %v", url, is, stored, queued[url])
		}
	}
	b.checkCounters("s", "lost")
}

// The owner applies the limits of the site, and tells which sites it does not know.
func TestLinksOfFullAndUnknownSites(t *testing.T) {
	b := member(t, "n2")
	there := "http://" + hostOf(t, "n2", 0) + "/"
	b.newSite(`{"id":"s","maxURLs":2}`)
	b.order(cluster.QuotaOrder{Seq: 1, Lease: urlLease(2)})
	var links []cluster.LinkOut
	for i := range 4 {
		links = append(links, cluster.LinkOut(linkAt("", fmt.Sprint(there, i)).URL))
	}
	same(t, "full", b.receive("n1", 1, links), cluster.LinksStored{New: 2, Dropped: 2, Unknown: []string{}})
	b.checkCounters("s", "full")
	if b.site("s").ErrorMask&errormask.MaxItems == 0 {
		t.Error("a full site has no bit")
	}
	strange := slices.Clone(links[:2])
	for i := range strange {
		strange[i].CDate = schema.DateOf(b.now.Add(-time.Hour))
	}
	strange[1].SiteID = "later"
	for range 2 {
		if _, err := b.tryReceive("n1", 2, strange); wire.CodeOf(err) != wire.CodeNotFound {
			t.Errorf("links of an unknown site: %v", err)
		}
	}
	b.newSite(`{"id":"later"}`)
	same(t, "site that came later", b.receive("n1", 2, strange), cluster.LinksStored{New: 1, Known: 1, Unknown: []string{}})
	strange[1].SiteID = "deleted"
	b.now = b.now.Add(outcomes.SiteWait)
	same(t, "deleted site", b.receive("n1", 3, strange), cluster.LinksStored{Known: 1, Dropped: 1, Unknown: []string{"deleted"}})
}

// A link that reaches a node that does not own it goes on to its owner.
func TestLinkGoesOn(t *testing.T) {
	b := member(t, "n1")
	b.newSite(`{"id":"s"}`)
	there := "http://" + hostOf(t, "n2", 0) + "/"
	same(t, "stored", b.receive("n3", 1, []cluster.LinkOut{cluster.LinkOut(linkAt("", there).URL)}), cluster.LinksStored{Passed: 1, Unknown: []string{}})
	groups := b.take(0)
	same(t, "groups", []any{len(groups), groups[0].Owner, b.linksOf(groups[0])[0].URL}, []any{1, "n2", there})
}

// Links to other sites choose their site on the node that owns their host.
func TestElsewhereOfOtherNodes(t *testing.T) {
	a, b := member(t, "n1"), member(t, "n2")
	there := "http://" + hostOf(t, "n2", 0) + "/"
	result := wire.Fetched{Select: wire.SelectAuto, Elsewhere: []wire.Link{linkAt("", there+"x"), linkAt("", "http://"+hostOf(t, "n1", 0)+"/")}}
	for range 2 {
		skipped, err := a.PutElsewhere(ctx, []wire.Fetched{result})
		a.must(err)
		same(t, "skipped", skipped, 0)
	}
	groups := a.take(0)
	links := b.linksOf(groups[0])
	same(t, "groups", []any{len(groups), len(links), links[0].SiteID}, []any{1, 1, ""})
	same(t, "stored", b.receive("n1", 1, links), cluster.LinksStored{New: 1, Unknown: []string{}})
	same(t, "site", b.row(wire.Md5(there), there+"x").Depth, int64(3))
}

// URLs that a schema generates for hosts of other nodes are links to them.
func TestSchemaOfTwoNodes(t *testing.T) {
	b := member(t, "n1")
	b.newSite(`{"id":"s"}`)
	home, there := "http://"+hostOf(t, "n1", 0)+"/", "http://"+hostOf(t, "n2", 0)+"/"
	template := wire.NewURL("s", home+"%q%")
	others := []wire.URL{wire.NewURL("s", there+"1"), wire.NewURL("s", home+"2"), wire.NewURL("s", there+"1")}
	taken, err := b.TakeSchema(ctx, "s", 7, template, wire.NewURL("s", home+"1"), others)
	b.must(err)
	same(t, "taken", taken, true)
	same(t, "rows", []string{b.row("s", home+"1").URL, b.row("s", home+"2").URL, b.row("s", there+"1").URL}, []string{home + "1", home + "2", ""})
	groups := b.take(0)
	same(t, "groups", []any{len(groups), groups[0].Owner, groups[0].Count, b.linksOf(groups[0])[0].URL}, []any{1, "n2", int64(1), there + "1"})
	b.checkCounters("s", "schema")
}

// A site that is deleted or cleaned takes its links with it.
func TestLinksOfDeletedSite(t *testing.T) {
	b := member(t, "n1")
	home, there := "http://"+hostOf(t, "n1", 0)+"/", "http://"+hostOf(t, "n2", 0)+"/"
	for _, remove := range []func() error{
		func() error {
			_, err := b.SiteCleanup(ctx, []wire.SiteCleanupRequest{{ID: "s", State: wire.SiteActive}})
			return err
		},
		func() error {
			_, err := b.SiteDelete(ctx, []wire.SiteDeleteRequest{{ID: "s", DelayedType: wire.Immediate}})
			return err
		},
	} {
		b.newSite(fmt.Sprintf(`{"id":"s","urls":[%q]}`, home))
		b.crawled(home+"page", 7, true, linkAt("", there))
		same(t, "queued", b.count("links_waiting", "Site_Id = ?", "s"), 1)
		b.must(remove())
		same(t, "left", b.count("links_waiting", "1=1")+b.count("links_out", "1=1"), 0)
	}
}

func TestCheckLinks(t *testing.T) {
	b := member(t, "n1")
	b.newSite(`{"id":"s"}`)
	b.crawled("http://"+hostOf(t, "n1", 0)+"/page", 7, true, linkAt("", "http://"+hostOf(t, "n2", 0)+"/"))
	faults := func() (list []string) {
		b.must(b.CheckLinks(ctx, func(fault string) { list = append(list, fault) }))
		return list
	}
	same(t, "faults", len(faults()), 0)
	change := func(statement, table, rest string) {
		b.must(b.runUpdateTx(ctx, "test", func(t *tx) error {
			_, err := t.Exec(statement + t.DB.Table(sqldb.Sites, table) + rest)
			return err
		}))
	}
	change("DELETE FROM ", "links_out", "")
	same(t, "faults without keys", len(faults()), 1)
	change("UPDATE ", "links_waiting", " SET Links = '{'")
	b.Store.db.Options.Placement = nil
	same(t, "faults", len(faults()), 2)
}

// pagesForever crawls pages of site s with links to hosts of both nodes. It prints the number of
// each stored page.
func pagesForever(config string) error {
	var c sqldb.Config
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	d, err := sqldb.Open(ctx, c)
	if err != nil {
		return err
	}
	s := Open(d, Options{Placement: func() (placement.Placement, error) { return pair2("n1"), nil }})
	for page := 0; ; page++ {
		item := wire.NewURL("s", fmt.Sprint("http://h0.example/page", page))
		if _, err := s.MarkCrawling(ctx, "s", 1, []wire.URL{item}); err != nil {
			return err
		}
		r := wire.Fetched{URLMd5: item.URLMd5, Set: schema.Patch{"Status": int64(4)}, Crawled: true}
		for i := range linksOfPage {
			link := wire.NewURL("s", fmt.Sprintf("http://h%d.example/%d/%d", i, page, i))
			link.ParentMd5 = item.URLMd5
			r.Links = append(r.Links, wire.Link{URL: link})
		}
		if _, err := s.FinishCrawl(ctx, 1, []wire.SiteFetched{{Site: "s", Results: []wire.Fetched{r}}}, nil); err != nil {
			return err
		}
		fmt.Println(page)
		if page%5 == 4 { // the agent works at the same time
			taken, err := s.LinksTake(ctx, cluster.LinksTakeRequest{})
			if err != nil {
				return err
			}
			for _, g := range taken.Owners {
				if _, err := s.LinksSent(ctx, cluster.LinksSentRequest{IDs: g.IDs}); err != nil {
					return err
				}
			}
		}
	}
}

// When a process is killed, each stored page has all its links, here or in the queue.
func TestKillWithLinksOut(t *testing.T) {
	b := member(t, "n1")
	b.newSite(`{"id":"s"}`)
	own := 0
	for i := range linksOfPage {
		if pair2("n1").Owner(fmt.Sprintf("h%d.example", i)) == "n1" {
			own++
		}
	}
	b.killCrawlers(killLinksVariable)
	var pages, links int
	b.must(b.runReadTx(ctx, "test", func(t *tx) error {
		_, err := t.Row("SELECT SUM(Status = 4), SUM(ParentMd5 <> '') FROM "+t.SiteTable(sqldb.URLs, "s"), nil, &pages, &links)
		return err
	}))
	keys, waiting := b.count("links_out", "1=1"), b.count("links_waiting", "1=1")
	if pages < 30 || own == 0 || own == linksOfPage || links != pages*own || keys != pages*(linksOfPage-own) || waiting > keys {
		t.Errorf("%d pages with %d own links of %d; %d links, %d keys, %d wait", pages, own, linksOfPage, links, keys, waiting)
	}
	b.must(b.CheckLinks(ctx, func(fault string) { t.Error(fault) }))
}
