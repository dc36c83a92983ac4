//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/broker/brokertest"
	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testwait"
)

// refusedStatus is the exit status of a dc-node that is not the node whose identity it has.
const refusedStatus = 5

// A second process with the identity of a node requests nothing, ends, and is named at both ends, with the remedy. When
// the node is stopped, its moved folder is the node after the lease, and the old folder is refused. Every page is
// fetched once, none before its delay.
func TestOneProcessIsANode(t *testing.T) {
	const hosts, pages, delay = 8, 80, 40 * time.Millisecond
	port := freePorts(t, 1)[0]
	o := rig.Options{
		Env:     []string{fmt.Sprint("DC_StatusServer_StatusPort=", port)},
		NodeEnv: func(string) []string { return []string{"DC_Node_lease=2"} },
	}
	c, web, id := clusterWith(t, o, hosts, pages, delay, "n1", "n2")
	w := world{Rig: c.Rig}
	asked(t, web, 10)

	copied(t, c, "n1", "second")
	refused(t, c, "second", "node n1 runs already", c.NodeData("n1"), "Stop and disable dc-node here")
	second := c.NodeData("second")
	if out, _ := w.command(t, 0, "dc-admin", "node", "ls"); !strings.Contains(out, "n1: refused a second process, last at ") || !strings.Contains(out, second) {
		t.Errorf("dc-admin node ls: %s", out)
	}
	if out, _ := w.command(t, 0, "dc-admin", "node", "ls", "--json"); !strings.Contains(out, `"path": "`+second+`"`) {
		t.Errorf("dc-admin node ls --json: %s", out)
	}
	testwait.UntilWithin(t, time.Minute, "/healthz names the second process", func() bool { // its view is some seconds old
		status, text := page(t, port, "/healthz")
		return status == http.StatusOK && strings.Contains(text, `"refusedNodes":["node n1 runs already`) && strings.Contains(text, second)
	})
	if out, _ := w.command(t, 1, "hce", "doctor"); !strings.Contains(out, second) || !strings.Contains(out, "stop the other one, then start this one") {
		t.Errorf("hce doctor: %s", out)
	}
	if _, text := page(t, port, "/metrics"); !strings.Contains(text, `dc_node_refused{node="n1"} 1`) || !strings.Contains(text, `dc_node_refused{node="n2"} 0`) {
		t.Error("/metrics has no dc_node_refused")
	}

	if r := web.Record(); r.Doubles > 0 || len(r.Shared) > 0 {
		t.Errorf("%+v", r)
	}

	c.StopNode("n1")
	copied(t, c, "n1", "moved")
	testwait.UntilWithin(t, time.Minute, "the moved folder is the node", func() bool {
		states, err := c.Nodes(t.Context())
		return err == nil && states["n1"].State == "ready"
	})
	for _, old := range []string{"n1", "second"} {
		if err := c.LaunchNode(old); err != nil {
			t.Fatal(err)
		}
		refused(t, c, old, "is an older copy", c.NodeData("moved"), "dc-admin node accept n1")
	}
	crawled(t, c, web, id, time.Minute)
	checkOnceEach(t, web)

	// A node that was killed goes on at once at its place.
	waits := func() int {
		text, err := os.ReadFile(c.NodeOutput("moved"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "waits until the head knows")
	}
	before := waits()
	c.KillNode("moved")
	if err := c.LaunchNode("moved"); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	testwait.Until(t, "the killed node is ready", func() bool {
		states, err := c.Nodes(t.Context())
		return err == nil && states["n1"].State == "ready" && states["n1"].Seen.After(killed)
	})
	if waits() != before {
		t.Error("a restart at the same place waited for the lease")
	}
}

// checkOnceEach is Web.Faults for a web whose hosts a moved node may ask by another name, and whose pages in flight may
// have been requested again: on a slow machine the stopped node is killed after some seconds.
func checkOnceEach(t *testing.T, web *rig.Web) {
	t.Helper()
	r := web.Record()
	if r.Missing > 0 || r.Overlaps > 0 || r.Gap > 0 && r.Gap < web.Delay || r.Doubles > web.Hosts {
		t.Errorf("%+v", r)
	}
	if r.Nodes["second"] > 0 {
		t.Errorf("the second process requested %d pages", r.Nodes["second"])
	}
}

// copied starts a copy of the data folder of a node.
func copied(t *testing.T, c *rig.Cluster, name, as string) {
	t.Helper()
	err := c.CopyNode(name, as)
	if err == nil {
		err = c.LaunchNode(as)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// refused waits for the end of a process that is not the node. Both ends have named the other one.
func refused(t *testing.T, c *rig.Cluster, name string, words ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	status, err := c.EndOfNode(ctx, name)
	if err != nil || status != refusedStatus {
		t.Fatalf("%s: exit status %d, %v\n%s", name, status, err, tail(c.NodeOutput(name)))
	}
	said := tail(c.NodeOutput(name))
	for _, word := range words {
		if !strings.Contains(said, word) {
			t.Errorf("%s says nothing of %q:\n%s", name, word, said)
		}
	}
	if said := tail(c.Output()); !strings.Contains(said, "refused a second node") || !strings.Contains(said, filepath.Clean(c.NodeData(name))) {
		t.Errorf("the head does not name %s:\n%s", name, said)
	}
}

// A node that is cut off while a copy of its folder takes over ends when it is connected again, and its hosts never get
// a request before their delay.
func TestReplacedNodeEnds(t *testing.T) {
	const hosts, pages, delay = 6, 60, 40 * time.Millisecond
	o := rig.Options{Relays: true, NodeEnv: func(string) []string { return []string{"DC_Node_lease=2"} }}
	c, web, id := clusterWith(t, o, hosts, pages, delay, "n1", "n2")
	asked(t, web, 10)
	c.Link("n1").Cut()
	testwait.Until(t, "n1 rests", func() bool { return strings.Contains(tail(c.NodeOutput("n1")), "the membership is not confirmed") })
	requests, since := -1, time.Now()
	testwait.Until(t, "the tasks of n1 have ended", func() bool {
		if n := web.Record().Nodes["n1"]; n != requests {
			requests, since = n, time.Now()
		}
		return time.Since(since) > time.Second
	})
	if err := c.CopyNode("n1", "moved"); err != nil {
		t.Fatal(err)
	}
	useBrokerOf(t, c.NodeData("moved"), c.NodeData("n2"))
	if err := c.LaunchNode("moved"); err != nil {
		t.Fatal(err)
	}
	testwait.UntilWithin(t, time.Minute, "the copy is the node", func() bool {
		return strings.Contains(tail(c.NodeOutput("moved")), "the journal is applied")
	})
	c.Link("n1").Mend()
	refused(t, c, "n1", "is an older copy", c.NodeData("moved"))
	crawled(t, c, web, id, time.Minute)
	if r := web.Record(); r.Missing > 0 || r.Doubles > hosts || r.Overlaps > 0 || r.Gap < delay || r.Nodes["n1"] != requests {
		t.Errorf("%+v, n1 had requested %d pages when it was cut off", r, requests)
	}
}

// useBrokerOf lets a node connect to the broker as another node does.
func useBrokerOf(t *testing.T, data, other string) {
	t.Helper()
	own, err := broker.ReadJoin(filepath.Join(data, "node.join"))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := broker.ReadJoin(filepath.Join(other, "node.join"))
	if err != nil {
		t.Fatal(err)
	}
	own.URLs = theirs.URLs
	brokertest.WriteJoin(t, filepath.Join(data, "node.join"), own)
}
