package urls

import (
	"context"

	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
)

// URLNew inserts URLs (docs/spec/storage.md 4.7). Statuses has 0 inserted, 1 failed or 2
// exists for each element; ErrorMessage has the first reason. Keys has the key of each
// stored URL, for the URL_PUT of the element; the key of a failed element is zero. So is that of
// an element whose host another node owns: that node stores it, here its status is 0.
func (s *Store) URLNew(ctx context.Context, list []wire.URLNewRequest) (wire.GeneralResponse, []Key, error) {
	return s.urlNew(ctx, list, false)
}

// ItemsNew is URLNew for further items of pages, which stay on the node that processed the page.
func (s *Store) ItemsNew(ctx context.Context, list []wire.URLNewRequest) (wire.GeneralResponse, error) {
	answer, _, err := s.urlNew(ctx, list, true)
	return answer, err
}

func (s *Store) urlNew(ctx context.Context, list []wire.URLNewRequest, all bool) (wire.GeneralResponse, []Key, error) {
	n, err := tables.RunForResult(ctx, s.run.Update, "URLNew", func(t *Tx) (*newURLs, error) {
		n := &newURLs{Tx: t, list: list, all: all, statuses: make([]any, len(list)), keys: make([]Key, len(list)), errs: make([]error, len(list))}
		return n, n.addNewURLs()
	})
	if err != nil {
		return wire.GeneralResponse{}, nil, err
	}
	answer := wire.GeneralResponse{Statuses: n.statuses}
	for _, err := range n.errs {
		if err != nil {
			tables.ReportFirst(&answer, err)
		}
	}
	return answer, n.keys, nil
}

// newURLs is the state of one URL_NEW. Consecutive elements of one site with different
// keys are queued and stored together, with one set of queries.
type newURLs struct {
	*Tx
	list     []wire.URLNewRequest
	all      bool // also those of other nodes
	statuses []any
	keys     []Key
	errs     []error

	site       string
	queue      []int           // indexes of elements of site
	queuedMd5s map[string]bool // their keys
}

// maxQueued bounds the elements that are stored together.
const maxQueued = 1000

func (n *newURLs) elementAt(i int) string { return tables.ElementName("URLNew", i) }

func (n *newURLs) addNewURLs() error {
	for i, r := range n.list {
		if text := r.Row.Text("URL"); !n.all && !n.OwnsURL(text) && len(text) <= tables.MaxURL {
			n.statuses[i] = tables.StatusInserted
			continue
		}
		site, err := n.siteOfElement(i, r)
		if err != nil {
			if err := n.recordRefusal(i, err); err != nil {
				return err
			}
			continue
		}
		n.keys[i] = Key{SiteID: site, URLMd5: r.Row.Text("URLMd5")}
		if site != n.site || n.queuedMd5s[n.keys[i].URLMd5] || len(n.queue) == maxQueued {
			if err := n.storeQueue(); err != nil {
				return err
			}
			n.site, n.queuedMd5s = site, map[string]bool{}
		}
		n.queue = append(n.queue, i)
		n.queuedMd5s[n.keys[i].URLMd5] = true
	}
	return n.storeQueue()
}

// recordRefusal records a refusal of an element. It returns any other error.
func (n *newURLs) recordRefusal(i int, err error) error {
	if !tables.IsRefusal(err) {
		return err
	}
	n.statuses[i], n.keys[i], n.errs[i] = tables.StatusFailed, Key{}, err
	return nil
}

func (n *newURLs) siteOfElement(i int, r wire.URLNewRequest) (site string, err error) {
	text := r.Row.Text("URL")
	if len(text) > tables.MaxURL {
		return "", &lenient.FieldError{Object: n.elementAt(i), Field: "url", Value: text[:100] + "...", Reason: tables.ErrLongURL.Error()}
	}
	if named := r.Row.Text("Site_Id"); named != "" && named == n.site && len(n.queue) > 0 {
		return named, nil
	}
	if r.SiteSelect != wire.SelectAuto {
		return n.SiteFor(n.elementAt(i), r, text)
	}
	err = n.Try(func() (err error) { // undo a site that is only partly made
		site, err = n.SiteFor(n.elementAt(i), r, text)
		return err
	})
	return site, err
}

