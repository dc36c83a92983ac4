package manager

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/apps/search"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/testkit/testwait"
)

// start runs a manager until the test ends.
func start(t *testing.T, c Config) (*Manager, Client) {
	t.Helper()
	c.Bus, c.Endpoint = managertest.Bus(t), "tcp://127.0.0.1:*"
	m := New(c)
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
	m.Endpoint = endpoint
	return m, Client{Bus: c.Bus, Endpoint: m.Local(), Timeout: 2 * time.Minute}
}

// fake is a processor that the test drives by hand.
type fake struct {
	t       *testing.T
	join    Join
	conns   []*Conn
	running sync.Map // Work.ID
}

func newFake(t *testing.T, m *Manager, name string, connections int, kinds ...search.Kind) *fake {
	t.Helper()
	f := &fake{t: t, join: Join{ID: name, Name: name, Kinds: kinds, Connections: connections}}
	for slot := range connections {
		c, err := Dial(m.Bus, m.Endpoint)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		f.conns = append(f.conns, c)
		f.take(slot)
	}
	return f
}

func (f *fake) take(slot int) {
	f.t.Helper()
	if _, err := f.conns[slot].Send(TypeTake, Take{f.join, slot}); err != nil {
		f.t.Fatal(err)
	}
}

// job is a question and the connection that has it.
type job struct {
	Work
	slot int
}

// work waits for a question at any connection. An idle connection takes again.
func (f *fake) work() (j job) {
	f.t.Helper()
	now, stop := context.WithCancel(f.t.Context())
	stop()
	testwait.Until(f.t, f.join.Name+" has a question", func() bool {
		for slot, c := range f.conns {
			e, err := c.Recv(now) // never waits
			if err != nil || e.Type != TypeTake+AnswerOffset {
				continue
			}
			j = job{slot: slot}
			if err := json.Unmarshal(e.Object, &j.Work); err != nil {
				f.t.Fatal(err)
			}
			if j.ID != "" {
				f.running.Store(j.ID, true)
				return true
			}
			f.take(slot)
		}
		return false
	})
	return j
}

func (f *fake) finish(j job, r search.Reply) {
	f.t.Helper()
	f.running.Delete(j.ID)
	if _, err := f.conns[j.slot].Send(TypeResult, Result{j.ID, f.join.ID, r}); err != nil {
		f.t.Fatal(err)
	}
}

// beat lets the processor give signs of life until the test ends.
func (f *fake) beat(m *Manager) {
	f.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	c, err := Dial(m.Bus, m.Endpoint)
	if err != nil {
		f.t.Fatal(err)
	}
	var group sync.WaitGroup
	f.t.Cleanup(func() {
		stop()
		group.Wait()
	})
	group.Go(func() {
		defer c.Close()
		for ctx.Err() == nil {
			var list []string
			f.running.Range(func(id, _ any) bool {
				list = append(list, id.(string))
				return true
			})
			if _, err := c.Send(TypeAlive, Alive{f.join, list}); err != nil {
				f.t.Error(err)
				return
			}
			_, _ = c.Recv(ctx) // the test ends
		}
	})
}

// ask asks in the background.
func ask(t *testing.T, c Client, kind search.Kind, text string) <-chan search.Reply {
	t.Helper()
	replies := make(chan search.Reply, 1)
	go func() {
		r, err := c.Ask(context.Background(), search.Ask{Op: search.OpSearch, Kind: kind, Text: text, Limit: 10})
		if err != nil {
			r.Error = err.Error()
		}
		replies <- r
	}()
	return replies
}

// await waits until the status of the manager is as wanted.
func await(t *testing.T, c Client, event string, holds func(Status) bool) Status {
	t.Helper()
	var s Status
	testwait.Until(t, event, func() bool {
		var err error
		if s, err = c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		return holds(s)
	})
	return s
}

// patient is for fakes that give no signs of life.
var patient = Config{Deadline: time.Minute, Silence: time.Minute}

