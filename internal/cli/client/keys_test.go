package client

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/cli/command"
	"hce/dc/internal/config"
	"hce/dc/internal/daemon/admin"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/curvekeys"
	"hce/dc/internal/daemon/gateway"
	"hce/dc/internal/daemon/manager"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/wire"
)

func TestKeys(t *testing.T) {
	folder := t.TempDir()
	server, alice := clitest.Pair(t, folder, "server"), clitest.Pair(t, folder, "alice")
	open, err := os.ReadFile(filepath.Join(folder, "alice.key"))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "open.key"), open, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	ready := &bus.Curve{Public: alice.Public, Secret: alice.Secret, ServerPublic: server.Public}
	for name, c := range map[string]struct {
		text string
		env  map[string]string
		want *bus.Curve
		err  string
	}{
		"no keys":           {"", nil, nil, ""},
		"empty":             {"serverPublicKey =\nclientSecretKey =\n", nil, nil, ""},
		"both":              {"serverPublicKey = server.pub\nclientSecretKey = alice.key\n", nil, ready, ""},
		"environment":       {"serverPublicKey = other.pub\n", map[string]string{"DC_dcc_serverPublicKey": "server.pub", "DC_dcc_clientSecretKey": filepath.Join(folder, "alice.key")}, ready, ""},
		"no own key":        {"serverPublicKey = server.pub\n", nil, nil, "requires clientSecretKey"},
		"no server's key":   {"clientSecretKey = alice.key\n", nil, nil, "requires serverPublicKey"},
		"file is missing":   {"serverPublicKey = none.pub\nclientSecretKey = alice.key\n", nil, nil, "none.pub"},
		"readable by all":   {"serverPublicKey = server.pub\nclientSecretKey = open.key\n", nil, nil, "chmod 600"},
		"secret for public": {"serverPublicKey = server.key\nclientSecretKey = alice.key\n", nil, nil, "a secret key instead of a public one"},
		"public for secret": {"serverPublicKey = server.pub\nclientSecretKey = alice.pub\n", nil, nil, "clientSecretKey"},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range c.env {
				t.Setenv(key, value)
			}
			f, err := config.Parse(filepath.Join(folder, "dc-client.ini"), []byte("[dcc]\n"+c.text))
			if err != nil {
				t.Fatal(err)
			}
			got := readKeys(f.Section("dcc"))
			err = f.Err()
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), alice.Secret) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || (got == nil) != (c.want == nil) || got != nil && (got.Public != c.want.Public || got.Secret != c.want.Secret || got.ServerPublic != c.want.ServerPublic) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// at is a client of endpoint with a timeout longer than the test, so that every failure
// comes from the handshake.
func at(t *testing.T, endpoint string, curve *bus.Curve) Server {
	t.Helper()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(endpoint, "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return Server{Host: "127.0.0.1", Port: n, Timeout: 24 * time.Hour, Curve: curve}
}

// Both managers accept the clients of their own lists and refuse others at once.
func TestServersWithKeys(t *testing.T) {
	folder := t.TempDir()
	server, alice, bob := clitest.Pair(t, folder, "server"), clitest.Pair(t, folder, "alice"), clitest.Pair(t, folder, "bob")
	curve := func(file, list string) *bus.Curve {
		path := filepath.Join(folder, file)
		if err := os.WriteFile(path, []byte(list), 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := curvekeys.OpenList(path)
		if err != nil {
			t.Fatal(err)
		}
		return &bus.Curve{Secret: server.Secret, Allowed: l}
	}
	b := managertest.Bus(t)
	var adminAt, clientsAt string
	var operators *admin.Server
	started := make(chan struct{})
	operators = admin.New(manager.Config{Bus: b, Log: managertest.Quiet(), Ready: func() { adminAt = operators.Addr(); close(started) }},
		admin.Config{Port: -1, Curve: curve("operators", alice.Public)})
	managertest.Run(t, operators, started)
	var service *gateway.Service
	running := make(chan struct{})
	service = gateway.New(manager.Config{Bus: b, Log: managertest.Quiet(), Ready: func() { clientsAt = service.Addr(); close(running) }},
		gateway.Config{Port: -1, Curve: curve("clients", alice.Public+"\n"+bob.Public), Timeout: 10 * time.Millisecond})
	managertest.Run(t, service, running)

	with := func(p curvekeys.Pair, server curvekeys.Pair) *bus.Curve {
		return &bus.Curve{Public: p.Public, Secret: p.Secret, ServerPublic: server.Public}
	}
	ctx, cancel := context.WithTimeout(t.Context(), managertest.Patience)
	defer cancel()
	for name, c := range map[string]struct {
		curve         *bus.Curve
		admin, client bool
		says          string
	}{
		"operator":           {with(alice, server), true, true, ""},
		"client":             {with(bob, server), false, true, "add " + bob.Public + " to its allowedClients"},
		"stranger":           {with(clitest.Pair(t, folder, "carol"), server), false, false, "does not list this client's public key"},
		"wrong server's key": {with(alice, bob), false, false, "serverPublicKey must be the daemon's public key"},
		"no keys":            {nil, false, false, "the ini file has none"},
	} {
		t.Run(name, func(t *testing.T) {
			out := Command{Name: "STAT", Classes: []string{admin.Name}, Server: at(t, adminAt, c.curve)}.Do(ctx)
			if got := text(t, out); (out.Exit == command.ExitDone) != c.admin || !c.admin && (!strings.Contains(got, "the keys do not fit") || !strings.Contains(got, c.says)) {
				t.Errorf("dc-admin: exit %d %s", out.Exit, got)
			}
			if c.admin {
				stats, err := at(t, adminAt, c.curve).Stats(ctx, b, []string{admin.Name}, nil)
				if err != nil || len(stats) != 1 || stats[0].Err != nil {
					t.Errorf("statistics: %+v, %v", stats, err)
				}
			}
			call := Call{Op: wire.SiteStatus, Object: json.RawMessage(`{"id":"a"}`), Server: at(t, clientsAt, c.curve)}
			out = call.Do(ctx)
			got := text(t, out)
			if (out.Exit == command.ExitDone) != c.client || !c.client && (out.Exit != 1 || !strings.Contains(got, "the keys do not fit") || !strings.Contains(got, c.says)) {
				t.Errorf("dc-client: exit %d %s", out.Exit, got)
			}
		})
	}
	if ctx.Err() != nil {
		t.Error("a client waited for the timeout")
	}
}

// A server without keys refuses a client with keys at once. If the server is down, the
// error suggests to check the keys.
func TestKeysWithoutServerKeys(t *testing.T) {
	folder := t.TempDir()
	server, alice := clitest.Pair(t, folder, "server"), clitest.Pair(t, folder, "alice")
	curve := &bus.Curve{Public: alice.Public, Secret: alice.Secret, ServerPublic: server.Public}
	plain := daemon(t, func(wire.Event) []wire.Event { return nil })
	plain.Curve, plain.Timeout = curve, 24*time.Hour
	call := Call{Op: wire.SiteStatus, Object: json.RawMessage(`{"id":"a"}`), Server: plain}
	if out := call.Do(t.Context()); out.Exit != 1 || !strings.Contains(text(t, out), "uses no keys") {
		t.Errorf("exit %d %s", out.Exit, text(t, out))
	}
	for name, keys := range map[string]*bus.Curve{"with": curve, "without": nil} {
		down := Server{Host: map[bool]string{true: "127.0.0.1", false: "198.51.100.1"}[keys != nil], Port: 1, Timeout: 50 * time.Millisecond, Curve: keys}
		call.Server = down
		if out := call.Do(t.Context()); out.Exit != 1 || !strings.Contains(text(t, out), "within 50 ms") || !strings.Contains(text(t, out), "check the keys") {
			t.Errorf("%s: exit %d %s", name, out.Exit, text(t, out))
		}
		out := Command{Name: "STAT", Classes: []string{"X"}, Server: down}.Do(t.Context())
		if out.Exit != command.ExitErrors || !strings.Contains(text(t, out), "within 50 ms") || !strings.Contains(text(t, out), "check the keys") {
			t.Errorf("%s: exit %d %s", name, out.Exit, text(t, out))
		}
	}
}
