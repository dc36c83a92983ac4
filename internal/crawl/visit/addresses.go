package visit

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/budget"
)

const (
	// addressesTTL is how long the addresses of a name are kept. Requests look them up again when they
	// connect; here they only say which gates the name shares.
	addressesTTL = 5 * time.Minute
	// maxAddressed bounds the kept names. A full cache is cleared.
	maxAddressed = 10_000
)

// AddressCache keeps the addresses of names. The zero value is ready to use. It is safe for concurrent
// use.
type AddressCache struct {
	mu    sync.Mutex
	names map[string]addressed
}

type addressed struct {
	list []netip.Addr
	ends time.Time
}

// requestAddresses returns the addresses that requests to the name may use, in ascending order. A name
// without an address, whose requests will fail, has none.
func (r *Environment) requestAddresses(ctx context.Context, name string) []netip.Addr {
	c := r.Addressed
	c.mu.Lock()
	known, ok := c.names[name]
	c.mu.Unlock()
	if ok && r.Now().Before(known.ends) {
		return known.list
	}
	list, err := r.Fetch.Addresses(ctx, name)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil:
		list = nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.names == nil || len(c.names) >= maxAddressed {
		c.names = map[string]addressed{}
	}
	c.names[name] = addressed{list, r.Now().Add(addressesTTL)}
	return list
}

// enterAddresses acquires the gates that target's host shares with other names of its addresses
// (Config.AddressNames). The caller holds the host's gate. A host without RequestDelay shares none,
// and a proxy connects to addresses that are not known here. waiting ends with the batch.
//
// The gap between names is the operator's RequestDelay: one name with a long Crawl-delay must not
// stop the others. With several requests at once the gap is counted from start to start, so it is the
// longer one; otherwise the host's gate would not see when a request starts behind this one.
func (v *Visit) enterAddresses(waiting context.Context, target string) error {
	if v.patience <= 0 || v.proxy != nil || v.Env.Config.AddressNames < 0 {
		return nil
	}
	u, err := canonical.Net(target)
	if err != nil {
		return nil // the request fails
	}
	v.gap = v.patience
	if v.Settings.Concurrency > 1 {
		v.gap = v.Delay
	}
	limited := waiting
	if limit := time.Duration(v.Env.Batch.MaxHostWait) * time.Millisecond; limit > 0 && !v.Admitted {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(waiting, limit)
		defer cancel()
	}
	for _, addr := range v.Env.requestAddresses(limited, u.Hostname()) {
		pass, err := v.Env.Gates.AcquireAddress(limited, u.Hostname(), addr, v.Env.Config.AddressNames, v.gap, v.Settings.Concurrency)
		switch {
		case err == nil && pass != nil:
			v.shared = append(v.shared, pass)
		case err == nil:
		case waiting.Err() != nil:
			return budget.ErrNoTime
		case limited.Err() != nil:
			return NotYet{v.host, v.Env.Now().Add(v.gap)}
		default:
			err = fmt.Errorf("acquire address gate: %w", err)
			v.Env.FailBatch(err)
			return err
		}
	}
	return nil
}

// leaveAddresses releases the gates of enterAddresses.
func (v *Visit) leaveAddresses() error {
	var errs []error
	for _, pass := range v.shared {
		errs = append(errs, pass.Release(v.gap))
	}
	v.shared = nil
	return errors.Join(errs...)
}
