package fetch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

const (
	// preallocate is the largest body taken at its word: memory for it is there
	// before its first byte. A longer one has to grow, as it may be a lie.
	preallocate = 1 << 20
	// scratchSize is where bodies of unknown length begin, scratchKept the size
	// up to which such memory is used again.
	scratchSize = 32 << 10
	scratchKept = 512 << 10
	// A decoded body beyond bombSize that is more than bombRatio times what came
	// over the wire is a bomb. Text repeats itself less than that; gzip alone
	// reaches 1000.
	bombSize  = 4 << 20
	bombRatio = 200
)

var (
	errTooLarge = errors.New("body over the limit")
	errBomb     = errors.New("compressed body grows too much")
)

// scratch holds buffers for bodies whose length is not known before.
var scratch = sync.Pool{New: func() any { b := make([]byte, 0, scratchSize); return &b }}

// wire is a body as it arrives: what came, and how it ended other than by EOF.
// Decoders hide such an error behind one of their own.
type wire struct {
	r   io.Reader
	n   int64
	err error
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.n += int64(n)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// readBody reads and decodes the body of resp, at most limit bytes. With a fault
// it returns what was read so far. wireBytes is the size before decoding.
func readBody(resp *http.Response, limit int64) (body []byte, wireBytes int64, kind Kind, err error) {
	if resp.Request.Method == http.MethodHead || resp.ContentLength == 0 ||
		resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified {
		return []byte{}, 0, None, nil // any length or coding is that of another answer
	}
	if resp.ContentLength > limit {
		return []byte{}, 0, TooLarge, fmt.Errorf("%w: %d bytes announced, %d allowed", errTooLarge, resp.ContentLength, limit)
	}
	w := &wire{r: resp.Body}
	codings := contentCodings(resp.Header)
	switch {
	case len(codings) > 0:
		body, err = readCoded(w, codings, limit)
	case resp.ContentLength > 0 && resp.ContentLength <= preallocate:
		body, err = readExact(w, int(resp.ContentLength))
	case resp.ContentLength > 0:
		body, err = readScratch(w, w, resp.ContentLength, false)
		if err == nil && int64(len(body)) < resp.ContentLength {
			err = io.ErrUnexpectedEOF
		}
	default:
		body, err = readScratch(w, w, limit, false)
	}
	switch {
	case err == nil:
		return body, w.n, None, nil
	case w.err != nil:
		return body, w.n, kindOfRead(w.err, resp), w.err
	case errors.Is(err, errTooLarge), errors.Is(err, errBomb):
		return body, w.n, TooLarge, err
	case len(codings) == 0:
		return body, w.n, Truncated, err
	}
	return body, w.n, BadEncoding, fmt.Errorf("%s: %w", strings.Join(codings, ", "), err)
}

// readCoded is readScratch of what the codings leave.
func readCoded(w *wire, codings []string, limit int64) ([]byte, error) {
	r, done, err := decode(w, codings)
	if err != nil {
		return []byte{}, err
	}
	defer done()
	return readScratch(r, w, limit, true)
}

// readExact reads size bytes and EOF.
func readExact(r io.Reader, size int) ([]byte, error) {
	body := make([]byte, size)
	n, err := io.ReadFull(r, body)
	if err != nil {
		return body[:n], io.ErrUnexpectedEOF
	}
	// HTTP/2 tells the end only when asked for more, and only after it can the
	// connection be used again.
	var one [1]byte
	switch n, err = io.ReadFull(r, one[:]); {
	case n > 0:
		return body, errTooLarge
	case err != io.EOF:
		return body, err
	}
	return body, nil
}

// readScratch reads r to its end, at most limit bytes, into memory of its own.
// w is the wire below; growth is held against it when the body is coded.
func readScratch(r io.Reader, w *wire, limit int64, coded bool) ([]byte, error) {
	kept := scratch.Get().(*[]byte)
	buf := (*kept)[:0]
	var err error
	for err == nil {
		// One byte more than allowed shows a body that is too long.
		rest := limit + 1 - int64(len(buf))
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, int(min(int64(cap(buf)), rest)))
		}
		room := int(min(int64(cap(buf)-len(buf)), rest))
		var n int
		n, err = r.Read(buf[len(buf) : len(buf)+room])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			buf = buf[:limit]
			err = fmt.Errorf("%w: more than %d bytes", errTooLarge, limit)
		case coded && len(buf) > bombSize && int64(len(buf)) > bombRatio*w.n:
			err = fmt.Errorf("%w: %d bytes of %d", errBomb, len(buf), w.n)
		}
	}
	if err == io.EOF {
		err = nil
	}
	if cap(buf) > scratchKept {
		return buf, err // the caller's; the smaller memory it grew from is lost
	}
	body := append(make([]byte, 0, len(buf)), buf...)
	*kept = buf[:0]
	scratch.Put(kept)
	return body, err
}
