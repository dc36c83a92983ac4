//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"hce/dc/examples/rig"
	"hce/dc/internal/testwait"
)

// placement = propagate is the way of the original: the head selects URLs and sends batches to two nodes,
// which have copies of the rows. Each page of the web is crawled, and each node does a part.
func TestClusterPropagates(t *testing.T) {
	web, err := rig.StartWeb(6, 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(web.Close)
	c, err := rig.StartCluster(t.Context(), rig.Options{Bin: bin, Ini: ini, Data: t.TempDir(), AllowLoopback: true, Env: []string{
		"DC_Cluster_placement=propagate", "DC_Node_placement=propagate", "DC_Application_DRCENodes=2"}}, "n1", "n2")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("output of the head:\n%s\nof n1:\n%s", tail(c.Output()), tail(c.NodeOutput("n1")))
		}
	})
	id := newSite(t, c.Rig, rig.Site{Root: web.Root(), Filter: web.Filter()})
	w := world{Rig: c.Rig, id: id}
	testwait.UntilWithin(t, time.Minute, "all pages are requested", func() bool { return web.Record().Missing == 0 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_ = ctx
	out, _ := w.command(t, 0, "hce", "site", "ls")
	t.Log(out)
	out, _ = w.command(t, 0, "hce", "status")
	t.Log(out)
	out, _ = w.command(t, 0, "hce", "url", "ls", id, "--limit", "5")
	t.Log(out)
	out, _ = w.command(t, 0, "dc-client", "-cmd", "SITE_STATUS", "-ff", fmt.Sprintf(`{"id":%q}`, id))
	t.Log(out[:min(len(out), 1500)])
	t.Logf("%+v", web.Record())
}
