package hostgate

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"net/netip"
	"os"
	"strings"
	"time"

	"hce/dc/internal/crawl/politeness"
)

// The gate of an address keeps requests to different names of one server apart. Its file has the
// names that use the address, at namesAt, maxNames places of one nameEntry each. A process adds its
// name under the lock of the byte names; others read without a lock.
const (
	names    = 3 // held briefly to add a name
	namesAt  = 512
	maxNames = 64
	// nameAge is how long a name counts after its last request. It is refreshed each nameRefresh.
	nameAge     = politeness.MaxDelay
	nameRefresh = time.Hour
	// nameSettle is how long after a new name an address is shared, although it has few names. A batch
	// with many names of one address asks for all of them at once, and the first ones cannot know of
	// the others.
	nameSettle = 10 * time.Second
)

// addressLabel begins the label of the gate of an address. No host has a space.
const addressLabel = "address "

// MaxSharedNames is the highest limit of AcquireAddress.
const MaxSharedNames = maxNames - 1

// nameEntry is one name of an address. Times are Unix nanoseconds; 0: the place is free.
type nameEntry struct {
	Name        uint64
	First, Last int64
}

const nameSize = 24

// AcquireAddress waits until a request to name, which resolves to addr, may begin, as Acquire does
// for a host. Only addresses that more than limit names have used within a day have such a gate, and
// those with a new name for nameSettle; for others, AcquireAddress returns no Pass and no error at
// once. A number as the name, whatever its port, uses the gate of its address only if names do.
//
// The caller holds the Pass of the host already. It acquires the addresses of a host in ascending
// order, so that no two callers wait for each other.
func (gs *Gates) AcquireAddress(ctx context.Context, name string, addr netip.Addr, limit int, delay time.Duration, concurrency int) (*Pass, error) {
	host := addressLabel + addr.String()
	g, err := gs.useGate(host)
	if err != nil {
		return nil, err
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	p, err := g.acquireShared(ctx, name, min(limit, MaxSharedNames), delay, min(max(concurrency, 1), MaxConcurrency))
	if p == nil {
		gs.leaveGate(g)
	}
	if err != nil {
		return nil, fmt.Errorf("acquire gate of %s: %w", host, err)
	}
	if p != nil {
		p.gates = gs
	}
	return p, nil
}

// acquireShared adds name to those of the address, and is acquire if they share it.
func (g *gate) acquireShared(ctx context.Context, name string, limit int, delay time.Duration, n int) (*Pass, error) {
	if err := g.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer g.leaveTurn()
	shared, err := g.joinNames(ctx, name, limit, time.Now())
	if err != nil || !shared {
		return nil, err
	}
	return g.enterGate(ctx, delay, n)
}

// joinNames adds name to the names of the address, and reports whether they share the gate. The caller
// has the turn.
func (g *gate) joinNames(ctx context.Context, name string, limit int, now time.Time) (bool, error) {
	if g.file != nil {
		if gone, err := isUnlinked(g.file); err != nil || gone && g.isIdle() {
			g.file.Close()
			g.file = nil
		}
	}
	if err := g.openFile(); err != nil {
		return false, err
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	key := max(h.Sum64(), 1)
	list, err := readNames(g.file)
	if err != nil {
		return false, err
	}
	if at := findPlace(list, key); list[at].Name != key || now.UnixNano()-list[at].Last > int64(nameRefresh) {
		if list, err = g.addName(ctx, key, now); err != nil {
			return false, err
		}
	}
	_, err = netip.ParseAddr(strings.Trim(strings.TrimSuffix(name, "."), "[]"))
	return sharesGate(list, limit, err == nil, now), nil
}

// addName stores the name, in its place, a free one, or that of the name that was used first.
func (g *gate) addName(ctx context.Context, key uint64, now time.Time) ([]nameEntry, error) {
	if err := lockByte(ctx, g.file, names, exclusive); err != nil {
		return nil, err
	}
	defer unlockByte(g.file, names)
	list, err := readNames(g.file)
	if err != nil {
		return nil, err
	}
	at := findPlace(list, key)
	e := &list[at]
	if e.Name != key || !e.isFresh(now) {
		e.First = now.UnixNano()
	}
	e.Name, e.Last = key, now.UnixNano()
	b, _ := binary.Append(nil, binary.LittleEndian, *e) // the size is fixed
	if _, err := g.file.WriteAt(b, int64(namesAt+at*nameSize)); err != nil {
		return nil, fmt.Errorf("write name: %w", err)
	}
	return list, nil
}

// findPlace returns the index of a name, or of the place that it may take.
func findPlace(list []nameEntry, key uint64) int {
	at := 0
	for i, e := range list {
		switch {
		case e.Name == key:
			return i
		case e.Last < list[at].Last:
			at = i
		}
	}
	return at
}

// isFresh reports whether the name counts. A time after now is from before the clock was set back.
func (e nameEntry) isFresh(now time.Time) bool {
	return e.Last != 0 && now.Sub(time.Unix(0, e.Last)) < nameAge
}

// sharesGate reports whether names of the address share its gate.
func sharesGate(list []nameEntry, limit int, number bool, now time.Time) bool {
	count, newest := 0, int64(0)
	for _, e := range list {
		if e.isFresh(now) {
			count++
			newest = max(newest, e.First)
		}
	}
	if count > limit {
		return !number || count > 1
	}
	return (!number || count > 1) && now.Sub(time.Unix(0, newest)) < nameSettle
}

// readNames returns all maxNames places.
func readNames(f *os.File) ([]nameEntry, error) {
	var b [maxNames * nameSize]byte
	list := make([]nameEntry, maxNames)
	if _, err := readAt(f, b[:], namesAt); err != nil {
		return nil, fmt.Errorf("read names: %w", err)
	}
	_, _ = binary.Decode(b[:], binary.LittleEndian, list) // the sizes are equal
	return list, nil
}
