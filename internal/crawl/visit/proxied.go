package visit

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"hce/dc/internal/crawl/browser"
	"hce/dc/internal/crawl/budget"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/proxypool"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// fetchThroughProxies sends the request through proxies of the site's pool, one after the other, until one
// returns the page or the tries of USER_PROXY are used up (docs/spec/crawling.md 4.10). A proxy
// that cannot be reached, or whose answer is not the page, gets a fault.
func (v *Visit) fetchThroughProxies(ctx context.Context) (*Answer, error) {
	spec := v.Settings.Proxy
	pool := v.proxyPool(ctx)
	tried := map[string]bool{}
	var last error
	for range spec.Attempts() {
		picked, err := pool.Pick(ctx, v.Item.Row.URL, tried)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil, budget.ErrNoTime
		case errors.Is(err, proxypool.ErrEmpty):
			return nil, noProxy("the pool of proxies is empty", spec.StatusEmpty)
		default:
			return nil, noProxy("no proxy of the pool is left for the URL", spec.StatusNone)
		}
		v.proxy = &picked
		if err := v.checkAlive(ctx, v.Settings.ProxyAlive, picked.URL.String()); err != nil {
			last = err
			v.countProxyFault(ctx, pool, picked, err)
			continue
		}
		a, err := v.requestPage(ctx)
		if proxyFailed(err) {
			last = err
			v.countProxyFault(ctx, pool, picked, err)
			v.LeaveAll()
			continue
		}
		if err != nil {
			return nil, err
		}
		rotate, fault := spec.Rotates(a.Body)
		if fault {
			v.countProxyFault(ctx, pool, picked, errors.New("the answer is not the page"))
		}
		if !rotate {
			a.Proxy = &picked
			return a, nil
		}
		last = errors.New("the answer is not the page")
		v.LeaveAll()
	}
	return nil, noProxy(fmt.Sprintf("%d proxies were tried, the last failed: %v", len(tried), last), spec.StatusTries)
}

// proxyPool returns the pool of the item's site, opened once per batch.
func (v *Visit) proxyPool(ctx context.Context) *proxypool.Pool {
	s := v.Settings
	s.OpenPool.Do(func() {
		var rows []wire.Proxy
		if s.Proxy.WithTable {
			var err error
			if rows, err = v.Env.Proxies.Proxies(ctx, v.Item.SiteID); err != nil {
				v.Env.Log.Warn("cannot read stored proxies", "site", v.Item.SiteID, "error", err)
			}
		}
		pool, err := proxypool.Open(s.Proxy, v.Item.SiteID, v.Env.Config.ProxyDir, rows, proxypool.Options{Log: v.Env.Log, ReadOnly: v.Env.Dry})
		if err != nil {
			v.Env.Log.Warn("applied only valid parts of a property", "site", v.Item.SiteID, "reason", "property USER_PROXY "+err.Error())
		}
		s.Pool = pool
	})
	return s.Pool
}

// countProxyFault counts a fault of a proxy, in the pool and in its row.
func (v *Visit) countProxyFault(ctx context.Context, pool *proxypool.Pool, p proxypool.Proxy, reason error) {
	counted, err := pool.Fault(ctx, p)
	if err == nil && counted.RowSite != "" && v.Env.MayWrite() {
		err = v.Env.Proxies.ProxyFault(ctx, counted.RowSite, counted.Host, counted.State == 0)
	}
	v.Env.Log.Warn("proxy failed", "site", v.Item.SiteID, "proxy", p.URL.Redacted(), "faults", counted.Faults, "disabled", counted.State == 0, "reason", reason)
	if err != nil {
		v.Env.Log.Warn("cannot store the fault of a proxy", "site", v.Item.SiteID, "error", err)
	}
}

// ThroughProxy sends further requests of a page through p, or through a proxy of the pool if p
// is nil, if the site uses proxies. It returns an error if no proxy is available; a direct
// request would bypass the site's setting.
func (v *Visit) ThroughProxy(ctx context.Context, p *proxypool.Proxy) error {
	spec := v.Settings.Proxy
	switch {
	case !spec.Used():
		return nil
	case p == nil:
		picked, err := v.proxyPool(ctx).Pick(ctx, v.Item.Row.URL, nil)
		if err != nil {
			return noProxy("no proxy of the pool is left: "+err.Error(), spec.StatusNone)
		}
		p = &picked
	}
	v.proxy = p
	return nil
}

// proxyFailed reports whether the proxy failed, and not the page. The request for the robots.txt
// of a redirect's host counts too.
func proxyFailed(err error) bool {
	seen, plain := faultsOf(err)
	return seen != nil && seen.Kind == browser.ProxyConnect || plain != nil && plain.Kind == fetch.Proxy
}

// noProxy fails an item whose site needs a proxy and has none (docs/spec/crawling.md 2.4).
func noProxy(reason string, status int) error {
	return Refusal{Bits: errormask.NoProxy, code: http.StatusGatewayTimeout, Status: int64(status), reason: reason}
}
