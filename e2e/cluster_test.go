//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testwait"
)

// cluster starts a head with nodes and a web, and creates the site of all hosts of the web.
func cluster(t *testing.T, hosts, pages int, delay time.Duration, nodes ...string) (*rig.Cluster, *rig.Web, string) {
	t.Helper()
	return clusterWith(t, rig.Options{}, hosts, pages, delay, nodes...)
}

// clusterWith is cluster with options of its own.
func clusterWith(t *testing.T, o rig.Options, hosts, pages int, delay time.Duration, nodes ...string) (*rig.Cluster, *rig.Web, string) {
	t.Helper()
	o.Env = append(o.Env, "DC_Cluster_move_urls=200")
	web, err := rig.StartWeb(hosts, pages, delay)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(web.Close)
	web.Cookies.Store(true)
	c := startCluster(t, o, nodes...)
	id, err := c.NewSite(t.Context(), rig.Site{Root: web.Root(), Filter: web.Filter(), RequestDelay: int(delay.Milliseconds())})
	if err != nil {
		t.Fatal(err)
	}
	return c, web, id
}

// startCluster starts a head with nodes. If the test fails, it shows what they wrote.
func startCluster(t *testing.T, o rig.Options, nodes ...string) *rig.Cluster {
	t.Helper()
	o.Bin, o.Ini, o.Data, o.AllowLoopback = bin, ini, t.TempDir(), true
	c, err := rig.StartCluster(t.Context(), o, nodes...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, name := range nodes {
				t.Logf("output of node %s:\n%s", name, tail(c.NodeOutput(name)))
			}
			t.Logf("output of the head:\n%s", tail(c.Output()))
		}
		c.Close()
	})
	return c
}

