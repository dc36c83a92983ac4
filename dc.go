// Package dc is the crawler in a Go program: polite, safe and crash-exact, with everything stored.
//
//	engine, err := dc.Open("pages", dc.Options{})
//	if err != nil { … }
//	defer engine.Close()
//	for page, err := range engine.Crawl(ctx, dc.Site{URLs: []string{"https://example.org/"}}) {
//		if err != nil { … }
//		fmt.Println(page.URL, page.Title)
//	}
//
// The engine runs in this process: no daemon, no sockets, no other programs. The folder is that of the command hce, which
// reads it with --data, and another process that crawls in it keeps Open from succeeding. Each page is stored, in one
// transaction, before it is delivered. After a kill, a cancelled context or a break, the same Crawl continues, and no page is
// requested twice; Pages has what was stored and not delivered.
//
// robots.txt is obeyed, one request at a time is sent to a host, with a pause, and answers that mean "later" are asked again
// later. Only public addresses are reached, unless Options allow networks.
package dc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"strings"

	"hce/dc/extract"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/follow"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/sitespec"
	"hce/dc/internal/engine"
	"hce/dc/internal/files"
	"hce/dc/internal/wire"
)

// Options of an engine. The zero value is valid.
type Options struct {
	// AllowNetworks are networks that are not public and may be crawled, such as "127.0.0.0/8".
	AllowNetworks []string
	Log           *slog.Logger // nil: records are discarded
}

// Engine is an opened folder. Goroutines may share it, and may crawl several sites at a time.
type Engine struct{ engine *engine.Engine }

// Errors.
var (
	// ErrLocked means that another process crawls in the folder.
	ErrLocked = files.ErrLocked
	// ErrBusy means that another call of Crawl has the site.
	ErrBusy = engine.ErrBusy
	// ErrSettings means that the folder has the site with other settings; the error lists them.
	ErrSettings = errors.New("the site exists with other settings")
	// ErrUnknown means that the folder does not have the site.
	ErrUnknown = errors.New("no such site")
	// ErrExists means that the output of an export exists.
	ErrExists = export.ErrExists
)

// Stalled is the error of a crawl in which nothing has changed for 15 minutes, or for 2 minutes before its first page. The same
// Crawl continues it.
type Stalled = follow.Stalled

// Open creates what is missing of a folder and opens it. The error wraps ErrLocked if another process crawls in it. Close
// the engine after use.
func Open(dir string, o Options) (*Engine, error) {
	e, err := engine.Open(context.Background(), dir, engine.Options{AllowNetworks: strings.Join(o.AllowNetworks, ","), Log: o.Log})
	if err != nil {
		return nil, err
	}
	return &Engine{e}, nil
}

// Close closes the folder. No call may be under way.
func (e *Engine) Close() error {
	e.engine.Close()
	return nil
}

// Crawl creates the site, or continues it, and crawls until none of its URLs waits. It yields every URL when it is finished: read,
// or failed for good (Page.Problem). The last pair has an error if the crawl did not come to its end: ErrSettings, a *Stalled, the
// cause of ctx. A break ends the crawl; what was not fetched waits for the next one.
func (e *Engine) Crawl(ctx context.Context, s Site) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		site, err := e.findOrCreate(ctx, s)
		if err == nil {
			err = e.engine.Crawl(ctx, site, func(p *pages.Page) error {
				if !yield(pageOf(p), nil) {
					return errBreak
				}
				return nil
			}, nil)
		}
		if err != nil && !errors.Is(err, errBreak) {
			yield(Page{}, err)
		}
	}
}

// errBreak ends what the caller does not want any more.
var errBreak = errors.New("the caller ends the loop")

// findOrCreate returns the stored site with the settings of s.
func (e *Engine) findOrCreate(ctx context.Context, s Site) (site wire.Site, err error) {
	object, err := s.object()
	if err != nil {
		return site, err
	}
	id := object["id"].(string)
	site, err = e.site(ctx, id)
	if errors.Is(err, ErrUnknown) {
		if err = e.engine.Ask(ctx, wire.SiteNew, object, nil); err == nil {
			site, err = e.site(ctx, id)
		}
	}
	if err != nil {
		return site, err
	}
	if list := sitespec.Differences(site, object, nil); len(list) > 0 {
		return site, fmt.Errorf("%w: site %s: %s", ErrSettings, id, strings.Join(list, "; "))
	}
	if site.State != wire.SiteActive {
		err = e.engine.Ask(ctx, wire.SiteUpdate, map[string]any{"id": id, "state": wire.SiteActive}, nil)
	}
	return site, err
}

// site reads a stored site.
func (e *Engine) site(ctx context.Context, id string) (site wire.Site, err error) {
	err = e.engine.Ask(ctx, wire.SiteStatus, map[string]any{"id": id, "deleteTaskId": nil, "excludeList": []string{"finished"}}, &site)
	if err == nil && site.State == wire.SiteNotFound {
		err = fmt.Errorf("%w: %s", ErrUnknown, id)
	}
	return site, err
}

// Pages yields all stored URLs of a site that were fetched well, in no particular order. Text and body of a page are of one moment; pages that are
// stored meanwhile may come too. The last pair may have an error, such as ErrUnknown, or that of a damaged content.
func (e *Engine) Pages(ctx context.Context, id string) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		_, err := e.site(ctx, id)
		if err == nil {
			reader := pages.Reader{Service: e.engine, Site: id, Needs: engine.Needs, Where: export.Fetched}
			err = reader.Read(ctx, "", func(p *pages.Page) error {
				if !yield(pageOf(p), nil) {
					return errBreak
				}
				return nil
			}, nil)
		}
		if err != nil && !errors.Is(err, errBreak) {
			yield(Page{}, err)
		}
	}
}

// Extract reads a page that the caller has, without a store: see extract.Read.
func (e *Engine) Extract(body []byte, o extract.Options) (extract.Page, error) {
	return extract.Read(body, o)
}

// Export writes the pages of a site to out, in the format of its name: .jsonl, .csv, .parquet, .warc, .warc.gz, .wacz, or a folder of
// Markdown files for a name that ends with "/". It returns the number of pages. A file that exists is not replaced (ErrExists);
// an interrupted export continues.
func (e *Engine) Export(ctx context.Context, id, out string) (int64, error) {
	format, err := export.Choose("", out)
	if err != nil {
		return 0, err
	}
	return e.export(ctx, id, export.Job{Format: format, Out: out})
}

// ExportTo writes the pages of a site to w. format is jsonl, csv or warc.
func (e *Engine) ExportTo(ctx context.Context, id string, w io.Writer, format string) (int64, error) {
	f, err := export.Find(format)
	if err != nil {
		return 0, err
	}
	return e.export(ctx, id, export.Job{Format: f, Stdout: w})
}

func (e *Engine) export(ctx context.Context, id string, job export.Job) (int64, error) {
	if _, err := e.site(ctx, id); err != nil {
		return 0, err
	}
	job.Sites = []string{id}
	job.Reader = pages.Reader{Service: e.engine, Where: job.Format.DefaultWhere()}
	return export.Run(ctx, job, nil)
}
