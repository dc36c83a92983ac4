package executor

import (
	"context"
	"fmt"
	"testing"
)

func TestWatcherBacklog(t *testing.T) {
	w := newWatcher("")
	for i := range 3 * watchBacklog {
		w.addChange(Status{ID: fmt.Sprint(i % 10), ExitStatus: i})
	}
	if n := len(w.backlog); n > watchBacklog+10 {
		t.Errorf("backlog of %d", n)
	}
	ctx, cancel := context.WithCancel(bg)
	waiting := len(w.backlog)
	go w.deliverChanges(ctx, bg)
	last := map[string]int{}
	for range waiting {
		st := <-w.to
		if st.ExitStatus < last[st.ID] {
			t.Fatalf("task %s: %d after %d", st.ID, st.ExitStatus, last[st.ID])
		}
		last[st.ID] = st.ExitStatus
	}
	for i := range 10 {
		if want := 3*watchBacklog - 10 + i; last[fmt.Sprint(want%10)] != want {
			t.Errorf("task %d: last change %d, want %d", want%10, last[fmt.Sprint(want%10)], want)
		}
	}
	cancel()
	if _, open := <-w.to; open {
		t.Error("open after the end")
	}
}
