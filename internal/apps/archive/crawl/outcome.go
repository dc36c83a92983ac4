package crawl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/filter"
	"hce/dc/internal/apps/archive/repository"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// outcome is what a crawl has brought.
type outcome struct {
	crawl    *repository.Crawl
	failed   map[string]string // causes by URL
	answered map[string]bool   // URLs that are fetched, gone or excluded: no older content is kept
	causes   map[string]int    // number of URLs by cause
	staged   int               // pages of this crawl
	kept     int               // pages with older content
	dropped  int               // by filters
}

func (o *outcome) pageCount() int { return o.staged + o.kept - o.dropped }

// leftOut are bits of URLs that did not fail: a rule excludes them.
const leftOut = errormask.Robots | errormask.FiltersBreak | errormask.MaxURLsFromPage | errormask.UnsupportedType | errormask.BadEncoding

// HTTP codes of pages that leave the archive.
const (
	notFound = 404
	gone     = 410
)

// received selects the rows with a page.
const received = "(" + export.AsReceived + " AND " + wire.PageCodes + ")"

// archiveSite stages the pages of a site and commits those that the filters keep. A page that has failed keeps
// its content of the version before, and so does one that was not reached because others have failed.
func (m *Manager) archiveSite(ctx context.Context, service service.Service, site string, o *outcome) error {
	filters, err := filter.Open(m.FilterDir, m.Filters)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, filters.Close()) }()
	for _, reader := range []struct {
		where string
		needs pages.Needs
	}{{received, pages.Raw}, {"NOT " + received, 0}} {
		r := pages.Reader{Service: service, Site: site, Where: reader.where, Needs: reader.needs, Damaged: o.addDamaged}
		if err := r.Read(ctx, "", o.stagePage, nil); err != nil {
			return err
		}
	}
	if o.staged == 0 {
		return m.explainEmpty(ctx, service, site)
	}
	if err := m.keepOlder(ctx, o); err != nil {
		return err
	}
	_, err = o.crawl.Commit(ctx, func(meta archive.Meta) (bool, error) {
		keep, err := filters.Keep(ctx, meta)
		if !keep {
			o.dropped++
		}
		return keep, err
	})
	return err
}

// stagePage stages a page, or notes why the crawl has no page of it.
func (o *outcome) stagePage(p *pages.Page) error {
	added, err := stageFetched(o.crawl, p)
	if added {
		o.staged++
	}
	cause := ""
	if !added && err == nil {
		cause = causeOf(p.URL)
	}
	if cause != "" {
		o.failed[p.URL.URL] = cause
		o.causes[cause]++
		return nil
	}
	o.answered[p.URL.URL] = true
	return err
}

// addDamaged notes that a page cannot be read: it keeps its content of the version before, as one that failed does.
func (o *outcome) addDamaged(row *wire.URL, _ error) {
	const cause = "a damaged content in the crawler's store"
	o.failed[row.URL] = cause
	o.causes[cause]++
}

// causeOf returns why a URL without a page has failed, "" if it has not: the server says that it is gone, a
// rule excludes it, or it leads to another URL.
func causeOf(u wire.URL) string {
	code := u.HTTPCode
	names := strings.Join((u.ErrorMask &^ leftOut).Names(), ", ")
	switch {
	case code == notFound, code == gone, names == "" && u.ErrorMask != 0, names == "" && code >= 300 && code < 400:
		return ""
	case code >= 400 && code != 400: // 400 is also the code of failures without an answer
		return strings.TrimSuffix(fmt.Sprintf("HTTP %d, %s", code, names), ", ")
	case names != "":
		return names
	case u.Crawled == 0:
		return "not requested"
	}
	return "nothing is stored"
}

// keepOlder stages the content of the version before for pages that this crawl has not got.
func (m *Manager) keepOlder(ctx context.Context, o *outcome) error {
	if len(o.failed) == 0 {
		return nil
	}
	newest, found, err := m.Repository.Newest(ctx, o.crawl.Domain())
	if err != nil || !found {
		return err
	}
	list, err := m.Repository.Query(ctx, archive.Query{Where: "commitTag = " + wire.QuotedSQL(newest.CommitTag)})
	if err != nil {
		return err
	}
	for _, old := range list {
		if o.answered[old.URL] {
			continue
		}
		cause, failed := o.failed[old.URL]
		if !failed {
			cause = fmt.Sprintf("not reached: %d other URLs failed", len(o.failed))
		}
		if err := o.crawl.Keep(ctx, old, cause); err != nil {
			return err
		}
		o.kept++
	}
	return nil
}

// partialError is an error if pages are missing in the version or have older content.
func (o *outcome) partialError() error {
	if len(o.failed) == 0 {
		return nil
	}
	var parts []string
	for _, cause := range slices.SortedFunc(maps.Keys(o.causes), func(a, b string) int { return o.causes[b] - o.causes[a] }) {
		parts = append(parts, fmt.Sprintf("%d with %s", o.causes[cause], cause))
	}
	return fmt.Errorf("%s is stored, but %d URLs failed (%s); %d pages have the content of an older version; archive.log names the URLs: %w",
		o.crawl.Tag(), len(o.failed), strings.Join(parts, "; "), o.kept, errPartial)
}

var errPartial = errors.New("the version is not complete")
