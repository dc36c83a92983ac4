package broker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/broker/brokertest"
	"hce/dc/internal/testkit/testlog"
	"hce/dc/internal/testkit/testwait"
)

// raw connects without this package, as another program would.
func raw(t *testing.T, url, seed string, options ...nats.Option) (*nats.Conn, error) {
	t.Helper()
	options = append(options, nats.NoReconnect(), nats.Timeout(5*time.Second))
	if seed != "" {
		pair, err := nkeys.FromSeed([]byte(seed))
		if err != nil {
			t.Fatal(err)
		}
		public, _ := pair.PublicKey()
		options = append(options, nats.Nkey(public, pair.Sign))
	}
	nc, err := nats.Connect(url, options...)
	if err == nil {
		t.Cleanup(nc.Close)
	}
	return nc, err
}

func newSeed(t *testing.T) string {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, _ := pair.Seed()
	return string(seed)
}

// Nobody connects without a known key. Refusals are logged with the address of the peer, slowed
// down, and limited in the log.
func TestStrangersAreRefused(t *testing.T) {
	var log testlog.Recorder
	b := brokertest.StartWith(t, slog.New(slog.NewTextHandler(&log, nil)), "alpha")
	url := b.Server.URL()
	start := time.Now()
	for name, connect := range map[string]func() (*nats.Conn, error){
		"no key":       func() (*nats.Conn, error) { return raw(t, url, "") },
		"unknown key":  func() (*nats.Conn, error) { return raw(t, url, newSeed(t)) },
		"user":         func() (*nats.Conn, error) { return raw(t, url, "", nats.UserInfo("head", "head")) },
		"token":        func() (*nats.Conn, error) { return raw(t, url, "", nats.Token("head")) },
		"other's name": func() (*nats.Conn, error) { return raw(t, url, newSeed(t), nats.Name("head")) },
		"wrong signature": func() (*nats.Conn, error) {
			list, err := b.Keys.List()
			if err != nil {
				t.Fatal(err)
			}
			other, _ := nkeys.CreateUser()
			return raw(t, url, "", nats.Nkey(list[0].Public, other.Sign))
		},
	} {
		if _, err := connect(); err == nil {
			t.Errorf("%s: connected", name)
		}
	}
	if spent := time.Since(start); spent < 6*time.Second {
		t.Errorf("six refusals in %v: a peer may try in a tight loop", spent)
	}
	for _, why := range []string{"no key", "unknown or removed", "signature is wrong"} {
		if n := log.Count("level=WARN", "connection refused", "peer=127.0.0.1", why); n != 1 {
			t.Errorf("%d lines about %q:\n%s", n, why, log.String())
		}
	}
}

