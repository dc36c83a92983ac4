package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"hce/dc/internal/cli/actions"
	"hce/dc/internal/cli/apikeys"
	"hce/dc/internal/cli/export"
)

// row is a URL or page of a site with the fields that were asked for, as JSON.
type row json.RawMessage

// MarshalJSON returns the object.
func (r row) MarshalJSON() ([]byte, error) { return r, nil }

// Schema describes the object.
func (row) Schema(r huma.Registry) *huma.Schema {
	const name = "Page"
	if _, known := r.Map()[name]; !known {
		s := &huma.Schema{
			Type: huma.TypeObject, AdditionalProperties: true, Properties: map[string]*huma.Schema{},
			Description: "A URL or page of a site with the fields that were asked for (docs/hce.md, Fields). A field without a value is empty or null.",
		}
		for _, field := range export.FieldNames() {
			s.Properties[field] = &huma.Schema{}
		}
		r.Map()[name] = s
	}
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

// rowsInput chooses URLs of a site.
type rowsInput struct {
	SiteInput
	ListInput
	Fields []string `query:"fields" doc:"names of fields (docs/hce.md, Fields), separated by commas"`
	Status string   `query:"status" enum:"new,crawling,crawled,processing,processed" doc:"only URLs with this status"`
	Failed bool     `query:"failed" doc:"only URLs with an error"`
	Prefix string   `query:"prefix" maxLength:"2048" doc:"only URLs that begin so"`
	URL    string   `query:"url" maxLength:"4096" doc:"only this URL"`
}

// PageInput names a page.
type PageInput struct {
	SiteInput
	Key string `path:"key" maxLength:"32" doc:"md5 of the URL"`
}

// addPages registers the operations about URLs and pages.
func (s *Server) addPages(api huma.API) {
	add(s, api, operation{
		id: "listUrls", method: http.MethodGet, path: "/v1/sites/{site}/urls", tag: "pages", summary: "List the URLs of a site", scope: apikeys.Read, site: "site", errors: []int{http.StatusUnprocessableEntity},
		about: "In the order of their keys. The list may be read to its end while the site is crawled: no URL comes twice.",
	}, func(ctx context.Context, in *rowsInput) (*object[list[row]], error) {
		return s.listRows(ctx, in, actions.URLFields)
	})
	add(s, api, operation{
		id: "listPages", method: http.MethodGet, path: "/v1/sites/{site}/pages", tag: "pages", summary: "List the processed pages of a site", scope: apikeys.Read, site: "site", errors: []int{http.StatusUnprocessableEntity},
		about: "As listUrls, with titles and dates.",
	}, func(ctx context.Context, in *rowsInput) (*object[list[row]], error) {
		in.Status = "processed"
		return s.listRows(ctx, in, actions.PageFields)
	})
	add(s, api, operation{
		id: "addUrls", method: http.MethodPost, path: "/v1/sites/{site}/urls", tag: "pages", summary: "Add URLs to a site", scope: apikeys.Crawl, site: "site", errors: []int{http.StatusUnprocessableEntity},
		about: "URLs that the site has are counted and not changed.",
	}, func(ctx context.Context, in *struct {
		SiteInput
		Body struct {
			URLs []string `json:"urls" minItems:"1" maxItems:"10000"`
		}
	}) (*object[added], error) {
		n, known, err := s.actions.AddURLs(ctx, in.Site, in.Body.URLs)
		return &object[added]{added{n, known}}, err
	})
	add(s, api, operation{
		id: "deleteUrl", method: http.MethodDelete, path: "/v1/sites/{site}/urls/{key}", tag: "pages", summary: "Delete a URL with its page", scope: apikeys.Crawl, site: "site",
		about: "A page that links to it may bring it again.",
	}, func(ctx context.Context, in *PageInput) (*struct{}, error) {
		return nil, s.actions.DeleteURL(ctx, in.Site, in.Key)
	})
	add(s, api, operation{
		id: "getPage", method: http.MethodGet, path: "/v1/sites/{site}/pages/{key}", tag: "pages", summary: "Show a page", scope: apikeys.Read, site: "site", errors: []int{http.StatusUnprocessableEntity},
	}, func(ctx context.Context, in *struct {
		PageInput
		Fields []string `query:"fields" doc:"names of fields (docs/hce.md, Fields), separated by commas"`
	}) (*object[row], error) {
		page, err := s.actions.Page(ctx, in.Site, in.Key, in.Fields)
		return &object[row]{row(page)}, err
	})
	add(s, api, operation{
		id: "listVersions", method: http.MethodGet, path: "/v1/sites/{site}/pages/{key}/versions", tag: "pages", summary: "List the stored versions of a page", scope: apikeys.Read, site: "site",
	}, func(ctx context.Context, in *PageInput) (*object[list[actions.Version]], error) {
		found, err := s.actions.Versions(ctx, in.Site, in.Key)
		return &object[list[actions.Version]]{list[actions.Version]{Items: found}}, err
	})
	add(s, api, operation{
		id: "getContent", method: http.MethodGet, path: "/v1/sites/{site}/pages/{key}/content", tag: "pages", summary: "Get the content of a page as it was received", scope: apikeys.Read, site: "site",
		about: "The bytes and the Content-Type of the server. A browser shows it without scripts.",
	}, s.getContent)
	add(s, api, operation{
		id: "export", method: http.MethodGet, path: "/v1/sites/{site}/export", tag: "pages", summary: "Export the pages of a site", scope: apikeys.Read, site: "site", limit: -1, errors: []int{http.StatusUnprocessableEntity},
		about: "The pages that hce export writes: fetched well, and not those that ask robots not to index them. The answer is a stream. If it breaks off before its end, the connection does too.",
	}, s.export)
}

type added struct {
	Added int `json:"added"`
	Known int `json:"known" doc:"URLs that the site had already"`
}

// listRows lists URLs.
func (s *Server) listRows(ctx context.Context, in *rowsInput, fields []string) (*object[list[row]], error) {
	if len(in.Fields) > 0 {
		fields = in.Fields
	}
	found, last, err := s.actions.ListURLs(ctx, actions.URLs{
		Site: in.Site, Status: in.Status, Failed: in.Failed, Prefix: in.Prefix, URL: in.URL, After: in.Cursor, Most: in.Limit, Fields: fields,
	})
	if err != nil {
		return nil, err
	}
	part := list[row]{Items: make([]row, len(found)), Next: last}
	for i, one := range found {
		part.Items[i] = row(one)
	}
	return &object[list[row]]{part}, nil
}

// contentInput chooses a content.
type contentInput struct {
	PageInput
	Version int    `query:"version" minimum:"0" maximum:"1000000" doc:"number of a version from 1, the oldest; without it the present one"`
	Match   string `header:"If-None-Match" maxLength:"4096"`
}

// content is the answer of getContent.
type content struct {
	Status      int
	Type        string `header:"Content-Type"`
	ETag        string `header:"ETag"`
	Disposition string `header:"Content-Disposition"`
	Body        []byte
}

func (s *Server) getContent(ctx context.Context, in *contentInput) (*content, error) {
	found, err := s.actions.Content(ctx, in.Site, in.Key, in.Version)
	if err != nil {
		return nil, err
	}
	c := &content{Status: http.StatusOK, Type: found.Type, ETag: `"` + found.Version + `"`, Disposition: "attachment", Body: found.Body}
	if c.Type == "" || strings.ContainsFunc(c.Type, func(r rune) bool { return r < ' ' || r > '~' }) {
		c.Type = "application/octet-stream"
	}
	if matches(in.Match, c.ETag) {
		c.Status, c.Body = http.StatusNotModified, nil
	}
	return c, nil
}

// matches reports whether a list of entity tags has one, by the weak comparison (RFC 9110 8.8.3.2).
func matches(header, tag string) bool {
	for _, one := range strings.Split(header, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}

// exportInput chooses an export.
type exportInput struct {
	SiteInput
	Format  string   `query:"format" enum:"jsonl,csv,sitemap,warc" default:"jsonl" doc:"jsonl: a line of JSON for each page"`
	Fields  []string `query:"fields" doc:"names of fields, for jsonl and csv; separated by commas"`
	All     bool     `query:"all" doc:"all URLs, also failed and waiting ones"`
	NoIndex bool     `query:"noindex" doc:"pages that ask robots not to index them, too"`
	Since   string   `query:"since" format:"date-time" doc:"only pages whose content has changed since"`
}

// exportTypes are the types of the formats.
var exportTypes = map[string]string{"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8", "sitemap": "application/xml", "warc": "application/warc"}

// export writes the pages of a site to the client.
func (s *Server) export(ctx context.Context, in *exportInput) (*huma.StreamResponse, error) {
	var since time.Time
	if in.Since != "" {
		var err error
		if since, err = time.Parse(time.RFC3339, in.Since); err != nil {
			return nil, &actions.Invalid{Field: "since", Value: in.Since, Message: "it is no date and time such as 2024-07-01T00:00:00Z"}
		}
	}
	job, err := s.actions.ExportJob(ctx, actions.Export{Site: in.Site, Format: in.Format, Fields: in.Fields, All: in.All, NoIndex: in.NoIndex, Since: since})
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		r, w := humago.Unwrap(c)
		h := w.Header()
		h.Set("Content-Type", exportTypes[in.Format])
		h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", in.Site+"."+in.Format))
		job.Stdout = &steadyWriter{http.NewResponseController(w), w}
		if _, err := export.Run(r.Context(), job, nil); err != nil {
			s.log.Warn("export broke off", "site", in.Site, "trace", callerOf(ctx).trace, "error", err)
			panic(http.ErrAbortHandler)
		}
	}}, nil
}

// writeLimit is how long a client may take for one part of a stream.
const writeLimit = 30 * time.Second

// steadyWriter gives the client writeLimit for each part.
type steadyWriter struct {
	control *http.ResponseController
	io.Writer
}

// Write writes a part.
func (w *steadyWriter) Write(p []byte) (int, error) {
	if err := w.control.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}
