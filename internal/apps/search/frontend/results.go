package frontend

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/apps/search"
)

// results is a page of results, for people and for machines.
type results struct {
	Kind     search.Kind `json:"kind"`
	Count    int         `json:"count"`
	About    bool        `json:"about,omitempty"` // Count may include duplicates
	Seconds  float64     `json:"seconds"`
	Words    string      `json:"words"`
	First    int         `json:"first"` // number of the first result, from 1
	Results  []result    `json:"results"`
	Previous string      `json:"previous,omitempty"`
	Next     string      `json:"next,omitempty"`
}

// result is one result. Title and Description are those of a page, Name, Format and Size of a file.
type result struct {
	UUID        string           `json:"uuid"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Excerpt     []search.Segment `json:"excerpt,omitempty"`
	Link        string           `json:"link"`
	Cache       string           `json:"cache,omitempty"`
	Versions    string           `json:"versions,omitempty"`
	Name        string           `json:"name,omitempty"`
	Format      string           `json:"format,omitempty"`
	Size        int64            `json:"size,omitempty"`
	Date        string           `json:"date,omitempty"` // UTC
	Language    string           `json:"language,omitempty"`
	Copies      []string         `json:"copies,omitempty"`

	Go, SizeText string `json:"-"`
}

// serveSearch answers the form.
func (s *Server) serveSearch(w http.ResponseWriter, r *http.Request) {
	p := newPage(r)
	text, kind := r.FormValue("txt"), search.Kind(r.FormValue("opt"))
	if kind == "" {
		kind = search.Pages
	}
	start, err := strconv.Atoi(r.FormValue("start"))
	switch {
	case text == "" && !wantsJSON(r):
		s.renderPage(w, http.StatusOK, "main", p)
		return
	case !kind.Valid():
		s.writeError(w, r, http.StatusBadRequest, "opt is one of pages, images, documents")
		return
	case r.FormValue("start") != "" && (err != nil || start < 0 || start > search.MaxOffset):
		s.writeError(w, r, http.StatusBadRequest, fmt.Sprintf("start is a number from 0 to %d", search.MaxOffset))
		return
	}
	began := time.Now()
	reply, err := s.Engine.Ask(r.Context(), search.Ask{Op: search.OpSearch, Kind: kind, Text: text, Offset: start, Limit: perPage})
	if code := statusOf(reply, err); code != http.StatusOK {
		if code == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		s.writeError(w, r, code, replyMessage(reply, err))
		return
	}
	list := resultsOf(reply, kind, start, time.Since(began).Seconds())
	list.Previous, list.Next = pageLinks(r, start, reply)
	if wantsJSON(r) {
		writeJSON(w, http.StatusOK, list)
		return
	}
	p.Results = list
	p.Heading = reply.Words + " – " + p.W.Title
	s.renderPage(w, http.StatusOK, "main", p)
}

func resultsOf(reply search.Reply, kind search.Kind, start int, seconds float64) *results {
	list := &results{Kind: kind, Count: reply.Count, About: reply.About, Seconds: seconds, Words: reply.Words, First: start + 1, Results: []result{}}
	for _, h := range reply.Hits {
		one := result{UUID: h.UUID, Title: h.Title, Description: h.Description, Excerpt: h.Excerpt, Link: h.URL, Date: dateText(h.Date), Language: h.Language, Copies: h.Copies, Go: "/go=" + h.UUID}
		if h.Kind != search.Pages {
			one.Name, one.Format, one.Size, one.SizeText = h.Name, h.Format, h.Size, sizeText(h.Size)
		} else if one.Title == "" {
			one.Title = h.URL
		}
		if h.Cached {
			one.Cache, one.Versions = "/cache="+h.UUID, "/versions="+h.UUID
		}
		list.Results = append(list.Results, one)
	}
	return list
}

// pageLinks returns the links to the page before and after.
func pageLinks(r *http.Request, start int, reply search.Reply) (previous, next string) {
	to := func(start int) string {
		v := url.Values{"txt": {r.FormValue("txt")}, "opt": {r.FormValue("opt")}, "start": {strconv.Itoa(start)}}
		if r.FormValue("format") == "json" {
			v.Set("format", "json")
		}
		return "/?" + v.Encode()
	}
	if start > 0 {
		previous = to(max(0, start-perPage))
	}
	if start+perPage < reply.Count && start+perPage <= search.MaxOffset && len(reply.Hits) == perPage {
		next = to(start + perPage)
	}
	return previous, next
}

// dateText returns a time in UTC. Midnight is a day of which no time is known.
func dateText(at time.Time) string {
	switch {
	case at.IsZero():
		return ""
	case at.Equal(at.Truncate(24 * time.Hour)):
		return at.UTC().Format(time.DateOnly)
	}
	return at.UTC().Format("2006-01-02 15:04")
}

func sizeText(n int64) string {
	switch {
	case n < 0:
		return ""
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f KB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

func (s *Server) serveStatus(w http.ResponseWriter, r *http.Request) {
	state, err := s.Engine.Status(r.Context())
	switch {
	case err != nil:
		s.writeError(w, r, http.StatusBadGateway, err.Error())
	case wantsJSON(r):
		writeJSON(w, http.StatusOK, state)
	default:
		p := newPage(r)
		p.Heading, p.State = p.W.Status, &state
		s.renderPage(w, http.StatusOK, "status", p)
	}
}

// versionLink is a line of the list of versions.
type versionLink struct {
	Source   string `json:"source"`
	ID       string `json:"id"`
	Date     string `json:"date"`
	Size     int64  `json:"size"`
	Href     string `json:"href"`
	SizeText string `json:"-"`
}

// serveVersions lists the versions of all sources. A source that fails does not hide the others.
func (s *Server) serveVersions(w http.ResponseWriter, r *http.Request, d search.Document) {
	if !s.takeViewSlot(w, r) {
		return
	}
	defer func() { <-s.views }()
	p := newPage(r)
	p.Heading, p.Go, p.Link = p.W.Versions, "/go="+d.UUID, d.URL
	list := []versionLink{}
	for _, source := range s.Sources {
		found, err := source.Versions(r.Context(), d)
		if err != nil {
			s.Log.Warn("versions cannot be listed", "source", source.Name(), "url", d.URL, "error", err)
			p.Problems = append(p.Problems, fmt.Sprintf("%s: %v", source.Name(), err))
		}
		for _, v := range found {
			href := "/version=" + d.UUID + "/" + source.Name() + "/" + url.PathEscape(v.ID)
			list = append(list, versionLink{source.Name(), v.ID, dateText(v.Time), v.Size, href, sizeText(v.Size)})
		}
	}
	if wantsJSON(r) {
		writeJSON(w, http.StatusOK, map[string]any{"url": d.URL, "uuid": d.UUID, "versions": list, "errors": append([]string{}, p.Problems...)})
		return
	}
	p.List = list
	s.renderPage(w, http.StatusOK, "versions", p)
}

// takeViewSlot takes a slot for a stored version. It answers if there is no free one.
func (s *Server) takeViewSlot(w http.ResponseWriter, r *http.Request) bool {
	select {
	case s.views <- struct{}{}:
		return true
	case <-r.Context().Done():
	}
	w.Header().Set("Retry-After", "1")
	s.writeError(w, r, http.StatusServiceUnavailable, "too many copies are being read; try again later")
	return false
}

// serveViewer shows a copy in a frame, below a banner.
func (s *Server) serveViewer(w http.ResponseWriter, r *http.Request, d search.Document, frame string) {
	p := newPage(r)
	p.Heading, p.Go, p.Link, p.Versions, p.Frame = d.URL, "/go="+d.UUID, d.URL, "/versions="+d.UUID, frame
	p.Date = s.dateOf(r, d, frame)
	s.renderPage(w, http.StatusOK, "viewer", p)
}

// dateOf returns when the shown version was stored, "" if that is not known.
func (s *Server) dateOf(r *http.Request, d search.Document, frame string) string {
	_, version, named := strings.Cut(strings.TrimPrefix(frame, "/raw="), "/")
	if !named {
		return dateText(d.Seen)
	}
	select {
	case s.views <- struct{}{}:
		defer func() { <-s.views }()
	case <-r.Context().Done():
		return ""
	}
	name, id, _ := strings.Cut(version, "/")
	for _, source := range s.Sources {
		if source.Name() != name {
			continue
		}
		list, _ := source.Versions(r.Context(), d) // the frame shows the error
		for _, v := range list {
			if url.PathEscape(v.ID) == id {
				return dateText(v.Time)
			}
		}
	}
	return ""
}

// copyPolicy lets a stored page do nothing but be looked at.
const copyPolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"

// shown are the types that a browser may show, and as what.
var shown = map[string]string{
	"text/html": "text/html; charset=utf-8", "application/xhtml+xml": "text/html; charset=utf-8", "text/plain": "text/plain; charset=utf-8",
	"image/png": "image/png", "image/jpeg": "image/jpeg", "image/gif": "image/gif", "image/webp": "image/webp",
}

// serveRaw answers with the bytes of a stored version; without a source with the newest one.
func (s *Server) serveRaw(w http.ResponseWriter, r *http.Request, d search.Document, source, id string) {
	if !s.takeViewSlot(w, r) {
		return
	}
	defer func() { <-s.views }()
	content, err := s.loadContent(r, d, source, id)
	switch {
	case errors.Is(err, ErrNone):
		s.writeError(w, r, http.StatusNotFound, "this version is not stored")
		return
	case err != nil:
		s.Log.Warn("copy cannot be read", "url", d.URL, "error", err)
		s.writeError(w, r, http.StatusBadGateway, err.Error())
		return
	case len(content.Body) > maxCopy:
		s.writeError(w, r, http.StatusBadGateway, fmt.Sprintf("the copy has %d bytes; the limit is %d", len(content.Body), maxCopy))
		return
	}
	bare, _, _ := strings.Cut(strings.ToLower(content.MIMEType), ";")
	h := w.Header()
	h.Set("Content-Security-Policy", copyPolicy)
	as, can := shown[strings.TrimSpace(bare)]
	if !can {
		as = "application/octet-stream"
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(d)}))
	}
	h.Set("Content-Type", as)
	_, _ = w.Write(content.Body) // the browser has gone
}

// loadContent finds a stored version.
func (s *Server) loadContent(r *http.Request, d search.Document, source, id string) (Content, error) {
	switch {
	case source == "" && d.Copy != "":
		return Content{[]byte(d.Copy), "text/html", d.Seen}, nil
	case source == "" && s.Cluster != nil && d.Site != "":
		return s.Cluster.newestVersion(r.Context(), d)
	}
	for _, one := range s.Sources {
		if one.Name() == source {
			return one.Open(r.Context(), d, id)
		}
	}
	return Content{}, ErrNone
}

// fileName is the name under which a browser saves a file.
func fileName(d search.Document) string {
	name := strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || strings.ContainsRune(`/\:*?"<>|`, c) {
			return '_'
		}
		return c
	}, d.Name)
	name = strings.Trim(name, ". ")
	if name == "" {
		name = "file"
	}
	if d.Format != "" && strings.Trim(strings.ToLower(d.Format), "abcdefghijklmnopqrstuvwxyz0123456789") == "" {
		name += "." + strings.ToLower(d.Format)
	}
	return name
}
