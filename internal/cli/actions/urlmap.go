package actions

import (
	"context"
	"slices"
	"strings"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/cli/target"
	"hce/dc/internal/process/reading"
	"hce/dc/internal/web/charset"
	"hce/dc/robots"
	"hce/dc/sitemap"
)

// Map says which URLs of a site are wanted.
type Map struct {
	URL    string `json:"url" minLength:"1" maxLength:"4096" example:"https://example.org/"`
	Scope  string `json:"scope,omitempty" enum:"host,domain,prefix" doc:"which URLs belong to the site: those of the host (default; with and without www), of the domain with sub-domains, or below the folder of the URL"`
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"50000" doc:"at most this number of URLs; default: 5000"`
	Search string `json:"search,omitempty" maxLength:"200" doc:"only URLs that contain this text, in lower or upper case"`
}

// MappedURL is a URL of a site.
type MappedURL struct {
	URL      string     `json:"url"`
	Source   string     `json:"source" enum:"sitemap,link,root"`
	Modified *time.Time `json:"modified,omitempty" doc:"as the sitemap says it"`
}

// URLMap is what is known about the URLs of a site without a crawl.
type URLMap struct {
	URLs     []MappedURL `json:"urls"`
	Sitemaps []string    `json:"sitemaps" doc:"sitemaps that were read"`
	More     bool        `json:"more" doc:"there are more URLs than the limit, or more sitemaps than are read"`
	Problems []string    `json:"problems,omitempty"`
}

// Limits of a map.
const (
	defaultMapped = 5000
	maxSitemaps   = 100
)

// mapping collects the URLs of one Map.
type mapping struct {
	*Scraper
	ctx    context.Context
	limit  int
	search string
	filter func(url string, depth int) bool
	known  map[string]bool
	found  URLMap
}

// Map returns URLs of a site: from its sitemaps, and the links of one page.
func (s *Scraper) Map(ctx context.Context, m Map) (URLMap, error) {
	root, err := canonicalURL("url", m.URL)
	if err != nil {
		return URLMap{}, err
	}
	scope := target.Host
	if m.Scope != "" {
		if scope, err = target.ParseScope(m.Scope); err != nil || scope == target.Any {
			return URLMap{}, &Invalid{"scope", m.Scope, "it is not one of host, domain, prefix"}
		}
	}
	inside, err := target.Matcher([]string{root}, target.Limits{Scope: scope, Depth: -1})
	if err != nil {
		return URLMap{}, &Invalid{"url", m.URL, err.Error()}
	}
	c := mapping{Scraper: s, ctx: ctx, limit: m.Limit, search: strings.ToLower(m.Search), filter: inside, known: map[string]bool{}, found: URLMap{URLs: []MappedURL{}, Sitemaps: []string{}}}
	if c.limit == 0 {
		c.limit = defaultMapped
	}
	rootErr := c.addLinks(root)
	c.readSitemaps(canonical.Split(root).Origin())
	if ctx.Err() != nil {
		return URLMap{}, context.Cause(ctx)
	}
	if rootErr != nil && len(c.found.Sitemaps) == 0 {
		return URLMap{}, rootErr
	}
	return c.found, nil
}

// addURL adds a URL that belongs to the site.
func (c *mapping) addURL(u MappedURL) {
	if c.known[u.URL] || !c.filter(u.URL, 1) || !strings.Contains(strings.ToLower(u.URL), c.search) {
		return
	}
	c.known[u.URL] = true
	if len(c.found.URLs) == c.limit {
		c.found.More = true
		return
	}
	c.found.URLs = append(c.found.URLs, u)
}

func (c *mapping) addProblem(err error) { c.found.Problems = append(c.found.Problems, err.Error()) }

// addLinks adds a page and its links.
func (c *mapping) addLinks(url string) error {
	answer, err := c.fetch(c.ctx, url, nil)
	if err != nil {
		c.addProblem(err)
		return err
	}
	c.addURL(MappedURL{URL: canonical.WithoutFragment(answer.FinalURL), Source: "root"})
	var page ScrapedPage
	if err := c.read(c.ctx, reading.Question{URL: answer.FinalURL, ContentType: answer.Header.Get("Content-Type")}, answer.Body, &page); err != nil {
		c.addProblem(err)
		return nil // such as a PDF
	}
	for _, link := range page.Links {
		if u, err := canonical.Canonical(link); err == nil {
			c.addURL(MappedURL{URL: canonical.WithoutFragment(u), Source: "link"})
		}
	}
	return nil
}

// readSitemaps adds the URLs of the sitemaps that robots.txt names, else of /sitemap.xml.
func (c *mapping) readSitemaps(origin string) {
	queue := []string{origin + "/sitemap.xml"}
	if answer, err := c.Web.GetFile(c.ctx, origin+"/robots.txt"); err == nil && answer.Code == 200 {
		if listed := robots.FromStatus(answer.Code, answer.Body).Sitemaps(); len(listed) > 0 {
			queue = listed
		}
	}
	asked := map[string]bool{}
	for len(queue) > 0 && c.ctx.Err() == nil && !c.found.More {
		url, err := canonical.Web.Resolve(origin+"/", queue[0])
		queue = queue[1:]
		if err != nil || asked[url] {
			continue
		}
		if asked[url] = true; len(asked) > maxSitemaps {
			c.found.More = true
			return
		}
		queue = append(queue, c.readSitemap(url)...)
	}
}

// readSitemap adds the URLs of a sitemap, or returns the sitemaps of an index.
func (c *mapping) readSitemap(url string) (more []string) {
	answer, err := c.Web.GetFile(c.ctx, url)
	if err != nil {
		c.addProblem(err)
		return nil
	}
	if answer.Code != 200 {
		return nil
	}
	s, err := sitemap.Parse(answer.Body, sitemap.Options{URL: answer.FinalURL, ContentType: answer.Header.Get("Content-Type")})
	if err != nil {
		return nil // a page instead of a sitemap, or a feed
	}
	c.found.Sitemaps = append(c.found.Sitemaps, answer.FinalURL)
	for _, e := range s.Entries {
		loc, err := canonical.Web.Resolve(answer.FinalURL, e.Loc)
		switch {
		case err != nil:
		case s.Index:
			more = append(more, loc)
		default:
			u := MappedURL{URL: canonical.WithoutFragment(loc), Source: "sitemap"}
			if !e.LastMod.IsZero() {
				u.Modified = &e.LastMod
			}
			c.addURL(u)
		}
	}
	c.found.More = c.found.More || s.Cut
	return slices.Compact(more)
}

// rawText returns a body as UTF-8.
func rawText(body []byte, contentType string) string {
	text, _, _ := charset.Decode(body, contentType) // the error says that some bytes were replaced
	return string(text)
}
