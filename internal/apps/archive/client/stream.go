package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/protocol"
)

// bufferSize is that of a file on its way to the server. What is older than flushTime is sent with the
// next Write, so that a slow source is no silent client.
const (
	bufferSize = 64 << 10
	flushTime  = time.Second
)

// watched is a body that ends its request if a read takes longer than patience.
type watched struct {
	io.Reader
	cancel   context.CancelFunc
	patience time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	timer := time.AfterFunc(w.patience, w.cancel)
	n, err := w.Reader.Read(p)
	if !timer.Stop() && err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("the server is silent for %s: %w", w.patience, os.ErrDeadlineExceeded)
	}
	return n, err
}

// file is a file that is read.
type file struct {
	watched
	body io.Closer
	what string
}

// Open implements archive.Store. Read returns an error if the connection is lost before the end of the
// file.
func (c *Client) Open(ctx context.Context, m archive.Meta, name string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	answer, err := c.sendRequest(ctx, protocol.Request{Kind: protocol.Open, Meta: m, Name: name}, nil, protocol.Stream)
	if err != nil {
		cancel()
		return nil, err
	}
	return &file{watched{answer.Body, cancel, c.cfg.Patience}, answer.Body, name + " of " + m.URL}, nil
}

func (f *file) Read(p []byte) (int, error) {
	n, err := f.watched.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("read file %s: %w", f.what, err)
	}
	return n, err
}

func (f *file) Close() error {
	defer f.cancel()
	return f.body.Close()
}

// writer is a file that is written. A request in another goroutine takes what is written.
type writer struct {
	buffer *bufio.Writer
	sent   time.Time // when the buffer was flushed
	pipe   *io.PipeWriter
	cancel context.CancelFunc
	done   chan struct{} // closed when the server has answered
	err    error         // its answer, after done
	what   string
	closed bool
}

// awaited is the body of a request. The transport reads it when the server has agreed to take it.
type awaited struct {
	*io.PipeReader
	agreed chan struct{}
	once   sync.Once
}

func (a *awaited) Read(p []byte) (int, error) {
	a.once.Do(func() { close(a.agreed) })
	return a.PipeReader.Read(p)
}

// Create implements archive.Store. If the connection is lost during Close, the file may be stored or
// not; the error says so, and List shows it.
func (c *Client) Create(ctx context.Context, m archive.Meta, name string) (archive.Writer, error) {
	ctx, cancel := context.WithCancel(ctx)
	from, to := io.Pipe()
	w := &writer{buffer: bufio.NewWriterSize(to, bufferSize), pipe: to, cancel: cancel, done: make(chan struct{}), what: name + " of " + m.URL}
	body := &awaited{PipeReader: from, agreed: make(chan struct{})}
	go func() {
		defer close(w.done)
		answer, err := c.sendRequest(ctx, protocol.Request{Kind: protocol.Create, Meta: m, Name: name}, body, protocol.Done)
		if err == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 4096))
			answer.Body.Close()
		}
		w.err = err
		if err == nil {
			err = fs.ErrClosed
		}
		from.CloseWithError(err) // ends a Write that waits
	}()
	select {
	case <-body.agreed:
		return w, nil
	case <-w.done:
		cancel()
		if w.err == nil {
			w.err = fmt.Errorf("create: archive server at %s: it answered before the file was sent", c.base.Host)
		}
		return nil, w.err
	}
}

// Write gives data to the server, or to the buffer.
func (w *writer) Write(p []byte) (int, error) {
	if w.closed {
		return 0, fs.ErrClosed
	}
	n, err := w.buffer.Write(p)
	if now := time.Now(); err == nil && now.Sub(w.sent) > flushTime {
		w.sent = now
		err = w.buffer.Flush()
	}
	return n, err
}

// Close sends the end of the file, and waits until the server has stored it.
func (w *writer) Close() error {
	if w.closed {
		return fs.ErrClosed
	}
	w.closed = true
	defer w.cancel()
	err := w.buffer.Flush()
	if err == nil {
		err = w.pipe.Close()
	} else {
		w.pipe.CloseWithError(err)
	}
	<-w.done
	if w.err == nil || err != nil || protocol.Answered(w.err) {
		return w.err
	}
	return fmt.Errorf("store file %s: the connection was lost before the answer; list the files to see whether it is stored: %w", w.what, w.err)
}

// Abort breaks the request, so that the server forgets the file.
func (w *writer) Abort() error {
	if w.closed {
		return nil
	}
	w.closed = true
	w.pipe.CloseWithError(errAborted)
	w.cancel()
	<-w.done
	return nil
}

var errAborted = errors.New("the writer was aborted")
