package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"hce/dc/internal/cli/actions"
	"hce/dc/internal/cli/apikeys"
)

// object is an answer with one object.
type object[T any] struct{ Body T }

// created is the answer to a request that made something.
type created[T any] struct {
	Location string `header:"Location"`
	Body     T
}

// addWeb registers the operations about single pages of the web.
func (s *Server) addWeb(api huma.API) {
	add(s, api, operation{
		id: "scrape", method: http.MethodPost, path: "/v1/scrape", tag: "web", summary: "Read one page", scope: apikeys.Crawl, open: true, errors: []int{http.StatusBadGateway},
		about: "Asks for the page as the crawler would (robots.txt, public addresses only, one request to a host at a time) and returns what it says. Nothing is stored.",
	}, func(ctx context.Context, in *struct{ Body actions.Scrape }) (*object[actions.ScrapedPage], error) {
		page, err := s.scraper.Page(ctx, in.Body)
		return &object[actions.ScrapedPage]{page}, err
	})
	add(s, api, operation{
		id: "map", method: http.MethodPost, path: "/v1/map", tag: "web", summary: "List the URLs of a site without a crawl", scope: apikeys.Crawl, open: true, errors: []int{http.StatusBadGateway},
		about: "Reads the sitemaps of the host and the links of one page.",
	}, func(ctx context.Context, in *struct{ Body actions.Map }) (*object[actions.URLMap], error) {
		found, err := s.scraper.Map(ctx, in.Body)
		return &object[actions.URLMap]{found}, err
	})
}

// SiteInput names a site.
type SiteInput struct {
	Site string `path:"site" maxLength:"32" doc:"id of the site"`
}

// addCrawls registers the operations that join a site and its crawl.
func (s *Server) addCrawls(api huma.API) {
	add(s, api, operation{
		id: "startCrawl", method: http.MethodPost, path: "/v1/crawl", tag: "crawls", summary: "Create a site and crawl it", scope: apikeys.Crawl, status: http.StatusCreated,
		errors: []int{http.StatusConflict},
		about:  "With the header Prefer: wait=SECONDS the answer comes when the crawl has ended, or after this time. A repeated request with the header Idempotency-Key gets the crawl that exists, if its settings are those.",
	}, func(ctx context.Context, in *newSiteInput) (*created[actions.Crawl], error) {
		crawl, err := startOnce(in, func() (actions.Crawl, error) { return s.actions.StartCrawl(ctx, in.Body) }, func() (actions.Crawl, error) {
			site, err := s.actions.SameSite(ctx, in.Body)
			if err != nil {
				return actions.Crawl{}, err
			}
			return s.actions.CrawlOf(ctx, site.ID)
		})
		if limit := in.wait(); err == nil && limit > 0 {
			crawl, err = s.actions.WaitForCrawl(ctx, crawl.ID, limit)
		}
		return &created[actions.Crawl]{"/v1/crawl/" + crawl.ID, crawl}, err
	})
	add(s, api, operation{
		id: "getCrawl", method: http.MethodGet, path: "/v1/crawl/{site}", tag: "crawls", summary: "Show how far a crawl is", scope: apikeys.Read, site: "site",
		about: "With the header Prefer: wait=SECONDS the answer comes when the crawl has ended, or after this time.",
	}, func(ctx context.Context, in *struct {
		SiteInput
		WaitInput
	}) (*object[actions.Crawl], error) {
		crawl, err := s.actions.WaitForCrawl(ctx, in.Site, in.wait())
		return &object[actions.Crawl]{crawl}, err
	})
	add(s, api, operation{
		id: "stopCrawl", method: http.MethodDelete, path: "/v1/crawl/{site}", tag: "crawls", summary: "Stop a crawl", scope: apikeys.Crawl, site: "site",
		about: "The site is paused; its pages stay. Requests that run are finished.",
	}, func(ctx context.Context, in *SiteInput) (*object[actions.Crawl], error) {
		if _, err := s.actions.ChangeSite(ctx, in.Site, actions.SiteChange{State: "paused"}); err != nil {
			return nil, err
		}
		crawl, err := s.actions.CrawlOf(ctx, in.Site)
		return &object[actions.Crawl]{crawl}, err
	})
}

// WaitInput is how long a client waits for the end of a crawl.
type WaitInput struct {
	Prefer string `header:"Prefer" pattern:"^(wait=[0-9]{1,3})?$" doc:"wait=SECONDS" example:"wait=30"`
}

// maxWait is the longest wait; a client asks again then.
const maxWait = 100 * time.Second

func (w WaitInput) wait() time.Duration {
	if len(w.Prefer) < len("wait=0") {
		return 0
	}
	d, _ := time.ParseDuration(w.Prefer[len("wait="):] + "s") // the pattern is checked
	return min(d, maxWait)
}
