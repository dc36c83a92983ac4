package fileserver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hce/dc/internal/apps/webserver/folder"
	"hce/dc/internal/apps/webserver/packet"
	"hce/dc/internal/cli/seedlog"
	"hce/dc/internal/web/content"
)

// statusGone is the status in the log of a client that left before its answer.
const statusGone = 499

// maxShown bounds a name of a client in answers and logs, in bytes.
const maxShown = 200

// serveRequest answers a request and logs it.
func (s *Server) serveRequest(raw http.ResponseWriter, r *http.Request) {
	begin, w := time.Now(), &answer{ResponseWriter: raw, status: http.StatusOK}
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	before := c.written.Load()
	s.requests.Add(1)
	address, _, _ := net.SplitHostPort(r.RemoteAddr)
	s.clients.countRequest(address, r.UserAgent())
	w.Header().Set("Server", "hce-webserver")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.ContentLength != 0 { // no answer depends on a body; net/http may read some of it afterwards
		w.Header().Set("Connection", "close")
		defer func() { _ = c.SetReadDeadline(time.Now().Add(s.cfg.HeaderTime)) }()
	}
	s.admitRequest(w, r, c)
	if w.status != statusGone {
		w.flushBuffer()
	}
	s.cfg.Log.LogAttrs(r.Context(), slog.LevelInfo, "request", seedlog.Thread(c.id), slog.String("method", packet.Cut(r.Method, maxShown)),
		slog.String("path", packet.Cut(r.URL.Path, maxShown)), slog.Int("status", w.status), slog.String("client", address),
		slog.Int64("bytes", c.written.Load()-before), slog.Int64("ms", time.Since(begin).Milliseconds()))
}

// admitRequest answers a request that the server does not work on, or passes it on.
func (s *Server) admitRequest(w *answer, r *http.Request, c *connection) {
	if c.refused {
		w.Header().Set("Connection", "close")
		s.answerUnavailable(w, fmt.Sprintf("too many connections: at most %d can be open", s.cfg.MaxConnections))
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeLine(w, http.StatusMethodNotAllowed, "ERROR: Method %q is not allowed; use GET or HEAD", packet.Cut(r.Method, maxShown))
		return
	}
	if reason, off := s.service.reasonIfOff(); off {
		s.answerUnavailable(w, reason)
		return
	}
	switch err := s.queue.enterQueue(r.Context(), s.cfg.QueueTime); {
	case errors.Is(err, errQueueTime):
		w.Header().Set("Connection", "close")
		writeLine(w, http.StatusRequestTimeout, "ERROR: Request Timeout: all %d places were taken for %v; try again later", s.cfg.MaxRequests, s.cfg.QueueTime)
		return
	case err != nil: // the client has gone
		w.status = statusGone
		return
	}
	defer s.queue.leaveQueue()
	if reason, off := s.service.reasonIfOff(); off { // while the request was in the queue
		s.answerUnavailable(w, reason)
		return
	}
	s.answerFile(w, r)
	w.flushBuffer() // the place is kept until the answer is sent
}

func (s *Server) answerUnavailable(w *answer, reason string) {
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int(s.cfg.RetryAfter.Seconds()))))
	writeLine(w, http.StatusServiceUnavailable, "The server is out of service: %s", reason)
}

// answerFile answers with the file that the path names.
func (s *Server) answerFile(w *answer, r *http.Request) {
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	isFolder := name == "" || strings.HasSuffix(r.URL.Path, "/")
	if isFolder {
		name = path.Join(name, "index.html")
	} else if s.cfg.Folder.IsFolder(name) {
		w.Header().Set("Location", (&url.URL{Path: path.Base(name) + "/"}).String())
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusMovedPermanently)
		return
	}
	f, info, err := s.cfg.Folder.File(name)
	if err != nil {
		s.answerMissing(w, name, err)
		return
	}
	defer f.Close()
	if err := setFileHeaders(w.Header(), f, info); err != nil {
		s.answerMissing(w, name, err)
		return
	}
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// machineFaults are errors that do not mean that a client asked for what is not there.
var machineFaults = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO, syscall.ESTALE}

// answerMissing answers that there is no such file for the public, or that the machine failed.
func (s *Server) answerMissing(w *answer, name string, err error) {
	for _, fault := range machineFaults {
		if errors.Is(err, fault) {
			s.cfg.Log.Error("cannot read a file", "name", packet.Cut(name, maxShown), "error", err)
			writeLine(w, http.StatusInternalServerError, "ERROR: File %s cannot be read now", packet.Cut(name, maxShown))
			return
		}
	}
	writeLine(w, http.StatusNotFound, "ERROR: File %s was not found", packet.Cut(name, maxShown))
}

// setFileHeaders sets type, disposition and entity tag of a file. HTML and images are shown by the browser, it
// offers to save everything else.
func setFileHeaders(h http.Header, f *os.File, info fs.FileInfo) error {
	kind, err := folder.Kind(f, info.Name())
	if err != nil {
		return err
	}
	h.Set("Content-Type", kind)
	h.Set("ETag", fmt.Sprintf("%q", fmt.Sprintf("%x-%x", info.ModTime().UnixNano(), info.Size())))
	if !content.IsHTML(content.Normal(kind)) && !strings.HasPrefix(kind, "image/") {
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": info.Name()}))
	}
	return nil
}

// writeLine answers with one line of text.
func writeLine(w http.ResponseWriter, status int, format string, values ...any) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	line := strings.Map(oneLine, fmt.Sprintf(format, values...)) + "\n"
	h.Set("Content-Length", strconv.Itoa(len(line)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, line) // the client may have gone
}

// oneLine replaces control characters.
func oneLine(c rune) rune {
	if c < ' ' || c == 0x7f {
		return '?'
	}
	return c
}

// answer remembers the status of an answer.
type answer struct {
	http.ResponseWriter
	status int
}

// WriteHeader sends the status.
func (w *answer) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// ReadFrom keeps the way by sendfile.
func (w *answer) ReadFrom(r io.Reader) (int64, error) { return io.Copy(w.ResponseWriter, r) }

// flushBuffer sends what net/http has in its buffer.
func (w *answer) flushBuffer() { _ = http.NewResponseController(w.ResponseWriter).Flush() }
