package status

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/places/placestest"
	"hce/dc/internal/wire"
)

// managers answers STAT like AdminInterfaceServer. say returns the answer for a class: fields,
// a refusal (text), or nil for no answer.
func managers(t *testing.T, b *bus.Bus, say func(class string) any) (asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	managertest.Serve(t, b, bus.Inproc("Admin"), func(e wire.Event) []wire.Event {
		asked.Add(1)
		class := managertest.Object[wire.AdminFields](t, e).ClassName
		var answer wire.Event
		var err error
		switch x := say(class).(type) {
		case nil:
			return nil
		case string:
			answer, err = e.Answer(wire.AdminStateAns, wire.AdminCommand{ClassName: class, Command: wire.CommandError, Message: x})
		case map[string]any:
			answer, err = e.Answer(wire.AdminStatAns, wire.AdminFields{ClassName: class, Fields: x})
		}
		if err != nil {
			t.Error(err)
		}
		return []wire.Event{answer}
	})
	return asked
}

// stores answers like SitesManager.
func stores(t *testing.T, b *bus.Bus, say func() any) (asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	managertest.Serve(t, b, bus.Inproc("SitesManager"), func(e wire.Event) []wire.Event {
		asked.Add(1)
		x := say()
		if x == nil {
			return nil
		}
		answer, err := e.Answer(e.Type+wire.ResponseOffset, x)
		if err != nil {
			t.Error(err)
		}
		return []wire.Event{answer}
	})
	return asked
}

