package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"hce/dc/internal/cli/apikeys"
)

// caller is who sends a request.
type caller struct {
	apikeys.Key        // Admin without a key
	name        string // of the key or of the address, for the log and the rate
	trace       string // of the request
}

type callerKey struct{}

// callerOf returns the caller of a request.
func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// guard passes requests that may be served. It does not read their bodies.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		trace := traceOf(r)
		h := w.Header()
		h.Set("X-Request-Id", trace)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if p := s.checkPlace(r); p != nil {
			s.refuse(w, r, p, trace)
			return
		}
		if isHealth(r) {
			next.ServeHTTP(w, r)
			return
		}
		c, p := s.findCaller(r)
		if p != nil {
			s.refuse(w, r, p, trace)
			return
		}
		c.trace = trace
		if wait := s.rates.reserve(c.name, s.cfg.Rate); wait > 0 {
			h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
			s.refuse(w, r, newProblem(http.StatusTooManyRequests, "there are too many requests with this key"), trace)
			return
		}
		s.serveCaller(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)), next, c)
	})
}

// traceParent is the header of W3C Trace Context: version, id of the trace, id of the parent, flags.
var traceParent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}`)

// traceOf returns the id of the trace that a request belongs to: that of the client, or a new one.
func traceOf(r *http.Request) string {
	if m := traceParent.FindStringSubmatch(r.Header.Get("Traceparent")); m != nil && m[1] != noTrace {
		return m[1]
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // it never fails
	return hex.EncodeToString(id)
}

// noTrace is the id that no trace has.
const noTrace = "00000000000000000000000000000000"

// serveCaller serves a request, and writes changes and faults to the log.
func (s *Server) serveCaller(w http.ResponseWriter, r *http.Request, next http.Handler, c caller) {
	s.running.Add(1)
	defer s.running.Done()
	began, seen := time.Now(), &statusWriter{ResponseWriter: w}
	defer func() {
		fault := recover()
		if fault != nil && fault != http.ErrAbortHandler {
			s.log.Error("request failed", "method", r.Method, "path", r.URL.Path, "trace", c.trace, "fault", fault)
			if seen.status == 0 {
				s.refuse(seen, r, newProblem(http.StatusInternalServerError, "the request failed; the log of the daemon says more"), c.trace)
			}
		}
		if seen.status >= 500 || r.Method != http.MethodGet && r.Method != http.MethodHead && r.URL.Path != mcpPath {
			s.log.Info("request", "key", c.name, "method", r.Method, "path", r.URL.Path, "code", seen.status, "ms", time.Since(began).Milliseconds(), "trace", c.trace)
		}
		if fault == http.ErrAbortHandler {
			panic(fault) // the client sees that the answer is not whole
		}
	}()
	next.ServeHTTP(seen, r)
}

// statusWriter knows the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status.
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the answer.
func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController flush, and set deadlines.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// checkPlace refuses requests that a browser sends for a page of another site: it may have found this server by the name of a host
// that leads to loopback, or sends what a form can send.
func (s *Server) checkPlace(r *http.Request) *Problem {
	name := r.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if len(s.cfg.Hosts) > 0 || s.names["127.0.0.1"] {
		if !s.names[name] {
			p := newProblem(http.StatusMisdirectedRequest, "the API is not served under the name "+strconv.Quote(name))
			p.Remedy = "add the name to ApiHosts in [Api]"
			return p
		}
	}
	foreign := false
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		foreign = r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-Mode") != "navigate"
	}
	if origin := r.Header.Get("Origin"); origin != "" && !foreign {
		_, host, found := strings.Cut(origin, "://")
		foreign = !found || !strings.EqualFold(host, r.Host)
	}
	if foreign {
		p := newProblem(http.StatusForbidden, "the request comes from a page of another site")
		p.Remedy = "pages of other sites may not use the API; send requests from a program"
		return p
	}
	return nil
}

// findCaller returns who sends a request.
func (s *Server) findCaller(r *http.Request) (caller, *Problem) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return s.findKeyless(r)
	}
	scheme, secret, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return caller{}, newProblem(http.StatusUnauthorized, "the header Authorization has another scheme than Bearer")
	}
	key, err := s.keys.Find(strings.TrimSpace(secret))
	switch {
	case errors.Is(err, apikeys.ErrUnknown):
		if wait := s.rates.reserve("unknown "+addressOf(r), unknownRate); wait > 0 {
			return caller{}, newProblem(http.StatusTooManyRequests, "there are too many requests with unknown keys")
		}
		return caller{}, newProblem(http.StatusUnauthorized, "the key is not known")
	case err != nil:
		s.log.Error("cannot read the keys of the API", "error", err)
		return caller{}, newProblem(http.StatusServiceUnavailable, "the keys cannot be read")
	}
	return caller{Key: key, name: key.Prefix}, nil
}

// unknownRate is the most requests a second of one address with unknown keys.
const unknownRate = 5

// findKeyless returns the caller of a request without a key: on loopback, as long as no key was made.
func (s *Server) findKeyless(r *http.Request) (caller, *Problem) {
	has, err := s.keys.HasKeys()
	if err != nil {
		s.log.Error("cannot read the keys of the API", "error", err)
		return caller{}, newProblem(http.StatusServiceUnavailable, "the keys cannot be read")
	}
	address := addressOf(r)
	if ip := net.ParseIP(address); has || ip == nil || !ip.IsLoopback() || s.cfg.TLSCert != "" {
		return caller{}, newProblem(http.StatusUnauthorized, "the request has no key")
	}
	return caller{Key: apikeys.Key{Scope: apikeys.Admin}, name: address}, nil
}

func addressOf(r *http.Request) string {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return host
}

// refuse writes a problem.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, p *Problem, trace string) {
	p.Trace = trace
	w.Header().Set("Content-Type", p.ContentType(""))
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_ = json.NewEncoder(w).Encode(p) // fails only if the client has disconnected
	}
}

// rates bounds the requests of each caller.
type rates struct {
	mu       sync.Mutex
	limiters map[string]*rate.Limiter
}

// maxLimiters bounds the memory: beyond it all callers begin with a full allowance again.
const maxLimiters = 10_000

// reserve counts a request. It returns how long the caller has to wait; 0: the request may be served.
func (r *rates) reserve(name string, perSecond float64) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.limiters[name]
	if one == nil {
		if len(r.limiters) >= maxLimiters || r.limiters == nil {
			r.limiters = map[string]*rate.Limiter{}
		}
		one = rate.NewLimiter(rate.Limit(perSecond), int(math.Ceil(2*perSecond)))
		r.limiters[name] = one
	}
	reservation := one.Reserve()
	wait := reservation.Delay()
	if wait > 0 {
		reservation.Cancel()
	}
	return wait
}
