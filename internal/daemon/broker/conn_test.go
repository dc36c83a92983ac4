package broker_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/broker/brokertest"
	"hce/dc/internal/testkit/testwait"
)

// A request gets one reply of each node; the server guarantees the name of the replier.
func TestRequest(t *testing.T) {
	b := brokertest.Start(t, "alpha", "beta")
	head := b.Head(t)
	ctx := brokertest.Context(t)
	if _, err := head.Request(ctx, broker.NodeSubject("alpha", "stat"), nil, 1); !errors.Is(err, broker.ErrNoResponders) {
		t.Fatalf("nobody serves: %v", err)
	}
	for _, name := range []string{"alpha", "beta"} {
		node := b.Node(t, name)
		for _, subject := range []string{"dc.all.stat", broker.NodeSubject(name, "stat")} {
			if _, err := node.Serve(subject, "", func(m broker.Message) { _ = m.Respond(append(m.Data, '!')) }); err != nil {
				t.Fatal(err)
			}
		}
	}
	replies, err := head.Request(ctx, "dc.all.stat", []byte("x"), 2)
	if err != nil || len(replies) != 2 || string(replies[0].Data) != "x!" {
		t.Fatalf("%v, %v", replies, err)
	}
	from := []string{replies[0].From, replies[1].From}
	if slices.Sort(from); !slices.Equal(from, []string{"alpha", "beta"}) {
		t.Errorf("replies of %v", from)
	}
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if replies, err := head.Request(short, "dc.all.stat", nil, 3); len(replies) != 2 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("two of three: %v, %v", replies, err)
	}
	if _, err := head.Request(ctx, "dc.all.stat", make([]byte, broker.MaxPayload+1), 1); !errors.Is(err, broker.ErrTooLarge) {
		t.Errorf("large: %v", err)
	}
}

// A node asks the head, which sees the node's name in the subject.
func TestRequestToHead(t *testing.T) {
	b := brokertest.Start(t, "alpha")
	head, alpha := b.Head(t), b.Node(t, "alpha")
	if _, err := head.Serve(broker.HeadSubject("*", "join"), "", func(m broker.Message) { _ = m.Respond([]byte(m.Subject)) }); err != nil {
		t.Fatal(err)
	}
	replies, err := alpha.Request(brokertest.Context(t), broker.HeadSubject("alpha", "join"), nil, 1)
	if err != nil || string(replies[0].Data) != "dc.head.alpha.join" || replies[0].From != broker.Head {
		t.Errorf("%v, %v", replies, err)
	}
}

