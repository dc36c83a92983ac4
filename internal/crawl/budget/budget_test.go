package budget

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
)

// Many bodies grow in steps, each to its own size. All of them finish, and the budget is never
// exceeded.
func TestBudgetEndsAndHolds(t *testing.T) {
	for name, c := range map[string]struct {
		total, free, most int64
		bodies            int
	}{
		"one at a time":       {total: 16, most: 16, bodies: 50},
		"less than one needs": {total: 10, most: 16, bodies: 50},
		"some free":           {total: 40, free: 1, most: 16, bodies: 100},
		"enough for all":      {total: 1000, most: 16, bodies: 50},
		"many wait":           {total: 40, free: 2, most: 32, bodies: 500},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // a deadlock fails it at once
				b := New(c.total)
				var group sync.WaitGroup
				for i := range c.bodies {
					group.Go(func() {
						random := rand.New(rand.NewPCG(1, uint64(i)))
						a := b.OpenAccount(c.free)
						most := 1 + random.Int64N(c.most)
						for size := int64(1); ; size = min(2*size, most) {
							if err := a.Grow(t.Context(), size, most); err != nil {
								t.Error(err)
							}
							b.mu.Lock()
							if b.used > c.total {
								t.Errorf("%d of %d are taken", b.used, c.total)
							}
							b.mu.Unlock()
							if size == most {
								break
							}
						}
						a.Keep(random.Int64N(most))
						a.Keep(0)
					})
				}
				group.Wait()
				if b.used != 0 || len(b.open) != 0 || len(b.waiting) != 0 {
					t.Errorf("%d bytes, %d accounts, %d waiting are left", b.used, len(b.open), len(b.waiting))
				}
			})
		})
	}
}

// Two bodies that hold half each would wait for each other. The second step is granted only after the
// first body finished.
func TestBudgetKeepsAWayOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(10)
		first, second := b.OpenAccount(0), b.OpenAccount(0)
		if err := first.Grow(t.Context(), 5, 10); err != nil {
			t.Fatal(err)
		}
		granted := false
		go func() {
			if err := second.Grow(t.Context(), 5, 10); err != nil {
				t.Error(err)
			}
			granted = true
		}()
		synctest.Wait()
		if granted {
			t.Fatal("both hold half and need the whole")
		}
		if err := first.Grow(t.Context(), 10, 10); err != nil {
			t.Fatal(err)
		}
		first.Keep(5) // smaller than announced: half is free now, the rest later
		synctest.Wait()
		if !granted {
			t.Error("returned memory is too small for any")
		}
	})
}

func TestBudgetWaitEndsWithItsContext(t *testing.T) {
	b := New(10)
	first, second := b.OpenAccount(0), b.OpenAccount(2)
	if err := first.Grow(t.Context(), 10, 10); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := second.Grow(ctx, 2, 2); err != nil {
		t.Errorf("free bytes: %v", err)
	}
	if err := second.Grow(ctx, 3, 3); !errors.Is(err, ErrNoTime) {
		t.Errorf("no bytes: %v", err)
	}
	second.Keep(0)
	first.Keep(0)
	if b.used != 0 || len(b.open) != 0 || len(b.waiting) != 0 {
		t.Errorf("%d bytes, %d accounts, %d waiting are left", b.used, len(b.open), len(b.waiting))
	}
}

func TestBudgetOfConfig(t *testing.T) {
	for name, c := range map[string]struct {
		hosts, slow int
		memory      int64
		total, free int64
	}{
		"none":       {hosts: 8},
		"default":    {hosts: 64, memory: 192 << 20, total: 128 << 20, free: 1 << 20},
		"many hosts": {hosts: 10000, memory: 200_000_000, total: 100_000_000, free: 10_000},
		"no hosts":   {memory: 2 << 20, total: 1 << 20, free: 1 << 20},
	} {
		b, free := OfBodies(c.memory, c.hosts, c.slow)
		var total int64
		if b != nil {
			total = b.total
		}
		if total != c.total || free != c.free {
			t.Errorf("%s: %d bytes and %d free, want %d and %d", name, total, free, c.total, c.free)
		}
	}
	var none *Budget
	a := none.OpenAccount(1)
	if err := a.Grow(t.Context(), 1<<40, 1<<40); err != nil {
		t.Error(err)
	}
	a.Keep(0)
}
