package proxypool

import (
	"cmp"
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
	// ErrEmpty means that the pool has no proxies: Spec.StatusEmpty.
	ErrEmpty = errors.New("the proxy pool is empty")
	// ErrNone means that no enabled proxy serves the URL, or that all of them were tried:
	// Spec.StatusNone.
	ErrNone = errors.New("no proxy is available")
)

// maxCount is the highest count.
const maxCount = 1 << 53

// Options of a Pool. The zero value is ready.
type Options struct {
	Log *slog.Logger // nil is slog.Default

	ReadOnly bool // count uses and faults in memory only
}

// Proxy is a chosen proxy.
type Proxy struct {
	Host string   // name in the property, index file or row; may contain a password
	URL  *url.URL // http, https or socks5, with port and optional user; log it with Redacted

	// Counts after the call. State 0 means disabled.
	State, Faults, FaultsMax int64

	// RowSite is the Site_Id of the row in sites_proxy with this Host, or "".
	RowSite string
}

// Pool holds the proxies of one site. Goroutines may share it.
type Pool struct {
	site, path string
	log        *slog.Logger
	files      statefile.Files

	mu      sync.Mutex
	entries []*entry
	byHost  map[string]*entry
	leftOut int // proxies above maxProxies
}

// Open returns the pool of a site. The index file is file_path of spec, below the folder
// base. Without a file_path, counts are in memory only. rows are used only if
// spec.WithTable is set, and of them only the enabled ones for the site.
//
// If file_path leads out of base, the Pool has no index file and is still valid. The error
// then is meant to follow "property USER_PROXY ". An unreadable index file is logged.
func Open(spec Spec, site, base string, rows []wire.Proxy, o Options) (*Pool, error) {
	o.Log = cmp.Or(o.Log, slog.Default())
	path, err := indexPath(base, spec.filePath, site)
	p := &Pool{site: site, path: path, log: o.Log, files: statefile.Files{Log: o.Log, ReadOnly: o.ReadOnly}, byHost: make(map[string]*entry)}
	var ix index
	if path != "" {
		if err := p.files.Read(path, &ix); err != nil {
			p.log.Warn("cannot read the index file of proxies", "site", site, "path", path, "error", err)
		}
	}
	if !spec.WithTable {
		rows = nil
	}
	p.fillEntries(ix, spec, usableRows(rows, site))
	return p, err
}

// Pick chooses a proxy that is not in tried for the page at address, counts its use, and
// adds its Host to tried. It chooses the enabled proxy that serves the page with the lowest
// product of uses and priority; of equals the one with the lowest priority, then the first.
// The error is ErrEmpty or ErrNone. If the index file cannot be changed, that is logged,
// and the use is counted in memory.
func (p *Pool) Pick(ctx context.Context, address string, tried map[string]bool) (Proxy, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.entries) == 0 {
		return Proxy{}, ErrEmpty
	}
	var candidates []*entry
	for _, e := range p.entries {
		if !tried[e.host] && e.servesPage(address) {
			candidates = append(candidates, e)
		}
	}
	if len(candidates) == 0 {
		return Proxy{}, ErrNone
	}
	var best *entry
	err := p.changeEntry(ctx, candidates, func() *entry {
		if best = lowestEntry(candidates); best != nil {
			best.freq = min(best.freq, maxCount-1) + 1
		}
		return best
	})
	if err != nil {
		p.log.Warn("cannot write the index file of proxies; the use is counted in memory only", "site", p.site, "error", err)
	}
	if best == nil {
		return Proxy{}, ErrNone
	}
	if tried != nil {
		tried[best.host] = true
	}
	return best.toProxy(), nil
}

// Fault counts a fault of a proxy that Pick returned: a failed alive check or connection,
// an error of the browser, or a content that Spec.Rotates recognises. The returned proxy
// has the new counts, which the caller writes to its row. Its State is 0 if it has reached
// its maximum of faults and is disabled. If the error is not nil, the fault is counted in
// memory only.
func (p *Pool) Fault(ctx context.Context, proxy Proxy) (Proxy, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.byHost[proxy.Host]
	if e == nil {
		return proxy, fmt.Errorf("count proxy fault of site %q: the proxy is not in this pool", p.site)
	}
	err := p.changeEntry(ctx, []*entry{e}, func() *entry {
		e.faults = min(e.faults, maxCount-1) + 1
		if e.faultsMax != 0 && e.faults >= e.faultsMax {
			e.state = 0
		}
		return e
	})
	if err != nil {
		err = fmt.Errorf("count proxy fault of site %q: %w", p.site, err)
	}
	return e.toProxy(), err
}

// changeEntry updates entries from the index file, lets apply change one of them, and writes
// that one. It calls apply exactly once, even if the file fails.
func (p *Pool) changeEntry(ctx context.Context, entries []*entry, apply func() *entry) error {
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
			e.refreshCounts(ix)
		}
		applied = true
		if e := apply(); e != nil {
			return e.storeCounts(ix)
		}
		return nil
	})
	if !applied {
		apply()
	}
	return err
}

// lowestEntry returns the enabled entry with the lowest product of uses and priority, or nil.
func lowestEntry(entries []*entry) *entry {
	var best *entry
	for _, e := range entries {
		if e.state == 1 && (best == nil || e.usedBefore(best)) {
			best = e
		}
	}
	return best
}

func (e *entry) usedBefore(other *entry) bool {
	a, b := float64(e.freq)*float64(e.priority), float64(other.freq)*float64(other.priority)
	return a < b || a == b && e.priority < other.priority
}

func (e *entry) toProxy() Proxy {
	address := *e.address
	return Proxy{
		Host: e.host, URL: &address, State: e.state, Faults: e.faults, FaultsMax: e.faultsMax, RowSite: e.rowSite,
	}
}