// storeQueue stores the queued elements together. If one is refused it stores them one
// by one.
func (n *newURLs) storeQueue() error {
	queue := n.queue
	n.queue = nil
	if len(queue) == 0 {
		return nil
	}
	err := n.Try(func() error { return n.storeQueued(queue) })
	if err == nil || !tables.IsRefusal(err) {
		return err
	}
	for _, i := range queue {
		if err := n.Try(func() error { return n.storeQueued([]int{i}) }); err != nil {
			if err := n.recordRefusal(i, err); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *newURLs) storeQueued(queue []int) error {
	urls := tables.MapSlice(queue, func(i int) *wire.URL { return &wire.URL{URLMd5: n.keys[i].URLMd5} })
	fresh, err := n.MissingURLs(n.site, urls)
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
	var rows []*wire.URL
	for at, i := range queue {
		r, u := n.list[i], urls[at]
		switch {
		case !isFresh[u.URLMd5]:
			n.statuses[i] = tables.StatusExists
			if err := n.updateExisting(i); err != nil {
				return err
			}
		case tables.HasExpressions(r.Row):
			n.statuses[i] = tables.StatusInserted
			if err := n.insertEvaluated(i, defaults); err != nil {
				return err
			}
		default:
			n.statuses[i] = tables.StatusInserted
			*u = rowOf(r.Row, defaults, n.Now)
			rows = append(rows, u)
		}
	}
	if err := n.AddURLs(n.site, rows); err != nil {
		return err
	}
	for _, i := range queue {
		if err := n.SetAttributes(n.site, n.keys[i].URLMd5, n.list[i].Attributes); err != nil {
			return err
		}
	}
	return nil
}

// updateExisting applies the urlUpdate of an element whose URL exists.
func (n *newURLs) updateExisting(i int) error {
	if n.list[i].Update == nil {
		return nil
	}
	update := *n.list[i].Update
	update.SiteID, update.URLMd5 = n.site, n.keys[i].URLMd5
	_, err := n.updateURL(n.elementAt(i)+".urlUpdate", update)
	return err
}

// insertEvaluated inserts a row with expressions, which may read the row itself.
func (n *newURLs) insertEvaluated(i int, defaults wire.URL) error {
	given := n.list[i].Row
	u := rowOf(given, defaults, n.Now)
	row := schema.PatchOf(&u, wire.URLColumns)
	for name, value := range given {
		if _, ok := value.(schema.Expr); ok {
			row[name] = value
		}
	}
	err := n.RunCounted(n.site, []string{u.URLMd5}, func() error {
		_, err := n.InsertRow(n.URLsTarget(n.elementAt(i), n.site), row)
		return err
	})
	if err != nil {
		return err
	}
	return n.StatisticsOf(n.site).RecordInsert(u.URLMd5, u.Status, u)
}

// urlDefaults has the columns that a new URL takes from the tables and from its site
// (docs/spec/storage.md 1.5, 4.7 step 2).
func (t *Tx) urlDefaults(site string) (wire.URL, error) {
	u := wire.URL{SiteID: site, Status: wire.StatusNew, ProcessingDelay: 1000}
	_, err := t.Get("site_url_defaults", []any{site}, &u.RequestDelay, &u.HTTPTimeout, &u.Type)
	return u, err
}

// rowOf is a new row without expressions. CDate defaults to now.
func rowOf(given schema.Patch, defaults wire.URL, now string) wire.URL {
	u := defaults
	schema.Apply(&u, wire.URLColumns, given, schema.Date(now))
	u.SiteID = defaults.SiteID
	if u.CDate == "" {
		u.CDate = schema.Date(now)
	}
	return u
}