// The stream takes a message id once; each node gets each message of the journal in order, also
// those of the time when it was away or before the server started again.
func TestJournal(t *testing.T) {
	b := brokertest.Start(t, "alpha", "beta")
	ctx := brokertest.Context(t)
	head := b.Head(t)
	for _, id := range []string{"1", "2", "2", "3"} {
		if err := head.Publish(ctx, "journal.site", id, []byte(id)); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := head.StreamState(ctx, broker.StreamJournal); err != nil || s.Last != 3 || s.Pending != 3 {
		t.Fatalf("%+v, %v", s, err)
	}
	head.Close()
	b.Close(t)
	b.Open(t)
	for _, name := range []string{"alpha", "beta"} {
		got := make(chan broker.Delivery)
		running, err := b.Node(t, name).Consume(ctx, broker.StreamJournal, broker.NodeDurable(name), "journal.>", broker.ConsumeOptions{}, func(d broker.Delivery) {
			got <- d
			if err := d.Ack(ctx); err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if running.AckWait != 5*time.Second {
			t.Errorf("ack wait %v", running.AckWait)
		}
		for _, id := range []string{"1", "2", "3"} {
			if d := <-got; d.ID != id || string(d.Data) != id || d.Subject != "journal.site" || d.Count != 1 {
				t.Errorf("%s got %+v, want %s", name, d, id)
			}
		}
		running.Stop()
	}
	again := b.Head(t)
	testwait.Until(t, "the journal is empty", func() bool {
		s, err := again.StreamState(ctx, broker.StreamJournal)
		return err == nil && s.Last == 3 && s.Pending == 0
	})
}

// A delivery that is given back comes again; a dropped one does not.
func TestDeliveries(t *testing.T) {
	b := brokertest.Start(t, "alpha")
	ctx := brokertest.Context(t)
	head := b.Head(t)
	for _, id := range []string{"again", "drop", "end"} {
		if err := head.Publish(ctx, "tasks.node.alpha.crawl", id, []byte(id)); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan struct{})
	seen := map[string]int{}
	running, err := b.Node(t, "alpha").Consume(ctx, broker.StreamTasks, broker.NodeDurable("alpha"), "", broker.ConsumeOptions{}, func(d broker.Delivery) {
		seen[d.ID]++
		switch {
		case d.ID == "again" && d.Count == 1:
			_ = d.InProgress()
			_ = d.Nak(0)
		case d.ID == "drop":
			_ = d.Term("bad")
		default:
			_ = d.Ack(ctx)
		}
		if seen["again"] == 2 && seen["drop"] == 1 && seen["end"] == 1 {
			close(ended)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	<-ended
	running.Stop()
	testwait.Until(t, "all are finished", func() bool {
		s, err := head.ConsumerState(ctx, broker.StreamTasks, broker.NodeDurable("alpha"))
		return err == nil && s.Pending == 0
	})
}

func TestTable(t *testing.T) {
	b := brokertest.Start(t, "alpha")
	ctx := brokertest.Context(t)
	open := func(c *broker.Conn, bucket string) *broker.Table {
		table, err := c.Table(ctx, bucket, broker.TableConfig{})
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	head, alpha := b.Head(t), b.Node(t, "alpha")
	nodes, own := open(head, broker.TableNodes), open(alpha, broker.TableNodes)
	if _, err := own.Get(ctx, "alpha"); !errors.Is(err, broker.ErrNotFound) {
		t.Fatalf("missing key: %v", err)
	}
	revision, err := own.Create(ctx, "alpha", []byte("1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := own.Create(ctx, "alpha", []byte("2")); !errors.Is(err, broker.ErrConflict) {
		t.Errorf("second create: %v", err)
	}
	if _, err := own.Update(ctx, "alpha", []byte("2"), revision); err != nil {
		t.Error(err)
	}
	if _, err := own.Update(ctx, "alpha", []byte("3"), revision); !errors.Is(err, broker.ErrConflict) {
		t.Errorf("old revision: %v", err)
	}
	if e, err := nodes.Get(ctx, "alpha"); err != nil || string(e.Value) != "2" {
		t.Errorf("%+v, %v", e, err)
	}
	if all, err := nodes.All(ctx); err != nil || len(all) != 1 || all[0].Key != "alpha" {
		t.Errorf("%v, %v", all, err)
	}
	if err := nodes.Delete(ctx, "alpha"); err != nil {
		t.Error(err)
	}
	if keys, err := nodes.Keys(ctx); err != nil || len(keys) != 0 {
		t.Errorf("%v, %v", keys, err)
	}
	if _, err := own.Create(ctx, "alpha", []byte("4")); err != nil {
		t.Errorf("create after delete: %v", err)
	}

	cluster, placement := open(head, broker.TableCluster), open(alpha, broker.TableCluster)
	watchCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, table := range []*broker.Table{cluster, placement} {
		values := make(chan string, 10)
		go func() { _ = table.Watch(watchCtx, "placement", func(e broker.Entry) { values <- string(e.Value) }) }()
		for _, want := range []string{"a", "b"} {
			if _, err := cluster.Put(ctx, "placement", []byte(want)); err != nil {
				t.Fatal(err)
			}
			for got := ""; got != want; got = <-values {
			}
		}
	}
}

func TestObjects(t *testing.T) {
	b := brokertest.Start(t, "alpha", "beta")
	ctx := brokertest.Context(t)
	objects := func(c *broker.Conn) *broker.Objects {
		o, err := c.Objects(ctx, "large")
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	head, alpha, beta := objects(b.Head(t)), objects(b.Node(t, "alpha")), objects(b.Node(t, "beta"))
	for _, size := range []int{0, 1, 512 << 10, 3<<20 + 1} {
		data := bytes.Repeat([]byte("x"), size)
		ref, err := head.Put(ctx, "alpha", data)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := alpha.Get(ctx, ref); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes: %d, %v", size, len(got), err)
		}
		short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		if _, err := beta.Get(short, ref); err == nil {
			t.Error("another node reads the object")
		}
		cancel()
		back, err := alpha.Put(ctx, broker.Head, data)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := head.Get(ctx, back); err != nil || !bytes.Equal(got, data) {
			t.Errorf("back: %d, %v", len(got), err)
		}
		if err := head.Delete(ctx, ref); err != nil {
			t.Error(err)
		}
		if _, err := alpha.Get(ctx, ref); !errors.Is(err, broker.ErrNotFound) {
			t.Errorf("deleted: %v", err)
		}
	}
	if _, err := head.Get(ctx, "a.b.>"); err == nil {
		t.Error("a wildcard is a reference")
	}
}

// A killed node gets its entry of the journal again within seconds, whatever the ack wait of tasks.
func TestAckWaitOfTheJournal(t *testing.T) {
	b := brokertest.Start(t, "alpha")
	ctx := brokertest.Context(t)
	if err := b.Head(t).Provision(ctx, broker.ProvisionConfig{Nodes: []string{"alpha"}, MaxStore: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	alpha := b.Node(t, "alpha")
	for stream, want := range map[string]time.Duration{broker.StreamJournal: 5 * time.Second, broker.StreamTasks: broker.DefaultAckWait} {
		if p, err := alpha.Pull(ctx, stream, broker.NodeDurable("alpha")); err != nil || p.AckWait != want {
			t.Errorf("%s: %+v, %v", stream, p, err)
		}
	}
}

// A server of several may answer a read before it knows what another one has stored: the reader of an
// object waits for it.
func TestObjectOfALateServer(t *testing.T) {
	b := brokertest.Start(t, "alpha")
	ctx, head := brokertest.Context(t), b.Head(t)
	objects, err := b.Node(t, "alpha").Objects(ctx, "large")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		data, err := objects.Get(ctx, "head.alpha.late")
		if err == nil && string(data) != "x" {
			err = errors.New("it is " + string(data))
		}
		got <- err
	}()
	sum := sha256.Sum256([]byte("x"))
	end := fmt.Appendf(nil, `{"size":1,"chunks":1,"sha256":%q}`, base64.StdEncoding.EncodeToString(sum[:]))
	for i, part := range [][]byte{end, []byte("x")} { // the reader sees the end before its chunk
		time.Sleep(200 * time.Millisecond) // how late the server is
		if err := head.Publish(ctx, "large.head.alpha.late."+[]string{"end", "0"}[i], "", part); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}