// Five questions for two processors with two connections each go to 1, 2, 1, 2; the fifth waits and
// goes to the connection that is free first.
func TestRoundRobin(t *testing.T) {
	m, c := start(t, patient)
	one := newFake(t, m, "one", 2, search.Pages)
	await(t, c, "the first has joined", func(s Status) bool { return len(s.Processors) == 1 && s.Processors[0].Free == 2 })
	two := newFake(t, m, "two", 2, search.Pages)
	await(t, c, "both have joined", func(s Status) bool { return len(s.Processors) == 2 && s.Processors[1].Free == 2 })

	var replies []<-chan search.Reply
	for n := range 5 {
		replies = append(replies, ask(t, c, search.Pages, fmt.Sprint("q", n)))
		await(t, c, "the question is there", func(s Status) bool { return s.Asked == int64(n+1) })
	}
	w := []job{one.work(), two.work(), one.work(), two.work()}
	for n := range 2 { // the connections of one processor are equal
		if w[n].Ask.Text > w[n+2].Ask.Text {
			w[n], w[n+2] = w[n+2], w[n]
		}
	}
	for n := range w {
		if want := fmt.Sprint("q", n); w[n].Ask.Text != want {
			t.Errorf("question %d is %q, want %q", n, w[n].Ask.Text, want)
		}
	}
	if s := await(t, c, "one waits", func(s Status) bool { return s.Waiting == 1 }); s.Running != 4 {
		t.Errorf("%+v", s)
	}
	two.finish(w[3], search.Reply{Count: 1, Hits: []search.Hit{{Document: search.Document{URL: "http://x/"}}}})
	if r := <-replies[3]; r.Count != 1 || r.Processor != "two" {
		t.Errorf("%+v", r)
	}
	two.take(w[3].slot)
	last := two.work()
	two.finish(last, search.Reply{})
	if r := <-replies[4]; last.Ask.Text != "q4" || r.Error != "" {
		t.Errorf("%+v, %+v", last, r)
	}
	one.finish(w[0], search.Reply{Error: "broken"})
	if r := <-replies[0]; r.Error != "broken" {
		t.Errorf("%+v", r)
	}
	s, err := c.Status(t.Context())
	if err != nil || s.Processors[1].Found != 1 || s.Processors[1].Empty != 1 || s.Processors[0].Failed != 1 || s.Shown[0].Name != "http://x/" || len(s.Words) != 5 {
		t.Errorf("%+v, %v", s, err)
	}
}

// A question goes only to a processor of its kind, and does not hold up others.
func TestKinds(t *testing.T) {
	m, c := start(t, patient)
	images := newFake(t, m, "images", 1, search.Images)
	waiting := ask(t, c, search.Pages, "page")
	await(t, c, "it waits", func(s Status) bool { return s.Waiting == 1 })
	reply := ask(t, c, search.Images, "image")
	w := images.work()
	images.finish(w, search.Reply{Count: 1})
	if r := <-reply; w.Ask.Text != "image" || r.Count != 1 {
		t.Errorf("%+v, %+v", w, r)
	}
	pages := newFake(t, m, "pages", 1, search.Pages, search.Documents) // joins while the manager works
	pages.finish(pages.work(), search.Reply{Count: 2})
	if r := <-waiting; r.Count != 2 {
		t.Errorf("%+v", r)
	}
}

// The queue is bounded, and a question has a deadline.
func TestLimits(t *testing.T) {
	m, c := start(t, Config{Queue: 1, Deadline: 300 * time.Millisecond, Silence: time.Minute})
	first := ask(t, c, search.Pages, "first")
	await(t, c, "it waits", func(s Status) bool { return s.Waiting == 1 })
	if r := <-ask(t, c, search.Pages, "second"); !strings.HasPrefix(r.Error, Busy) {
		t.Errorf("%+v", r)
	}
	if r := <-first; !strings.HasPrefix(r.Error, Late) || !strings.Contains(r.Error, "no processor for pages has joined") {
		t.Errorf("%+v", r)
	}
	f := newFake(t, m, "slow", 1, search.Pages)
	reply := ask(t, c, search.Pages, "third")
	w := f.work()
	if r := <-reply; !strings.HasPrefix(r.Error, Late) {
		t.Errorf("%+v", r)
	}
	f.finish(w, search.Reply{Count: 1}) // too late: counts for nothing
	if r := <-ask(t, c, search.Pages, strings.Repeat("x", search.MaxText+1)); !r.Refused {
		t.Errorf("%+v", r)
	}
	if s := await(t, c, "all is counted", func(s Status) bool { return s.Running == 0 }); s.Late != 2 || s.Refused != 1 {
		t.Errorf("%+v", s)
	}
}

