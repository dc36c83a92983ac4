package frontend

import (
	"cmp"
	"context"
	_ "embed" // pages and style
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/apps/search"
	"hce/dc/internal/apps/search/manager"
	"hce/dc/internal/places"
)

// Engine answers questions. manager.Client is one.
type Engine interface {
	Ask(ctx context.Context, a search.Ask) (search.Reply, error)
	Status(ctx context.Context) (manager.Status, error)
	Opened(ctx context.Context, o manager.Opened) error
}

// Config are the settings of a front end.
type Config struct {
	Engine  Engine
	Cluster *Cluster // for cached copies; nil: only copies that the index has
	Sources []Source // further sources of versions
	// Names are host names by which browsers may call the server, in addition to localhost and IP
	// addresses. Others are refused: a strange page could read answers through a name of its own that
	// leads here.
	Names    []string
	Requests int // at the same time; default 64
	Log      *slog.Logger
}

// Server is the front end. It is an http.Handler.
type Server struct {
	Config
	slots chan struct{}
	views chan struct{} // of stored versions, which may be large
}

const (
	perPage     = 10
	viewsAtOnce = 4

	connectionsFor = 4 // each request at the same time
	requestLimit   = 20 * time.Second
)

//go:embed pages.html
var pagesText string

//go:embed style.css
var styleText []byte

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"dict": func(list ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i+1 < len(list); i += 2 {
			m[fmt.Sprint(list[i])] = list[i+1]
		}
		return m
	},
}).Parse(pagesText))

// New returns a front end.
func New(c Config) *Server {
	c.Requests = cmp.Or(c.Requests, 64)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Cluster != nil {
		c.Sources = append([]Source{c.Cluster}, c.Sources...)
	}
	return &Server{Config: c, slots: make(chan struct{}, c.Requests), views: make(chan struct{}, viewsAtOnce)}
}

// Serve answers until ctx is done, and closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 2 * requestLimit, IdleTimeout: 30 * time.Second,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- places.New(l, connectionsFor*s.Requests).Serve(h, isHealth) }()
	select {
	case err := <-ended:
		return fmt.Errorf("front end: %w", err)
	case <-ctx.Done():
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer stop()
	if err := h.Shutdown(last); err != nil {
		return errors.Join(h.Close(), nil)
	}
	return nil
}

// isHealth reports whether a request asks for the state of the service. It has a place when all others are taken.
func isHealth(r *http.Request) bool { return r.URL.Path == "/status" }

// policy is the Content-Security-Policy of the pages of this server.
const policy = "default-src 'none'; style-src 'self'; form-action 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'"

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Accept, Accept-Language")
	switch {
	case !s.isOwnHost(r.Host):
		s.writeError(w, r, http.StatusMisdirectedRequest, "this host name is not one of this server; allow it with names of [Frontend]")
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		s.writeError(w, r, http.StatusMethodNotAllowed, "only GET is answered")
		return
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		h.Set("Retry-After", "1")
		s.writeError(w, r, http.StatusServiceUnavailable, manager.Busy+"; try again later")
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), requestLimit)
	defer stop()
	s.routeRequest(w, r.WithContext(ctx))
}

func (s *Server) isOwnHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || strings.EqualFold(host, "localhost") || slices.ContainsFunc(s.Names, func(n string) bool { return strings.EqualFold(n, host) })
}

func (s *Server) routeRequest(w http.ResponseWriter, r *http.Request) {
	name, rest, named := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "=")
	switch {
	case r.URL.Path == "/":
		s.serveSearch(w, r)
	case r.URL.Path == "/status":
		s.serveStatus(w, r)
	case r.URL.Path == "/style.css":
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = w.Write(styleText) // the browser has gone
	case !named:
		s.writeError(w, r, http.StatusNotFound, "no such page")
	default:
		s.serveDocument(w, r, name, rest)
	}
}

