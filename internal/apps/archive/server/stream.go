package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/protocol"
)

// pace is the deadline of a stream: patience at the beginning, and then a least rate. It ends a
// client that holds a connection with a byte from time to time.
type pace struct {
	deadline time.Time
	set      func(time.Time) error
}

func (s *Server) newPace(set func(time.Time) error) *pace {
	return &pace{time.Now().Add(s.cfg.Patience), set}
}

// extendDeadline moves the deadline after n bytes. Bytes never buy more than patience from now.
func (p *pace) extendDeadline(n int, patience time.Duration) {
	p.deadline = p.deadline.Add(time.Duration(n) * time.Second / leastRate)
	if latest := time.Now().Add(patience); p.deadline.After(latest) {
		p.deadline = latest
	}
	_ = p.set(p.deadline)
}

// pacedWriter writes an answer at the pace that a client must keep.
type pacedWriter struct {
	http.ResponseWriter
	pace     *pace
	patience time.Duration
	failed   bool // the client did not keep it, or has disconnected
}

func (s *Server) newPacedWriter(w http.ResponseWriter) *pacedWriter {
	return &pacedWriter{w, s.newPace(http.NewResponseController(w).SetWriteDeadline), s.cfg.Patience, false}
}

// Write writes data in portions, each with a deadline of its own.
func (w *pacedWriter) Write(data []byte) (n int, err error) {
	for n < len(data) && err == nil {
		portion := data[n:min(n+bufferSize, len(data))]
		w.pace.extendDeadline(len(portion), w.patience)
		var m int
		m, err = w.ResponseWriter.Write(portion)
		n += m
	}
	w.failed = w.failed || err != nil
	return n, err
}

// sendFile sends a file.
func (s *Server) sendFile(w http.ResponseWriter, r *http.Request, q protocol.Request) error {
	file, err := s.cfg.Store.Open(r.Context(), q.Meta, q.Name)
	if err != nil {
		return err
	}
	defer file.Close()
	h := w.Header()
	h.Set(protocol.KindHeader, string(protocol.Stream))
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", "attachment") // pages of the archive are no pages of the server
	out := s.newPacedWriter(w)
	source := struct{ io.Reader }{file} // so that CopyBuffer uses the buffer
	if _, err := io.CopyBuffer(out, source, make([]byte, bufferSize)); err != nil {
		if !out.failed {
			s.cfg.Log.Error("request failed", "op", q.Kind, "url", q.Meta.URL, "name", q.Name, "error", err)
		}
		panic(http.ErrAbortHandler) // the missing end of the body tells the client that the file is not whole
	}
	return nil
}

// sendMatches sends the versions that match as they are found.
func (s *Server) sendMatches(ctx context.Context, w http.ResponseWriter, q protocol.Request) error {
	paced := s.newPacedWriter(w)
	out := bufio.NewWriterSize(paced, bufferSize)
	before := "["
	err := s.cfg.Store.Each(ctx, q.Query, func(m archive.Meta) error {
		if before == "[" {
			beginAnswer(w, protocol.Versions, http.StatusOK)
		}
		text, err := json.Marshal(m)
		if err != nil {
			return err
		}
		_, _ = out.WriteString(before) // Write has its error, too
		before = ",\n"
		_, err = out.Write(text)
		return err
	})
	switch {
	case before == "[" && err != nil:
		return err
	case before == "[":
		return s.sendReply(w, protocol.Versions, []archive.Meta{}, nil)
	case err == nil:
		_, _ = out.WriteString("]\n")
		err = out.Flush()
	}
	if err != nil {
		if !paced.failed {
			s.cfg.Log.Error("request failed", "op", q.Kind, "error", err)
		}
		panic(http.ErrAbortHandler) // the missing end of the body tells the client that the list is not whole
	}
	return nil
}

// createFile stores the body as a file. The store is asked before the client sends the body, which it
// does after "100 Continue". A body without its end leaves nothing.
func (s *Server) createFile(w http.ResponseWriter, r *http.Request, q protocol.Request) error {
	file, err := s.cfg.Store.Create(r.Context(), q.Meta, q.Name)
	if err != nil {
		return err
	}
	stored := false
	defer func() {
		if !stored {
			_ = file.Abort()
		}
	}()
	if err := s.copyBody(w, r, file, s.cfg.MaxFile); err != nil {
		return fmt.Errorf("file %s of %s: %w", q.Name, q.Meta.URL, err)
	}
	stored = true
	return s.sendReply(w, protocol.Done, nil, file.Close())
}

// copyBody copies the body.
func (s *Server) copyBody(w http.ResponseWriter, r *http.Request, to io.Writer, most int64) error {
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // reply sets it again
	p := s.newPace(control.SetReadDeadline)
	p.extendDeadline(0, s.cfg.Patience)
	body := http.MaxBytesReader(w, r.Body, most)
	buffer := make([]byte, bufferSize)
	for {
		n, err := body.Read(buffer)
		p.extendDeadline(n, s.cfg.Patience)
		if _, werr := to.Write(buffer[:n]); werr != nil {
			return werr
		}
		var large *http.MaxBytesError
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			// The client may wait for the store as long as it wants; its end must not look like a time-out.
			return control.SetReadDeadline(time.Time{})
		case errors.As(err, &large):
			return fmt.Errorf("%w (%d bytes)", protocol.ErrTooLarge, large.Limit)
		default:
			return fmt.Errorf("the file has no end, nothing is stored: it %w: %w", archive.ErrInvalid, err)
		}
	}
}

// setTag stores the body as the node of a tag.
func (s *Server) setTag(w http.ResponseWriter, r *http.Request, q protocol.Request) error {
	var text bytes.Buffer
	if err := s.copyBody(w, r, &text, protocol.MaxNode); err != nil {
		return fmt.Errorf("tag %s of %s: %w", q.Name, q.Meta.URL, err)
	}
	return s.sendReply(w, protocol.Done, nil, s.cfg.Store.SetTag(r.Context(), q.Meta, q.Name, text.String()))
}
