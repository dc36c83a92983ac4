// Package brokertest starts brokers and bad networks for tests.
//
//	b := brokertest.Start(t, "alpha", "beta") // a server with keys, streams and consumers
//	head, alpha := b.Head(t), b.Node(t, "alpha")
//
//	relay := brokertest.NewRelay(t, b.Server.URL())
//	far := b.Dial(t, "beta", relay.URL())
//	relay.Cut()
package brokertest

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/files"
)

// Timeout is the deadline of calls in tests. It only bounds a test that hangs.
const Timeout = time.Minute

// Broker is a server on loopback with keys of the head and of nodes.
type Broker struct {
	Folder string
	Keys   *broker.Keys
	Server *broker.Server
	Log    *slog.Logger

	seeds map[string]string
	port  string
}

// Start starts a server and provisions the streams for nodes. The test's end closes it.
func Start(t testing.TB, nodes ...string) *Broker {
	t.Helper()
	return StartWith(t, slog.New(slog.NewTextHandler(io.Discard, nil)), nodes...)
}

// StartWith is Start with a log.
func StartWith(t testing.TB, log *slog.Logger, nodes ...string) *Broker {
	t.Helper()
	folder := t.TempDir()
	keys, err := broker.OpenKeys(filepath.Join(folder, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	b := &Broker{Folder: folder, Keys: keys, Log: log, seeds: map[string]string{}, port: "0"}
	for _, name := range nodes {
		b.Add(t, name)
	}
	b.Open(t)
	t.Cleanup(func() { b.Close(t) })
	b.Provision(t)
	return b
}

// Add creates the key of a node, without its streams: see Provision.
func (b *Broker) Add(t testing.TB, name string) {
	t.Helper()
	seed, err := b.Keys.AddNode(name)
	if err != nil {
		t.Fatal(err)
	}
	b.seeds[name] = seed
}

// Open starts the server again after Close, on the same port.
func (b *Broker) Open(t testing.TB) {
	t.Helper()
	server, err := broker.StartServer(broker.ServerConfig{Folder: b.Folder, Address: "127.0.0.1:" + b.port, Keys: b.Keys, MaxStore: 1 << 30, Log: b.Log})
	if err != nil {
		t.Fatal(err)
	}
	b.Server, b.port = server, portOf(server.URL())
}

// Close stops the server; a closed one stays closed.
func (b *Broker) Close(t testing.TB) {
	t.Helper()
	if b.Server == nil {
		return
	}
	if err := b.Server.Close(Context(t)); err != nil {
		t.Error(err)
	}
	b.Server = nil
}

// Provision creates the streams and the consumers of all nodes that have a key.
func (b *Broker) Provision(t testing.TB) {
	t.Helper()
	nodes, err := b.Keys.Nodes()
	if err == nil {
		err = b.Head(t).Provision(Context(t), broker.ProvisionConfig{Nodes: nodes, MaxStore: 1 << 30, AckWait: 5 * time.Second})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Head connects as the head, inside of the process.
func (b *Broker) Head(t testing.TB) *broker.Conn {
	t.Helper()
	return dialBroker(t, b.Server.Local())
}

// Node connects as a node.
func (b *Broker) Node(t testing.TB, name string) *broker.Conn {
	t.Helper()
	return b.Dial(t, name, b.Server.URL())
}

// Dial connects as a node, or as broker.Head, through other addresses, for example of a Relay.
func (b *Broker) Dial(t testing.TB, name string, urls ...string) *broker.Conn {
	t.Helper()
	return dialBroker(t, broker.DialConfig{Join: b.Join(t, name, urls...), Log: b.Log})
}

// Join returns the join of a node, or of broker.Head.
func (b *Broker) Join(t testing.TB, name string, urls ...string) broker.Join {
	t.Helper()
	if name == broker.Head {
		return b.Server.Join(name, b.Server.Local().Seed, urls...)
	}
	if b.seeds[name] == "" {
		t.Fatalf("node %s has no key", name)
	}
	return b.Server.Join(name, b.seeds[name], urls...)
}

func dialBroker(t testing.TB, c broker.DialConfig) *broker.Conn {
	t.Helper()
	conn, err := broker.Dial(Context(t), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// Context ends after Timeout, and with the test.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	t.Cleanup(cancel)
	return ctx
}

// WriteJoin writes a join file, as dc-admin node add does.
func WriteJoin(t testing.TB, path string, j broker.Join) {
	t.Helper()
	text, err := json.Marshal(j)
	if err == nil {
		err = files.Write(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
