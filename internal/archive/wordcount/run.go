package wordcount

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"hce/dc/internal/archive"
	"hce/dc/internal/archive/repository"
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
	Outdated State = "outdated" // a crawl has replaced the page meanwhile, or has not found it any more
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

// Run counts the newest version of each HTML page that matches the condition where; "": of all. It
// calls report for each page. A second run finds what an earlier one has stored, and completes what a
// killed one has begun. It ends with the first error of report, ctx or the connection; errors of single
// pages are results.
func Run(ctx context.Context, store archive.Store, where string, report func(Result) error) error {
	condition := "(mimeType = 'text/html' OR mimeType = 'application/xhtml+xml')"
	if where != "" {
		condition += " AND (" + where + ")"
	}
	last := ""
	for {
		q := archive.Query{Where: condition + " AND url > " + wire.QuotedSQL(last), OrderBy: "url, commitTime DESC", Limit: pageSize}
		list, err := store.Query(ctx, q)
		if err != nil {
			return err
		}
		for _, m := range list {
			if m.URL == last {
				continue // an older version
			}
			last = m.URL
			r, err := page(ctx, store, m)
			if err == nil {
				err = report(r)
			}
			if err != nil {
				return err
			}
		}
		if len(list) < pageSize {
			return nil
		}
	}
}

// page counts a page, and returns an error only if further pages would fail, too.
func page(ctx context.Context, store archive.Store, m archive.Meta) (Result, error) {
	r := Result{URL: m.URL, CommitTag: m.CommitTag, State: Counted}
	count, err := countStored(ctx, store, m)
	switch {
	case err == nil && count == nil:
		r.State = Present
	case err == nil:
		r.Total, r.Distinct = count.Total(), len(count)
	case errors.Is(err, archive.ErrOutdated):
		r.State, r.Error = Outdated, err.Error()
	case errors.Is(err, archive.ErrNotFound), errors.Is(err, archive.ErrInvalid), errors.Is(err, errNoPage):
		r.State, r.Error = Failed, err.Error()
	default:
		return r, fmt.Errorf("count words of %s: %w", m.URL, err)
	}
	return r, nil
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
	count, err := read(ctx, store, m)
	if err != nil {
		return nil, err
	}
	// Another run may be as far: it counts the same.
	if err := write(ctx, store, m, count); err != nil && !errors.Is(err, archive.ErrExists) {
		return nil, err
	}
	if err := store.SetTag(ctx, m, TagName, count.XML()); err != nil && !errors.Is(err, archive.ErrExists) {
		return nil, err
	}
	return count, nil
}

// read counts the words of the page.
func read(ctx context.Context, store archive.Store, m archive.Meta) (Count, error) {
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

func write(ctx context.Context, store archive.Store, m archive.Meta, count Count) error {
	w, err := store.Create(ctx, m, FileName)
	if err != nil {
		return err
	}
	if _, err := w.Write(count.Text()); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Close()
}
