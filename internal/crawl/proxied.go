package crawl

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
func (v *visit) fetchThroughProxies(ctx context.Context) (*answer, error) {
	spec := v.settings.Proxy
	pool := v.proxyPool(ctx)
	tried := map[string]bool{}
	var last error
	for range spec.Attempts() {
		picked, err := pool.Pick(ctx, v.item.url.URL, tried)
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
		if err := v.checkAlive(ctx, v.settings.ProxyAlive, picked.URL.String()); err != nil {
			last = err
			v.countProxyFault(ctx, pool, picked, err)
			continue
		}
		a, err := v.requestPage(ctx)
		if proxyFailed(err) {
			last = err
			v.countProxyFault(ctx, pool, picked, err)
			v.leaveAll()
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
			a.proxy = &picked
			return a, nil
		}
		last = errors.New("the answer is not the page")
		v.leaveAll()
	}
	return nil, noProxy(fmt.Sprintf("%d proxies were tried, the last failed: %v", len(tried), last), spec.StatusTries)
}

// proxyPool returns the pool of the item's site, opened once per batch.
func (v *visit) proxyPool(ctx context.Context) *proxypool.Pool {
	s := v.settings
	s.OpenPool.Do(func() {
		var rows []wire.Proxy
		if s.Proxy.WithTable {
			var err error
			if rows, err = v.Data.Proxies(ctx, v.item.SiteID); err != nil {
				v.log.Warn("cannot read stored proxies", "site", v.item.SiteID, "error", err)
			}
		}
		pool, err := proxypool.Open(s.Proxy, v.item.SiteID, v.Config.ProxyDir, rows, proxypool.Options{Log: v.log, ReadOnly: v.dry})
		if err != nil {
			v.log.Warn("applied only valid parts of a property", "site", v.item.SiteID, "reason", "property USER_PROXY "+err.Error())
		}
		s.Pool = pool
	})
	return s.Pool
}

// countProxyFault counts a fault of a proxy, in the pool and in its row.
func (v *visit) countProxyFault(ctx context.Context, pool *proxypool.Pool, p proxypool.Proxy, reason error) {
	counted, err := pool.Fault(ctx, p)
	if err == nil && counted.RowSite != "" && v.mayWrite() {
		err = v.Data.ProxyFault(ctx, counted.RowSite, counted.Host, counted.State == 0)
	}
	v.log.Warn("proxy failed", "site", v.item.SiteID, "proxy", p.URL.Redacted(), "faults", counted.Faults, "disabled", counted.State == 0, "reason", reason)
	if err != nil {
		v.log.Warn("cannot store the fault of a proxy", "site", v.item.SiteID, "error", err)
	}
}

// throughProxy sends further requests of a page through p, or through a proxy of the pool if p
// is nil, if the site uses proxies. It returns an error if no proxy is available; a direct
// request would bypass the site's setting.
func (v *visit) throughProxy(ctx context.Context, p *proxypool.Proxy) error {
	spec := v.settings.Proxy
	switch {
	case !spec.Used():
		return nil
	case p == nil:
		picked, err := v.proxyPool(ctx).Pick(ctx, v.item.url.URL, nil)
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
	return refusal{bits: errormask.NoProxy, code: http.StatusGatewayTimeout, status: int64(status), reason: reason}
}
