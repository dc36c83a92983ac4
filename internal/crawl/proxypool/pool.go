package proxypool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"

	"hce/dc/internal/crawl/statefile"
	"hce/dc/internal/wire"
)

// Errors of Pick.
var (
	// ErrEmpty says that the pool has no proxies: Spec.StatusEmpty.
	ErrEmpty = errors.New("proxies: the pool is empty")
	// ErrNone says that no proxy in use serves the URL, or that all that do were
	// tried: Spec.StatusNone.
	ErrNone = errors.New("proxies: no proxy is available")
)

// maxCount is where counts end.
const maxCount = 1 << 53

// Options of a Pool. The zero value is ready.
type Options struct {
	Log *slog.Logger // nil is slog.Default

	ReadOnly bool // uses and faults are counted in memory only
}

// Proxy is a proxy as it was picked.
type Proxy struct {
	Host     string   // its name in property, index file or row; may hold a password
	URL      *url.URL // http, https or socks5, with port and perhaps user; log it with Redacted
	Priority int64

	// Counts after the pick or the fault. State 0: disabled.
	State, Freq, Faults, FaultsMax int64

	// RowSite is the Site_Id of the row in sites_proxy with this Host, or "" when
	// there is none.
	RowSite string
}

// Pool holds the proxies of one site. Any number of goroutines may share it.
type Pool struct {
	site, path string
	log        *slog.Logger
	files      statefile.Files

	mu      sync.Mutex
	entries []*entry
	byHost  map[string]*entry
	leftOut int // proxies for which there was no room
}

// Open makes the pool of a site. The index file is file_path of spec, below the
// folder base; without a file_path counts are in memory only. Of rows, which are
// not used unless spec.WithTable, those count that are in use for the site.
//
// A file_path that leads out of base is not followed: the error says so, reads
// well after "property USER_PROXY ", and the Pool, which works all the same, has
// no index file. An index file that cannot be read is warned of.
func Open(spec Spec, site, base string, rows []wire.Proxy, o Options) (*Pool, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	path, err := indexPath(base, spec.filePath, site)
	p := &Pool{site: site, path: path, log: o.Log, files: statefile.Files{Log: o.Log, ReadOnly: o.ReadOnly}, byHost: make(map[string]*entry)}
	var ix index
	if path != "" {
		if err := p.files.Read(path, &ix); err != nil {
			p.log.Warn("an index file of proxies cannot be read", "site", site, "path", path, "error", err)
		}
	}
	if !spec.WithTable {
		rows = nil
	}
	p.fill(ix, spec, usableRows(rows, site))
	return p, err
}

// Pick chooses a proxy for the page at address, none of tried, counts its use,
// and adds its Host to tried. Of the proxies in use that serve the page it is the
// one with the lowest product of uses and priority, of equal ones that of the
// lowest priority, then the first. The error is ErrEmpty or ErrNone. An index
// file that cannot be changed is warned of, and the use is counted in memory.
func (p *Pool) Pick(ctx context.Context, address string, tried map[string]bool) (Proxy, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.entries) == 0 {
		return Proxy{}, ErrEmpty
	}
	var candidates []*entry
	for _, e := range p.entries {
		if !tried[e.host] && e.serves(address) {
			candidates = append(candidates, e)
		}
	}
	if len(candidates) == 0 {
		return Proxy{}, ErrNone
	}
	var best *entry
	err := p.change(ctx, candidates, func() *entry {
		if best = lowest(candidates); best != nil {
			best.freq = min(best.freq, maxCount-1) + 1
		}
		return best
	})
	if err != nil {
		p.log.Warn("the use of a proxy is counted in memory only", "site", p.site, "error", err)
	}
	if best == nil {
		return Proxy{}, ErrNone
	}
	if tried != nil {
		tried[best.host] = true
	}
	return best.proxy(), nil
}

// Fault counts a fault of a proxy that Pick returned: a failed alive check or
// connection, an error of the browser, or a content that Spec.Rotates knows. The
// proxy that comes back has the new counts, for the caller to write to its row;
// its State is 0 when it reached its most faults and is disabled. With an error
// the fault is counted in memory only.
func (p *Pool) Fault(ctx context.Context, proxy Proxy) (Proxy, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.byHost[proxy.Host]
	if e == nil {
		return proxy, fmt.Errorf("proxies.Fault: site %q: the proxy is not of this pool", p.site)
	}
	err := p.change(ctx, []*entry{e}, func() *entry {
		e.faults = min(e.faults, maxCount-1) + 1
		if e.faultsMax != 0 && e.faults >= e.faultsMax {
			e.state = 0
		}
		return e
	})
	if err != nil {
		err = fmt.Errorf("proxies.Fault: site %q: %w", p.site, err)
	}
	return e.proxy(), err
}

// change brings entries up to date with the index file, lets apply change one of
// them, and writes that one. Apply is called once, also when the file fails.
func (p *Pool) change(ctx context.Context, entries []*entry, apply func() *entry) error {
	if p.path == "" {
		apply()
		return nil
	}
	applied := false
	var ix index
	err := p.files.Update(ctx, p.path, &ix, func() error {
		if ix == nil {
			ix = make(index)
		}
		for _, e := range entries {
			e.refresh(ix)
		}
		applied = true
		if e := apply(); e != nil {
			return e.store(ix)
		}
		return nil
	})
	if !applied {
		apply()
	}
	return err
}

// lowest is the entry in use with the lowest product of uses and priority.
func lowest(entries []*entry) *entry {
	var best *entry
	for _, e := range entries {
		if e.state == 1 && (best == nil || e.before(best)) {
			best = e
		}
	}
	return best
}

func (e *entry) before(other *entry) bool {
	a, b := float64(e.freq)*float64(e.priority), float64(other.freq)*float64(other.priority)
	return a < b || a == b && e.priority < other.priority
}

func (e *entry) proxy() Proxy {
	address := *e.address
	return Proxy{
		Host: e.host, URL: &address, Priority: e.priority,
		State: e.state, Freq: e.freq, Faults: e.faults, FaultsMax: e.faultsMax, RowSite: e.rowSite,
	}
}
