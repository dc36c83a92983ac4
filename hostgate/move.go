package hostgate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/crawl/politeness"
)

// Waiting is a host that no request may be sent to yet, as another machine takes it over. It has no
// times, because the clocks of two machines differ.
type Waiting struct {
	Host  string        `json:"host"`
	Wait  time.Duration `json:"wait"`  // nanoseconds until the next request
	Delay time.Duration `json:"delay"` // nanoseconds: the gap that the last request asked for
}

// Waiting returns the hosts of this folder whose gap is not over, but for those without one. No process may
// hold a Pass: a request in flight counts as killed. Gates of addresses are left out, because other
// names of the address stay. So are hosts whose name has more than maxLabel bytes.
func (gs *Gates) Waiting() ([]Waiting, error) {
	entries, err := os.ReadDir(gs.dir)
	if err != nil {
		return nil, fmt.Errorf("list host gates: %w", err)
	}
	list := []Waiting{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) || !e.Type().IsRegular() {
			continue
		}
		w, err := gs.readWaiting(e.Name())
		if errors.Is(err, os.ErrNotExist) {
			continue // swept
		}
		if err != nil {
			return nil, fmt.Errorf("read gate %s: %w", e.Name(), err)
		}
		if w.Host != "" && w.Wait > 0 {
			list = append(list, w)
		}
	}
	return list, nil
}

func (gs *Gates) readWaiting(name string) (w Waiting, err error) {
	f, err := os.Open(filepath.Join(gs.dir, name))
	if err != nil {
		return w, err
	}
	defer f.Close()
	state, fresh, err := gs.clock.readState(f)
	if err != nil || fresh {
		return w, err
	}
	label := make([]byte, maxLabel+1)
	n, err := readAt(f, label, labelAt)
	if err != nil {
		return w, err
	}
	line, _, _ := strings.Cut(string(label[:n]), "\n")
	host, err := strconv.Unquote(line)
	if err != nil || fileName(host) != name || strings.HasPrefix(host, addressLabel) {
		return w, nil
	}
	now := gs.clock.currentTime()
	state = state.Settle(now)
	return Waiting{Host: host, Wait: state.Wait(now, 0), Delay: state.Delay}, nil
}

// Wait makes the next request to a host wait as Waiting says, from now on, or longer if the gate here says so.
// It may be repeated.
func (gs *Gates) Wait(ctx context.Context, w Waiting) error {
	if w.Host == "" {
		return nil
	}
	g, err := gs.useGate(w.Host)
	if err == nil {
		err = errors.Join(g.waitForGap(ctx, w), gs.leaveGate(g))
	}
	if err != nil {
		return fmt.Errorf("keep the pause of host %q: %w", w.Host, err)
	}
	return nil
}

func (g *gate) waitForGap(ctx context.Context, w Waiting) error {
	if err := g.takeTurn(ctx); err != nil {
		return err
	}
	defer g.leaveTurn()
	if err := g.waitLocal(ctx, 1); err != nil {
		return err
	}
	if err := g.lockTurnstile(ctx); err != nil {
		return err
	}
	defer unlockByte(g.file, turnstile)
	if err := lockByte(ctx, g.file, door, exclusive); err != nil {
		return err
	}
	defer unlockByte(g.file, door)
	stored, _, err := g.clock.readState(g.file)
	if err != nil {
		return err
	}
	now := g.clock.currentTime()
	settled := stored.Settle(now)
	if settled.Wait(now, 0) >= w.Wait {
		return nil
	}
	next := politeness.State{Start: now, End: now, Delay: max(w.Wait, min(w.Delay, politeness.KeptDelay)), Troubles: settled.Troubles}
	return g.clock.writeNew(g.file, next, g.host)
}
