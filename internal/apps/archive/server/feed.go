package server

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/protocol"
)

// remembered is the number of the newest commits in memory.
const remembered = 4096

// feed looks for new commits and remembers the newest ones. The store promises that a commit never
// appears with a lower number than one that was seen.
type feed struct {
	store    archive.Store
	interval time.Duration
	log      *slog.Logger

	mu       sync.Mutex
	started  bool
	floor    int64            // newest has all commits after this number
	newest   []archive.Commit // in their order
	latest   int64            // the last number that was seen
	searched time.Time
	changed  chan struct{} // closed at the next change
	failing  bool
}

func newFeed(store archive.Store, interval time.Duration, log *slog.Logger) *feed {
	return &feed{store: store, interval: interval, log: log, changed: make(chan struct{})}
}

// runSearches searches at the interval until ctx is done.
func (f *feed) runSearches(ctx context.Context) {
	ticker := time.NewTicker(f.interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		f.searchCommits(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// searchCommits reads all commits after the last one. Its errors are logged once until it works again.
func (f *feed) searchCommits(ctx context.Context) {
	for {
		list, err := f.store.Commits(ctx, f.lastNumber(), protocol.MaxChanges)
		if err != nil {
			if ctx.Err() == nil && !f.failing {
				f.failing = true
				f.log.Error("cannot look for new commits", "op", "commits", "error", err)
			}
			return
		}
		f.failing = false
		if len(list) == 0 {
			f.addCommits(nil, true)
			return
		}
		f.addCommits(list, false)
	}
}

func (f *feed) lastNumber() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.latest
}

// addCommits remembers commits and wakes the observers. At the end of a search the feed is up to date.
func (f *feed) addCommits(list []archive.Commit, end bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(list) > 0 {
		f.newest = append(f.newest, list...)
		f.latest = list[len(list)-1].Number
		if over := len(f.newest) - remembered; over > 0 {
			f.floor = f.newest[over-1].Number
			f.newest = slices.Clone(f.newest[over:])
		}
	}
	if end {
		f.searched = time.Now()
	}
	if len(list) > 0 && f.started || end && !f.started {
		close(f.changed)
		f.changed = make(chan struct{})
	}
	f.started = f.started || end
}

// awaitReady waits until the feed has searched once.
func (f *feed) awaitReady(ctx context.Context) error {
	f.mu.Lock()
	started, changed := f.started, f.changed
	f.mu.Unlock()
	if started {
		return nil
	}
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// commitsAfter returns at most protocol.MaxChanges commits after a number, and what is closed at the next
// change.
func (f *feed) commitsAfter(ctx context.Context, number int64) ([]archive.Commit, <-chan struct{}, error) {
	f.mu.Lock()
	latest, floor, newest, changed := f.latest, f.floor, f.newest, f.changed
	f.mu.Unlock()
	if number >= latest {
		return nil, changed, nil
	}
	if number < floor {
		list, err := f.store.Commits(ctx, number, protocol.MaxChanges)
		return list, changed, err
	}
	from, _ := slices.BinarySearchFunc(newest, number+1, func(c archive.Commit, n int64) int { return int(min(max(c.Number-n, -1), 1)) })
	return newest[from:min(from+protocol.MaxChanges, len(newest))], changed, nil
}

// serverState is what clients may know of the feed.
func (f *feed) serverState() protocol.ServerState {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := protocol.ServerState{Number: f.latest, Interval: f.interval.Seconds()}
	if !f.searched.IsZero() {
		s.Searched = timeText(f.searched)
	}
	return s
}

func timeText(t time.Time) string { return t.In(archive.Zone).Format(archive.TimeFormat) }
