package crawlprogram

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/storage"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/placement"
	"hce/dc/internal/wire/urlkey"
)

// clusterOf returns two nodes with storage of their own. The first one owns the host 127.0.0.1, the
// second one 127.0.0.2.
func clusterOf(t *testing.T) (nodes [2]*node, names [2]string) {
	t.Helper()
	for i := 0; names[0] == names[1]; i++ {
		p := placement.Placement{Members: []string{fmt.Sprint("a", i), fmt.Sprint("b", i)}}
		names = [2]string{p.Owner("127.0.0.1"), p.Owner("127.0.0.2")}
	}
	for i, self := range names {
		text, err := json.Marshal(placement.Placement{Epoch: 1, Self: self, Members: names[:]})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "placement.json")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("DC_TasksManager_placement", path)
		nodes[i] = newNode(t)
	}
	return nodes, names
}

// webAt is newWeb at another address of this machine.
func webAt(t *testing.T, address string, pages map[string]string) *web {
	t.Helper()
	w := newWeb(t, pages)
	s := httptest.NewUnstartedServer(w.Config.Handler)
	s.Listener.Close()
	var err error
	if s.Listener, err = net.Listen("tcp", address+":0"); err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Close)
	w.Server = s
	return w
}

func (w *web) asked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// pass passes the links that wait on one node to another, as the agents of both do.
func pass(from, to *node, owner string) cluster.LinksStored {
	from.Helper()
	taken, err := from.repo.LinksTake(from.Context(), cluster.LinksTakeRequest{})
	from.must(err)
	groups := taken.Owners
	if len(groups) != 1 || groups[0].Owner != owner {
		from.Fatalf("%d groups of links; want one for %s", len(groups), owner)
	}
	job := storage.Job{Repository: to.repo}
	object, err := json.Marshal(cluster.LinksStoreRequest{Messages: [][]byte{groups[0].Message}})
	from.must(err)
	request, err := json.Marshal(wire.Call{Op: wire.LinksStore, Object: object})
	from.must(err)
	answer, err := job.Run(to.Context(), request)
	from.must(err)
	_, err = from.repo.LinksSent(from.Context(), cluster.LinksSentRequest{IDs: groups[0].IDs})
	from.must(err)
	return answer.([]any)[1].(cluster.LinksStored)
}