// A removed node loses its connection and cannot come back; an added one connects. The server
// does not start again for it.
func TestKeysChangeWhileTheServerRuns(t *testing.T) {
	b := brokertest.Start(t, "alpha")
	alpha := b.Node(t, "alpha")
	if err := b.Keys.RemoveNode("alpha"); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the removed node is disconnected", func() bool { return !alpha.Connected() })
	if _, err := broker.Dial(brokertest.Context(t), broker.DialConfig{Join: b.Join(t, "alpha"), Log: b.Log}); err == nil {
		t.Error("the removed node connects")
	}
	// Another process adds nodes: it has a Keys of its own.
	other, err := broker.OpenKeys(filepath.Join(b.Folder, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	seed, err := other.AddNode("beta")
	if err != nil {
		t.Fatal(err)
	}
	beta, err := broker.Dial(brokertest.Context(t), broker.DialConfig{Join: b.Server.Join("beta", seed), Log: b.Log})
	if err != nil {
		t.Fatal(err)
	}
	beta.Close()
	if err := os.WriteFile(filepath.Join(b.Folder, "keys", "nodes.list"), []byte("rubbish\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := broker.Dial(brokertest.Context(t), broker.DialConfig{Join: b.Server.Join("beta", seed), Log: b.Log}); err == nil {
		t.Error("an unreadable list lets a node in")
	}
}

// families are the subjects of "beta" and of the head, one of each family. None is for "alpha".
var families = struct{ publish, subscribe []string }{
	publish: []string{
		"dc.node.beta.run", "dc.all.stat", "dc.head.beta.join", "dc.reply.head.x.beta", "dc.reply.head.x.head", "dc.other",
		"journal.site", "tasks.any.crawl", "tasks.node.beta.crawl", "tasks.node.alpha.crawl",
		"$KV.nodes.beta", "$KV.cluster.placement", "$KV.tasks.beta.x", "$KV.tasks.x", "large.beta.head.x.0", "large.head.alpha.x.0", "large.alpha.beta.x.0",
		"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.STREAM.CREATE.X", "$JS.API.STREAM.UPDATE.JOURNAL", "$JS.API.STREAM.DELETE.JOURNAL", "$JS.API.STREAM.PURGE.JOURNAL",
		"$JS.API.STREAM.INFO.JOURNAL", "$JS.API.STREAM.SNAPSHOT.JOURNAL", "$JS.API.STREAM.MSG.GET.JOURNAL", "$JS.API.STREAM.MSG.GET.KV_nodes", "$JS.API.STREAM.MSG.DELETE.JOURNAL",
		"$JS.API.DIRECT.GET.KV_nodes", "$JS.API.DIRECT.GET.KV_nodes.$KV.nodes.beta", "$JS.API.DIRECT.GET.LARGE.large.head.beta.x.0", "$JS.API.DIRECT.GET.JOURNAL.journal.site",
		"$JS.API.CONSUMER.CREATE.JOURNAL", "$JS.API.CONSUMER.CREATE.JOURNAL.x", "$JS.API.CONSUMER.CREATE.JOURNAL.node-alpha.journal.>", "$JS.API.CONSUMER.DURABLE.CREATE.JOURNAL.x",
		"$JS.API.CONSUMER.DELETE.JOURNAL.node-alpha", "$JS.API.CONSUMER.INFO.JOURNAL.node-beta", "$JS.API.CONSUMER.MSG.NEXT.JOURNAL.node-beta",
		"$JS.API.CONSUMER.MSG.NEXT.TASKS.node-beta", "$JS.API.CONSUMER.MSG.NEXT.LINKS.node-beta", "$JS.ACK.JOURNAL.node-beta.1.1.1.1.0", "$JS.ACK.LINKS.node-beta.1.1.1.1.0",
		"$SYS.REQ.SERVER.PING", "_INBOX_beta.x", "_INBOX_head.x", "_INBOX.x",
	},
	subscribe: []string{
		"dc.node.beta.run", "dc.node.*.run", "dc.head.>", "dc.reply.beta.>", "dc.reply.>", "dc.>", ">", "*.>", "journal.>", "tasks.>", "links.beta", "links.alpha",
		"$KV.>", "$KV.nodes.beta", "large.>", "$JS.API.>", "$JS.ACK.>", "$JS.EVENT.>", "$SYS.>", "_INBOX.>", "_INBOX_beta.>", "_INBOX_head.>",
	},
}

// The key of a node is bound to its name: it may not publish, subscribe or read in another name.
func TestNodesStayInTheirName(t *testing.T) {
	b := brokertest.Start(t, "alpha", "beta")
	checkFamilies(t, b.Server.URL(), b.Join(t, "alpha").Seed)
}

// checkFamilies expects that the server refuses each subject of families.
func checkFamilies(t *testing.T, url, seed string) {
	t.Helper()
	violations := make(chan error, 10)
	nc, err := raw(t, url, seed, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { violations <- err }))
	if err != nil {
		t.Fatal(err)
	}
	expect := func(what string) {
		t.Helper()
		select {
		case err := <-violations:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s is allowed", what)
		}
	}
	for _, subject := range families.publish {
		if err := nc.Publish(subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		expect("publish " + subject)
	}
	for _, subject := range families.subscribe {
		for _, queue := range []string{"", "q"} {
			if _, err := nc.QueueSubscribeSync(subject, queue); err != nil {
				t.Fatal(err)
			}
			if err := nc.Flush(); err != nil {
				t.Fatal(err)
			}
			expect("subscribe " + subject)
		}
	}
}

// A node cannot make the server publish for it: the answer of a JetStream request to a reply subject
// that the node chose reaches no stream, table or other node.
func TestChosenReplySubjects(t *testing.T) {
	b := brokertest.Start(t, "alpha", "beta")
	checkReplies(t, b.Head(t), b.Node(t, "beta"), b.Server.URL(), b.Join(t, "alpha").Seed)
}

func checkReplies(t *testing.T, head, beta *broker.Conn, url, seed string) {
	t.Helper()
	ctx := brokertest.Context(t)
	nc, err := raw(t, url, seed)
	if err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{"journal.site", "tasks.any.crawl", "links.alpha"} {
		if err := head.Publish(ctx, subject, "forged", []byte("forged")); err != nil {
			t.Fatal(err)
		}
	}
	for _, subject := range []string{broker.NodeSubject("beta", "run"), "dc.all.run"} {
		if _, err := beta.Serve(subject, "", func(m broker.Message) { t.Errorf("beta gets %s %q", m.Subject, m.Data) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Publish("$KV.nodes.alpha", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	streams := []string{broker.StreamJournal, broker.StreamTasks, broker.StreamLinks, "LARGE", "KV_nodes", "KV_cluster", "KV_tasks"}
	states := func() (all []broker.StreamState) {
		for _, stream := range streams {
			s, err := head.StreamState(ctx, stream)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		return all
	}
	testwait.Until(t, "the key of alpha is stored", func() bool { return states()[4].Last == 1 })
	before := states()
	for _, request := range []string{
		"$JS.API.STREAM.INFO.KV_nodes", "$JS.API.DIRECT.GET.KV_nodes.$KV.nodes.alpha", "$JS.API.CONSUMER.INFO.JOURNAL.node-alpha",
		"$JS.API.CONSUMER.MSG.NEXT.JOURNAL.node-alpha", "$JS.API.CONSUMER.MSG.NEXT.TASKS.any-crawl", "$JS.API.CONSUMER.MSG.NEXT.LINKS.node-alpha", "$KV.nodes.alpha",
	} {
		for _, reply := range []string{
			"journal.site", "tasks.any.crawl", "tasks.node.beta.crawl", "links.beta", "large.head.beta.x.0", "$KV.nodes.beta", "$KV.cluster.placement",
			"dc.node.beta.run", "dc.all.run", "$JS.API.STREAM.PURGE.JOURNAL", "$JS.API.STREAM.DELETE.TASKS", "$JS.API.CONSUMER.DELETE.JOURNAL.node-beta",
		} {
			if err := nc.PublishRequest(request, reply, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The server handles the requests of a connection in order.
	inbox := "_INBOX_alpha.end"
	end, err := nc.SubscribeSync(inbox)
	if err == nil {
		err = nc.PublishRequest("$JS.API.STREAM.INFO.KV_nodes", inbox, nil)
	}
	if err == nil {
		_, err = end.NextMsg(10 * time.Second)
	}
	if err != nil {
		t.Fatal(err)
	}
	after := states()
	for i, stream := range streams {
		if stream != "KV_nodes" && after[i] != before[i] { // alpha writes its own key
			t.Errorf("%s: %+v, before %+v", stream, after[i], before[i])
		}
	}
	table, err := head.Table(ctx, broker.TableNodes, broker.TableConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if keys, err := table.Keys(ctx); err != nil || len(keys) != 1 {
		t.Errorf("keys %v, %v", keys, err)
	}
	if s, err := head.ConsumerState(ctx, broker.StreamJournal, broker.NodeDurable("beta")); err != nil || s.Pending != 1 {
		t.Errorf("consumer of beta: %+v, %v", s, err)
	}
}

// The calls of this package say that a key is not allowed to do something, and change nothing.
func TestRefusedCalls(t *testing.T) {
	b := brokertest.Start(t, "alpha", "beta")
	alpha, head := b.Node(t, "alpha"), b.Head(t)
	if _, err := alpha.Serve(broker.NodeSubject("beta", "run"), "", func(broker.Message) {}); !errors.Is(err, broker.ErrRefused) {
		t.Errorf("serve: %v", err)
	}
	ctx, cancel := context.WithTimeout(brokertest.Context(t), 300*time.Millisecond)
	defer cancel()
	if err := alpha.Publish(ctx, "journal.site", "1", nil); err == nil {
		t.Error("a node publishes to the journal")
	}
	if s, err := head.StreamState(brokertest.Context(t), broker.StreamJournal); err != nil || s.Last != 0 {
		t.Errorf("journal %+v, %v", s, err)
	}
	table, err := alpha.Table(brokertest.Context(t), broker.TableNodes, broker.TableConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Watch(ctx, ">", func(broker.Entry) {}); !errors.Is(err, broker.ErrRefused) {
		t.Errorf("watch: %v", err)
	}
}

// The text of ExternalConfig makes a server of another program accept exactly the known keys,
// with the same permissions.
func TestExternalConfig(t *testing.T) {
	b := brokertest.Start(t, "alpha", "beta")
	list, err := b.Keys.List()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "nats.conf")
	text := fmt.Sprintf("%s\nlisten: \"127.0.0.1:-1\"\njetstream { store_dir: %q, sync_interval: always }\n", broker.ExternalConfig(list), t.TempDir())
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(path)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	options.NoSigs = true
	external, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	external.Start()
	t.Cleanup(func() { external.Shutdown(); external.WaitForShutdown() })
	if !external.ReadyForConnections(10*time.Second) || !options.SyncAlways {
		t.Fatal("not ready, or it does not sync always")
	}
	url := external.ClientURL()
	if _, err := raw(t, url, ""); err == nil {
		t.Error("connected without a key")
	}
	if _, err := raw(t, url, newSeed(t)); err == nil {
		t.Error("connected with an unknown key")
	}
	ctx := brokertest.Context(t)
	head := b.Dial(t, broker.Head, url)
	if err := head.Provision(ctx, broker.ProvisionConfig{Nodes: []string{"alpha", "beta"}, MaxStore: 64 << 20}); err != nil {
		t.Fatal(err)
	}
	if err := head.Publish(ctx, "journal.site", "1", []byte("x")); err != nil {
		t.Fatal(err)
	}
	got := make(chan broker.Delivery, 1)
	running, err := b.Dial(t, "alpha", url).Consume(ctx, broker.StreamJournal, broker.NodeDurable("alpha"), "", broker.ConsumeOptions{}, func(d broker.Delivery) {
		if err := d.Ack(ctx); err != nil {
			t.Error(err)
		}
		got <- d
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := <-got; d.ID != "1" {
		t.Errorf("%+v", d)
	}
	running.Stop()
	checkFamilies(t, url, b.Join(t, "alpha").Seed)
}

// everywhere is an address that other machines reach: TLS is on for it.
const everywhere = "0.0.0.0:0"

// Beyond loopback the server speaks TLS 1.3 only, and the nodes trust only the cluster's own
// certificate authority.
func TestTLS(t *testing.T) {
	var log testlog.Recorder
	folder := t.TempDir()
	keys, err := broker.OpenKeys(filepath.Join(folder, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	seed, err := keys.AddNode("alpha")
	if err != nil {
		t.Fatal(err)
	}
	s, err := broker.StartServer(broker.ServerConfig{Folder: folder, Address: everywhere, Keys: keys, MaxStore: 1 << 30, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(brokertest.Context(t)) })
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.URL(), "tls://"))
	if err != nil {
		t.Fatalf("%s: %v", s.URL(), err)
	}
	silent := slog.New(slog.NewTextHandler(io.Discard, nil))
	good := s.Join("alpha", seed, "tls://127.0.0.1:"+port)
	path := filepath.Join(folder, "alpha.join")
	brokertest.WriteJoin(t, path, good)
	join, err := broker.ReadJoin(path)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := broker.Dial(brokertest.Context(t), broker.DialConfig{Join: join, Log: silent})
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	head, err := broker.Dial(brokertest.Context(t), s.Local())
	if err != nil {
		t.Fatalf("head: %v", err)
	}
	head.Close()

	other, err := broker.OpenKeys(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := broker.StartServer(broker.ServerConfig{Folder: t.TempDir(), Address: everywhere, Keys: other, MaxStore: 1 << 30, Log: silent})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = foreign.Close(brokertest.Context(t)) })
	for _, c := range []struct { // the unknown key first: its line must not suppress those of handshakes
		name   string
		change func(*broker.Join)
	}{
		{"unknown key", func(j *broker.Join) { j.Seed = newSeed(t) }},
		{"plain", func(j *broker.Join) { j.URLs, j.CA = []string{"nats://127.0.0.1:" + port}, "" }},
		{"unknown authority", func(j *broker.Join) { j.CA = foreign.Join("alpha", seed).CA }},
		{"the system's", func(j *broker.Join) { j.CA = "" }},
		{"another name", func(j *broker.Join) { j.ServerName = "localhost" }},
		{"not TLS first", func(j *broker.Join) { j.TLSFirst = false }},
	} {
		bad := good
		c.change(&bad)
		ctx, cancel := context.WithTimeout(brokertest.Context(t), 5*time.Second)
		if !bad.TLSFirst || bad.CA == "" { // both sides wait for the other to begin
			ctx, cancel = context.WithTimeout(ctx, 500*time.Millisecond)
		}
		if _, err := broker.Dial(ctx, broker.DialConfig{Join: bad, Log: silent}); err == nil {
			t.Errorf("%s: connected", c.name)
		}
		cancel()
	}
	if log.Count("level=WARN", "TLS handshake error") == 0 || log.Count("connection refused", "unknown or removed") != 1 {
		t.Errorf("log:\n%s", log.String())
	}
	for name, mode := range map[string]os.FileMode{"tls": 0o700, "tls/ca.key": 0o600, "tls/server.pem": 0o600, "jetstream": 0o700, "keys/head.seed": 0o600, "keys": 0o700, "alpha.join": 0o600} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	plain := good
	plain.URLs, plain.CA, plain.TLSFirst = []string{"nats://192.0.2.1:4222"}, "", false
	if _, err := broker.Dial(brokertest.Context(t), broker.DialConfig{Join: plain, Log: silent}); err == nil || !strings.Contains(err.Error(), "needs TLS") {
		t.Errorf("another machine without TLS: %v", err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := broker.ReadJoin(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a join file that others may read: %v", err)
	}
	if text := fmt.Sprintf("%v %+v %#v", good, good, good); strings.Contains(text, seed) {
		t.Error("a join prints its secret")
	}
}
