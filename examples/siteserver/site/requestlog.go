package site

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"
)

// Request is one line of the request log. The times are taken around the handler, so a
// measured gap between two requests is at most the client's gap plus network time. A line
// is written when the request has ended, which may be shortly after the client has its
// answer.
type Request struct {
	Start  int64  `json:"start"` // nanoseconds since 1970, UTC
	End    int64  `json:"end"`   // the same clock
	Remote string `json:"remote"`
	Host   string `json:"host"` // as the client sent it
	Method string `json:"method"`
	Path   string `json:"path"`  // with the query, as sent
	Code   int    `json:"code"`  // 0 for a hijacked connection
	Bytes  int64  `json:"bytes"` // of the body, as sent
	Agent  string `json:"agent"`
}

// Logged serves with next and writes one JSON line, a Request, for each request that has
// ended. Lines are written one at a time.
func Logged(next http.Handler, to io.Writer) http.Handler {
	return &requestLog{next: next, to: to}
}

type requestLog struct {
	next http.Handler

	mu sync.Mutex // one line at a time
	to io.Writer
}

func (l *requestLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	counted := &countingWriter{ResponseWriter: w}
	start := time.Now()
	defer func() { // also after a panic of the handler
		l.writeLine(Request{
			Start: start.UnixNano(), End: time.Now().UnixNano(), Remote: r.RemoteAddr,
			Host: r.Host, Method: r.Method, Path: r.RequestURI,
			Code: counted.code, Bytes: counted.bytes, Agent: r.UserAgent(),
		})
	}()
	l.next.ServeHTTP(counted, r)
}

func (l *requestLog) writeLine(line Request) {
	text, err := json.Marshal(line)
	if err != nil {
		return // a Request always encodes
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// A failed log must not disturb the site; its reader sees that lines are missing.
	_, _ = l.to.Write(append(text, '\n'))
}

// countingWriter counts the code and the bytes of an answer.
type countingWriter struct {
	http.ResponseWriter
	code  int
	bytes int64
}

func (w *countingWriter) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *countingWriter) Write(p []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
