package server

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/protocol"
)

// requestHandler returns the handler of all requests.
func (s *Server) requestHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		defer s.requests.Done()
		defer s.recoverPanic(r)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if err := s.handleRequest(w, r); err != nil {
			s.sendFailure(w, r, err)
		}
	})
}

// recoverPanic logs the panic of a request and breaks its connection.
func (s *Server) recoverPanic(r *http.Request) {
	reason := recover()
	if reason == nil {
		return
	}
	if reason != http.ErrAbortHandler {
		s.cfg.Log.Error("request panics", "op", r.URL.Path, "client", r.RemoteAddr, "error", reason, "stack", string(debug.Stack()))
	}
	panic(http.ErrAbortHandler)
}

// handleRequest answers a request, unless it returns an error, which is the answer then.
func (s *Server) handleRequest(w http.ResponseWriter, r *http.Request) error {
	if err := s.checkAccess(r); err != nil {
		return err
	}
	kind := protocol.Kind(strings.TrimPrefix(r.URL.Path, protocol.Root))
	if method := kind.Method(); method == "" || method != r.Method {
		return fmt.Errorf("request %s %.100q: this server has no such kind of message; the request %w", r.Method, r.URL.Path, archive.ErrInvalid)
	}
	if r.Method == http.MethodGet {
		if r.ContentLength != 0 {
			return fmt.Errorf("a GET with a body %w", archive.ErrInvalid)
		}
		// The request is read. From now on, only the end of the client must end it.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return fmt.Errorf("parameters of the request: %w: %w", archive.ErrInvalid, err)
	}
	q, err := protocol.Parse(kind, values)
	if err != nil {
		return err
	}
	return s.answerRequest(w, r, q)
}

// mostCommits bounds the commits in one answer.
const mostCommits = 10000

// answerRequest answers a valid request.
func (s *Server) answerRequest(w http.ResponseWriter, r *http.Request, q protocol.Request) error {
	ctx, store := r.Context(), s.cfg.Store
	switch q.Kind {
	case protocol.Query:
		return s.sendMatches(ctx, w, q)
	case protocol.List:
		list, err := store.List(ctx, q.Meta)
		return s.sendReply(w, protocol.Files, list, err)
	case protocol.Tag:
		text, err := store.Tag(ctx, q.Meta, q.Name)
		return s.sendReply(w, protocol.Node, text, err)
	case protocol.Commits:
		list, err := store.Commits(ctx, q.After, min(cmp.Or(q.Limit, protocol.MaxChanges), mostCommits))
		return s.sendReply(w, protocol.Changes, list, err)
	case protocol.Status:
		state := s.feed.serverState()
		state.Observers = s.registry.observerStates()
		return s.sendReply(w, protocol.State, state, nil)
	case protocol.Open:
		return s.sendFile(w, r, q)
	case protocol.Create:
		return s.createFile(w, r, q)
	case protocol.SetTag:
		return s.setTag(w, r, q)
	case protocol.Observe:
		return s.serveObserver(w, r, q)
	}
	return archive.ErrInvalid
}

// checkAccess checks that the client may use the server. Web pages in a browser of this machine may not:
// neither by a request to another origin, nor by a name that leads to this address.
func (s *Server) checkAccess(r *http.Request) error {
	site := r.Header.Get("Sec-Fetch-Site")
	if s.origins.Check(r) != nil || site != "" && site != "none" && site != "same-origin" {
		return fmt.Errorf("request of a web page: %w", protocol.ErrDenied)
	}
	if s.cfg.Token == "" {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if !strings.EqualFold(host, "localhost") && net.ParseIP(strings.Trim(host, "[]")) == nil && !s.cfg.AllowInsecure {
			return fmt.Errorf("host %.100q: without a token the server is called by its address only: %w", host, protocol.ErrDenied)
		}
		return nil
	}
	given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.cfg.Token))
	if !bearer || subtle.ConstantTimeCompare(a[:], b[:]) != 1 {
		return fmt.Errorf("the token is missing or wrong; give the client the token file of the server: %w", protocol.ErrDenied)
	}
	return nil
}

// sendReply sends a value, or returns err.
func (s *Server) sendReply(w http.ResponseWriter, kind protocol.Kind, value any, err error) error {
	if err != nil {
		return err
	}
	return s.writeJSON(w, kind, http.StatusOK, value)
}

func (s *Server) writeJSON(w http.ResponseWriter, kind protocol.Kind, status int, value any) error {
	out := s.newPacedWriter(w)
	beginAnswer(w, kind, status)
	if err := json.NewEncoder(out).Encode(value); err != nil {
		panic(http.ErrAbortHandler) // the client has disconnected, and must not take a part for the whole
	}
	return nil
}

// beginAnswer sends the header of an answer in JSON.
func beginAnswer(w http.ResponseWriter, kind protocol.Kind, status int) {
	h := w.Header()
	h.Set(protocol.KindHeader, string(kind))
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
}

// sendFailure answers with an error. Those that are not the client's are logged.
func (s *Server) sendFailure(w http.ResponseWriter, r *http.Request, err error) {
	f, status := protocol.FailureOf(err)
	if r.Context().Err() != nil && status == http.StatusInternalServerError {
		panic(http.ErrAbortHandler) // the client has disconnected
	}
	switch status {
	case http.StatusInternalServerError:
		s.cfg.Log.Error("request failed", "op", r.URL.Path, "client", r.RemoteAddr, "error", err)
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.Header().Set("Connection", "close") // a stranger keeps no connection
		s.cfg.Log.Warn("request refused", "op", r.URL.Path, "client", r.RemoteAddr, "error", err)
	}
	_ = s.writeJSON(w, protocol.Failed, status, f)
}
