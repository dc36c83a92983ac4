// Package storagetest has a repository in memory, for the tests of the jobs that store results.
//
//	repo := storagetest.New()
//	repo.Sites["s"] = &wire.Site{ID: "s", State: wire.SiteActive}
//	repo.Fails["SaveCrawl"] = errors.New("the disk is gone")
//	job := crawl.Job{Data: repo}
package storagetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// Repository keeps in maps what storage.Repository keeps in databases, and follows the same
// rules for rows. A call fails if its context has ended or its method is in Fails. Maps of URLs
// have the keys "SITE MD5". Goroutines may share the methods, not the fields.
type Repository struct {
	mu sync.Mutex

	Sites       map[string]*wire.Site
	URLs        map[string]wire.URL
	Files       map[string][]wire.File // raw contents
	Contents    map[string][]byte      // processed contents
	SiteProxies []wire.Proxy

	Saves       map[string]int          // results for a URL, whether its row was held or not
	Results     map[string]wire.Fetched // the last one of a URL
	SiteBits    errormask.Mask          // of all results
	Suspended   errormask.Mask
	ProxyFaults []string // "SITE HOST DISABLED"
	Calls       []string // methods

	Fails  map[string]error    // by method
	OnCall func(method string) // nil, or called before each call
	OnSave func()              // nil, or called after each SaveCrawl
	OnRead func(md5 string)    // nil, or called before each RawContent
}

// New returns an empty Repository.
func New() *Repository {
	return &Repository{
		Sites: map[string]*wire.Site{}, URLs: map[string]wire.URL{}, Files: map[string][]wire.File{}, Contents: map[string][]byte{},
		Saves: map[string]int{}, Results: map[string]wire.Fetched{}, Fails: map[string]error{},
	}
}

// beginCall locks the repository and returns the error of the call.
func (r *Repository) beginCall(ctx context.Context, method string) (end func(), err error) {
	r.mu.Lock()
	r.Calls = append(r.Calls, method)
	if r.OnCall != nil {
		r.OnCall(method)
	}
	return r.mu.Unlock, errors.Join(r.Fails[method], ctx.Err())
}

// Count returns the number of calls of a method.
func (r *Repository) Count(method string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, call := range r.Calls {
		if call == method {
			n++
		}
	}
	return n
}

// Site returns a copy of a site, or nil.
func (r *Repository) Site(ctx context.Context, id string) (*wire.Site, error) {
	end, err := r.beginCall(ctx, "Site")
	defer end()
	if s := r.Sites[id]; s != nil && err == nil {
		c := *s
		return &c, nil
	}
	return nil, err
}

// SiteOf returns any site.
func (r *Repository) SiteOf(ctx context.Context, _ string) (string, error) {
	end, err := r.beginCall(ctx, "SiteOf")
	defer end()
	for id := range r.Sites {
		return id, err
	}
	return wire.GeneralSite, err
}

// Suspend suspends a site.
func (r *Repository) Suspend(ctx context.Context, id string, bits errormask.Mask, items int) error {
	end, err := r.beginCall(ctx, "Suspend")
	defer end()
	if err == nil {
		r.Suspended |= bits
		r.Sites[id].State = wire.SiteSuspended
		r.Sites[id].Errors += int64(items)
	}
	return err
}

// URLFetch selects the due rows of all sites in the order of their URLs, at most MaxURLs of the
// first request, and applies its status and batch.
func (r *Repository) URLFetch(ctx context.Context, selection []wire.URLFetchRequest) ([]wire.URL, error) {
	end, err := r.beginCall(ctx, "URLFetch")
	defer end()
	if err != nil {
		return nil, err
	}
	q := selection[0]
	due := int64(wire.StatusNew)
	switch q.URLUpdate["Status"] {
	case int64(wire.StatusSelectedProcessing):
		due = wire.StatusCrawled
	case int64(wire.StatusSelectedIncremental):
		due = wire.StatusProcessed
	}
	var rows []wire.URL
	for _, key := range slices.SortedFunc(maps.Keys(r.URLs), func(a, b string) int { return strings.Compare(r.URLs[a].URL, r.URLs[b].URL) }) {
		if row := r.URLs[key]; row.Status == due && row.State == wire.URLEnabled && int64(len(rows)) < q.MaxURLs {
			row.Status, row.BatchID = q.URLUpdate["Status"].(int64), q.URLUpdate["Batch_Id"].(int64)
			r.URLs[key], rows = row, append(rows, row)
		}
	}
	return rows, nil
}

// Take is URLFetch and MarkCrawling or MarkProcessing.
func (r *Repository) Take(ctx context.Context, selection []wire.URLFetchRequest, batch int64) ([]wire.URL, error) {
	end, err := r.beginCall(ctx, "Take")
	end()
	if err != nil {
		return nil, err
	}
	rows, err := r.URLFetch(ctx, selection)
	for _, u := range rows {
		if u.Status == wire.StatusSelectedProcessing {
			_, err = r.MarkProcessing(ctx, u.SiteID, batch, []string{u.URLMd5})
		} else {
			_, err = r.MarkCrawling(ctx, u.SiteID, batch, []wire.URL{u})
		}
		if err != nil {
			return nil, err
		}
	}
	return rows, err
}

