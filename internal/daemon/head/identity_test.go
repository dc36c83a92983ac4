package head

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire/cluster"
)

const testLease = 10 * time.Second

// at is a process with its folder.
func at(folder, key, place, process, session string, epoch int64) cluster.NodeIdentity {
	return cluster.NodeIdentity{Folder: folder, Key: key, Epoch: epoch, Place: place, Process: process, Session: session, Lease: testLease}
}

// The head accepts one process at a time, and one folder with its latest copy.
func TestJudge(t *testing.T) {
	held := at("f", "k2", "here", "p1", "s1", 2)
	accepting := held
	accepting.Accept = true
	recent, quiet, over := time.Second, 14*time.Second, 16*time.Second // since the last sign of life
	for _, c := range []struct {
		name     string
		held     cluster.NodeIdentity
		claim    cluster.NodeIdentity
		previous string
		silence  time.Duration
		asked    time.Duration // ago; 0: not yet
		hasData  bool
		want     verdict
	}{
		{name: "the first one", claim: at("f", "k", "here", "p1", "s1", 0), want: moved},
		{name: "a new session of the process", held: held, claim: at("f", "k2", "here", "p1", "s2", 2), previous: "s1", silence: recent, want: accepted},
		{name: "a process that was replaced", held: held, claim: at("f", "k2", "here", "p0", "s2", 2), previous: "s0", silence: recent, want: waiting},
		{name: "a process that was replaced, and the other one lives", held: held, claim: at("f", "k2", "here", "p0", "s2", 2), previous: "s0", silence: recent, asked: 2 * time.Second, want: living},
		{name: "a restart at the same place", held: held, claim: at("f", "k2", "here", "p2", "s2", 2), silence: recent, want: accepted},
		{name: "a copy of a running machine: the same process", held: held, claim: at("f", "k2", "here", "p1", "s2", 2), silence: recent, want: waiting},
		{name: "a place that is not known", held: at("f", "k2", "", "p1", "s1", 2), claim: at("f", "k2", "", "p2", "s2", 2), silence: recent, want: waiting},
		{name: "another place, first question", held: held, claim: at("f", "k2", "there", "p2", "s2", 2), silence: recent, want: waiting},
		{name: "another place, no sign of life since", held: held, claim: at("f", "k2", "there", "p2", "s2", 2), silence: quiet, asked: recent, want: waiting},
		{name: "another place, a sign of life since", held: held, claim: at("f", "k2", "there", "p2", "s2", 2), silence: recent, asked: 2 * time.Second, want: living},
		{name: "another place after the lease", held: held, claim: at("f", "k2", "there", "p2", "s2", 2), silence: over, want: moved},
		{name: "an older copy", held: held, claim: at("f", "k1", "there", "p2", "s2", 1), silence: over, want: outdated},
		{name: "an older copy at the same place", held: held, claim: at("f", "k1", "here", "p2", "s2", 1), silence: over, want: outdated},
		{name: "another copy of the same epoch", held: held, claim: at("f", "k2b", "there", "p2", "s2", 2), silence: over, want: outdated},
		{name: "a folder that is newer than the head knows, at its place", held: held, claim: at("f", "k3", "here", "p2", "s2", 3), silence: recent, want: accepted},
		{name: "a folder that is newer than the head knows", held: held, claim: at("f", "k3", "there", "p2", "s2", 3), silence: over, want: moved},
		{name: "another folder", held: held, claim: at("g", "k", "there", "p2", "s2", 0), silence: over, hasData: true, want: unexpected},
		{name: "another folder of a node without data", held: held, claim: at("g", "k", "there", "p2", "s2", 0), silence: over, want: moved},
		{name: "another folder of a node without data that lives", held: held, claim: at("g", "k", "there", "p2", "s2", 0), silence: recent, asked: 2 * time.Second, want: living},
		{name: "an older copy that an operator accepts", held: accepting, claim: at("f", "k1", "there", "p2", "s2", 1), silence: over, want: moved},
		{name: "another folder that an operator accepts", held: accepting, claim: at("g", "k", "there", "p2", "s2", 0), silence: over, hasData: true, want: moved},
		{name: "a folder that an operator accepts while the node lives", held: accepting, claim: at("g", "k", "there", "p2", "s2", 0), silence: recent, asked: 2 * time.Second, hasData: true, want: living},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := time.Now()
			one := identity{NodeIdentity: c.held, heard: now.Add(-c.silence), asked: map[string]time.Time{}}
			if c.asked > 0 {
				one.asked[c.claim.Process] = now.Add(-c.asked)
			}
			claim := cluster.IdentityClaim{NodeIdentity: c.claim, Next: "next", Previous: c.previous}
			if got := one.judgeClaim(claim, c.hasData, now); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

// claimant is a process that asks the head of a test.
type claimant struct {
	*testing.T
	conn *broker.Conn
	cluster.IdentityClaim
}

func (c *claimant) ask() cluster.IdentityAnswer {
	c.Helper()
	var answer cluster.IdentityAnswer
	data, err := json.Marshal(c.IdentityClaim)
	if err != nil {
		c.Fatal(err)
	}
	replies, err := c.conn.Request(c.Context(), broker.HeadSubject(c.conn.Name(), "identity"), data, 1)
	if err == nil {
		err = json.Unmarshal(replies[0].Data, &answer)
	}
	if err != nil {
		c.Fatal(err)
	}
	if answer.Key != "" {
		c.Key, c.Epoch, c.Previous = answer.Key, answer.Epoch, c.Session
	}
	return answer
}

// beat sends a sign of life.
func (c *claimant) beat() {
	c.Helper()
	table, err := c.conn.Table(c.Context(), broker.TableNodes, broker.TableConfig{})
	if err == nil {
		_, err = table.Put(c.Context(), c.conn.Name(), []byte(`{"Instance":"`+c.Session+`"}`))
	}
	if err != nil {
		c.Fatal(err)
	}
}

// claimAt is a process of node alpha in a folder.
func claimAt(t *testing.T, conn *broker.Conn, folder, key, place string) *claimant {
	id := at(folder, key, place, "process-"+place, "session-"+place, 0)
	id.Lease, id.Host, id.Path, id.PID = 400*time.Millisecond, "host-"+place, "/data/"+place, 7
	return &claimant{t, conn, cluster.IdentityClaim{NodeIdentity: id, Next: "next-" + place}}
}

// A copy is refused while the node lives, and shown with its place; after the lease it is the node, and the former
// folder is refused until an operator accepts it.
func TestIdentityMoves(t *testing.T) {
	h := open(t, t.TempDir(), true)
	conn := started(t, h, "alpha")
	first := claimAt(t, conn, "f", "k", "here")
	if a := first.ask(); a.Key != "next-here" || a.Epoch != 1 {
		t.Fatalf("%+v", a)
	}
	second := claimAt(t, conn, "f", first.Key, "there")
	second.Epoch = first.Epoch
	if a := second.ask(); !strings.Contains(a.Wait, "host-here") {
		t.Fatalf("%+v", a)
	}
	first.beat()
	var a cluster.IdentityAnswer
	testwait.Until(t, "the copy is refused", func() bool { a = second.ask(); return a.Refused != "" })
	for _, word := range []string{"node alpha runs already on host-here in /data/here (process 7)", "Stop and disable"} {
		if !strings.Contains(a.Refused, word) {
			t.Errorf("%q is not in %q", word, a.Refused)
		}
	}
	if n := listed(t, h, "alpha"); len(n.Refused) != 1 || n.Refused[0].Path != "/data/there" || n.Refused[0].Host != "host-there" || n.Refused[0].Reason != a.Refused {
		t.Errorf("%+v", n.Refused)
	}
	testwait.Until(t, "the copy is the node after the lease", func() bool { a = second.ask(); return a.Key != "" })
	if a.Key != "next-there" || a.Epoch != 2 || len(listed(t, h, "alpha").Refused) != 0 {
		t.Errorf("%+v", a)
	}
	first.Previous = ""
	if a = first.ask(); !strings.Contains(a.Refused, "is an older copy") || !strings.Contains(a.Refused, "/data/there") {
		t.Errorf("%+v", a)
	}
	if _, err := command(t, h, cluster.Accept, "alpha"); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the older copy is accepted", func() bool { a = first.ask(); return a.Key != "" })
	if a = second.ask(); a.Refused == "" {
		t.Errorf("the other one is not refused: %+v", a)
	}
	for _, name := range []string{"beta", "head"} {
		if _, err := command(t, h, cluster.Accept, name); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// A head that starts again knows the process that is the node: it goes on, and a copy waits for its lease.
func TestIdentityOverARestartOfTheHead(t *testing.T) {
	folder := t.TempDir()
	h := open(t, folder, true)
	address := strings.TrimPrefix(h.server.URL(), "nats://")
	conn := started(t, h, "alpha")
	first := claimAt(t, conn, "f", "k", "here")
	first.Lease = time.Hour
	first.ask()
	closeHead(t, h)
	openAt(t, folder, address, true)
	testwait.Until(t, "the node is connected again", conn.Connected)
	second := claimAt(t, conn, "f", first.Key, "there")
	second.Epoch = first.Epoch
	if a := second.ask(); a.Wait == "" {
		t.Errorf("%+v", a)
	}
	first.Session = "session-2"
	if a := first.ask(); a.Key != first.Key || a.Epoch != 1 {
		t.Errorf("the process that is the node is not: %+v", a)
	}
	restarted := claimAt(t, conn, "f", first.Key, "here")
	restarted.Process, restarted.Session, restarted.Epoch = "process-2", "session-3", 1
	if a := restarted.ask(); a.Key != first.Key {
		t.Errorf("a restart at its place has to wait: %+v", a)
	}
}

// Two copies of one running machine are one session, which ends; one of them is the node after the lease.
func TestCopiedRunningMachine(t *testing.T) {
	h := open(t, t.TempDir(), true)
	conn := started(t, h, "alpha")
	table, err := conn.Table(t.Context(), broker.TableNodes, broker.TableConfig{})
	if err != nil {
		t.Fatal(err)
	}
	first := claimAt(t, conn, "f", "k", "here")
	first.ask()
	other := *first
	beat := func(n int) {
		t.Helper()
		if _, err := table.Put(t.Context(), "alpha", fmt.Appendf(nil, `{"Instance":%q,"Beat":%d}`, first.Session, n)); err != nil {
			t.Fatal(err)
		}
	}
	session := func() string {
		e, err := h.table.Get(t.Context(), cluster.IdentityKey("alpha"))
		var held cluster.NodeIdentity
		if err == nil {
			err = json.Unmarshal(e.Value, &held)
		}
		if err != nil {
			t.Fatal(err)
		}
		return held.Session
	}
	beat(1)
	beat(2)
	testwait.Until(t, "a sign of life is heard", func() bool { return h.identities.byNameBeat("alpha") == 2 })
	if session() != first.Session {
		t.Fatal("the session has ended")
	}
	beat(2)
	testwait.Until(t, "the session ends", func() bool { return session() != first.Session })
	first.Session, first.Next = "session-2", "next-2"
	var a cluster.IdentityAnswer
	testwait.Until(t, "one is accepted", func() bool { a = first.ask(); return a.Key != "" })
	other.Session = "session-3"
	if a = other.ask(); !strings.Contains(a.Refused, "is an older copy") {
		t.Errorf("%+v", a)
	}
}

func (d *identities) byNameBeat(name string) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byName[name].beat
}
