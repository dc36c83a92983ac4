package browser

import (
	"context"
	"errors"
	"testing"
)

func TestTabs(t *testing.T) {
	take := func(t *testing.T, all tabs) *tab {
		t.Helper()
		one, err := all.takeTab(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return one
	}
	t.Run("another page runs while one waits", func(t *testing.T) {
		all := newTabs(1)
		first := take(t, all)
		err := first.lendTab(t.Context(), func() error {
			take(t, all).endTab()
			return nil
		})
		if err != nil || len(all.free) != 1 || len(all.waiting) != 0 {
			t.Errorf("%v, %d rights taken, %d waiting", err, len(all.free), len(all.waiting))
		}
	})
	t.Run("a refused page has no right", func(t *testing.T) {
		all, no := newTabs(1), errors.New("no")
		first := take(t, all)
		if err := first.lendTab(t.Context(), func() error { return no }); err != no || len(all.free) != 0 {
			t.Errorf("%v, %d rights taken", err, len(all.free))
		}
		first.endTab()
		if len(all.free) != 0 {
			t.Error("a right was given away twice")
		}
	})
	t.Run("a page that ended meanwhile keeps none", func(t *testing.T) {
		all := newTabs(1)
		first := take(t, all)
		if err := first.lendTab(t.Context(), func() error { first.endTab(); return nil }); err == nil || len(all.free) != 0 {
			t.Errorf("%v, %d rights taken", err, len(all.free))
		}
	})
	t.Run("the wait for the right ends with its context", func(t *testing.T) {
		all := newTabs(1)
		first := take(t, all)
		ctx, cancel := context.WithCancel(t.Context())
		err := first.lendTab(ctx, func() error { take(t, all); cancel(); return nil })
		if !errors.Is(err, context.Canceled) || len(all.waiting) != 0 {
			t.Errorf("%v, %d waiting", err, len(all.waiting))
		}
	})
	t.Run("too many wait", func(t *testing.T) {
		all := newTabs(1)
		var wait func(n int) error
		wait = func(n int) error { return take(t, all).lendTab(t.Context(), func() error { return wait(n + 1) }) }
		if err := wait(0); !errors.Is(err, ErrCrowded) {
			t.Error(err)
		}
	})
}