// serveDocument answers the pages about one document.
func (s *Server) serveDocument(w http.ResponseWriter, r *http.Request, name, rest string) {
	uuid, version, _ := strings.Cut(rest, "/")
	source, id, _ := strings.Cut(version, "/")
	if !search.ValidUUID(uuid) || name != "version" && name != "raw" && version != "" {
		s.writeError(w, r, http.StatusNotFound, "no such page")
		return
	}
	reply, err := s.Engine.Ask(r.Context(), search.Ask{Op: search.OpGet, UUID: uuid})
	if code := statusOf(reply, err); code != http.StatusOK {
		s.writeError(w, r, code, replyMessage(reply, err))
		return
	}
	if len(reply.Hits) == 0 {
		s.writeError(w, r, http.StatusNotFound, "the index has no document with this UUID; it may have been removed")
		return
	}
	d := reply.Hits[0].Document
	d.Copy = reply.Copy
	if !d.Cached && name != "go" {
		s.writeError(w, r, http.StatusNotFound, "no copy of this document is shown: its page says noarchive, or none is stored")
		return
	}
	switch name {
	case "go":
		s.reportOpened(r, d)
		http.Redirect(w, r, d.URL, http.StatusFound) // only http and https: package index checks it
	case "cache":
		s.reportOpened(r, d)
		s.serveViewer(w, r, d, "/raw="+uuid)
	case "version":
		s.serveViewer(w, r, d, "/raw="+uuid+"/"+url.PathEscape(source)+"/"+url.PathEscape(id))
	case "raw":
		s.serveRaw(w, r, d, source, id)
	case "versions":
		s.serveVersions(w, r, d)
	default:
		s.writeError(w, r, http.StatusNotFound, "no such page")
	}
}

func (s *Server) reportOpened(r *http.Request, d search.Document) {
	if err := s.Engine.Opened(r.Context(), manager.Opened{URL: d.URL, Title: cmp.Or(d.Title, d.Name)}); err != nil {
		s.Log.Debug("not counted", "error", err)
	}
}

// statusOf returns the HTTP status of an answer of the engine.
func statusOf(reply search.Reply, err error) int {
	switch {
	case err != nil:
		return http.StatusBadGateway
	case reply.Error == "":
		return http.StatusOK
	case reply.Refused:
		return http.StatusBadRequest
	case strings.HasPrefix(reply.Error, manager.Busy):
		return http.StatusServiceUnavailable
	case strings.HasPrefix(reply.Error, manager.Late):
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

func replyMessage(reply search.Reply, err error) string {
	if err != nil {
		return err.Error()
	}
	return reply.Error
}

// wantsJSON reports whether a machine asks.
func wantsJSON(r *http.Request) bool {
	return r.FormValue("format") == "json" || strings.HasPrefix(r.Header.Get("Accept"), "application/json")
}

func writeJSON(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(value) // the client has gone
}

// page is what all templates have.
type page struct {
	W       *wordList
	Heading string
	Text    string
	Options []option
	Frame   string
	Message string

	Results        *results
	Go, Link, Date string
	Versions       string
	List           []versionLink
	Problems       []string
	State          *manager.Status
}

type option struct {
	Value, Label string
	Selected     bool
}

func newPage(r *http.Request) page {
	p := page{W: wordsFor(r), Text: r.FormValue("txt")}
	p.Heading = p.W.Title
	for _, k := range search.Kinds {
		p.Options = append(p.Options, option{string(k), p.W.Kinds[k], string(k) == r.FormValue("opt")})
	}
	return p
}

// renderPage writes a page.
func (s *Server) renderPage(w http.ResponseWriter, code int, name string, p page) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	if err := templates.ExecuteTemplate(w, name, p); err != nil {
		s.Log.Debug("page not written", "error", err)
	}
}

// writeError answers with an error.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, code int, text string) {
	if wantsJSON(r) {
		writeJSON(w, code, map[string]any{"error": text, "status": code})
		return
	}
	p := newPage(r)
	p.Message = text
	s.renderPage(w, code, "error", p)
}
