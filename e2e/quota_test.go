//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"hce/dc/internal/testkit/rig"
)

// quotaCluster is a cluster that crawls one site of all hosts of a web with limits, and processes nothing:
// a processed page is no resource any more.
func quotaCluster(t *testing.T, limits rig.Site, names ...string) (*rig.Cluster, *rig.Web, string) {
	t.Helper()
	const hosts, pages = 12, 60
	web, err := rig.StartWeb(hosts, pages, 5*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(web.Close)
	c, err := rig.StartCluster(t.Context(), rig.Options{Bin: bin, Ini: ini, Data: t.TempDir(), AllowLoopback: true,
		Env: []string{"DC_BatchTasksManagerProcess_ProcessingMode=0"}}, names...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, name := range names {
				t.Logf("output of node %s:\n%s", name, tail(c.NodeOutput(name)))
			}
			t.Logf("output of the head:\n%s", tail(c.Output()))
		}
		c.Close()
	})
	limits.Root, limits.Filter, limits.RequestDelay = web.Root(), web.Filter(), 5
	id, err := c.NewSite(t.Context(), limits)
	if err != nil {
		t.Fatal(err)
	}
	return c, web, id
}

// until waits until a site is in a state.
func until(t *testing.T, c *rig.Cluster, id, event string, done func(rig.Status) bool) (last rig.Status) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		if s, err := c.Status(ctx, id); err == nil { // a node that is away makes an error
			if last = s; done(s) {
				return s
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not after two minutes: %+v", event, last)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// The nodes of a cluster together store exactly maxURLs rows of a site, although a node and the head are
// killed meanwhile.
func TestClusterKeepsMaxURLs(t *testing.T) {
	const limit = 205
	c, web, id := quotaCluster(t, rig.Site{MaxURLs: limit}, "n1", "n2", "n3")
	until(t, c, id, "a third is crawled", func(s rig.Status) bool { return s.Resources > limit/3 })
	c.KillNode("n2")
	if err := c.StartNode(t.Context(), "n2"); err != nil {
		t.Fatal(err)
	}
	until(t, c, id, "a half is crawled", func(s rig.Status) bool { return s.Resources > limit/2 })
	if err := c.RestartHead(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := until(t, c, id, "all rows are crawled", func(s rig.Status) bool { return s.Resources == limit })
	rows, err := c.AllRows(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != limit || s.CollectedURLs != limit-1 || s.NewURLs != 0 {
		t.Errorf("%d rows, %+v", len(rows), s)
	}
	for _, node := range []string{"n1", "n2", "n3"} {
		if web.Record().Nodes[node] == 0 {
			t.Errorf("node %s has requested nothing", node)
		}
	}
}

// The nodes of a cluster together crawl exactly maxResources pages of a site; then it is suspended.
func TestClusterKeepsMaxResources(t *testing.T) {
	const limit = 77
	c, web, id := quotaCluster(t, rig.Site{MaxResources: limit}, "n1", "n2", "n3")
	s := until(t, c, id, "the site is suspended", func(s rig.Status) bool { return s.State == rig.SiteSuspended })
	if s.Resources != limit {
		t.Errorf("%+v", s)
	}
	if n := web.Record().Requests; n != limit {
		t.Errorf("%d pages were requested, want %d", n, limit)
	}
	rows, err := c.Rows(t.Context(), id, "`Status` = 4", 0, 1000)
	if err != nil || len(rows) != limit {
		t.Errorf("%d crawled rows, %v", len(rows), err)
	}
}
