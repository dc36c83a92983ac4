package executor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/testkit/testwait"
)

// next lists the possible next states of each state. A final state is followed only by Delete
// and a new Submit.
var next = map[State][]State{
	"":        {Queued},
	Queued:    {Running, Waiting, Cancelled, Refused},
	Running:   {Finished, Failed, TimedOut, Cancelled},
	Waiting:   {Queued, Cancelled, Refused},
	Finished:  {Queued},
	Failed:    {Queued},
	TimedOut:  {Queued},
	Cancelled: {Queued},
	Refused:   {Queued},
}

// Random calls by many goroutines with few ids: states follow the table above, and at the end
// all slots and places in the queue are free.
func TestRandomUse(t *testing.T) {
	b := newBox(t)
	l := open(t, LocalConfig{DefaultSlots: 2, MaxQueue: 6, MaxRequests: 5, Load: b.sampler})
	b.set(50, 0, 100e6)
	changes, err := l.Watch(bg, "")
	if err != nil {
		t.Fatal(err)
	}
	watched := make(chan int)
	go func() {
		was := map[string]State{}
		n := 0
		for st := range changes {
			n++
			legal := false
			for _, s := range next[was[st.ID]] {
				legal = legal || s == st.State
			}
			if !legal {
				t.Errorf("%s: %q after %q", st.ID, st.State, was[st.ID])
			}
			was[st.ID] = st.State
		}
		watched <- n
	}()

	requests := []request{{Do: "echo"}, {Do: "exit", N: 1}, {Do: "sleep"}, {Do: "garbage"}, {Do: "exit later"}}
	var callers sync.WaitGroup
	for caller := range 6 {
		callers.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(caller)))
			for range 40 {
				id := fmt.Sprint("t", r.IntN(8))
				var err error
				switch r.IntN(8) {
				case 0, 1, 2:
					task := worker(id, requests[r.IntN(len(requests))])
					task.Type = fmt.Sprint("type", r.IntN(2))
					task.TimeLimit = time.Duration(1+r.IntN(20)) * time.Millisecond
					task.QueueTTL = time.Duration(r.IntN(50)) * time.Millisecond
					task.ResultTTL = time.Duration(r.IntN(50)) * time.Millisecond
					task.Start = Conditions{MinRAM: int64(r.IntN(3)) * 60e6, RetryDelay: time.Duration(1+r.IntN(9)) * time.Millisecond, Retries: r.Int64N(4)}
					err = l.Submit(bg, task)
				case 3:
					err = l.Cancel(bg, id, time.Duration(1+r.IntN(20))*time.Millisecond)
				case 4:
					err = l.Delete(bg, id)
				case 5:
					_, err = l.Result(bg, id)
				case 6:
					_, err = l.Status(bg)
				case 7:
					task := worker(id, requests[r.IntN(len(requests))])
					task.TimeLimit = 10 * time.Millisecond
					task.Start = Conditions{MinRAM: int64(r.IntN(3)) * 60e6, RetryDelay: time.Millisecond, Retries: 2}
					_, err = l.Run(bg, task)
				}
				if err != nil && !errors.Is(err, ErrRefused) && !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrNotOver) {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	for i := range 8 {
		if err := l.Delete(bg, fmt.Sprint("t", i)); err != nil {
			t.Error(err)
		}
	}
	// A slot is released shortly after the end of its task is published.
	testwait.Until(t, "all slots are free", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.lanes) == 0
	})
	l.mu.Lock()
	if l.queued != 0 || len(l.jobs) != 0 {
		t.Errorf("%d in the queue, %d jobs", l.queued, len(l.jobs))
	}
	l.mu.Unlock()
	if err := l.Close(bg); err != nil {
		t.Fatal(err)
	}
	if n := <-watched; n == 0 {
		t.Error("nothing happened")
	}
}