// The question of a processor that dies is asked again, first in the queue.
func TestLost(t *testing.T) {
	m, c := start(t, Config{Silence: time.Second, Deadline: time.Minute})
	dead := newFake(t, m, "dead", 1, search.Pages)
	reply := ask(t, c, search.Pages, "q")
	dead.work()
	later := ask(t, c, search.Pages, "later")
	await(t, c, "the processor is lost", func(s Status) bool { return len(s.Processors) == 1 && s.Processors[0].Lost })
	alive := newFake(t, m, "alive", 1, search.Pages)
	alive.beat(m)
	w := alive.work()
	alive.finish(w, search.Reply{Count: 3})
	if r := <-reply; w.Ask.Text != "q" || r.Count != 3 || r.Processor != "alive" {
		t.Errorf("%+v, %+v", w, r)
	}
	alive.take(0)
	alive.finish(alive.work(), search.Reply{Count: 1})
	if r := <-later; r.Count != 1 {
		t.Errorf("%+v", r)
	}
	if s, err := c.Status(t.Context()); err != nil || s.Again != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

// A question that its processor does not report as its work is asked again; one that it reports is not.
func TestBrokenConnection(t *testing.T) {
	m, c := start(t, patient)
	f := newFake(t, m, "f", 1, search.Pages)
	reply := ask(t, c, search.Pages, "q")
	first := f.work() // its connection breaks before it is read
	control, err := Dial(m.Bus, m.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	alive := func(running ...string) {
		t.Helper()
		if _, err := control.Send(TypeAlive, Alive{f.join, running}); err != nil {
			t.Fatal(err)
		}
		if _, err := control.Recv(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	await(t, c, "the question was given for long", func(s Status) bool {
		alive(first.ID)
		return time.Since(s.Since) > reported+200*time.Millisecond
	})
	if s, err := c.Status(t.Context()); err != nil || s.Again != 0 || s.Running != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	await(t, c, "the question was taken back", func(s Status) bool {
		alive()
		return s.Again == 1
	})
	f.take(0)
	again := f.work()
	f.finish(again, search.Reply{Count: 1})
	if r := <-reply; again.ID != first.ID || r.Count != 1 {
		t.Errorf("%+v, %+v, %+v", first, again, r)
	}
}

// Messages of strangers have answers and change nothing.
func TestHostileMessages(t *testing.T) {
	m, c := start(t, Config{})
	conn, err := Dial(m.Bus, m.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	long := strings.Repeat("x", 200)
	for _, message := range []struct {
		kind   int
		object any
	}{
		{1, nil}, {TypeAsk, "text"}, {TypeTake, []int{1}}, {TypeTake, Take{}}, {TypeTake, Take{Join{ID: long, Kinds: search.Kinds, Connections: 1}, 0}},
		{TypeTake, Take{Join{ID: "x", Kinds: []search.Kind{"y"}, Connections: 1}, 0}}, {TypeTake, Take{Join{ID: "x", Kinds: search.Kinds, Connections: 1}, -1}},
		{TypeTake, Take{Join{ID: "x", Kinds: search.Kinds, Connections: 1 << 30}, 0}}, {TypeResult, Result{ID: "unknown"}}, {TypeAlive, Alive{Running: []string{"1"}}},
		{TypeOpened, Opened{URL: strings.Repeat("x", maxName+1)}},
	} {
		if _, err := conn.Send(message.kind, message.object); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Recv(t.Context()); err != nil {
			t.Fatalf("%+v: %v", message, err)
		}
	}
	if s, err := c.Status(t.Context()); err != nil || s.Asked != 0 || len(s.Opened) != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	other := New(Config{Bus: m.Bus, Endpoint: bus.TCP("0.0.0.0", 0)})
	if err := other.Run(t.Context()); err == nil {
		t.Error("it listens for other machines")
	}
}

func TestRankingIsBounded(t *testing.T) {
	r := ranking{}
	for n := range maxRanked + 10 {
		r.countName(fmt.Sprint(n), "")
		r.countName("frequent", "title")
	}
	if top := r.topNames(1); len(r) > maxRanked || top[0].Name != "frequent" || top[0].Count != maxRanked+10 {
		t.Errorf("%d entries, %+v", len(r), top)
	}
}
