package crawl

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"hce/dc/internal/archive"
	"hce/dc/internal/archive/filter"
	"hce/dc/internal/archive/repository"
	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/node"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/wire"
)

const (
	firstLook  = 50 * time.Millisecond
	lastLook   = 2 * time.Second
	stallLimit = 15 * time.Minute // without any change
	beginLimit = 2 * time.Minute  // without any change before the first page
	cleanTime  = time.Minute
	// notProcessed is a processingDelay that no crawl reaches (ms): the archive needs bytes only.
	notProcessed = 1000 * 24 * 3600 * 1000
)

// job crawls a domain and commits it.
func (m *Manager) job(ctx context.Context, daemon *node.Daemon, j Job) (err error) {
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
	s := watched{daemon, site}
	if err := s.await(ctx); err != nil {
		return err
	}
	commit, dropped, err := m.archive(ctx, daemon, site, crawl)
	if err != nil {
		return err
	}
	m.Say("%s: %d pages, %d dropped by filters, in %s", commit.CommitTag, commit.pages, dropped, time.Since(began).Round(100*time.Millisecond))
	m.Log.Info("crawl", "op", "commit", "domain", j.Domain, "tag", commit.CommitTag, "pages", commit.pages, "dropped", dropped, "ms", time.Since(began).Milliseconds())
	return nil
}

// siteObject returns the object of SITE_NEW. Links that leave the domain are not followed, so no other
// instance crawls the same pages.
func (m *Manager) siteObject(id string, j Job) (map[string]any, error) {
	only := `re:^https?://` + regexp.QuoteMeta(j.Domain) + `(?:[/?#]|$)`
	filters, err := target.Filters(j.Roots, target.Limits{Scope: target.Any, Include: []string{only}, Depth: m.Depth})
	if err != nil {
		return nil, err
	}
	properties := map[string]string{"STORE_AS_RECEIVED": "1", "STORE_HTTP_HEADERS": "0", "STORE_HTTP_REQUEST": "0", "STORE_COOKIES": "0"}
	if !m.Robots {
		properties["ROBOTS_MODE"], properties["ROBOTS_COLLECT"] = "0", "0"
	}
	if m.UserAgent != "" {
		headers, err := json.Marshal(map[string]string{"User-Agent": m.UserAgent})
		if err != nil {
			return nil, err
		}
		properties["HTTP_HEADERS"] = string(headers)
	}
	return map[string]any{
		"id": id, "urls": j.Roots, "filters": filters, "properties": properties, "requestDelay": m.Delay.Milliseconds(),
		"processingDelay": notProcessed, "maxErrors": 0, "description": "archive of " + j.Domain,
	}, nil
}

// watched is a site that is crawled.
type watched struct {
	daemon *node.Daemon
	site   string
}

// await waits until the site has no work left.
func (w watched) await(ctx context.Context) error {
	changed, seen, pause := time.Now(), [4]int64{-1}, firstLook
	for {
		site, err := w.status(ctx)
		if err != nil {
			return err
		}
		if now := [4]int64{site.CollectedURLs, site.NewURLs, site.CrawlingURLs, site.Errors}; now != seen {
			seen, changed = now, time.Now()
		}
		done, err := w.done(ctx, site)
		if err != nil || done {
			return err
		}
		limit := stallLimit
		if site.CollectedURLs == 0 && site.Errors == 0 {
			limit = beginLimit
		}
		if time.Since(changed) > limit {
			return fmt.Errorf("nothing has changed for %s, and %d URLs wait: %s", limit, site.NewURLs, w.daemon.Reason(ctx, w.site))
		}
		timer := time.NewTimer(pause)
		pause = min(pause*3/2, lastLook)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

func (w watched) status(ctx context.Context) (site wire.Site, err error) {
	err = w.daemon.Ask(ctx, wire.SiteStatus, map[string]any{"id": w.site, "deleteTaskId": nil, "excludeList": []string{"urls", "filters", "properties"}}, &site)
	if err == nil && site.State == wire.SiteNotFound {
		err = fmt.Errorf("site %s was deleted during its crawl", w.site)
	}
	return site, err
}

// done reports whether no URL waits or is in a batch. A row that a selection takes between two looks is
// seen by the second one.
func (w watched) done(ctx context.Context, site wire.Site) (bool, error) {
	if site.NewURLs > 0 && site.State == wire.SiteActive {
		return false, nil
	}
	for _, where := range []string{"(" + wire.DueCrawl + ") OR " + wire.InFlight, wire.InFlight} {
		rows, err := pages.Rows(ctx, w.daemon, w.site, where, "", 1)
		if err != nil || len(rows) > 0 {
			return false, err
		}
	}
	if site.State != wire.SiteActive {
		return true, fmt.Errorf("the crawler has suspended the site: %v", site.ErrorMask.Names())
	}
	return true, nil
}

// committed is a commit and its number of pages.
type committed struct {
	archive.Commit
	pages int
}

// archive stages the pages of a site and commits those that the filters keep.
func (m *Manager) archive(ctx context.Context, service client.Service, site string, crawl *repository.Crawl) (c committed, dropped int, err error) {
	filters, err := filter.Open(m.FilterDir, m.Filters)
	if err != nil {
		return c, 0, err
	}
	defer func() { err = errors.Join(err, filters.Close()) }()
	staged := 0
	reader := pages.Reader{Service: service, Site: site, Where: export.AsReceived + " AND `HTTPCode`=200", Needs: pages.Raw}
	err = reader.Read(ctx, "", func(p *pages.Page) error {
		added, err := stage(crawl, p)
		if added {
			staged++
		}
		return err
	}, nil)
	if err != nil {
		return c, 0, err
	}
	if staged == 0 {
		return c, 0, m.nothing(ctx, service, site)
	}
	c.Commit, err = crawl.Commit(ctx, func(meta archive.Meta) (bool, error) {
		keep, err := filters.Keep(ctx, meta)
		if !keep {
			dropped++
		}
		return keep, err
	})
	c.pages = staged - dropped
	return c, dropped, err
}

// nothing says why a crawl brought no page.
func (m *Manager) nothing(ctx context.Context, service client.Service, site string) error {
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
