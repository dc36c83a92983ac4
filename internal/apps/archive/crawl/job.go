package crawl

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"hce/dc/internal/cli/follow"
	"hce/dc/internal/cli/node"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/sitespec"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/wire"
)

const (
	cleanTime = time.Minute
	// notProcessed is a processingDelay that no crawl reaches (ms): the archive needs bytes only.
	notProcessed = 1000 * 24 * 3600 * 1000
)

// crawlJob crawls a domain and commits it.
func (m *Manager) crawlJob(ctx context.Context, daemon *node.Daemon, j Job) (err error) {
	began := time.Now()
	crawl, err := m.Repository.Begin(ctx, j.Domain, began)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, crawl.Abort()) }()
	m.Say("%s: crawling", crawl.Tag())
	// A killed crawl may have had the same tag, and the daemon finishes its last batch: no id comes again.
	site := wire.Md5(crawl.Tag() + rand.Text())
	object, err := m.siteObject(site, j)
	if err != nil {
		return err
	}
	if err := daemon.Ask(ctx, wire.SiteNew, object, nil); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
		defer cancel()
		err = errors.Join(err, removeSite(ctx, daemon, site))
	}()
	if err := m.awaitCrawl(ctx, daemon, j, site); err != nil {
		return err
	}
	o := outcome{crawl: crawl, failed: map[string]string{}, answered: map[string]bool{}, causes: map[string]int{}}
	if err := m.archiveSite(ctx, daemon, site, &o); err != nil {
		return err
	}
	m.Say("%s: %d pages, %d dropped by filters, in %s", crawl.Tag(), o.pageCount(), o.dropped, time.Since(began).Round(100*time.Millisecond))
	m.Log.Info("crawl", "op", "commit", "domain", j.Domain, "tag", crawl.Tag(), "pages", o.pageCount(), "dropped", o.dropped, "failed", len(o.failed), "kept", o.kept, "ms", time.Since(began).Milliseconds())
	for _, href := range slices.Sorted(maps.Keys(o.failed)) {
		m.Log.Warn("crawl", "op", "page", "domain", j.Domain, "url", href, "error", o.failed[href])
	}
	return o.partialError()
}

// siteObject returns the object of SITE_NEW. Links that leave the domain are not followed, so no other
// instance crawls the same pages.
func (m *Manager) siteObject(id string, j Job) (map[string]any, error) {
	only := `re:^https?://` + regexp.QuoteMeta(j.Domain) + `(?:[/?#]|$)`
	properties := map[string]string{"STORE_AS_RECEIVED": "1", "STORE_HTTP_HEADERS": "0", "STORE_HTTP_REQUEST": "0", "STORE_COOKIES": "0"}
	if !m.Robots {
		properties["ROBOTS_MODE"], properties["ROBOTS_COLLECT"] = "0", "0"
	}
	if m.UserAgent != "" {
		headers, err := json.Marshal(map[string]string{"User-Agent": m.UserAgent})
		if err != nil {
			return nil, err
		}
		properties[sitespec.HeadersProperty] = string(headers)
	}
	return sitespec.Spec{
		ID: id, Roots: j.Roots, Properties: properties,
		Limits: target.Limits{Scope: target.Any, Include: []string{only}, Depth: m.Depth},
		Fields: map[string]any{"requestDelay": m.Delay.Milliseconds(), "processingDelay": notProcessed, "maxErrors": 0},
	}.Object()
}

// awaitCrawl waits until the site has no work left. A site that a limit has suspended is an error.
func (m *Manager) awaitCrawl(ctx context.Context, daemon *node.Daemon, j Job, site string) error {
	var last wire.Site
	said := ""
	f := follow.Follower{Service: daemon, Site: site, Roots: len(j.Roots), Crawler: daemon, Unprocessed: true, Show: func(look follow.Look, _ bool) error {
		last = look.Site
		if look.Why != "" && look.Why != said { // such as a full disk: the crawl goes on when there is room
			said = look.Why
			m.Say("%s: waiting because: %s", j.Domain, said)
		}
		return nil
	}}
	if err := f.Run(ctx); err != nil {
		return err
	}
	if last.State != wire.SiteActive {
		return fmt.Errorf("the crawler has suspended the site: %v", last.ErrorMask.Names())
	}
	return nil
}

// explainEmpty says why a crawl brought no page.
func (m *Manager) explainEmpty(ctx context.Context, service service.Service, site string) error {
	rows, err := pages.Rows(ctx, service, site, "`Depth`=0", "", 1)
	if err != nil {
		return err
	}
	why := "no URL was requested"
	if len(rows) > 0 {
		why = fmt.Sprintf("%s: HTTP code %d %v", rows[0].URL, rows[0].HTTPCode, rows[0].ErrorMask.Names())
	}
	return fmt.Errorf("no page could be fetched, so the version before stays (%s); a start URL that redirects to another domain needs that domain's URL", why)
}