// MarkCrawling marks rows Crawling that are not done and not held by another batch.
func (r *Repository) MarkCrawling(ctx context.Context, site string, batch int64, items []wire.URL) (map[string]wire.Mark, error) {
	end, err := r.beginCall(ctx, "MarkCrawling")
	defer end()
	if err != nil {
		return nil, err
	}
	marks := map[string]wire.Mark{}
	for _, u := range items {
		key := site + " " + u.URLMd5
		row, known := r.URLs[key]
		if !known {
			row = u
		}
		mark := wire.Mark{Row: row, Known: known}
		mark.Done = known && row.Status >= wire.StatusCrawled && row.Status <= wire.StatusProcessed && row.BatchID == batch
		mark.Busy = known && (row.Status == wire.StatusCrawling || row.Status == wire.StatusSelectedCrawling) && row.BatchID != batch && row.BatchID != 0
		marks[u.URLMd5] = mark
		if !mark.Done && !mark.Busy {
			row.Status, row.BatchID, row.ErrorMask = wire.StatusCrawling, batch, 0
			r.URLs[key] = row
		}
	}
	return marks, nil
}

// SaveCrawl stores results of rows that the batch holds, and new rows.
func (r *Repository) SaveCrawl(ctx context.Context, batch int64, list []wire.SiteFetched) ([]wire.Saved, error) {
	end, err := r.beginCall(ctx, "SaveCrawl")
	defer end()
	if r.OnSave != nil {
		defer r.OnSave()
	}
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		r.saveResults(s.Site, batch, s.Results)
	}
	return make([]wire.Saved, len(list)), nil
}

func (r *Repository) saveResults(site string, batch int64, results []wire.Fetched) {
	for _, result := range results {
		key := site + " " + result.URLMd5
		row := r.URLs[key]
		r.Saves[key]++
		r.Results[key] = result
		if row.Status != wire.StatusCrawling || row.BatchID != batch {
			continue
		}
		schema.Apply(&row, wire.URLColumns, result.Set, "")
		if result.Crawled {
			row.Crawled++
		}
		r.URLs[key] = row
		r.SiteBits |= result.SiteBits
		for _, f := range result.Files {
			r.Files[key] = append(slices.DeleteFunc(r.Files[key], func(old wire.File) bool { return old.Type == f.Type }), f)
		}
		for _, l := range result.Links {
			known, there := r.URLs[site+" "+l.URL.URLMd5]
			if !there {
				known = l.URL
			}
			if l.Chain {
				known.Type = wire.TypeChain
			}
			r.URLs[site+" "+l.URL.URLMd5] = known
		}
	}
}

// LateURLs returns the waiting URLs of traps.
func (r *Repository) LateURLs(ctx context.Context, site string, most int) (map[string]string, error) {
	urls := map[string]string{}
	end, err := r.beginCall(ctx, "LateURLs")
	defer end()
	for _, u := range r.URLs {
		if u.SiteID == site && u.Status == wire.StatusNew && u.RetryCause == wire.CauseTrap && len(urls) < most {
			urls[u.URLMd5] = u.URL
		}
	}
	return urls, err
}

// TakeSchema stores the URLs of a template.
func (r *Repository) TakeSchema(ctx context.Context, site string, batch int64, template, first wire.URL, others []wire.URL) (bool, error) {
	end, err := r.beginCall(ctx, "TakeSchema")
	defer end()
	row := r.URLs[site+" "+template.URLMd5]
	row.Status, row.BatchID = wire.StatusCrawled, batch
	r.URLs[site+" "+template.URLMd5] = row
	first.Status, first.BatchID = wire.StatusSelectedCrawling, batch
	for _, u := range append([]wire.URL{first}, others...) {
		r.URLs[site+" "+u.URLMd5] = u
	}
	return err == nil, err
}

// Flush does nothing.
func (r *Repository) Flush(ctx context.Context) error {
	end, err := r.beginCall(ctx, "Flush")
	defer end()
	return err
}

// PutRaw replaces the raw contents of URLs.
func (r *Repository) PutRaw(ctx context.Context, site string, files map[string][]wire.File, _ time.Time) error {
	end, err := r.beginCall(ctx, "PutRaw")
	defer end()
	for md5, list := range files {
		r.Files[site+" "+md5] = list
	}
	return err
}

// readRows returns a value of each known row.
func readRows[T any](ctx context.Context, r *Repository, method, site string, md5s []string, value func(wire.URL) T) (map[string]T, error) {
	end, err := r.beginCall(ctx, method)
	defer end()
	values := map[string]T{}
	for _, md5 := range md5s {
		if row, ok := r.URLs[site+" "+md5]; ok {
			values[md5] = value(row)
		}
	}
	return values, err
}

