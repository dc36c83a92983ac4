package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/daemon"
	"hce/dc/internal/daemon/admin"
	"hce/dc/internal/daemon/broker"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/gateway"
	"hce/dc/internal/daemon/head"
	"hce/dc/internal/daemon/jetstream"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/daemon/sites"
	"hce/dc/internal/testkit/testwait"
)

// startHead runs the head of a cluster until the end of the test, and returns a folder with a
// dc-admin.ini for it.
func startHead(t *testing.T) (folder string) {
	t.Helper()
	data := t.TempDir()
	ready, done := make(chan map[string]string, 1), make(chan error, 1)
	cfg := daemon.Config{
		DataDir: data, Sequence: []string{admin.Name, sites.Name, gateway.Name}, Log: managertest.Quiet(),
		Admin: admin.Config{Port: -1}, Gateway: gateway.Config{Port: -1}, Sites: sites.Config{DBTask: executor.Stage{Program: "db-task"}},
		Cluster: &head.Config{
			Folder: filepath.Join(data, "cluster"), Listen: "127.0.0.1:0", Hosts: true,
			Executor: func(conn *broker.Conn, known func() []string, silence time.Duration) (head.Executor, error) {
				return jetstream.New(conn, jetstream.Config{Known: known, Silence: silence})
			},
		},
		Ready: func(endpoints map[string]string) { ready <- endpoints },
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- daemon.Run(ctx, cfg) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case endpoints := <-ready:
		_, port, _ := strings.Cut(strings.TrimPrefix(endpoints[admin.Name], "tcp://"), ":")
		folder = t.TempDir()
		clitest.Write(t, folder, "dc-admin.ini", "[dtma]\nclientPort = "+port+"\ntimeout = 30000\n")
	case err := <-done:
		done <- err
		t.Fatal("the head did not start: ", err)
	}
	return folder
}

// The commands of an operator over the operators' port of a real head.
func TestNodeCommands(t *testing.T) {
	folder := startHead(t)
	run := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		stdout, stderr, status := clitest.Run(t, folder, append([]string{"node"}, args...)...)
		if status != want {
			t.Fatalf("%v: status %d, %s%s", args, status, stdout, stderr)
		}
		return stdout, stderr
	}
	if out, _ := run(0, "ls", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("nodes of a new cluster: %s", out)
	}
	if out, _ := run(0, "add", "n1"); !strings.Contains(out, "dc-node --join n1.join") {
		t.Errorf("add: %s", out)
	}
	path := filepath.Join(folder, "n1.join")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("join file: %v %v", info, err)
	}
	join, err := broker.ReadJoin(path)
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := run(0, "ls"); !strings.Contains(out, "n1    -        added  no") {
		t.Errorf("a node with a key:\n%s", out)
	}

	conn, err := broker.Dial(t.Context(), broker.DialConfig{Join: join, Log: managertest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	table, err := conn.Table(t.Context(), broker.TableNodes, broker.TableConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Put(t.Context(), "n1", []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	var nodes []struct {
		Name   string
		Member bool
		Lag    int
	}
	testwait.Until(t, "n1 is a member", func() bool {
		out, _ := run(0, "ls", "--json")
		return json.Unmarshal([]byte(out), &nodes) == nil && len(nodes) == 1 && nodes[0].Member && nodes[0].Lag == 0
	})

	for _, test := range []struct {
		status int
		args   []string
		want   string
	}{
		{2, []string{"add", "n1"}, "n1.join exists"},
		{1, []string{"add", "n1", "--out", "other"}, "node n1 exists"},
		{1, []string{"add", "head", "--out", "other"}, "node name"},
		{1, []string{"add", "../x", "--out", "other"}, "node name"},
		{1, []string{"drain", "n1"}, "node n1 does not answer"},
		{2, []string{"drain"}, "NAME"},
		{2, nil, "a command is missing"},
	} {
		if _, stderr := run(test.status, test.args...); !strings.Contains(stderr, test.want) {
			t.Errorf("%v: %s", test.args, stderr)
		}
	}
	run(0, "remove", "n1") // it owns nothing yet
	testwait.Until(t, "n1 is disconnected", func() bool { return !conn.Connected() })
}

// A daemon that is away is reported.
func TestNodeWithoutDaemon(t *testing.T) {
	folder := t.TempDir()
	clitest.Write(t, folder, "dc-admin.ini", "[dtma]\nclientPort = 1\n")
	if _, stderr, status := clitest.Run(t, folder, "node", "ls"); status != 3 || !strings.Contains(stderr, "cannot reach the daemon") {
		t.Errorf("status %d, %s", status, stderr)
	}
}
