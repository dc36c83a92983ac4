package actions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/wire"
)

// URLFields are the fields of a list of URLs, PageFields those of a list of pages, and WholePage those of one page.
var (
	URLFields  = []string{"url", "urlMd5", "status", "httpCode", "contentType", "size", "depth", "parentMd5", "found", "crawled", "changed", "errors", "robots", "milliseconds"}
	PageFields = []string{"url", "urlMd5", "title", "author", "date", "language", "description", "httpCode", "contentType", "size", "crawled", "changed", "outdated", "errors"}
	WholePage  = []string{"url", "urlMd5", "site", "status", "httpCode", "finalUrl", "redirects", "contentType", "charset", "size", "depth", "parentMd5", "found", "crawled", "changed", "outdated",
		"modified", "errors", "milliseconds", "linksInside", "linksOutside", "robots", "canonical", "title", "author", "date", "language", "description", "keywords", "text", "markdown", "links"}
)

// ListURLs returns URLs of a site as JSON objects with the wanted fields, ordered by their keys, and the key of the last one.
func (a *Actions) ListURLs(ctx context.Context, u URLs) (list []json.RawMessage, last string, err error) {
	fields := u.Fields
	if fields == nil {
		fields = URLFields
	}
	if err := export.CheckFields(fields); err != nil {
		return nil, "", &Invalid{"fields", nil, err.Error()}
	}
	if u.After != "" && !isKey(u.After) {
		return nil, "", &Invalid{"cursor", u.After, "it is not one of an answer"}
	}
	where, err := u.condition()
	if err != nil {
		return nil, "", err
	}
	if err := a.checkSite(ctx, u.Site); err != nil {
		return nil, "", err
	}
	list = []json.RawMessage{}
	reader := pages.Reader{Service: a.Service, Site: u.Site, Where: where, Needs: export.NeedsOf(fields), Damaged: func(*wire.URL, error) {}}
	err = reader.Read(ctx, u.After, func(p *pages.Page) error {
		if len(list) == u.Most {
			return errEnough
		}
		object, err := export.Object(p, fields)
		list, last = append(list, object), p.URLMd5
		return err
	}, nil)
	if err != nil && !errors.Is(err, errEnough) && !isPartial(err) {
		return nil, "", err
	}
	if len(list) < u.Most || err == nil {
		last = "" // there are no more
	}
	return list, last, nil
}

// errEnough ends a reading.
var errEnough = errors.New("enough")

// Page returns a page of a site as a JSON object with the wanted fields; nil: WholePage.
func (a *Actions) Page(ctx context.Context, site, key string, fields []string) (json.RawMessage, error) {
	if fields == nil {
		fields = WholePage
	}
	if err := export.CheckFields(fields); err != nil {
		return nil, &Invalid{"fields", nil, err.Error()}
	}
	p, err := a.storedPage(ctx, site, key, export.NeedsOf(fields))
	if err != nil {
		return nil, err
	}
	return export.Object(p, fields)
}

// storedPage reads one page.
func (a *Actions) storedPage(ctx context.Context, site, key string, needs pages.Needs) (found *pages.Page, err error) {
	if err := checkName(site, key); err != nil {
		return nil, err
	}
	err = pages.Reader{Service: a.Service, Site: site, Where: "`URLMd5`='" + key + "'", Needs: needs}.Read(ctx, "", func(p *pages.Page) error {
		found = p
		return nil
	}, nil)
	if err == nil && found == nil {
		err = &NotFound{"page", key}
	}
	return found, err
}

// Content is a stored body with the headers of its answer.
type Content struct {
	Body    []byte
	Type    string // Content-Type of the answer; "" if it is not known
	Version string // changes when the content does
}

// Content returns the body of a page as it was received: the present one, or the version with a number from 1.
func (a *Actions) Content(ctx context.Context, site, key string, version int) (Content, error) {
	if version > 0 {
		return a.versionContent(ctx, site, key, version)
	}
	p, err := a.storedPage(ctx, site, key, pages.Raw|pages.Headers)
	if err != nil {
		return Content{}, err
	}
	if p.Raw == nil {
		return Content{}, &NotFound{"content of page", key}
	}
	return Content{Body: p.Raw, Type: typeOf(p), Version: cmp.Or(p.RawContentMd5, wire.Md5(string(p.Raw)))}, nil
}

// typeOf is the Content-Type of an answer, or of the row.
func typeOf(p *pages.Page) string {
	for _, value := range p.HeaderValues("Content-Type") {
		return value
	}
	return p.ContentType
}

func (a *Actions) versionContent(ctx context.Context, site, key string, number int) (Content, error) {
	list, err := a.versions(ctx, site, key)
	if err != nil {
		return Content{}, err
	}
	if number > len(list) {
		return Content{}, &NotFound{"version", fmt.Sprint(number)}
	}
	v := list[number-1]
	p := pages.Page{Headers: v.Headers}
	return Content{Body: v.Raw, Type: typeOf(&p), Version: fmt.Sprintf("%s-%d", key, number)}, nil
}

// Version describes a stored body of a page.
type Version struct {
	Number int        `json:"number" doc:"from 1, the oldest"`
	Stored *time.Time `json:"stored,omitempty"`
	Bytes  int        `json:"bytes"`
}

// storedTime returns the time of a version, nil if it is not known.
func storedTime(text string) *time.Time {
	t, err := time.Parse("2006-01-02 15:04:05.000", text)
	if err != nil {
		return nil
	}
	return &t
}

// Versions returns the stored bodies of a page, the oldest first. A crawl that brings the same body adds none.
func (a *Actions) Versions(ctx context.Context, site, key string) ([]Version, error) {
	found, err := a.versions(ctx, site, key)
	list := make([]Version, len(found))
	for i, v := range found {
		list[i] = Version{v.Number, storedTime(v.Stored), len(v.Raw)}
	}
	return list, err
}

func (a *Actions) versions(ctx context.Context, site, key string) ([]pages.Version, error) {
	row, err := a.row(ctx, site, key)
	if err != nil {
		return nil, err
	}
	return pages.Versions(ctx, a.Service, row)
}
