package head

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/broker/brokertest"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/testkit/testwait"
)

// openExternal opens a head of the broker of a test, at an address.
func openExternal(t *testing.T, keys *broker.Keys, url string) (*Head, error) {
	t.Helper()
	return Open(t.Context(), Config{
		Folder: t.TempDir(), External: true, URLs: []string{url}, SeedFile: keys.HeadSeed(), Hosts: true, Log: managertest.Quiet(),
		Executor: func(conn *broker.Conn, known func() []string, _ time.Duration) (Executor, error) {
			return &pool{conn: conn, known: known}, nil
		},
	})
}

// A second head of a broker does not start and names the first one; one that was cut off ends when it finds another one.
func TestOneHead(t *testing.T) {
	keys, err := broker.OpenKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server, err := broker.StartServer(broker.ServerConfig{Folder: t.TempDir(), Address: "127.0.0.1:0", Keys: keys, Log: managertest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close(context.Background())
	relay := brokertest.NewRelay(t, server.URL())
	first, err := openExternal(t, keys, relay.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer closeHead(t, first)
	m := NewManager(manager.Config{Bus: managertest.Bus(t), Admin: bus.Inproc("none"), Log: managertest.Quiet()}, first)
	ended := make(chan error, 1)
	go func() { ended <- m.Run(context.Background()) }()

	named := fmt.Sprintf("in %s (process %d)", first.cfg.Folder, os.Getpid())
	if _, err := openExternal(t, keys, server.URL()); err == nil || !strings.Contains(err.Error(), "another head of this cluster runs on") || !strings.Contains(err.Error(), named) {
		t.Fatalf("%v, want %s", err, named)
	}
	relay.Cut()
	testwait.Until(t, "the first head is cut off", func() bool { return !first.conn.Connected() })
	second, err := openExternal(t, keys, server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer closeHead(t, second)
	relay.Mend()
	select {
	case err = <-ended:
	case <-time.After(testwait.Deadline):
		err = errors.New("it works on")
	}
	if err == nil || !strings.Contains(err.Error(), second.cfg.Folder) {
		t.Errorf("%v", err)
	}
}
