package executor

import (
	"context"
	"slices"
	"sync"
)

// watchBacklog is how many undelivered changes a watcher holds before it keeps
// only the latest one of each task. Up to there a slow reader sees every
// change; beyond it every task's last one, which is what decides.
const watchBacklog = 1024

// watcher carries changes from the pool, which never waits, to one reader,
// which may.
type watcher struct {
	filter Filter
	to     chan Status
	more   chan struct{} // holds one token when backlog may have grown

	mu      sync.Mutex
	backlog []Status
}

func newWatcher(f Filter) *watcher {
	f.Types, f.IDs = slices.Clone(f.Types), slices.Clone(f.IDs)
	return &watcher{filter: f, to: make(chan Status), more: make(chan struct{}, 1)}
}

func (f Filter) passes(st *Status) bool {
	return (len(f.Types) == 0 || slices.Contains(f.Types, st.Type)) &&
		(len(f.IDs) == 0 || slices.Contains(f.IDs, st.ID))
}

// add takes a change. It does not block.
func (w *watcher) add(st Status) {
	if !w.filter.passes(&st) {
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

// deliver sends changes until one of the contexts ends, then closes the
// channel.
func (w *watcher) deliver(reader, pool context.Context) {
	defer close(w.to)
	for {
		w.mu.Lock()
		var st Status
		some := len(w.backlog) > 0
		if some {
			st = w.backlog[0]
			if w.backlog = w.backlog[1:]; len(w.backlog) == 0 {
				w.backlog = nil // give the grown array back
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
