package broker_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/broker/brokertest"
	"hce/dc/internal/places/placestest"
	"hce/dc/internal/testkit/testlog"
)

// Each way into the broker without the right key is refused, logged once with the peer's address
// however often it is tried, and slowed down.
func TestAttacks(t *testing.T) {
	const times = 4
	var log testlog.Recorder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	b := brokertest.StartWith(t, logger, "alpha")
	url := b.Server.URL()
	secure := tlsPort(t, logger)
	handshake := recordedHandshake(t, url, b.Join(t, "alpha").Seed)
	for _, attack := range []struct {
		name string
		try  func() error // nil: it came in
		log  string
	}{
		{"foreign agent with a known name", func() error {
			join := b.Join(t, "alpha")
			join.Seed = newSeed(t)
			conn, err := broker.Dial(brokertest.Context(t), broker.DialConfig{Join: join, Log: slog.New(slog.DiscardHandler)})
			if err == nil {
				conn.Close()
			}
			return err
		}, "the key is unknown or removed"},
		{"known key, signature of another", func() error {
			pair, err := nkeys.FromSeed([]byte(b.Join(t, "alpha").Seed))
			if err != nil {
				return err
			}
			public, _ := pair.PublicKey()
			other, _ := nkeys.CreateUser()
			_, err = raw(t, url, "", nats.Nkey(public, other.Sign))
			return err
		}, "the signature is wrong"},
		{"no TLS", func() error { return sayPlain(t, secure, handshake) }, "no TLS"},
		{"no key", func() error { _, err := raw(t, url, ""); return err }, "no key"},
		{"replayed handshake", func() error { return sayPlain(t, strings.TrimPrefix(url, "nats://"), handshake) }, "the signature is wrong"},
	} {
		t.Run(attack.name, func(t *testing.T) {
			earlier := log.Count("connection refused", "error=\""+attack.log)
			var tries sync.WaitGroup
			for range times {
				tries.Go(func() {
					begin := time.Now()
					if err := attack.try(); err == nil {
						t.Error("it came in")
					}
					if spent := time.Since(begin); spent < time.Second {
						t.Errorf("refused after %v: a peer may try in a tight loop", spent)
					}
				})
			}
			tries.Wait()
			// A line of the same cause within ten seconds is enough.
			if n := log.Count("level=WARN", "connection refused", "peer=127.0.0.1", "error=\""+attack.log); n != max(earlier, 1) {
				t.Errorf("%d lines about %q:\n%s", n, attack.log, log.String())
			}
		})
	}
}

// Connections that say nothing keep no node from the broker.
func TestIdleConnections(t *testing.T) {
	b := brokertest.Start(t, "alpha")
	_, address, _ := strings.Cut(b.Server.URL(), "://")
	placestest.Fill(t, address, 300)
	head, alpha := b.Head(t), b.Node(t, "alpha")
	if head == nil || alpha == nil {
		t.Error("no connection")
	}
}

// A message that comes again is stored once, and a consumer gets it once.
func TestReplayedMessage(t *testing.T) {
	b := brokertest.Start(t, "alpha")
	head, ctx := b.Head(t), brokertest.Context(t)
	for range 3 {
		if err := head.Publish(ctx, "journal.site", "id", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := head.StreamState(ctx, broker.StreamJournal); err != nil || s.Last != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

// tlsPort starts a server with TLS and returns its address.
func tlsPort(t *testing.T, log *slog.Logger) string {
	t.Helper()
	keys, err := broker.OpenKeys(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := broker.StartServer(broker.ServerConfig{Folder: t.TempDir(), Address: everywhere, Keys: keys, MaxStore: 1 << 30, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(brokertest.Context(t)) })
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.URL(), "tls://"))
	if err != nil {
		t.Fatal(err)
	}
	return "127.0.0.1:" + port
}

// recordedHandshake is what the owner of a key said once to come in.
func recordedHandshake(t *testing.T, url, seed string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var info struct{ Nonce string }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info); err != nil || info.Nonce == "" {
		t.Fatalf("%s: %v", line, err)
	}
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		t.Fatal(err)
	}
	public, _ := pair.PublicKey()
	signature, _ := pair.Sign([]byte(info.Nonce))
	said := fmt.Sprintf("CONNECT {\"nkey\":%q,\"sig\":%q,\"protocol\":1}\r\nPING\r\n", public, base64.RawURLEncoding.EncodeToString(signature))
	if _, err := io.WriteString(conn, said); err != nil {
		t.Fatal(err)
	}
	for line != "PONG\r\n" {
		if line, err = in.ReadString('\n'); err != nil || strings.HasPrefix(line, "-ERR") {
			t.Fatalf("the owner of the key is refused: %s %v", line, err)
		}
	}
	return said
}

// sayPlain says something without TLS. It returns the refusal.
func sayPlain(t *testing.T, address, text string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(brokertest.Timeout))
	if _, err := io.WriteString(conn, text); err != nil {
		return err
	}
	answer, err := io.ReadAll(conn)
	if strings.Contains(string(answer), "PONG") {
		return nil
	}
	return fmt.Errorf("refused: %.100q %w", answer, err)
}