// Requests to a host leave only the node that owns it: its links, redirects and refreshes become
// links to that node, which crawls them.
func TestTwoNodes(t *testing.T) {
	nodes, names := clusterOf(t)
	a, b := nodes[0], nodes[1]
	there := webAt(t, "127.0.0.2", map[string]string{
		"/page": `<p>a page <a href="/more">more</a>`, "/target": "<p>the target", "/refreshed": "<p>refreshed", "/root": `<p>a root <a href="/more">more</a>`,
		"/sitemap.xml": "<urlset><url><loc>/from-map</loc></url></urlset>",
	})
	here := webAt(t, "127.0.0.1", map[string]string{
		"/":      fmt.Sprintf(`<a href="%s/page">1</a><a href="/moved">2</a><a href="/refresh">3</a><a href="/local">4</a>`, there.URL),
		"/moved": "moved", "/oldroot": "moved", "/refresh": fmt.Sprintf(`<meta http-equiv=refresh content="0;url=%s/refreshed">`, there.URL), "/local": "moved", "/end": "<p>the end",
	})
	here.more = func(w http.ResponseWriter, r *http.Request) {
		target := map[string]string{"/moved": there.URL + "/target", "/oldroot": there.URL + "/root", "/local": "/end"}[r.URL.Path]
		if target != "" {
			w.Header().Set("Location", target)
			w.WriteHeader(http.StatusMovedPermanently)
		}
	}
	root, old := here.URL+"/", here.URL+"/oldroot"
	var site string
	for _, n := range nodes {
		site = wire.Md5(root)
		answer := n.ask(`["SITE_NEW",{"id":%q,"urls":[%q,%q],"requestDelay":0,"httpTimeout":5000%s}]`, site, root, old, properties("HTML_REDIRECTS_MAX", "3"))
		if !strings.Contains(answer, `"errorCode":0`) {
			t.Fatal(answer)
		}
	}
	if found := b.rows(site, root); len(found) != 0 {
		t.Errorf("the other node has the root %v", found)
	}
	a.crawl(site, nil, root, old)
	a.crawl(site, nil, here.URL+"/moved", here.URL+"/refresh", here.URL+"/local")
	if len(there.asked()) != 0 {
		t.Errorf("the node that does not own the host requested %q", there.asked())
	}
	for path, code := range map[string]int64{"/moved": 301, "/oldroot": 301, "/refresh": 200} {
		u := a.row(site, here.URL+path)
		if u.Status != wire.StatusProcessed || u.State != wire.URLEnabled || u.HTTPCode != code || u.ErrorMask != 0 || u.Crawled != 1 || u.Size != 0 {
			t.Errorf("%s: %+v", path, u)
		}
	}
	if u := a.row(site, here.URL+"/local"); u.HTTPCode != 200 || u.Status != wire.StatusCrawled {
		t.Errorf("a redirect on the same host: %+v", u)
	}
	a.counters(site)

	if stored := pass(a, b, names[1]); stored.New != 4 || stored.Dropped != 0 {
		t.Errorf("stored %+v", stored)
	}
	var urls []string
	for _, path := range []string{"/page", "/target", "/refreshed", "/root"} {
		urls = append(urls, there.URL+path)
	}
	if u := b.row(site, urls[0]); u.ParentMd5 != urlkey.Of(root) || u.Depth != 1 {
		t.Errorf("a link: %+v", u)
	}
	if u := b.row(site, urls[1]); u.ParentMd5 != urlkey.Of(root) || u.Depth != 1 {
		t.Errorf("the target of a redirect: %+v", u)
	}
	if u := b.row(site, urls[3]); !u.Root() || u.Depth != 0 {
		t.Errorf("the target of a root's redirect: %+v", u)
	}
	before := len(here.asked())
	b.crawl(site, nil, urls...)
	if len(here.asked()) != before || len(there.asked()) != 4 {
		t.Errorf("requests %q", there.asked())
	}
	for _, url := range urls {
		if u := b.row(site, url); u.Status != wire.StatusCrawled || u.HTTPCode != 200 || u.Size == 0 {
			t.Errorf("%s: %+v", url, u)
		}
	}
	b.row(site, there.URL+"/more")
	b.counters(site)
}

// An item of a host that another node owns is not requested, but passed on: the members of the
// cluster may have changed.
func TestItemOfOtherNode(t *testing.T) {
	nodes, names := clusterOf(t)
	a, b := nodes[0], nodes[1]
	there := webAt(t, "127.0.0.2", map[string]string{"/page": "<p>a page"})
	for _, n := range nodes {
		n.ask(`["SITE_NEW",{"id":"s","requestDelay":0%s}]`, properties())
	}
	row := wire.NewURL("s", there.URL+"/page")
	row.ParentMd5, row.Status = wire.Md5("parent"), wire.StatusSelectedCrawling
	batch, err := json.Marshal(wire.Batch{ID: 1, CrawlerType: wire.CrawlNormal, DBMode: wire.DBRead | wire.DBWrite, MaxIterations: 1,
		Items: []wire.BatchItem{{SiteID: "s", URLID: row.URLMd5, URL: row}}})
	a.must(err)
	_, err = a.job.Run(t.Context(), batch)
	a.must(err)
	if u := a.row("s", row.URL); u.HTTPCode != http.StatusMisdirectedRequest || len(there.asked()) != 0 {
		t.Errorf("row %+v, requests %q", u, there.asked())
	}
	pass(a, b, names[1])
	b.row("s", row.URL)
	e, err := a.job.Explain(t.Context(), row.URL, "s", true)
	a.must(err)
	if e.Node != names[1] || e.Due || e.Fetch != nil || !slices.ContainsFunc(e.Reasons, func(text string) bool { return strings.Contains(text, "node "+names[1]) }) {
		t.Errorf("explanation %+v", e)
	}
	if e, err = b.job.Explain(t.Context(), row.URL, "s", false); err != nil || e.Node != names[1] || e.Row == nil {
		t.Errorf("explanation %+v, %v", e, err)
	}
}
