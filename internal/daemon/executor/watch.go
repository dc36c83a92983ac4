package executor

import (
	"context"
	"sync"
)

// watchBacklog is how many undelivered changes a watcher keeps. A slower reader then gets only
// the latest change of each task.
const watchBacklog = 1024

// watcher passes changes from the pool, which never waits, to one reader.
type watcher struct {
	kind string // of the tasks; "" for all
	to   chan Status
	more chan struct{} // holds a token if backlog may have grown

	mu      sync.Mutex
	backlog []Status
}

func newWatcher(kind string) *watcher {
	return &watcher{kind: kind, to: make(chan Status), more: make(chan struct{}, 1)}
}

// addChange appends a change without blocking.
func (w *watcher) addChange(st Status) {
	if w.kind != "" && w.kind != st.Type {
		return
	}
	w.mu.Lock()
	w.putChange(st)
	w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
}

func (w *watcher) putChange(st Status) {
	if len(w.backlog) >= watchBacklog {
		for i := len(w.backlog) - 1; i >= 0; i-- {
			if w.backlog[i].ID == st.ID {
				w.backlog[i] = st
				return
			}
		}
	}
	w.backlog = append(w.backlog, st)
}

// deliverChanges sends changes until one of the contexts ends, then closes the channel.
func (w *watcher) deliverChanges(reader, pool context.Context) {
	defer close(w.to)
	for {
		w.mu.Lock()
		var st Status
		some := len(w.backlog) > 0
		if some {
			st = w.backlog[0]
			if w.backlog = w.backlog[1:]; len(w.backlog) == 0 {
				w.backlog = nil // release the grown array
			}
		}
		w.mu.Unlock()
		if !some {
			select {
			case <-w.more:
				continue
			case <-reader.Done():
				return
			case <-pool.Done():
				return
			}
		}
		select {
		case w.to <- st:
		case <-reader.Done():
			return
		case <-pool.Done():
			return
		}
	}
}

// Feed passes changes of state to any number of readers, as Executor.Watch must: in order, and
// never waiting for a slow reader, which gets only the latest change of each task. The zero value is
// ready. It is safe for concurrent use.
type Feed struct {
	mu       sync.Mutex
	watchers map[*watcher]struct{}
	pumps    sync.WaitGroup
}

// Publish passes a change on without blocking.
func (f *Feed) Publish(st Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watchers {
		w.addChange(st)
	}
}

// Watch returns the later changes of a type, "" for all, until one of the contexts ends.
func (f *Feed) Watch(reader, owner context.Context, kind string) <-chan Status {
	w := newWatcher(kind)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watchers == nil {
		f.watchers = map[*watcher]struct{}{}
	}
	f.watchers[w] = struct{}{}
	f.pumps.Go(func() {
		w.deliverChanges(reader, owner)
		f.mu.Lock()
		delete(f.watchers, w)
		f.mu.Unlock()
	})
	return w.to
}

// Wait returns when no reader is left. The context of the owner must have ended.
func (f *Feed) Wait() { f.pumps.Wait() }
