package actions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/web/revalidate"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/urlkey"
)

// Statuses are the names of the statuses of URLs, each with its condition on rows.
var Statuses = map[string]string{
	"new": "`Status`=1", "crawling": "`Status` IN (2,3,8)", "crawled": "`Status`=4", "processing": "`Status` IN (5,6)", "processed": "`Status`=7",
}

// Failed is the condition of URLs whose last fetch, or its processing, had an error.
const Failed = "`ErrorMask`<>0 AND NOT (`Status`=4 AND `Crawled`=0)"

// URLs says which URLs of a site are wanted.
type URLs struct {
	Site   string
	Status string // one of Statuses; "" for all
	Failed bool
	Prefix string // of the URL; "" for all
	URL    string // exactly; "" for all
	After  string // key of the last one of the answer before; "" for the first
	Most   int
	Fields []string // of package export; nil: those of a table of URLs
}

// condition returns the condition on rows.
func (u URLs) condition() (string, error) {
	var parts []string
	if u.Status != "" {
		code, known := Statuses[u.Status]
		if !known {
			return "", &Invalid{"status", u.Status, "it is not one of new, crawling, crawled, processing, processed"}
		}
		parts = append(parts, code)
	}
	if u.Failed {
		parts = append(parts, Failed)
	}
	if u.Prefix != "" {
		if strings.ContainsAny(u.Prefix, `'\`) {
			return "", &Invalid{"prefix", u.Prefix, "a quote or a backslash is not possible"}
		}
		parts = append(parts, "`URL` LIKE '"+strings.NewReplacer("%", `\%`, "_", `\_`).Replace(u.Prefix)+"%'")
	}
	if u.URL != "" {
		url, err := canonicalURL("url", u.URL)
		if err != nil {
			return "", err
		}
		parts = append(parts, "`URLMd5`='"+urlkey.Of(url)+"'")
	}
	return strings.Join(parts, " AND "), nil
}

// AddURLs adds URLs to a site. added counts those that were not known.
func (a *Actions) AddURLs(ctx context.Context, id string, typed []string) (added, known int, err error) {
	site, err := a.storedSite(ctx, id, "filters", "properties")
	if err != nil {
		return 0, 0, err
	}
	list, err := canonicalURLs("urls", typed)
	if err != nil {
		return 0, 0, err
	}
	return a.AddTo(ctx, site, list)
}

// AddTo adds canonical URLs to a site, like links of its first root. After an error the same call continues.
func (a *Actions) AddTo(ctx context.Context, site wire.Site, urls []string) (added, known int, err error) {
	for part := range slices.Chunk(urls, 500) {
		fresh, err := a.unknownURLs(ctx, site.ID, part)
		if err != nil {
			return added, known, err
		}
		known += len(part) - len(fresh)
		if len(fresh) == 0 {
			continue
		}
		if err := a.addRows(ctx, site, fresh); err != nil && !isPartial(err) {
			return added, known, err
		}
		added += len(fresh)
	}
	return added, known, nil
}

// unknownURLs returns the URLs that a site does not have, each once.
func (a *Actions) unknownURLs(ctx context.Context, id string, urls []string) ([]string, error) {
	var requests []any
	for _, url := range urls {
		requests = append(requests, map[string]any{"siteId": id, "url": url, "urlType": wire.ByURL})
	}
	var rows []wire.URL
	if err := a.Service.Ask(ctx, wire.URLStatus, requests, &rows); err != nil && !isPartial(err) {
		return nil, err
	}
	seen := map[string]bool{}
	for i := range rows {
		seen[rows[i].URLMd5] = true
	}
	var fresh []string
	for _, url := range urls {
		if key := urlkey.Of(url); !seen[key] {
			seen[key] = true
			fresh = append(fresh, url)
		}
	}
	return fresh, nil
}

// addRows adds URLs that are not known.
func (a *Actions) addRows(ctx context.Context, site wire.Site, urls []string) error {
	var requests []any
	for _, url := range urls {
		request := map[string]any{"siteId": site.ID, "url": url, "siteSelect": wire.SelectExplicit}
		if len(site.URLs) > 0 { // without a parent it would be a root URL
			request["parentMd5"], request["depth"] = site.URLs[0].URLMd5, 1
		}
		requests = append(requests, request)
	}
	var answer struct {
		Statuses []any `json:"statuses"`
	}
	err := a.Service.Ask(ctx, wire.URLNew, requests, &answer)
	for i, status := range answer.Statuses {
		if fmt.Sprint(status) != "0" && i < len(urls) {
			return fmt.Errorf("URL_NEW did not add %s (status %v)", urls[i], status)
		}
	}
	return err
}

// DeleteURL deletes a URL of a site with its page.
func (a *Actions) DeleteURL(ctx context.Context, site, key string) error {
	if _, err := a.row(ctx, site, key); err != nil {
		return err
	}
	err := a.Service.Ask(ctx, wire.URLDelete, []any{map[string]any{"siteId": site, "url": key, "urlType": wire.ByMd5, "delayedType": wire.Immediate}}, nil)
	if isPartial(err) {
		return nil
	}
	return err
}

// checkName returns a *NotFound if no page can have the key, or no site the id.
func checkName(site, key string) error {
	if !wire.ValidSiteID(site) || site == wire.GeneralSite {
		return &NotFound{"site", site}
	}
	if !isKey(key) {
		return &NotFound{"page", key}
	}
	return nil
}

// row returns the row of a URL by its key.
func (a *Actions) row(ctx context.Context, site, key string) (wire.URL, error) {
	if err := checkName(site, key); err != nil {
		return wire.URL{}, err
	}
	var rows []wire.URL
	err := a.Service.Ask(ctx, wire.URLStatus, []any{map[string]any{"siteId": site, "url": key, "urlType": wire.ByMd5}}, &rows)
	if err != nil && !isPartial(err) {
		return wire.URL{}, err
	}
	if len(rows) == 0 {
		return wire.URL{}, &NotFound{"page", key}
	}
	return rows[0], nil
}

// isKey reports whether a text is the key of a URL.
func isKey(text string) bool {
	return len(text) == 32 && strings.Trim(text, "0123456789abcdef") == ""
}

// renewAtOnce is the number of rows of one URL_UPDATE.
const renewAtOnce = 200

// Recrawl makes fetched URLs of a site due again, and returns their number.
func (a *Actions) Recrawl(ctx context.Context, id string, failed, full bool) (int64, error) {
	if err := a.checkSite(ctx, id); err != nil {
		return 0, err
	}
	where := "`Status` IN (4,7)"
	if failed {
		where += " AND `ErrorMask`<>0 AND `Crawled`>0"
	}
	return a.Renew(ctx, id, where, full)
}

// Renew makes the URLs of a site that match a condition due again, and returns their number. Entries of feeds are no pages of a server;
// their feed brings them. A row keeps the errors of its content, which an unchanged page still has; with other errors, or if full is
// set, its page is read again even if unchanged.
func (a *Actions) Renew(ctx context.Context, id, where string, full bool) (n int64, err error) {
	where += fmt.Sprintf(" AND `Type`<>%d", wire.TypeFetched)
	for after := ""; ; {
		rows, err := pages.Rows(ctx, a.Service, id, where+" AND `URLMd5`>'"+after+"'", "`URLMd5` ASC", renewAtOnce)
		if err != nil || len(rows) == 0 {
			return n, err
		}
		var requests []any
		for _, row := range rows {
			request := map[string]any{"siteId": id, "urlMd5": row.URLMd5, "status": wire.StatusNew, "state": wire.URLEnabled}
			if broken := row.ErrorMask&^revalidate.ContentErrors != 0; broken || full {
				request["errorMask"], request["settingsSum"] = 0, 0
			}
			requests = append(requests, request)
		}
		if err := a.Service.Ask(ctx, wire.URLUpdate, requests, nil); err != nil {
			return n, err
		}
		n, after = n+int64(len(rows)), rows[len(rows)-1].URLMd5
	}
}

// KeyOf returns the key of a URL as a person writes it.
func KeyOf(typed string) (string, error) {
	url, err := canonicalURL("url", typed)
	return urlkey.Of(url), err
}
