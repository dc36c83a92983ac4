package wordcount

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/repository"
	"hce/dc/internal/wire"
)

// Names of the results in the archive.
const (
	FileName = "words.txt"
	TagName  = "wordcount"
)

// mostPage is the largest page that is counted, in bytes.
const mostPage = 64 << 20

// State says what happened to a page.
type State string

// States of pages.
const (
	Counted  State = "counted"
	Present  State = "present"  // an earlier run has stored both results
	Gone     State = "gone"     // the newest crawl has not found the page any more: nothing to count
	Outdated State = "outdated" // crawls have replaced the page meanwhile, again and again
	Failed   State = "failed"
)

// Result is the result of one page.
type Result struct {
	URL       string `json:"url"`
	CommitTag string `json:"commitTag"`
	State     State  `json:"state"`
	Total     int    `json:"total,omitempty"` // of Counted
	Distinct  int    `json:"distinct,omitempty"`
	Error     string `json:"error,omitempty"` // of Outdated and Failed
}

// pageSize is the number of versions in one query.
const pageSize = 500

// atOnce is the number of pages that are counted side by side: what they store shares a commit.
const atOnce = 128

// attempts is how often a page is counted that crawls replace meanwhile.
const attempts = 3

// Run counts the newest version of each HTML page that matches the condition where; "": of all. It
// calls report for each page, in the order of URLs. A second run finds what an earlier one has stored, and
// completes what a killed one has begun. It ends with the first error of report, ctx or the connection;
// errors of single pages are results.
func Run(ctx context.Context, store archive.Store, where string, report func(Result) error) error {
	condition := "(mimeType = 'text/html' OR mimeType = 'application/xhtml+xml')"
	if where != "" {
		condition += " AND (" + where + ")"
	}
	c := analysis{store: store, newest: map[string]string{}}
	last := ""
	for {
		q := archive.Query{Where: condition + " AND url > " + wire.QuotedSQL(last), OrderBy: "url, commitTime DESC", Limit: pageSize}
		list, err := store.Query(ctx, q)
		if err != nil {
			return err
		}
		n := len(list)
		list = slices.DeleteFunc(list, func(m archive.Meta) bool { // an older version
			older := m.URL == last
			last = m.URL
			return older
		})
		for part := range slices.Chunk(list, atOnce) {
			results, err := c.countPages(ctx, part)
			for _, r := range results {
				if err := report(r); err != nil {
					return err
				}
			}
			if err != nil {
				return err
			}
		}
		if n < pageSize {
			return nil
		}
	}
}

// analysis counts pages of one archive. Its goroutines share it.
type analysis struct {
	store  archive.Store
	mu     sync.Mutex
	newest map[string]string // commit tags by domain
}

// countPages counts pages side by side. It returns the results of those before the first error.
func (c *analysis) countPages(ctx context.Context, list []archive.Meta) ([]Result, error) {
	results, errs := make([]Result, len(list)), make([]error, len(list))
	var all sync.WaitGroup
	for i, m := range list {
		all.Go(func() { results[i], errs[i] = c.countPage(ctx, m) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return results[:i], err
		}
	}
	return results, nil
}

// countPage counts a page, and returns an error only if further pages would fail, too. Of a page that a crawl
// replaces meanwhile it counts the new version.
func (c *analysis) countPage(ctx context.Context, m archive.Meta) (r Result, err error) {
	for range attempts {
		r = Result{URL: m.URL, CommitTag: m.CommitTag, State: Gone}
		current, err := c.isCurrent(ctx, m)
		if err != nil {
			return r, err
		}
		var count Count
		if current {
			count, err = countStored(ctx, c.store, m)
		}
		switch {
		case !current: // unless a crawl has stored it again meanwhile
		case err == nil && count == nil:
			r.State = Present
			return r, nil
		case err == nil:
			r.State, r.Total, r.Distinct = Counted, count.Total(), len(count)
			return r, nil
		case errors.Is(err, archive.ErrNotFound), errors.Is(err, archive.ErrInvalid), errors.Is(err, errNoPage):
			r.State, r.Error = Failed, err.Error()
			return r, nil
		case errors.Is(err, archive.ErrOutdated):
			r.State, r.Error = Outdated, err.Error()
			c.forgetNewest(m)
		default:
			return r, fmt.Errorf("count words of %s: %w", m.URL, err)
		}
		list, err := c.store.Query(ctx, archive.Query{Where: "url = " + wire.QuotedSQL(m.URL), OrderBy: "commitTime DESC", Limit: 1})
		if err != nil || len(list) == 0 || !current && list[0].CommitTag == m.CommitTag {
			return r, err
		}
		m = list[0]
	}
	return r, nil
}

// forgetNewest looks for the newest version of the domain again.
func (c *analysis) forgetNewest(m archive.Meta) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.newest, m.Domain)
}

// isCurrent reports whether a version of a page is of the newest version of its domain: else the last crawls
// have not found it any more, and nothing can be stored with it.
func (c *analysis) isCurrent(ctx context.Context, m archive.Meta) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.newest[m.Domain] == m.CommitTag {
		return true, nil // if a crawl has replaced it since, writing says so
	}
	list, err := c.store.Query(ctx, archive.Query{Where: "domain = " + wire.QuotedSQL(m.Domain), OrderBy: "commitTime DESC", Limit: 1})
	if err != nil || len(list) == 0 {
		return false, err
	}
	c.newest[m.Domain] = list[0].CommitTag
	return list[0].CommitTag == m.CommitTag, nil
}

var errNoPage = errors.New("cannot be counted")

// countStored counts a page and stores the results. It returns nil if both are there.
func countStored(ctx context.Context, store archive.Store, m archive.Meta) (Count, error) {
	files, err := store.List(ctx, m)
	if err != nil {
		return nil, err
	}
	named := func(f archive.File) bool { return f.Name == FileName }
	if slices.ContainsFunc(files, named) {
		if _, err := store.Tag(ctx, m, TagName); !errors.Is(err, archive.ErrNotFound) {
			return nil, err
		}
	}
	count, err := countWords(ctx, store, m)
	if err != nil {
		return nil, err
	}
	// Another run may be as far: it counts the same.
	if err := writeCount(ctx, store, m, count); err != nil && !errors.Is(err, archive.ErrExists) {
		return nil, err
	}
	if err := store.SetTag(ctx, m, TagName, count.XML()); err != nil && !errors.Is(err, archive.ErrExists) {
		return nil, err
	}
	return count, nil
}

// countWords counts the words of the page.
func countWords(ctx context.Context, store archive.Store, m archive.Meta) (Count, error) {
	r, err := store.Open(ctx, m, repository.DataName(m.URL, m.MIMEType))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	body, err := io.ReadAll(io.LimitReader(r, mostPage+1))
	if err != nil {
		return nil, err
	}
	if len(body) > mostPage {
		return nil, fmt.Errorf("page %s has more than %d bytes: it %w", m.URL, mostPage, errNoPage)
	}
	return HTML(body, m.MIMEType), nil
}

func writeCount(ctx context.Context, store archive.Store, m archive.Meta, count Count) error {
	w, err := store.Create(ctx, m, FileName)
	if err != nil {
		return err
	}
	if _, err := w.Write(count.Text()); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Close()
}
