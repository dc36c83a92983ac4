package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/wire"
)

var errScheme = errors.New("has no scheme and host to make a site of")

// SiteOf returns the site of a URL that names none: the site with the longest root URL
// that is a prefix of url, else the site of its scheme and host, else the general site
// (docs/spec/objects.md 5.3, selection 2).
func (s *Store) SiteOf(ctx context.Context, url string) (string, error) {
	return runForResult(ctx, s.runReadTx, "SiteOf", func(t *tx) (string, error) {
		return t.siteFor("URL", wire.URLNewRequest{SiteSelect: wire.SelectQualify}, url)
	})
}

// siteFor selects the site of a new URL: the site that the request names, else the site
// with the longest matching root URL, else by siteSelect.
func (t *tx) siteFor(object string, r wire.URLNewRequest, text string) (string, error) {
	named := r.Row.Text("Site_Id")
	if named != "" {
		if id, err := t.storedID(named); err != nil || id != "" {
			return id, err
		}
	} else if r.SiteSelect != wire.SelectExplicit {
		if id, err := t.siteByRoot(text); err != nil || id != "" {
			return id, err
		}
	}
	switch r.SiteSelect {
	case wire.SelectExplicit:
		return wire.GeneralSite, nil
	case wire.SelectAuto, wire.SelectQualify:
		base, err := baseOf(text)
		if err != nil {
			return "", &wire.FieldError{Object: object, Field: "url", Value: clipText(text), Reason: err.Error()}
		}
		if id, err := t.storedID(wire.Md5(base)); err != nil || id != "" {
			return id, err
		}
		if r.SiteSelect == wire.SelectQualify {
			return wire.GeneralSite, nil
		}
		return wire.Md5(base), t.newSite(autoSite(base))
	case wire.SelectNone:
		return "", unknownSite(object, "siteId", named)
	}
	return "", &wire.FieldError{Object: object, Field: "siteSelect", Value: fmt.Sprint(r.SiteSelect), Reason: "is not 0, 1, 2 or 3"}
}

// siteByRoot returns the site whose root URL is the longest prefix of text, or "". It
// looks up the keys of all prefixes, because a comparison of texts ignores case.
func (t *tx) siteByRoot(text string) (string, error) {
	keys := make([]string, len(text))
	length := make(map[string]int, len(text))
	for n := len(text); n > 0; n-- {
		md5 := wire.KeyOfURL(text[:n])
		keys[len(text)-n], length[md5] = md5, n
	}
	site, longest := "", 0
	err := forEachChunk(keys, func(in string, args []any) error {
		if longest > 0 {
			return nil // later prefixes are shorter
		}
		return t.Each("SELECT URLMd5, Site_Id FROM "+t.plainTable(rootsInfo)+" WHERE URLMd5 IN "+in+" ORDER BY Site_Id DESC", args,
			scanPair(func(md5, of string) {
				if n := length[md5]; n >= longest {
					site, longest = of, n
				}
			}))
	})
	return site, err
}