// Rows returns rows by key.
func (r *Repository) Rows(ctx context.Context, site string, md5s []string) (map[string]wire.URL, error) {
	return readRows(ctx, r, "Rows", site, md5s, func(u wire.URL) wire.URL { return u })
}

// KnownURLs reports which keys have rows.
func (r *Repository) KnownURLs(ctx context.Context, site string, md5s []string) (map[string]bool, error) {
	return readRows(ctx, r, "KnownURLs", site, md5s, func(wire.URL) bool { return true })
}

// URLTexts returns the URLs of rows.
func (r *Repository) URLTexts(ctx context.Context, site string, md5s []string) (map[string]string, error) {
	return readRows(ctx, r, "URLTexts", site, md5s, func(u wire.URL) string { return u.URL })
}

// HasContents reports which rows were processed.
func (r *Repository) HasContents(ctx context.Context, site string, md5s []string) (map[string]bool, error) {
	return readRows(ctx, r, "HasContents", site, md5s, func(u wire.URL) bool { return u.Processed > 0 })
}

// Condition supports "1", "0" and comparisons of two quoted texts with >.
func (r *Repository) Condition(ctx context.Context, _, _, expression string) (wire.Verdict, error) {
	end, err := r.beginCall(ctx, "Condition")
	defer end()
	left, right, compared := strings.Cut(expression, ">")
	if compared {
		return wire.Verdict{True: strings.TrimSpace(left) > strings.TrimSpace(right)}, err
	}
	return wire.Verdict{True: strings.TrimSpace(expression) == "1"}, err
}

// Proxies returns SiteProxies for every site.
func (r *Repository) Proxies(ctx context.Context, _ string) ([]wire.Proxy, error) {
	end, err := r.beginCall(ctx, "Proxies")
	defer end()
	return r.SiteProxies, err
}

// ProxyFault records a fault.
func (r *Repository) ProxyFault(ctx context.Context, site, host string, disabled bool) error {
	end, err := r.beginCall(ctx, "ProxyFault")
	defer end()
	r.ProxyFaults = append(r.ProxyFaults, fmt.Sprint(site, " ", host, " ", disabled))
	return err
}

// MarkProcessing marks rows Processing that are crawled, or selected and not held by another
// batch. It returns them as they were.
func (r *Repository) MarkProcessing(ctx context.Context, site string, batch int64, md5s []string) (map[string]wire.URL, error) {
	end, err := r.beginCall(ctx, "MarkProcessing")
	defer end()
	if err != nil {
		return nil, err
	}
	taken := map[string]wire.URL{}
	for _, md5 := range md5s {
		row, known := r.URLs[site+" "+md5]
		free := row.BatchID == batch || row.BatchID == 0
		if known && (row.Status == wire.StatusCrawled || free && (row.Status == wire.StatusSelectedProcessing || row.Status == wire.StatusProcessing)) {
			taken[md5] = row
			row.Status, row.BatchID = wire.StatusProcessing, batch
			r.URLs[site+" "+md5] = row
		}
	}
	return taken, nil
}

// RawContent returns the raw content of a URL that has this type, or nil.
func (r *Repository) RawContent(ctx context.Context, site, md5 string, kind int) ([]byte, error) {
	if r.OnRead != nil {
		r.OnRead(md5)
	}
	end, err := r.beginCall(ctx, "RawContent")
	defer end()
	for _, f := range r.Files[site+" "+md5] {
		if f.Type == kind {
			return f.Data, err
		}
	}
	return nil, err
}

// FindRaw returns the keys, and RawContent for them.
func (r *Repository) FindRaw(_ context.Context, site string, md5s []string) ([]string, wire.ReadRaw, error) {
	return md5s, func(ctx context.Context, md5 string, kind int) ([]byte, error) {
		return r.RawContent(ctx, site, md5, kind)
	}, nil
}

// SaveProcess stores results of rows that the batch holds.
func (r *Repository) SaveProcess(ctx context.Context, site string, batch int64, results []wire.Extracted) error {
	end, err := r.beginCall(ctx, "SaveProcess")
	defer end()
	if err != nil {
		return err
	}
	for _, result := range results {
		key := site + " " + result.URLMd5
		row := r.URLs[key]
		r.Saves[key]++
		if row.Status != wire.StatusProcessing || row.BatchID != batch {
			continue
		}
		schema.Apply(&row, wire.URLColumns, result.Set, "")
		if result.Processed {
			row.Processed++
		}
		r.URLs[key] = row
		if result.Content != nil {
			r.Contents[key] = result.Content
		}
		for _, item := range result.Items {
			key := site + " " + item.Row.URLMd5
			r.URLs[key], r.Files[key] = item.Row, result.Files
			if item.Content != nil {
				r.Contents[key] = item.Content
			}
		}
	}
	return nil
}
