package frontend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/repository"
	"hce/dc/internal/apps/search"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// Version is one stored version of a page or file.
type Version struct {
	ID   string    `json:"id"` // letters, digits and signs that need no escape in a URL
	Time time.Time `json:"time"`
	Size int64     `json:"size"` // bytes; -1 for unknown
}

// Content is a stored version with its bytes. Text is in UTF-8.
type Content struct {
	Body     []byte
	MIMEType string
	Time     time.Time
}

// ErrNone means that a version is not stored.
var ErrNone = errors.New("no such version is stored")

// Source has stored versions of documents. Goroutines may share it.
type Source interface {
	// Name is a word in lower case, for links.
	Name() string
	// Versions returns all versions of a document, the oldest first; none for an unknown document.
	Versions(ctx context.Context, d search.Document) ([]Version, error)
	// Open reads a version; ErrNone if it is not there. id may come from a stranger.
	Open(ctx context.Context, d search.Document, id string) (Content, error)
}

// maxCopy limits a version that is shown, in bytes.
const maxCopy = 32 << 20

// Cluster has the versions of the cluster's store of raw contents.
type Cluster struct{ Service service.Service }

// Name implements Source.
func (c *Cluster) Name() string { return "cluster" }

func rowOf(d search.Document) wire.URL {
	return wire.URL{SiteID: d.Site, URL: d.URL, URLMd5: d.Key}
}

// Versions implements Source.
func (c *Cluster) Versions(ctx context.Context, d search.Document) (list []Version, err error) {
	if d.Site == "" {
		return nil, nil
	}
	stored, err := pages.Versions(ctx, c.Service, rowOf(d))
	for _, v := range stored {
		at, _ := schema.Date(v.Stored).Time()
		list = append(list, Version{strconv.Itoa(v.Number), at, int64(len(v.Raw))})
	}
	return list, err
}

// Open implements Source.
func (c *Cluster) Open(ctx context.Context, d search.Document, id string) (Content, error) {
	n, err := strconv.Atoi(id)
	if err != nil || d.Site == "" {
		return Content{}, ErrNone
	}
	stored, err := pages.Versions(ctx, c.Service, rowOf(d))
	switch {
	case err != nil:
		return Content{}, err
	case n < 1 || n > len(stored):
		return Content{}, ErrNone
	}
	at, _ := schema.Date(stored[n-1].Stored).Time()
	return Content{stored[n-1].Raw, d.MIMEType, at}, nil
}

// newestVersion returns the newest version.
func (c *Cluster) newestVersion(ctx context.Context, d search.Document) (content Content, err error) {
	err = ErrNone
	if !wire.ValidSiteID(d.Site) || len(d.Key) != 32 || strings.Trim(d.Key, "0123456789abcdef") != "" {
		return content, err
	}
	r := pages.Reader{Service: c.Service, Site: d.Site, Where: "`URLMd5`='" + d.Key + "'", Needs: pages.Raw}
	failed := r.Read(ctx, "", func(p *pages.Page) error {
		if p.Raw != nil {
			at, _ := p.Stored.Time()
			content, err = Content{p.Raw, p.ContentType, at}, nil
		}
		return nil
	}, nil)
	return content, errors.Join(failed, err)
}

// Archive has the versions of a versioned web archive.
type Archive struct{ Store archive.Store }

// Name implements Source.
func (a *Archive) Name() string { return "archive" }

func (a *Archive) findVersions(ctx context.Context, d search.Document) ([]archive.Meta, error) {
	text := strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(d.URL)
	return a.Store.Query(ctx, archive.Query{Where: "url = '" + text + "'", OrderBy: "commitTime ASC", Limit: 1000})
}

// Versions implements Source.
func (a *Archive) Versions(ctx context.Context, d search.Document) (list []Version, err error) {
	found, err := a.findVersions(ctx, d)
	for _, m := range found {
		list = append(list, Version{strconv.FormatInt(m.CommitTime.Unix(), 10), m.CommitTime.UTC(), -1})
	}
	return list, err
}

// Open implements Source.
func (a *Archive) Open(ctx context.Context, d search.Document, id string) (Content, error) {
	found, err := a.findVersions(ctx, d)
	if err != nil {
		return Content{}, err
	}
	i := slices.IndexFunc(found, func(m archive.Meta) bool { return strconv.FormatInt(m.CommitTime.Unix(), 10) == id })
	if i < 0 {
		return Content{}, ErrNone
	}
	m := found[i]
	body, err := a.readVersion(ctx, m, repository.DataName(m.URL, m.MIMEType))
	return Content{body, m.MIMEType, m.CommitTime.UTC()}, err
}

func (a *Archive) readVersion(ctx context.Context, m archive.Meta, name string) ([]byte, error) {
	r, err := a.Store.Open(ctx, m, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	body, err := io.ReadAll(io.LimitReader(r, maxCopy+1))
	if err == nil && len(body) > maxCopy {
		err = fmt.Errorf("%s of %s has more than %d bytes", name, m.URL, maxCopy)
	}
	return body, err
}
