package process_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/process"
	"hce/dc/internal/testkit/testlog"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// budget gives the job of f workers of its own.
func (f *fixture) budget(b process.Budget) {
	w := &process.Workers{Budget: b}
	f.Cleanup(w.Close)
	f.job.Workers = w
}

// A page beyond its budget, and a page that ends its process, get their bit and a message. No
// other page of the batch notices.
func TestHostilePagesHarmNoOther(t *testing.T) {
	generous := process.Budget{Time: time.Minute, Clock: 5 * time.Minute, Memory: 1 << 30}
	tests := []struct {
		name, page string
		change     func(*process.Budget)
		bits       errormask.Mask
		message    string
	}{
		{"endless work", "burn", func(b *process.Budget) { b.Time = 300 * time.Millisecond }, errormask.ProcessorBudget, "more processor time than max_item_time (300ms)"},
		{"endless wait", "wait", func(b *process.Budget) { b.Clock = 10 * time.Second }, errormask.ProcessorBudget, "waits for more than 10s"},
		{"endless memory", "eat", func(b *process.Budget) { b.Memory = 512 << 20 }, errormask.ProcessorBudget, "more memory than max_item_memory (536870912 bytes)"},
		{"end of the process", "die", func(*process.Budget) {}, errormask.BatchItem, "ended two processes: exit status 3"},
		{"panic", "crash", func(*process.Budget) {}, errormask.BatchItem, "a library fails"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			b := generous
			tt.change(&b)
			f.budget(b)
			var log testlog.Recorder
			f.job.Log = slog.New(slog.NewTextHandler(&log, nil))
			batch := batchOf()
			hostile := map[string]bool{}
			for i := range 12 {
				text := article
				if i%6 == 1 {
					text = tt.page
				}
				it := f.item("s", fmt.Sprint(i), text)
				hostile[it.URLID] = i%6 == 1
				batch.Items = append(batch.Items, it)
			}
			f.run(batch)
			for _, it := range batch.Items {
				row, bits, state := f.row(it), errormask.Mask(0), int64(wire.URLEnabled)
				if hostile[it.URLID] {
					bits, state = tt.bits, wire.URLError
				}
				if row.Status != wire.StatusProcessed || row.State != state || row.ErrorMask != bits || row.Processed != 1 || (f.Contents["s "+it.URLID] == nil) != (bits != 0) {
					t.Errorf("%s: status %d, state %d, %s", row.URL, row.Status, row.State, bitNames(row.ErrorMask))
				}
			}
			if log.Count("level=WARN", "http://page.test/", tt.message) != 2 {
				t.Errorf("log:\n%s", log.String())
			}
		})
	}
}

// A page whose worker was killed by somebody is extracted by another one.
func TestKilledWorker(t *testing.T) {
	f := newFixture(t)
	it := f.item("s", "a", "die-once "+filepath.Join(t.TempDir(), "died"))
	f.run(batchOf(it))
	if row := f.row(it); row.Status != wire.StatusProcessed || row.ErrorMask != 0 {
		t.Errorf("status %d, %s", row.Status, bitNames(row.ErrorMask))
	}
}

// A page that ran out of time is tried once more if another page ran meanwhile.
func TestSecondTryAlone(t *testing.T) {
	for name, want := range map[string]errormask.Mask{"alone": errormask.ProcessorBudget, "shared": 0} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.budget(process.Budget{Time: 300 * time.Millisecond, Clock: 5 * time.Minute, Memory: 1 << 30})
			began := filepath.Join(t.TempDir(), "began")
			late := f.item("s", "late", "burn-once "+began)
			batch := batchOf(late)
			if name == "shared" {
				batch.Items = append(batch.Items, f.item("s", "other", "until "+began))
			}
			f.run(batch)
			if row := f.row(late); row.Status != wire.StatusProcessed || row.ErrorMask != want {
				t.Errorf("status %d, %s", row.Status, bitNames(row.ErrorMask))
			}
		})
	}
}

// Slow pages on all processors do not stop the pages behind them.
func TestSlowPagesGiveWay(t *testing.T) {
	f := newFixture(t)
	release := filepath.Join(t.TempDir(), "release")
	batch := batchOf()
	for i := range 2 * runtime.GOMAXPROCS(0) {
		batch.Items = append(batch.Items, f.item("s", fmt.Sprint("slow", i), "until "+release))
	}
	for i := range 20 {
		batch.Items = append(batch.Items, f.item("s", fmt.Sprint(i), article))
	}
	var started atomic.Int64
	f.OnRead = func(string) { started.Add(1) }
	done := make(chan error, 1)
	go func() {
		_, err := f.try(t.Context(), batch)
		done <- err
	}()
	testwait.Until(t, "all pages are started", func() bool { return started.Load() == int64(len(batch.Items)) })
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, it := range batch.Items {
		if row := f.row(it); row.Status != wire.StatusProcessed || row.ErrorMask != 0 {
			t.Errorf("%s: status %d, %s", row.URL, row.Status, bitNames(row.ErrorMask))
		}
	}
}

// A stop ends a page that takes long and hands it back, without an error.
func TestStopEndsASlowPage(t *testing.T) {
	f := newFixture(t)
	it := f.item("s", "a", "wait")
	ctx, stop := context.WithCancel(t.Context())
	f.OnRead = func(string) { stop() }
	if _, err := f.try(ctx, batchOf(it)); err != nil {
		t.Fatal(err)
	}
	if row := f.row(it); row.Status != wire.StatusCrawled || row.State != wire.URLEnabled || row.ErrorMask != 0 || row.Processed != 0 {
		t.Errorf("status %d, state %d, %s", row.Status, row.State, bitNames(row.ErrorMask))
	}
}
