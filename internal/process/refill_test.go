package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/task"
	"hce/dc/internal/wire"
)

// crawled stores n crawled rows of a site that no batch holds.
func (f *fixture) crawled(site string, n int) {
	for i := range n {
		f.item(site, fmt.Sprint(i), article, func(u *wire.URL) { u.Status, u.BatchID = wire.StatusCrawled, 0 })
	}
}

// statuses counts the rows of a site by Status.
func (f *fixture) statuses(site string) map[int64]int {
	n := map[int64]int{}
	for _, row := range f.URLs {
		if row.SiteID == site {
			n[row.Status]++
		}
	}
	return n
}

// refilling runs a batch that selects four more rows at a time.
func (f *fixture) refilling(ctx context.Context, b wire.Batch, ms int) (wire.Batch, error) {
	f.Helper()
	raw, err := json.Marshal(b)
	if err != nil {
		f.Fatal(err)
	}
	answer, err := f.job.Run(ctx, fmt.Appendf(raw[:len(raw)-1],
		`,"refill":{"maxURLs":4,"urlUpdate":{"status":5,"batchId":%d}},"refillTime":%d}`, b.ID, ms))
	if err != nil {
		return wire.Batch{}, err
	}
	return answer.(wire.Batch), nil
}

func TestRefill(t *testing.T) {
	const minute = 60000
	broken := errors.New("no disk")
	tests := []struct {
		name      string
		ms        int
		given     bool // the batch has an item of its own
		change    func(f *fixture, b *wire.Batch, stop func())
		processed int
		refilled  int64
		fails     bool
	}{
		{"a whole site", minute, false, nil, 10, 10, false},
		{"after its own item", minute, true, nil, 11, 10, false},
		{"once", 0, false, nil, 4, 4, false},
		{"own items only", 0, true, nil, 1, 0, false},
		{"read only", minute, false, func(_ *fixture, b *wire.Batch, _ func()) { b.DBMode = wire.DBRead }, 0, 0, false},
		{"told to stop before", minute, false, func(_ *fixture, _ *wire.Batch, stop func()) { stop() }, 0, 0, false},
		{"the selection fails", minute, true, func(f *fixture, _ *wire.Batch, _ func()) { f.Fails["URLFetch"] = broken }, 1, 0, true},
		{"no row may be processed", minute, false, func(f *fixture, _ *wire.Batch, _ func()) { f.Sites["s"].State = wire.SiteSuspended }, 0, 4, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			f := newFixture(t)
			f.crawled("s", 10)
			b := batchOf()
			if tt.given {
				b.Items = append(b.Items, f.item("s", "own", article))
			}
			if tt.change != nil {
				tt.change(f, &b, stop)
			}
			answer, err := f.refilling(ctx, b, tt.ms)
			if tt.fails != (err != nil) || err != nil && (!task.IsCritical(err) || !errors.Is(err, broken)) {
				t.Fatal(err)
			}
			if answer.Refilled != tt.refilled || err == nil && len(answer.Items) != len(b.Items) {
				t.Errorf("refilled %d, %d items, want %d, %d", answer.Refilled, len(answer.Items), tt.refilled, len(b.Items))
			}
			got := f.statuses("s")
			if got[wire.StatusProcessed] != tt.processed || got[wire.StatusSelectedProcessing]+got[wire.StatusProcessing] != 0 {
				t.Errorf("rows by status %v, want %d processed", got, tt.processed)
			}
			for key, n := range f.Saves {
				if n != 1 {
					t.Errorf("%s was saved %d times", key, n)
				}
			}
		})
	}
}

// A stop in the middle of a refill ends it soon: rows that were selected are stored or handed
// back, none stays with the batch.
func TestStopDuringRefill(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	f := newFixture(t)
	f.crawled("s", 100)
	var reads atomic.Int32
	f.OnRead = func(string) {
		if reads.Add(1) == 10 {
			stop()
		}
	}
	if _, err := f.refilling(ctx, batchOf(), 60000); err != nil {
		t.Fatal(err)
	}
	got := f.statuses("s")
	if got[wire.StatusProcessed] < 8 || got[wire.StatusProcessed] > 20 || got[wire.StatusCrawled]+got[wire.StatusProcessed] != 100 {
		t.Errorf("rows by status %v", got)
	}
}

// The time of a refill ends it, although there are more rows.
func TestRefillTimeEnds(t *testing.T) {
	f := newFixture(t)
	f.crawled("s", 100)
	var now atomic.Int64
	start := time.Now()
	f.job.Now = func() time.Time { return start.Add(time.Duration(now.Load())) }
	f.OnRead = func(string) { now.Add(int64(time.Second)) }
	answer, err := f.refilling(context.Background(), batchOf(), 10000)
	if err != nil {
		t.Fatal(err)
	}
	if n := f.statuses("s")[wire.StatusProcessed]; int64(n) != answer.Refilled || n < 10 || n > 24 {
		t.Errorf("%d rows processed, %d selected", n, answer.Refilled)
	}
}

func TestRefillIsChecked(t *testing.T) {
	f := newFixture(t)
	for _, refill := range []string{`{"urlUpdate":{"status":2,"batchId":7}}`, `{"urlUpdate":{"status":5,"batchId":9}}`, `{}`} {
		_, err := f.job.Run(context.Background(), fmt.Appendf(nil, `{"id":7,"crawlerType":6,"items":[],"refill":%s,"refillTime":9}`, refill))
		if err == nil || !strings.Contains(err.Error(), "Batch.refill") {
			t.Errorf("%s: %v", refill, err)
		}
	}
}