// crawled waits until the cluster has stored all pages of a web.
func crawled(t *testing.T, c *rig.Cluster, web *rig.Web, id string, limit time.Duration) rig.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var last rig.Status
	for ctx.Err() == nil {
		// A node that is away makes an error item, which is no answer.
		if s, err := c.Status(ctx, id); err == nil {
			last = s
			if s.Resources+s.Contents >= web.Hosts*web.Pages && s.NewURLs == 0 {
				return s
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	t.Fatalf("not crawled after %v: %+v, %+v", limit, last, web.Record())
	return last
}

// Clusters of one, two and four nodes fetch every page once, none faster than the delay, and no
// host from two nodes. Their pages are the same.
func TestClusterIsOneCrawler(t *testing.T) {
	const hosts, pages = 24, 40
	for _, names := range [][]string{{"n1"}, {"n1", "n2"}, {"n1", "n2", "n3", "n4"}} {
		t.Run(fmt.Sprintf("%d nodes", len(names)), func(t *testing.T) {
			c, web, id := cluster(t, hosts, pages, 20*time.Millisecond, names...)
			status := crawled(t, c, web, id, 3*time.Minute)
			for _, fault := range web.Faults() {
				t.Error(fault)
			}
			record := web.Record()
			if len(record.Nodes) != len(names) {
				t.Errorf("requests by node: %v, want requests from all of %v", record.Nodes, names)
			}
			if status.CollectedURLs != hosts*pages-1 {
				t.Errorf("collected %d URLs, want %d", status.CollectedURLs, hosts*pages-1)
			}
			rows, err := c.AllRows(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if len(rows) != hosts*pages {
				t.Errorf("%d rows, want %d", len(rows), hosts*pages)
			}
			seen := map[string]bool{}
			for _, row := range rows {
				if row.HTTPCode != 200 || seen[row.URL] {
					t.Errorf("row %+v, seen before: %v", row, seen[row.URL])
				}
				seen[row.URL] = true
			}
			t.Logf("smallest gap %v; requests by node %v", record.Gap, record.Nodes)
		})
	}
}

// Nodes and the head are killed in the middle of a crawl. No page is lost, a page is fetched again
// only if it was in flight, and the counters are exact.
func TestClusterSurvivesKills(t *testing.T) {
	const hosts, pages, kills = 24, 60, 9
	names := []string{"n1", "n2", "n3"}
	c, web, id := cluster(t, hosts, pages, 20*time.Millisecond, names...)
	for i := range kills {
		requested(t, web, hosts*pages*(i+1)/(kills+2))
		var err error
		if i%3 == 2 {
			err = c.RestartHead(t.Context())
		} else {
			name := names[i%len(names)]
			c.KillNode(name)
			err = c.StartNode(t.Context(), name)
		}
		if err != nil {
			t.Fatalf("kill %d: %v", i, err)
		}
	}
	status := crawled(t, c, web, id, 3*time.Minute)
	record := web.Record()
	if record.Missing > 0 || len(record.Shared) > 0 {
		t.Errorf("%+v", record)
	}
	// A killed node loses at most two chunks that wait for their transaction, and a request to each
	// of its hosts.
	const chunk = 64
	if most := kills * (2*chunk + hosts); record.Doubles > most {
		t.Errorf("%d pages were fetched twice, at most %d were in flight", record.Doubles, most)
	}
	if status.CollectedURLs != hosts*pages-1 || status.Resources+status.Contents != hosts*pages {
		t.Errorf("%+v", status)
	}
	t.Logf("%d kills, %d pages fetched twice, longest pause of a host %v", kills, record.Doubles, record.Longest)
}

// The link of a node breaks for longer than its lease. The node requests no page meanwhile, and when
// the link is back nothing is missing.
func TestClusterSurvivesACutLink(t *testing.T) {
	const hosts, pages, lease = 12, 60, 2
	o := rig.Options{Relays: true, Env: []string{fmt.Sprint("DC_Node_lease=", lease), fmt.Sprint("DC_Cluster_node_timeout=", lease)}}
	c, web, id := clusterWith(t, o, hosts, pages, 50*time.Millisecond, "n1", "n2")
	requests := func(node string) int { return web.Record().Nodes[node] }
	testwait.Until(t, "both nodes crawl", func() bool { return requests("n1") > hosts*pages/10 && requests("n2") > hosts*pages/10 })
	c.Link("n1").Cut()
	before, since := requests("n1"), time.Now()
	testwait.Until(t, "n1 requests nothing for a lease", func() bool {
		if now := requests("n1"); now != before {
			before, since = now, time.Now()
		}
		return time.Since(since) > lease*time.Second
	})
	c.Link("n1").Mend()
	status := crawled(t, c, web, id, time.Minute)
	record := web.Record()
	if record.Missing > 0 || len(record.Shared) > 0 || record.Overlaps > 0 || status.CollectedURLs != hosts*pages-1 || status.Errors != 0 {
		t.Errorf("%+v %+v", status, record)
	}
	const chunk = 64
	if most := 2*chunk + hosts; record.Doubles > most {
		t.Errorf("%d pages were fetched twice, at most %d were in flight", record.Doubles, most)
	}
}

// A node that is away is an explicit error of each answer, never a smaller number.
func TestSilentNodeIsAnError(t *testing.T) {
	c, web, id := cluster(t, 6, 10, 10*time.Millisecond, "n1", "n2")
	crawled(t, c, web, id, time.Minute)
	c.KillNode("n2")
	if status, err := c.Status(t.Context(), id); err == nil || !strings.Contains(err.Error(), "n2") {
		t.Errorf("status %+v, %v; want an error that names n2", status, err)
	}
	if err := c.StartNode(t.Context(), "n2"); err != nil {
		t.Fatal(err)
	}
	crawled(t, c, web, id, time.Minute) // pages that were being processed count again
}

// requested waits for a number of requests for pages.
func requested(t *testing.T, web *rig.Web, pages int) {
	t.Helper()
	testwait.Until(t, fmt.Sprintf("%d requests for pages", pages), func() bool { return web.Record().Requests >= pages })
}

// asked waits until a web was asked for a share of its pages.
func asked(t *testing.T, web *rig.Web, percent int) {
	t.Helper()
	requested(t, web, web.Hosts*web.Pages*percent/100)
}

// A node joins and another one leaves in the middle of a crawl. Every page is fetched once, none faster
// than the delay and each with the cookie of its host, and the counters are exact.
func TestMembersChange(t *testing.T) {
	const hosts, pages = 24, 40
	delay := 100 * time.Millisecond // the crawl outlasts the start of a node and a step
	c, web, id := cluster(t, hosts, pages, delay, "n1", "n2")
	asked(t, web, 15)
	if err := c.AddNode(t.Context(), "n3", t.TempDir()); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "n3 requests pages", func() bool { return web.Record().Nodes["n3"] > 0 })
	asked(t, web, 45)
	if err := c.RemoveNode(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	status := crawled(t, c, web, id, 3*time.Minute)
	if err := c.AwaitGone(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	record := web.Record()
	if record.Missing > 0 || record.Doubles > 0 || record.Overlaps > 0 || record.Bare > 0 || record.Gap < delay {
		t.Errorf("%+v", record)
	}
	if record.Nodes["n3"] == 0 {
		t.Errorf("n3 crawled nothing: %v", record.Nodes)
	}
	if status.CollectedURLs != hosts*pages-1 || status.Resources+status.Contents != hosts*pages {
		t.Errorf("%+v", status)
	}
	rows, err := c.AllRows(t.Context(), id)
	if err != nil || len(rows) != hosts*pages {
		t.Errorf("%d rows, want %d: %v", len(rows), hosts*pages, err)
	}
	t.Logf("longest pause of a host %v; hosts asked by two nodes, one after the other: %d; requests by node %v", record.Longest, len(record.Shared), record.Nodes)
}

// Nodes and the head are killed while hosts move to a node that joins and from one that leaves. No page is
// lost or on two nodes, no host is asked by two nodes at once, and the counters are exact.
func TestKillsWhileHostsMove(t *testing.T) {
	const hosts, pages, kills = 24, 80, 8
	delay := 25 * time.Millisecond
	c, web, id := cluster(t, hosts, pages, delay, "n1", "n2")
	asked(t, web, 15)
	if err := c.AddNode(t.Context(), "n3", t.TempDir()); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	for i := range kills {
		time.Sleep(time.Duration(random.IntN(700)) * time.Millisecond) // a random moment
		var err error
		if i%4 == 3 {
			err = c.RestartHead(t.Context())
		} else {
			name := []string{"n1", "n2", "n3"}[i%4]
			c.KillNode(name)
			err = c.StartNode(t.Context(), name)
		}
		if err != nil {
			t.Fatalf("kill %d: %v", i, err)
		}
		if i == kills/2 {
			if err := c.RemoveNode(t.Context(), "n1"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.AwaitGone(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	status := crawled(t, c, web, id, 3*time.Minute)
	record := web.Record()
	const chunk = 64
	if most := kills * (2*chunk + hosts); record.Missing > 0 || record.Overlaps > 0 || record.Doubles > most {
		t.Errorf("%+v; at most %d doubles were in flight", record, most)
	}
	if status.CollectedURLs != hosts*pages-1 || status.Resources+status.Contents != hosts*pages {
		t.Errorf("%+v", status)
	}
	rows, err := c.AllRows(t.Context(), id)
	if err != nil || len(rows) != hosts*pages {
		t.Errorf("%d rows, want %d: %v", len(rows), hosts*pages, err)
	}
	t.Logf("%d kills, %d pages fetched twice, longest pause of a host %v", kills, record.Doubles, record.Longest)
}

// A node dies for good. Its hosts begin again on the others, and the crawl ends without it. When the
// pages that are left are crawled again, their links find all others.
func TestLostNode(t *testing.T) {
	const hosts, pages = 12, 40
	c, web, id := cluster(t, hosts, pages, 20*time.Millisecond, "n1", "n2", "n3")
	asked(t, web, 50)
	c.KillNode("n2")
	if err := c.LoseNode(t.Context(), "n2"); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitGone(t.Context(), "n2"); err != nil {
		t.Fatal(err)
	}
	ended(t, c, id)
	rows, err := c.AllRows(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d pages are left, or were found again", len(rows), hosts*pages)
	var again []map[string]any
	for _, row := range rows {
		// As hce site recrawl --full: the links of unchanged pages lead to what the node had.
		again = append(again, map[string]any{"siteId": id, "urlMd5": row.MD5, "status": 1, "state": 0, "settingsSum": 0})
	}
	if err := c.Ask(t.Context(), "URL_UPDATE", again, nil); err != nil {
		t.Fatal(err)
	}
	crawled(t, c, web, id, 2*time.Minute)
	if overlaps := web.Record().Overlaps; overlaps > 0 {
		t.Errorf("%d requests came before the end of another one to the same host", overlaps)
	}
}

// ended waits until no URL of a site is to be crawled or processed.
func ended(t *testing.T, c *rig.Cluster, id string) {
	t.Helper()
	testwait.Until(t, "the crawl has ended", func() bool {
		s, err := c.Status(t.Context(), id)
		if err != nil {
			return false
		}
		done, err := c.Done(t.Context(), id, s)
		return err == nil && done
	})
}
