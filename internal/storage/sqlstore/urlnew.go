package sqlstore

import (
	"context"
	"fmt"

	"hce/dc/internal/wire"
)

// URLNew inserts URLs (docs/spec/storage.md 4.7). Statuses has 0 inserted, 1 failed, 2 exists
// for each; what failed is left out, and the first reason stands in
// ErrorMessage. Keys tell where each URL is stored, for the URL_PUT that an
// element may carry; the key of a failed one is zero.
func (s *Store) URLNew(ctx context.Context, list []wire.URLNewRequest) (wire.GeneralResponse, []Key, error) {
	var n newURLs
	err := s.update(ctx, "URLNew", func(t *tx) error {
		n = newURLs{tx: t, list: list, statuses: make([]any, len(list)), keys: make([]Key, len(list)), errs: make([]error, len(list))}
		return n.run()
	})
	if err != nil {
		return wire.GeneralResponse{}, nil, err
	}
	answer := wire.GeneralResponse{Statuses: n.statuses}
	for _, err := range n.errs {
		if err != nil {
			complain(&answer, err)
		}
	}
	return answer, n.keys, nil
}

// newURLs is one URL_NEW under way. Elements that stand one behind the other and
// belong to one site wait, and are stored together: what each needs of the
// database is asked for once for all. Their keys differ, so that their order
// does not matter.
type newURLs struct {
	*tx
	list     []wire.URLNewRequest
	statuses []any
	keys     []Key
	errs     []error
	site     string
	waiting  []int           // indexes of elements of the site
	waits    map[string]bool // their URLMd5
}

// mostWaiting bounds what is stored together.
const mostWaiting = 1000

func (n *newURLs) object(i int) string { return fmt.Sprintf("URLNew[%d]", i) }

func (n *newURLs) run() error {
	for i, r := range n.list {
		site, err := n.siteOfElement(i, r)
		if err != nil {
			if err := n.failed(i, err); err != nil {
				return err
			}
			continue
		}
		n.keys[i] = Key{SiteID: site, URLMd5: r.Row.Text("URLMd5")}
		if site != n.site || n.waits[n.keys[i].URLMd5] || len(n.waiting) == mostWaiting {
			if err := n.store(); err != nil {
				return err
			}
			n.site, n.waits = site, map[string]bool{}
		}
		n.waiting = append(n.waiting, i)
		n.waits[n.keys[i].URLMd5] = true
	}
	return n.store()
}

// failed keeps the reason when it is the request's fault.
func (n *newURLs) failed(i int, err error) error {
	if !refused(err) {
		return err
	}
	n.statuses[i], n.keys[i], n.errs[i] = urlFailed, Key{}, err
	return nil
}

func (n *newURLs) siteOfElement(i int, r wire.URLNewRequest) (site string, err error) {
	text := r.Row.Text("URL")
	if len(text) > maxURL {
		return "", &wire.FieldError{Object: n.object(i), Field: "url", Value: text[:100] + "...", Reason: errLongURL.Error()}
	}
	if named := r.Row.Text("Site_Id"); named != "" && named == n.site && len(n.waiting) > 0 {
		return named, nil // as the one before
	}
	if r.SiteSelect != wire.SelectAuto {
		return n.siteFor(n.object(i), r, text)
	}
	err = n.Try(func() (err error) { // may make a site, or half of it
		site, err = n.siteFor(n.object(i), r, text)
		return err
	})
	return site, err
}

// store stores the elements that wait, all at once, or when one of them is
// refused one after the other.
func (n *newURLs) store() error {
	waiting := n.waiting
	n.waiting = nil
	if len(waiting) == 0 {
		return nil
	}
	err := n.Try(func() error { return n.storeAll(waiting) })
	if err == nil || !refused(err) {
		return err
	}
	for _, i := range waiting {
		err := n.Try(func() error { return n.storeAll([]int{i}) })
		if err != nil {
			if err := n.failed(i, err); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *newURLs) storeAll(waiting []int) error {
	urls := make([]*wire.URL, len(waiting))
	for at, i := range waiting {
		urls[at] = &wire.URL{URLMd5: n.keys[i].URLMd5}
	}
	fresh, err := n.missing(n.site, urls)
	if err != nil {
		return err
	}
	isFresh := make(map[string]bool, len(fresh))
	for _, u := range fresh {
		isFresh[u.URLMd5] = true
	}
	defaults, err := n.urlDefaults(n.site)
	if err != nil {
		return err
	}
	stats, err := n.statistics(n.site)
	if err != nil {
		return err
	}
	var rows []*wire.URL
	for at, i := range waiting {
		r, u := n.list[i], urls[at]
		switch {
		case !isFresh[u.URLMd5]:
			n.statuses[i] = urlExists
			if err := n.updateKnown(i); err != nil {
				return err
			}
		case hasExpressions(r.Row):
			n.statuses[i] = urlInserted
			if err := n.insertOne(i, defaults, stats); err != nil {
				return err
			}
		default:
			n.statuses[i] = urlInserted
			*u = rowOf(r.Row, defaults, n.now)
			rows = append(rows, u)
		}
	}
	if err := n.addURLs(n.site, rows, stats); err != nil {
		return err
	}
	for _, i := range waiting {
		if err := n.setAttributes(n.site, n.keys[i].URLMd5, n.list[i].Attributes); err != nil {
			return err
		}
	}
	return nil
}

// updateKnown applies the urlUpdate of an element whose URL is there.
func (n *newURLs) updateKnown(i int) error {
	if n.list[i].Update == nil {
		return nil
	}
	update := *n.list[i].Update
	update.SiteID, update.URLMd5 = n.site, n.keys[i].URLMd5
	_, err := n.updateURL(n.object(i)+".urlUpdate", update)
	return err
}

// insertOne inserts a row with expressions, which refer to the row itself.
func (n *newURLs) insertOne(i int, defaults wire.URL, stats *statistics) error {
	given := n.list[i].Row
	u := rowOf(given, defaults, n.now)
	row := wire.PatchOf(&u, wire.URLColumns)
	for name, value := range given {
		if _, ok := value.(wire.Expr); ok {
			row[name] = value
		}
	}
	err := n.counted(n.site, []string{u.URLMd5}, func() error {
		_, err := n.insert(n.urlsTarget(n.object(i), n.site), row)
		return err
	})
	if err != nil {
		return err
	}
	return stats.inserted(u.URLMd5, u.Status, u)
}

// urlDefaults are the columns of a new URL that its request does not set: those
// of the tables, and what it takes from its site (docs/spec/storage.md 1.5, 4.7 step 2).
func (t *tx) urlDefaults(site string) (wire.URL, error) {
	u := wire.URL{SiteID: site, Status: wire.StatusNew, ProcessingDelay: 1000, MaxURLsFromPage: 200}
	_, err := t.Get("site_url_defaults", []any{site}, &u.RequestDelay, &u.HTTPTimeout, &u.Type)
	return u, err
}

// rowOf is a new row of plain values.
func rowOf(given wire.Patch, defaults wire.URL, now string) wire.URL {
	u := defaults
	site := u.SiteID
	wire.Apply(&u, wire.URLColumns, given, wire.Date(now))
	u.SiteID = site
	if u.CDate == "" {
		u.CDate = wire.Date(now)
	}
	return u
}