// baseOf returns scheme://netloc/ of a URL as written, with its user and port
// (docs/spec/objects.md 4.1).
func baseOf(text string) (string, error) {
	u, err := canonical.Net(text)
	scheme, rest, ok := strings.Cut(text, "://")
	if err != nil || u.Host == "" || !ok {
		return "", errScheme
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return scheme + "://" + rest + "/", nil
}

// autoSite is the site that URL_NEW makes for a base URL (docs/spec/objects.md 2.1,
// column "auto").
func autoSite(base string) wire.SiteNewRequest {
	id := wire.Md5(base)
	r := wire.SiteNewRequest{
		ID: id, MoveURLs: true,
		Site: wire.Patch{"Id": id, "Priority": int64(100), "MaxURLsFromPage": int64(0), "ProcessingDelay": int64(500),
			"User_Id": int64(0), "Category_Id": int64(0)},
	}
	r.URLs = []wire.Patch{{"URL": base, "URLMd5": wire.KeyOfURL(base), "ParentMd5": ""}}
	r.Filters = []wire.Patch{{"Site_Id": id, "Pattern": "(.*)", "Subject": "", "OperationCode": int64(0), "Stage": int64(5),
		"Action": int64(1), "Type": int64(1), "Mode": int64(0), "State": int64(1), "Group_Id": int64(0)}}
	for _, p := range [][2]string{{"PROCESS_CTYPES", "text/html"}, {"STORE_HTTP_REQUEST", "1"}, {"STORE_HTTP_HEADERS", "1"}, {"HTTP_HEADERS", ""}, {"HTTP_COOKIE", ""}} {
		r.Properties = append(r.Properties, wire.Patch{"Site_Id": id, "URLMd5": "", "Name": p[0], "Value": p[1]})
	}
	return r
}

// Limits of one PutElsewhere. Finding the site of a link takes the square of its length.
const (
	maxNewSites       = 100
	maxElsewhere      = 2000 // links
	maxElsewhereBytes = 1024 // of one link
)

// PutElsewhere inserts links of pages to other sites (docs/spec/crawling.md 5.13). Each
// link goes to the site that URL_NEW would select, with the type, delay and time-out of
// that site. Known rows are unchanged. It skips a link above 1024 bytes or behind the
// first 2000, and a link without a site or without room in it. After 100 new sites a link
// goes to the general site. Call it before FinishCrawl: then a kill between the two calls
// loses no link.
func (s *Store) PutElsewhere(ctx context.Context, results []wire.Fetched) (skipped int, err error) {
	return runForResult(ctx, s.runUpdateTx, "PutElsewhere", func(t *tx) (int, error) {
		e := newElsewhere(t)
		for i := range results {
			r := &results[i]
			for j := range r.Elsewhere {
				l := &r.Elsewhere[j]
				if !storableURL(l.URL.URL) {
					continue
				}
				if e.count++; e.count > maxElsewhere || len(l.URL.URL) > maxElsewhereBytes {
					e.skipped++
					continue
				}
				if err := e.addLink(l, r.Select); err != nil {
					return 0, err
				}
			}
		}
		_, err := e.insertAllLinks()
		return e.skipped, err
	})
}

// elsewhere groups links by their sites.
type elsewhere struct {
	away int // links of other nodes
	newURLs
	links    map[string][]*wire.Link
	order    []string
	newSites map[string]bool // base URLs of sites that may be new
	count    int
	skipped  int
	waiting  int // for a larger lease
}

func newElsewhere(t *tx) *elsewhere {
	return &elsewhere{newURLs: newURLs{tx: t}, links: map[string][]*wire.Link{}, newSites: map[string]bool{}}
}

// insertAllLinks inserts the links of all sites.
func (e *elsewhere) insertAllLinks() (added int, err error) {
	for _, site := range e.order {
		n, err := e.insertLinks(site)
		if err != nil {
			return 0, err
		}
		added += n
	}
	return added, nil
}

// addLink finds the site of a link. Links of other nodes are queued for them.
func (e *elsewhere) addLink(l *wire.Link, sel int64) error {
	if e.isForeign(l) {
		row := l.URL
		row.SiteSelect = sel
		e.away++
		return e.queueLinks("", []*wire.URL{&row})
	}
	if sel == wire.SelectAuto {
		base, err := baseOf(l.URL.URL)
		if err != nil {
			e.skipped++
			return nil
		}
		if !e.newSites[base] && len(e.newSites) >= maxNewSites {
			sel = wire.SelectQualify
		}
		e.newSites[base] = true
	}
	site, err := e.siteOfElement(0, wire.URLNewRequest{Row: wire.Patch{"URL": l.URL.URL}, SiteSelect: sel})
	if err != nil {
		if isRefusal(err) {
			e.skipped++
			return nil
		}
		return err
	}
	if e.links[site] == nil {
		e.order = append(e.order, site)
	}
	e.links[site] = append(e.links[site], l)
	return nil
}

// insertLinks inserts the links of one site.
func (e *elsewhere) insertLinks(site string) (added int, err error) {
	defaults, err := e.urlDefaults(site)
	if err != nil {
		return 0, err
	}
	limits, err := e.readCapacity(site)
	if err != nil {
		return 0, err
	}
	fresh, err := e.missingURLs(site, mapSlice(e.links[site], func(l *wire.Link) *wire.URL {
		row := l.URL
		row.Type, row.RequestDelay, row.HTTPTimeout = defaults.Type, defaults.RequestDelay, defaults.HTTPTimeout
		return &row
	}))
	if err != nil {
		return 0, err
	}
	kept, dropped, err := e.selectFittingRows(site, limits, fresh)
	if err != nil {
		return 0, err
	}
	e.skipped += dropped
	e.waiting += len(fresh) - len(kept) - dropped
	return len(kept), e.addURLs(site, kept)
}
