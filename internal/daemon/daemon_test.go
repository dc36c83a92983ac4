package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/daemon/admin"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/daemon/gateway"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/daemon/realtime"
	"hce/dc/internal/daemon/sites"
	"hce/dc/internal/testkit/testlog"
	"hce/dc/internal/wire"
)

// stopped returns the managers in the order in which they logged their stop.
func stopped(log *testlog.Recorder) string {
	var names []string
	for _, line := range strings.Split(log.String(), "\n") {
		if strings.Contains(line, `"manager has stopped"`) {
			_, name, _ := strings.Cut(line, "manager=")
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// reverse is the order of the stops.
var reverse = strings.Join([]string{gateway.Name, realtime.Name, sites.Name, admin.Name}, " ")

// dbTask answers each operation with its own object. URL_DELETE fails, and URL_PURGE never
// answers.
func dbTask(ctx context.Context, task executor.Task) ([]executor.Result, error) {
	var c wire.Call
	if err := json.Unmarshal(task.Stdin, &c); err != nil {
		return nil, err
	}
	switch c.Op {
	case wire.URLDelete:
		r := managertest.Finished("local", "")
		r.State, r.ExitStatus = executor.Failed, 1
		return []executor.Result{r}, nil
	case wire.URLPurge:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return []executor.Result{managertest.Finished("local", fmt.Sprintf("[%d,%s]", int(c.Op)+100, c.Object))}, nil
}

func config(t testing.TB) (Config, *testlog.Recorder) {
	t.Helper()
	j := &testlog.Recorder{}
	return Config{
		DataDir:      t.TempDir(),
		Sequence:     []string{admin.Name, sites.Name, realtime.Name, gateway.Name}, // package batches tests the others
		OpenExecutor: func() (Pool, error) { return managertest.Executor{RunFunc: dbTask}, nil },
		Admin:        admin.Config{Port: -1},
		Gateway:      gateway.Config{Port: -1},
		Sites:        sites.Config{DBTask: executor.Stage{Program: "db-task"}},
		// Limits the delay until a stop is seen.
		PollTimeout: map[string]time.Duration{
			admin.Name: 10 * time.Millisecond, sites.Name: 10 * time.Millisecond,
			realtime.Name: 10 * time.Millisecond, gateway.Name: 10 * time.Millisecond,
		},
		Log: slog.New(slog.NewTextHandler(j, nil)),
	}, j
}

// running is a started daemon.
type running struct {
	t         testing.TB
	endpoints map[string]string
	stop      func()
	done      chan error
	outside   *bus.Bus
}

func start(t testing.TB, cfg Config) *running {
	t.Helper()
	r := &running{t: t, done: make(chan error, 1), outside: managertest.Bus(t)}
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan struct{})
	cfg.Ready = func(e map[string]string) { r.endpoints = e; close(ready) }
	ended := make(chan struct{})
	go func() {
		r.done <- Run(ctx, cfg)
		close(ended)
	}()
	r.stop = cancel
	t.Cleanup(func() { cancel(); <-ended })
	select {
	case <-ready:
	case <-ended:
		t.Fatal(<-r.done)
	}
	return r
}

func (r *running) client() *managertest.Caller {
	return managertest.Call(r.t, r.outside, r.endpoints[gateway.Name])
}

func (r *running) operator() *managertest.Caller {
	return managertest.Call(r.t, r.outside, r.endpoints[admin.Name])
}

// wait returns the result of Run.
func (r *running) wait() error {
	r.t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(managertest.Patience):
		r.t.Fatal("the daemon did not stop")
		return nil
	}
}

func TestManyRequestsOneAnswerEach(t *testing.T) {
	cfg, j := config(t)
	r := start(t, cfg)
	kinds := []struct {
		class     string
		eventType int
		object    any
		answer    int
		has       string
	}{
		{wire.ClassClient, int(wire.SiteNew), map[string]int{"a": 1}, 101, `"itemObject":{"a":1}`},
		{wire.ClassClient, int(wire.URLContent), []int{1}, 112, `"itemObject":[1]`},
		{wire.ClassClient, int(wire.URLDelete), []int{1}, 109, `exit_status=1`},
		{wire.ClassClient, int(wire.AttributeUpdate), nil, 131, `"itemObject":null`},
		{wire.ClassClient, int(wire.BatchRun), nil, 117, "no programs for real-time batches"},
		{wire.ClassClient, int(wire.URLReturn), nil, 160, "unknown"},
		{wire.ClassClient, 13, nil, 113, "unknown"},
		{wire.ClassAdmin, wire.AdminStat, nil, wire.AdminStateAns, "does not serve"},
		{wire.ClassInternal, wire.InternalWork, nil, 104, "does not serve"},
		{wire.ClassClient, 1 << 40, nil, 1<<40 + 100, "unknown"},
	}
	const peers = 20
	var callers [peers]*managertest.Caller
	asked := make([]map[string]int, peers)
	for i := range callers {
		callers[i], asked[i] = r.client(), map[string]int{}
		for k, kind := range kinds {
			e := managertest.Event(t, kind.class, kind.eventType, kind.object)
			asked[i][e.UID] = k
			callers[i].Send(e)
		}
	}
	for i, c := range callers {
		for range kinds {
			e := c.Recv()
			k, ok := asked[i][e.UID]
			if !ok {
				t.Fatalf("unexpected answer: %+v", e)
			}
			delete(asked[i], e.UID)
			if e.Type != kinds[k].answer || e.Class != kinds[k].class || !strings.Contains(string(e.Object), kinds[k].has) {
				t.Errorf("answer to %d: %d %s", kinds[k].eventType, e.Type, e.Object)
			}
		}
	}
	r.stop()
	if err := r.wait(); err != nil {
		t.Error(err)
	}
	if got := stopped(j); got != reverse {
		t.Errorf("order of stops: %s", got)
	}
}

func TestHostilePeers(t *testing.T) {
	cfg, _ := config(t)
	cfg.Gateway.MaxFrame, cfg.Admin.MaxFrame = 1<<20, 1<<20
	r := start(t, cfg)
	for class, size := range map[string]int{gateway.Name: 100 << 20, admin.Name: 2 << 20} {
		address := strings.TrimPrefix(r.endpoints[class], "tcp://")
		for _, text := range []string{
			"", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03", strings.Repeat("\x00", 1<<16),
		} {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, _ = c.Write([]byte(text)) // the peer may have closed already
		}
		huge := managertest.Call(t, r.outside, r.endpoints[class])
		huge.Send(managertest.Event(t, wire.ClassClient, 1, strings.Repeat("x", size)))
	}
	client, operator := r.client(), r.operator()
	odd := []struct {
		e    wire.Event
		want string
	}{
		{wire.Event{Class: "root", UID: "u1", Type: 1}, `class \"root\" is unknown`},
		{wire.Event{Class: "", UID: "u2", Type: 1}, `class \"\" is unknown`},
	}
	for _, tc := range odd {
		for _, c := range []*managertest.Caller{client, operator} {
			c.Send(tc.e)
			if e := c.Recv(); e.UID != tc.e.UID || !strings.Contains(string(e.Object), tc.want) {
				t.Errorf("answer %+v %s", e, e.Object)
			}
		}
	}
	client.Send(wire.Event{Class: wire.ClassClient, UID: "an odd uid", Type: 1}) // it cannot be answered
	if e := client.Ask(wire.ClassClient, int(wire.SiteStatus), nil); e.Type != 103 {
		t.Errorf("answer %+v", e)
	}
	if e := operator.Ask(wire.ClassAdmin, wire.AdminStat, wire.AdminFields{ClassName: sites.Name}); e.Type != wire.AdminStatAns {
		t.Errorf("answer %+v %s", e, e.Object)
	}
}

func TestStopByOperator(t *testing.T) {
	state := func(t *testing.T, c *managertest.Caller, class string) {
		t.Helper()
		e := c.Ask(wire.ClassAdmin, wire.AdminState, wire.AdminCommand{ClassName: class, Command: wire.CommandShutdown})
		got := managertest.Object[wire.AdminCommand](t, e)
		if got.ClassName != class || got.Command != wire.CommandShutdown {
			t.Errorf("answer to %s: %s", class, e.Object)
		}
	}
	t.Run("class by class", func(t *testing.T) {
		cfg, j := config(t)
		r := start(t, cfg)
		c := r.operator()
		for _, class := range strings.Fields(reverse) {
			state(t, c, class)
		}
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		if got := stopped(j); len(strings.Fields(got)) != 4 || !strings.HasSuffix(got, admin.Name) {
			t.Errorf("order of stops: %s", got)
		}
	})
	t.Run("whole daemon", func(t *testing.T) {
		cfg, j := config(t)
		r := start(t, cfg)
		busy := r.client()
		busy.Send(managertest.Event(t, wire.ClassClient, int(wire.URLPurge), nil)) // runs until the end
		state(t, r.operator(), "*")
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		if got := stopped(j); got != reverse {
			t.Errorf("order of stops: %s", got)
		}
	})
	t.Run("one manager", func(t *testing.T) {
		cfg, _ := config(t)
		cfg.Gateway.Timeout, cfg.Admin.Timeout = 50*time.Millisecond, 50*time.Millisecond
		r := start(t, cfg)
		c := r.operator()
		state(t, c, sites.Name)
		// A disconnect is seen with a delay; until then the request times out.
		until := func(words string, ask func() wire.Event) {
			t.Helper()
			last := ""
			for end := time.Now().Add(managertest.Patience); !strings.Contains(last, words); {
				if time.Now().After(end) {
					t.Fatalf("no %q: %s", words, last)
				}
				last = string(ask().Object)
			}
		}
		client := r.client()
		until("does not run", func() wire.Event { return client.Ask(wire.ClassClient, int(wire.SiteStatus), nil) })
		until("stopped", func() wire.Event {
			return c.Ask(wire.ClassAdmin, wire.AdminGet, wire.AdminFields{ClassName: sites.Name})
		})
		r.stop()
		if err := r.wait(); err != nil {
			t.Error(err)
		}
	})
}

func TestOneDaemonPerFolder(t *testing.T) {
	cfg, _ := config(t)
	r := start(t, cfg)
	err := Run(context.Background(), cfg)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("second daemon: %v", err)
	}
	r.stop()
	if err := r.wait(); err != nil {
		t.Fatal(err)
	}
	start(t, cfg) // the folder is free again
}

func TestRefusedConfigs(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cases := []struct {
		name string
		set  func(*Config)
		want string
	}{
		{"no folder", func(c *Config) { c.DataDir = "" }, "data folder"},
		{"no program", func(c *Config) { c.Sites.DBTask = executor.Stage{} }, "db-task"},
		{"folder is a file", func(c *Config) {
			c.DataDir = filepath.Join(c.DataDir, "file")
			_ = os.WriteFile(c.DataDir, nil, 0o644)
		}, "data folder"},
		{"repeated class", func(c *Config) { c.Sequence = []string{admin.Name, admin.Name} }, "twice"},
		{"unknown class", func(c *Config) { c.Sequence = []string{admin.Name, "Manager"} }, `"Manager"`},
		{"executor", func(c *Config) { c.OpenExecutor = func() (Pool, error) { return nil, errors.New("no pool") } }, "no pool"},
		{"port in use", func(c *Config) { c.Gateway.Port = taken.Addr().(*net.TCPAddr).Port }, "address already in use"},
		{"exposed without keys", func(c *Config) { c.Gateway.Host = "0.0.0.0" }, "AllowInsecure"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			managertest.NoLeaks(t)
			cfg, _ := config(t)
			cfg.Ready = func(map[string]string) { t.Error("the daemon runs") }
			tc.set(&cfg)
			if err := Run(context.Background(), cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestSequence(t *testing.T) {
	cfg, j := config(t)
	cfg.Sequence = []string{admin.Name, gateway.Name, "URLManager", sites.Name} // as in an old ini file
	r := start(t, cfg)
	if e := r.client().Ask(wire.ClassClient, int(wire.SiteStatus), nil); e.Type != 103 {
		t.Errorf("answer %+v", e)
	}
	r.stop()
	if err := r.wait(); err != nil {
		t.Error(err)
	}
	if got, want := stopped(j), sites.Name+" "+gateway.Name+" "+admin.Name; got != want {
		t.Errorf("order of stops: %s", got)
	}
}

func TestStopBeforeStart(t *testing.T) {
	managertest.NoLeaks(t)
	cfg, _ := config(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Run(ctx, cfg); err != nil {
		t.Error(err)
	}
}

func TestCountersSurviveRestart(t *testing.T) {
	cfg, _ := config(t)
	for run := 1; run <= 2; run++ {
		r := start(t, cfg)
		r.client().Ask(wire.ClassClient, int(wire.SiteStatus), nil)
		e := r.operator().Ask(wire.ClassAdmin, wire.AdminStat, wire.AdminFields{ClassName: sites.Name})
		got := managertest.Object[wire.AdminFields](t, e).Fields
		if got["common_operations_cnt"] != float64(run) {
			t.Errorf("run %d: %v operations", run, got["common_operations_cnt"])
		}
		r.stop()
		if err := r.wait(); err != nil {
			t.Fatal(err)
		}
	}
}
