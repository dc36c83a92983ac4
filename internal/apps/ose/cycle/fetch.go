package cycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/apps/ose/folder"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/politeclient"
	"hce/dc/warc"
)

// mostSilent is the number of requests in a row without an answer after which the rest is left for the
// next run.
const mostSilent = 5

// wantsRequest reports whether OSEM001 requests a URL.
func (c *Cycle) wantsRequest(r folder.Record) bool {
	return r.ID == 0 || c.Retry && (r.Code == 0 || r.Code == 429 || r.Code == 503)
}

// runFetch is OSEM001.
func (c *Cycle) runFetch(ctx context.Context, j *job) error {
	if !j.asks && j.status.State == folder.Idle {
		j.report.Skipped = "no URL to request"
		return nil
	}
	p, err := j.newPass(folder.Fetching, c.Now)
	if err != nil {
		return err
	}
	defer p.closeFiles()
	v := &fetcher{Cycle: c, pass: p}
	err = p.forEachRecord(func(r folder.Record) (folder.Record, error) {
		if j.report.Stopped != "" || !c.wantsRequest(r) {
			return r, nil
		}
		return v.fetchRecord(ctx, r)
	})
	if err != nil {
		return err
	}
	if j.report.Stopped != "" {
		j.log.warnAll("URLs are left for the next run", "reason", j.report.Stopped)
	}
	return p.finishPass(folder.Fetched)
}

// fetcher requests the URLs of one pass.
type fetcher struct {
	*Cycle
	*pass
	asked  bool // a request was sent
	silent int  // requests in a row without an answer
}

// fetchRecord requests a URL, or takes the page that an interrupted pass has requested.
func (v *fetcher) fetchRecord(ctx context.Context, r folder.Record) (folder.Record, error) {
	id, m, err := v.adoptID(r.URL)
	if err != nil {
		return r, err
	}
	if m == nil {
		if m, err = v.requestURL(ctx, id, r.URL); err != nil || m == nil {
			return r, err
		}
	}
	if v.report.Done++; m.Code == 0 {
		v.report.Failed++
	}
	v.lastID = id
	return folder.Record{ID: id, Code: m.Code, Streamed: m.Streamed, URL: r.URL}, nil
}

// adoptID returns the next id. m is not nil if its page is of the URL: an interrupted pass has requested
// it. Numbers with other files are skipped, and those up to the last id of .osestatus.
func (v *fetcher) adoptID(url string) (id folder.ID, m *folder.Meta, err error) {
	for id = v.lastID + 1; id <= folder.MaxID; id++ {
		_, err := os.Lstat(v.Path(folder.MetaName(id)))
		switch {
		case errors.Is(err, fs.ErrNotExist) && id > v.status.LastID:
			return id, nil, nil
		case errors.Is(err, fs.ErrNotExist):
			id = v.status.LastID // the interrupted pass has no page behind this one
			continue
		case err != nil:
			return id, nil, err
		}
		found, err := v.Whole(id)
		if err == nil && found.URL == url {
			return id, &found, nil
		}
		if err == nil {
			err = fmt.Errorf("it is of %s", found.URL)
		}
		v.log.warnAll("id skipped: its file exists", "file", v.Path(folder.MetaName(id)), "error", err)
	}
	return id, nil, fmt.Errorf("%s has no id above %s left", v.Dir, folder.MaxID)
}

// requestURL requests a URL and stores the answer. It returns nil if the URL is left for the next run.
func (v *fetcher) requestURL(ctx context.Context, id folder.ID, url string) (*folder.Meta, error) {
	if v.asked {
		if err := pauseFor(ctx, v.Wait.randomPause()); err != nil {
			return nil, err
		}
	}
	v.asked = true
	folder.Reached("request")
	begin := v.Now()
	response, err := v.Web.Get(ctx, politeclient.Request{
		URL: url, Delay: v.Wait.Least, MaxBytes: folder.MaxBody, Robots: true, NoRedirects: true,
	})
	folder.Reached("response")
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, politeclient.ErrLater) {
		v.report.Stopped = err.Error()
		return nil, nil
	}
	fault, isFault := errors.AsType[*fetch.Fault](err)
	notSent := errors.Is(err, politeclient.ErrForbidden) || errors.Is(err, politeclient.ErrURL)
	if err != nil && !isFault && !notSent {
		return nil, fmt.Errorf("request %s: %w", url, err)
	}
	page := folder.Page{ID: id, Meta: folder.Meta{URL: url, Streamed: folder.StampOf(begin), Millis: v.Now().Sub(begin).Milliseconds()}}
	switch {
	case err == nil:
		fillPage(&page, response, true)
	case isFault && fault.Code != 0 && fault.Partial != nil:
		fillPage(&page, fault.Partial, false)
	}
	if err != nil {
		page.Error = folder.OneLine(err.Error())
	}
	v.countAnswer(page.Code != 0 || notSent)
	return &page.Meta, v.batch.WritePage(page)
}

// countAnswer counts the requests in a row without an answer.
func (v *fetcher) countAnswer(answer bool) {
	if v.silent++; answer {
		v.silent = 0
	}
	if v.silent >= mostSilent {
		v.report.Stopped = fmt.Sprintf("%d requests in a row got no answer; repeat them with --retry", v.silent)
	}
}

// pauseFor waits until d has passed or ctx ends.
func pauseFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fillPage sets code, time and data of a page: the head with the fields in the order of their names, and the
// body, which is decoded. A body that did not arrive whole is left out.
func fillPage(p *folder.Page, r *fetch.Response, whole bool) {
	p.Code, p.Streamed, p.Millis = r.Code, folder.StampOf(r.Started), r.Total.Milliseconds()
	head := warc.Message{Start: fmt.Sprintf("HTTP/1.1 %03d ", r.Code)}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			head.Fields = append(head.Fields, warc.Field{Name: name, Value: strings.TrimSpace(value)})
		}
	}
	p.Data = head.Append(nil)
	p.Head = int64(len(p.Data))
	if whole {
		p.Data = append(p.Data, r.Body...)
	}
}
