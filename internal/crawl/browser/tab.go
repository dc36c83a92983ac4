package browser

import (
	"context"
	"errors"
	"sync"
)

// ErrCrowded is the cause of a Refused fault: too many pages wait in Allow. The same request may
// succeed later.
var ErrCrowded = errors.New("too many pages of the browser wait for the hosts that they are redirected to")

// waitingPerTab limits the open pages that wait in Allow, for each of Config.MaxPages.
const waitingPerTab = 8

// tabs are the rights to run a page. A page that waits in Allow runs nothing, so it lends its right
// to another page: it may wait for a host that is held by a caller of Get who waits for a right.
// The right is taken again last, when nothing else is waited for, so no circle of waits can form.
type tabs struct {
	free    chan struct{} // takes one token per running page
	waiting chan struct{} // takes one token per page in Allow
}

func newTabs(most int) tabs {
	return tabs{free: make(chan struct{}, most), waiting: make(chan struct{}, waitingPerTab*most)}
}

// takeTab waits for a right to run a page. The error is the cause of ctx's end.
func (t tabs) takeTab(ctx context.Context) (*tab, error) {
	select {
	case t.free <- struct{}{}:
		return &tab{of: t, held: true}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// tab is the right of one page. It is safe for concurrent use.
type tab struct {
	of    tabs
	mu    sync.Mutex
	held  bool
	ended bool
}

// lendTab calls allow while another page may run. If it returns nil, the page has its right again.
func (t *tab) lendTab(ctx context.Context, allow func() error) error {
	select {
	case t.of.waiting <- struct{}{}:
		defer func() { <-t.of.waiting }()
	default:
		return ErrCrowded
	}
	t.giveTab()
	if err := allow(); err != nil {
		return err
	}
	select {
	case t.of.free <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		<-t.of.free
		return errors.New("the page has ended")
	}
	t.held = true
	return nil
}

// giveTab gives the right away, if the page has it.
func (t *tab) giveTab() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held {
		t.held = false
		<-t.of.free
	}
}

// endTab gives the right away for good.
func (t *tab) endTab() {
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	t.giveTab()
}
