package processor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/apps/search"
	"hce/dc/internal/apps/search/index"
	"hce/dc/internal/apps/search/manager"
	"hce/dc/internal/childprocess"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

const variable = "PROCESSOR_TEST"

func TestMain(m *testing.M) {
	if text := os.Getenv(variable); text != "" {
		values := strings.Fields(text) // endpoint, folder, delay
		delay, _ := time.ParseDuration(values[2])
		debug.SetGCPercent(GCPercent)
		b, err := bus.New()
		if err == nil {
			err = New(Config{Bus: b, Manager: values[0], Dir: values[1], Connections: 4, Delay: delay}).Run(context.Background())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func child(t testing.TB, endpoint, dir string, delay time.Duration) (*exec.Cmd, <-chan error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+endpoint+" "+dir+" "+delay.String())
	cmd.Stderr = os.Stderr
	ended, err := childprocess.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, ended
}

func startManager(t testing.TB) manager.Client {
	t.Helper()
	b := managertest.Bus(t)
	m := manager.New(manager.Config{Bus: b, Endpoint: "tcp://127.0.0.1:*", Silence: 1200 * time.Millisecond, Deadline: time.Minute})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	endpoint := <-m.Bound()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return manager.Client{Bus: b, Endpoint: endpoint, Timeout: 2 * time.Minute}
}

// newIndex returns an empty index and its folder.
func newIndex(t testing.TB) (x *index.Index, dir string) {
	t.Helper()
	dir = t.TempDir() + "/index"
	x, err := index.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x, dir
}

func put(t *testing.T, x *index.Index, from, to int) {
	t.Helper()
	var c index.Change
	for n := from; n < to; n++ {
		c.Put = append(c.Put, search.Document{Kind: search.Pages, URL: fmt.Sprintf("http://x.example/%d", n), Title: fmt.Sprintf("page w%d", n)})
	}
	if err := x.Apply(c); err != nil {
		t.Fatal(err)
	}
	if err := x.Publish(); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, c manager.Client, text string) int {
	t.Helper()
	r, err := c.Ask(t.Context(), search.Ask{Op: search.OpSearch, Kind: search.Pages, Text: text, Limit: 10})
	if err != nil || r.Error != "" {
		t.Fatalf("%s: %v %s", text, err, r.Error)
	}
	return r.Count
}

// A processor that is killed under load loses no question: each gets its right answer from the other.
func TestKilledUnderLoad(t *testing.T) {
	x, dir := newIndex(t)
	c := startManager(t)
	put(t, x, 0, 100)
	victim, victimEnded := child(t, c.Endpoint, dir, 5*time.Millisecond)
	other, otherEnded := child(t, c.Endpoint, dir, 5*time.Millisecond)
	testwait.Until(t, "both processors have joined", func() bool {
		s, err := c.Status(t.Context())
		return err == nil && len(s.Processors) == 2
	})
	var group sync.WaitGroup
	var done atomic.Int64
	kill := make(chan struct{})
	for worker := range 12 {
		group.Go(func() {
			for n := range 25 {
				id := (worker*25 + n) % 100
				r, err := c.Ask(context.Background(), search.Ask{Op: search.OpSearch, Kind: search.Pages, Text: fmt.Sprintf("w%d", id), Limit: 10})
				if err != nil || r.Error != "" || r.Count != 1 || r.Hits[0].URL != fmt.Sprintf("http://x.example/%d", id) {
					t.Errorf("question %d: %+v, %v", id, r, err)
				}
				if done.Add(1) == 60 {
					close(kill)
				}
			}
		})
	}
	<-kill
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-victimEnded
	group.Wait()
	s, err := c.Status(t.Context())
	if err != nil || s.Late != 0 || s.Again == 0 || done.Load() != 300 {
		t.Errorf("%d answers, %+v, %v", done.Load(), s, err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-otherEnded
}

// A processor waits for the first snapshot, and changes to each new one while it works.
func TestFollowsSnapshots(t *testing.T) {
	x, dir := newIndex(t)
	c := startManager(t)
	p := New(Config{Bus: c.Bus, Manager: c.Endpoint, Dir: dir, Connections: 2})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	put(t, x, 0, 3)
	if n := count(t, c, "page"); n != 3 {
		t.Errorf("%d pages", n)
	}
	for n := 3; n < 6; n++ {
		put(t, x, n, n+1)
	}
	testwait.Until(t, "the processor has the newest snapshot", func() bool { return count(t, c, "page") == 6 })
}

// A late answer without a question to an earlier Take does not count for the present one: each would
// cause another Take, for ever. A late answer with a question does.
func TestLateAnswers(t *testing.T) {
	b := managertest.Bus(t)
	late := func(work manager.Work, e wire.Event) wire.Event {
		e.UID = "earlier"
		answer, err := e.Answer(e.Type+manager.AnswerOffset, work)
		if err != nil {
			t.Error(err)
		}
		return answer
	}
	endpoint := managertest.Serve(t, b, "tcp://127.0.0.1:*", func(e wire.Event) []wire.Event {
		now, err := e.Answer(e.Type+manager.AnswerOffset, manager.Work{ID: "now"})
		if err != nil {
			t.Error(err)
		}
		return []wire.Event{late(manager.Work{}, e), late(manager.Work{ID: "late"}, e), now}
	})
	c, err := manager.Dial(b, endpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	uid, err := c.Send(manager.TypeTake, manager.Take{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"late", "now"} {
		if work, err := receiveWork(t.Context(), c, uid); err != nil || work.ID != want {
			t.Errorf("%+v, %v; want %s", work, err, want)
		}
	}
}
