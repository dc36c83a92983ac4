package warcimport

import (
	"context"

	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/urlkey"
	"hce/dc/warc"
)

// Job is one import.
type Job struct {
	Service service.Service
	Site    wire.Site // exists
	Files   []string
}

// Summary counts the records of an import.
type Summary struct {
	Records  int64            `json:"records"`
	Pages    int64            `json:"pages"`    // that are new
	Versions int64            `json:"versions"` // of pages that the site had
	Known    int64            `json:"known"`    // that the site had
	Skipped  map[Reason]int64 `json:"skipped"`
}

// Faults returns how many pages are lost that the site could have.
func (s Summary) Faults() (n int64) {
	for reason, count := range s.Skipped {
		if reason.Fault() {
			n += count
		}
	}
	return n
}

// Run imports the files one after the other. With an error, what was read before it is stored and
// counted.
func Run(ctx context.Context, job Job, progress Progress) (Summary, error) {
	done := Summary{Skipped: map[Reason]int64{}}
	s := &store{service: job.Service, site: job.Site.ID, done: &done, keys: map[string]bool{}}
	for _, u := range job.Site.URLs {
		s.roots = append(s.roots, urlkey.Of(u.URL.URL))
	}
	if len(s.roots) == 0 {
		s.roots = []string{wire.Md5(job.Site.ID)} // no page is a root
	}
	skip := func(r Reason) { done.Skipped[r]++ }
	g := &gatherer{skip: skip, each: func(c *capture) error { return s.storeCapture(ctx, c, skip) }}
	for _, path := range job.Files {
		err := eachRecord(ctx, path, progress, func(f *warc.Found) error {
			done.Records++
			return g.takeRecord(f)
		})
		if err == nil {
			err = g.endCapture()
		}
		if err == nil {
			err = s.storePortion(ctx)
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// storeCapture stores the page of a capture, or skips it.
func (s *store) storeCapture(ctx context.Context, c *capture, skip func(Reason)) (err error) {
	var p *page
	var reason Reason
	if c.kind == warc.Revisit {
		p, reason, err = s.revisitPage(ctx, c)
	} else {
		p, reason = c.toPage()
	}
	switch {
	case err != nil:
		return err
	case reason != "":
		skip(reason)
		return nil
	}
	return s.addPage(ctx, p)
}
