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

// add appends a change without blocking.
func (w *watcher) add(st Status) {
	if w.kind != "" && w.kind != st.Type {
		return
	}
	w.mu.Lock()
	w.put(st)
	w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
}

func (w *watcher) put(st Status) {
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

// deliver sends changes until one of the contexts ends, then closes the channel.
func (w *watcher) deliver(reader, pool context.Context) {
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
