//go:build e2e

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/testkit/rig"
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
	if out, _ := w.command(t, 0, "hce", "crawl", id); !strings.Contains(out, "60 URLs, 60 pages") {
		t.Error(out)
	}
	out := filepath.Join(t.TempDir(), "pages.jsonl")
	w.command(t, 0, "hce", "export", id, "--out", out, "--fields", "url")
	if lines := strings.Split(exportText(t, out), "\n"); len(slices.Compact(lines)) != 61 { // and an empty one
		t.Errorf("%d pages", len(lines))
	}
	w.command(t, 0, "hce", "site", "pause", id)
	if list, _ := w.command(t, 0, "hce", "site", "ls"); !strings.Contains(list, "paused") {
		t.Error(list)
	}
	if r := web.Record(); r.Doubles > 0 || len(r.Nodes) != 2 {
		t.Errorf("%+v", r)
	}
}