func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	cfg.Port, cfg.Endpoint, cfg.Log = -1, bus.Inproc("Admin"), managertest.Quiet()
	if cfg.DataDir == "" {
		cfg.DataDir = t.TempDir()
	}
	s, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func get(t *testing.T, s *Server, path string) (status int, body string) {
	t.Helper()
	r, err := (&http.Client{Timeout: managertest.Patience, Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + s.Addr() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

// Idle connections keep neither health checks nor metrics from their answers.
func TestIdleConnections(t *testing.T) {
	b := managertest.Bus(t)
	managers(t, b, good)
	stores(t, b, func() any { return node(0, "") })
	s := start(t, Config{Bus: b, Classes: []string{"A"}, Sites: bus.Inproc("SitesManager")})
	s.Running()
	placestest.Fill(t, s.Addr(), 5*maxClients)
	for _, path := range []string{"/healthz", "/metrics", "/healthz"} {
		if status, body := get(t, s, path); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

func good(string) any { return map[string]any{"state": "running"} }

func node(code int, message string) wire.ClientResponse {
	return wire.ClientResponse{ItemsList: []wire.ClientResponseItem{{ErrorCode: code, ErrorMessage: message, Node: "n1", ItemObject: json.RawMessage("null")}}}
}

func TestHealthAndReadiness(t *testing.T) {
	lonely := func(class string) any {
		if class == "B" {
			return map[string]any{"state": "running", "nodes_silent": []string{"n2"}}
		}
		return map[string]any{}
	}
	doubled := func(class string) any {
		return map[string]any{"state": "running", "nodes_refused": []string{"node n1 runs already"}}
	}
	resting := func(class string) any {
		if class == "B" {
			return map[string]any{"state": "suspended"}
		}
		return good(class)
	}
	fine := func() any { return node(0, "") }
	cases := []struct {
		name    string
		say     func(class string) any
		stores  func() any
		minFree int64
		phase   func(*Server)
		healthy bool
		reasons []string // "" for ready
	}{
		{"everything works", good, fine, 0, (*Server).Running, true, nil},
		{"enough free disk", good, fine, 1, (*Server).Running, true, nil},
		{"starting", good, fine, 0, func(*Server) {}, true, []string{"the daemon starts"}},
		{"stopping", good, fine, 0, func(s *Server) { s.Running(); s.Stopping() }, true, []string{"the daemon stops"}},
		{"silent node", lonely, fine, 0, (*Server).Running, true, []string{"node n2 gives no sign of life"}},
		{"second process of a node", doubled, fine, 0, (*Server).Running, true, nil},
		{"suspended manager", resting, fine, 0, (*Server).Running, true, []string{"B is suspended"}},
		{"stopped manager", func(class string) any {
			if class == "A" {
				return "class A has stopped"
			}
			return good(class)
		}, fine, 0, (*Server).Running, false, []string{"A: class A has stopped"}},
		{"little free disk", good, fine, 1 << 62, (*Server).Running, true, nil},
		{"stores of a node fail", good, func() any { return node(2, "database: connection refused") }, 0, (*Server).Running, true, []string{`node "n1": database: connection refused`}},
		{"no nodes", good, func() any { return wire.ClientResponse{ErrorCode: 2, ErrorMessage: "empty list of nodes"} }, 0, (*Server).Running, true, []string{"empty list of nodes"}},
		{"invalid answer of the stores", good, func() any { return []int{1} }, 0, (*Server).Running, true, []string{"invalid answer"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			b := managertest.Bus(t)
			managers(t, b, tc.say)
			stores(t, b, tc.stores)
			s := start(t, Config{Bus: b, Classes: []string{"A", "B"}, Sites: bus.Inproc("SitesManager"), MinFree: tc.minFree})
			tc.phase(s)
			status, body := get(t, s, "/healthz")
			if (status == 200) != tc.healthy || tc.healthy == strings.Contains(body, "A") {
				t.Errorf("health %d %s", status, body)
			}
			if tc.name == "second process of a node" && !strings.Contains(body, `"refusedNodes":["node n1 runs already"`) {
				t.Errorf("health %s", body)
			}
			status, body = get(t, s, "/readyz")
			var c Condition
			if err := json.Unmarshal([]byte(body), &c); err != nil {
				t.Fatal(err)
			}
			if (status == 200) != (len(tc.reasons) == 0) || status != 200 && status != 503 || len(c.Reasons) != len(tc.reasons) {
				t.Fatalf("readiness %d %s", status, body)
			}
			if (len(c.Warnings) > 0) != (tc.minFree > 1) {
				t.Errorf("warnings %q", c.Warnings)
			}
			for i, want := range tc.reasons {
				if !strings.Contains(c.Reasons[i], want) {
					t.Errorf("no %q in %s", want, body)
				}
			}
		})
	}
}

// A blocked manager delays a scrape by at most one round and is named. The others are reported,
// and it gets no new request before it answers.
func TestStuckManager(t *testing.T) {
	b := managertest.Bus(t)
	var stuck atomic.Int64
	asked := managers(t, b, func(class string) any {
		if class == "B" {
			stuck.Add(1)
			return nil
		}
		return map[string]any{"batches_crawl_queue": 3}
	})
	s := start(t, Config{Bus: b, Classes: []string{"A", "B", "C"}})
	const scrapes = 3
	var all sync.WaitGroup
	for range scrapes {
		all.Go(func() {
			status, body := get(t, s, "/metrics")
			for _, want := range []string{`dc_up{manager="A"} 1`, `dc_up{manager="B"} 0`, `dc_up{manager="C"} 1`, `dc_queue_length{manager="A",queue="crawl"} 3`} {
				if status != 200 || !strings.Contains(body, want+"\n") {
					t.Errorf("status %d, no %q", status, want)
				}
			}
		})
	}
	all.Wait()
	if status, body := get(t, s, "/healthz"); status != 503 || !strings.Contains(body, `"B":"no answer within 2s"`) {
		t.Errorf("health %d %s", status, body)
	}
	if stuck.Load() != 1 {
		t.Errorf("%d requests to the blocked manager", stuck.Load())
	}
	if asked.Load() > 1+2*(scrapes+1) {
		t.Errorf("%d requests", asked.Load())
	}
}

// A late answer does not count for the next round.
func TestLateAnswer(t *testing.T) {
	b := managertest.Bus(t)
	var turn atomic.Int64
	var first wire.Event
	managertest.Serve(t, b, bus.Inproc("Admin"), func(e wire.Event) []wire.Event {
		answer := func(e wire.Event, n int) wire.Event {
			a, err := e.Answer(wire.AdminStatAns, wire.AdminFields{ClassName: "A", Fields: map[string]any{"N": n}})
			if err != nil {
				t.Error(err)
			}
			return a
		}
		if turn.Add(1) == 1 {
			first = e
			return nil
		}
		return []wire.Event{answer(first, 1), answer(e, 2)}
	})
	a, err := newStatReader(b, bus.Inproc("Admin"), []string{"A"})
	if err != nil {
		t.Fatal(err)
	}
	defer a.socket.Close()
	now := time.Now()
	a.now = func() time.Time { return now }
	a.patience = 0
	if r := a.runRound(); r.managerFaults() == nil {
		t.Errorf("answer in the first round: %+v", r)
	}
	now = now.Add(forget) // a new request is sent
	a.patience = managertest.Patience
	if r := a.runRound(); r.classes["A"].fields["N"] != 2.0 {
		t.Errorf("round %+v", r)
	}
}

func TestStoresAreAskedRarely(t *testing.T) {
	b := managertest.Bus(t)
	fail := atomic.Bool{}
	asked := stores(t, b, func() any {
		if fail.Load() {
			return node(2, "gone")
		}
		return node(0, "")
	})
	p, err := newProbe(b, bus.Inproc("SitesManager"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.socket.Close()
	now := time.Now()
	var mu sync.Mutex
	p.now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	for range 5 {
		if fault := p.storeFault(managertest.Patience); fault != "" {
			t.Error(fault)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("%d requests", asked.Load())
	}
	fail.Store(true)
	now = now.Add(probeGap)
	last := ""
	for end := time.Now().Add(managertest.Patience); last == "" && time.Now().Before(end); {
		last = p.storeFault(0) // the last answer counts until the next one is there
	}
	if !strings.Contains(last, "gone") || asked.Load() != 2 {
		t.Errorf("fault %q, %d requests", last, asked.Load())
	}
}

// If stores never answer, only the first caller waits. After probeLimit that counts as a fault.
func TestSilentStores(t *testing.T) {
	b := managertest.Bus(t)
	stores(t, b, func() any { return nil })
	p, err := newProbe(b, bus.Inproc("SitesManager"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.socket.Close()
	for _, limit := range []time.Duration{time.Millisecond, time.Hour} {
		if fault := p.storeFault(limit); !strings.Contains(fault, "not answered yet") {
			t.Errorf("fault %q", fault)
		}
	}
}

func TestOnlyGet(t *testing.T) {
	b := managertest.Bus(t)
	managers(t, b, good)
	s := start(t, Config{Bus: b, Classes: []string{"A"}})
	transport := &http.Transport{DisableKeepAlives: true}
	for _, tc := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/", 200}, {"HEAD", "/healthz", 200}, {"POST", "/healthz", 405}, {"PUT", "/metrics", 405},
		{"DELETE", "/", 405}, {"GET", "/other", 404}, {"GET", "/healthz/../metrics", 200},
	} {
		r, err := http.NewRequest(tc.method, "http://"+s.Addr()+tc.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != tc.want {
			t.Errorf("%s %s: %d", tc.method, tc.path, answer.StatusCode)
		}
	}
}

// Silent and misbehaving peers do not affect others.
func TestHostilePeers(t *testing.T) {
	b := managertest.Bus(t)
	managers(t, b, good)
	s := start(t, Config{Bus: b, Classes: []string{"A"}})
	for i := range maxClients / 2 {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 0 {
			_, _ = c.Write([]byte("GET /metr"))
		}
	}
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", strings.Repeat("x", 1<<20))
	_, _ = io.Copy(io.Discard, c)
	if status, _ := get(t, s, "/healthz"); status != 200 {
		t.Errorf("status %d", status)
	}
}

func TestAddresses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tc := range []struct {
		host     string
		port     int
		insecure bool
		ok, open bool
	}{
		{"", -1, false, true, true}, {"localhost", -1, false, true, true},
		{"0.0.0.0", -1, false, false, false}, {"example.org", -1, false, false, false}, {"192.0.2.1", -1, false, false, false},
		{"0.0.0.0", -1, true, true, true},
		{"", 0, false, true, false}, // off
		{"", taken.Addr().(*net.TCPAddr).Port, false, true, false},
	} {
		b := managertest.Bus(t)
		s, err := Start(Config{Host: tc.host, Port: tc.port, AllowInsecure: tc.insecure, Bus: b, Endpoint: bus.Inproc("Admin"), Log: managertest.Quiet()})
		if (err == nil) != tc.ok {
			t.Errorf("%s %d: %v", tc.host, tc.port, err)
		}
		if err == nil {
			if (s.Addr() != "") != tc.open {
				t.Errorf("%s %d: address %q", tc.host, tc.port, s.Addr())
			}
			s.Stop()
			s.Stop()
		}
	}
}

// The service manager gets heartbeats while all managers answer, and the stop.
func TestBeat(t *testing.T) {
	b := managertest.Bus(t)
	var stuck atomic.Bool
	managers(t, b, func(string) any {
		if stuck.Load() {
			return nil
		}
		return "class A has stopped" // by an operator
	})
	beats, stops := make(chan struct{}, 1000), 0
	s, err := Start(Config{
		Bus: b, Endpoint: bus.Inproc("Admin"), Classes: []string{"A"}, Log: managertest.Quiet(),
		Beat: func() { beats <- struct{}{} }, BeatEvery: time.Millisecond, Stopping: func() { stops++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	<-beats // while it starts, whatever the managers say
	s.Running()
	<-beats
	stuck.Store(true)
	round := func() {
		t.Helper()
		if r, err := s.askState(t.Context(), query{}); err != nil || !r.hasSilent() {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	round() // those before may have been good
	before := len(beats)
	round()
	if len(beats) != before {
		t.Errorf("%d heartbeats with a silent manager", len(beats)-before)
	}
	s.Stopping()
	s.Stopping()
	if stops != 1 {
		t.Errorf("Stopping was called %d times", stops)
	}
}

// All known metrics are registered without a conflict and with HELP.
func TestMetricNames(t *testing.T) {
	b := managertest.Bus(t)
	fields := map[string]any{
		"START_DATE": "2026-11-22 03:59:22", "VERSION": "1", "clients": []string{"A"}, "odd.name": 1, "sub": map[string]any{"x": 2},
		"Admin_send_cnt": 1, "Admin_recv_bytes": 5, "batches_crawl_time_avg": "1.5", "text": "no number",
		"schedules": map[string]any{"crawl": map[string]any{"periodSeconds": 2, "last": "2026-11-22 04:00:00", "next": nil}},
	}
	for stat := range metrics {
		fields[stat] = 7
	}
	for stat := range process {
		fields[stat] = 8
	}
	managers(t, b, func(string) any { return fields })
	s := start(t, Config{Bus: b, Classes: []string{"A", "B"}})
	status, body := get(t, s, "/metrics")
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range families {
		if f.GetHelp() == "" {
			t.Errorf("%s has no HELP", name)
		}
	}
	for stat, m := range metrics {
		f := families[m.name]
		if f == nil || m.help != f.GetHelp() {
			t.Errorf("%s: %s is %v", stat, m.name, f)
			continue
		}
		if m.kind == count != strings.HasSuffix(m.name, "_total") {
			t.Errorf("%s: only names of counters end with _total", m.name)
		}
	}
	for _, want := range []string{
		`dc_start_timestamp_seconds{manager="A"} 1.795319962e+09`, `dc_build_info{manager="A",version="1"} 1`, `dc_managers_registered{manager="A"} 1`,
		`dc_statistic{manager="B",name="odd.name"} 1`, `dc_statistic{manager="A",name="sub.x"} 2`,
		`dc_socket_messages_total{direction="sent",manager="A",socket="Admin"} 1`, `dc_socket_bytes_total{direction="received",manager="B",socket="Admin"} 5`,
		`dc_schedule_period_seconds{manager="A",schedule="crawl"} 2`, `dc_schedule_last_timestamp_seconds{manager="A",schedule="crawl"} 1.79532e+09`,
		`dc_process_cpu_seconds_total{mode="user"} 8`, `dc_batches_realtime_seconds_avg{manager="A"} 7`,
		`dc_batches_realtime_seconds_total{manager="A"} 0.007`, // STAT has milliseconds
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(body, "dc_schedule_next") || strings.Contains(body, `name="text"`) || families["process_open_fds"] == nil || families["go_goroutines"] == nil {
		t.Error("unexpected metrics")
	}
}
