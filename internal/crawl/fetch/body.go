package fetch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"hce/dc/internal/web/coding"
)

const (
	// preallocate is the largest announced length for which memory is allocated at once.
	// The memory of a longer body grows as it arrives, since the length may be false.
	preallocate = 1 << 20
	// scratchSize is the first buffer size for bodies of unknown length. Buffers of up to
	// scratchKept bytes are reused.
	scratchSize = 32 << 10
	scratchKept = 512 << 10
	// A decoded body above bombSize that is more than bombRatio times its size on the wire
	// is a bomb. Text compresses less than that; gzip alone reaches 1000.
	bombSize  = 4 << 20
	bombRatio = 200
	// A compressed body of more than hollowSize on the wire whose decoded size is below a
	// hollowRatio-th of it only keeps a client busy.
	hollowSize  = 1 << 20
	hollowRatio = 4
)

var (
	errTooLarge = errors.New("body exceeds the limit")
	errHollow   = errors.New("compressed body decodes to almost nothing")
	errBomb     = errors.New("compressed body expands too much")
)

// scratch holds buffers for bodies of unknown length.
var scratch = sync.Pool{New: func() any { b := make([]byte, 0, scratchSize); return &b }}

// wire is a body as received. It counts bytes and keeps the error that ended it, which
// decoders replace by their own. At most most bytes are read; 0 means no limit.
type wire struct {
	r    io.Reader
	n    int64
	most int64
	err  error
}

func (w *wire) Read(p []byte) (int, error) {
	if w.most > 0 && w.n > w.most {
		w.err = errHollow
		return 0, w.err
	}
	n, err := w.r.Read(p)
	w.n += int64(n)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// readBody reads and decodes the body of resp, at most limit bytes. With an error it
// returns what was read so far. repaired says that its coding is not whole. It requests memory from m; the error of m has the kind
// Refused.
func readBody(resp *http.Response, limit int64, m *meter) (body []byte, kind Kind, repaired bool, err error) {
	if resp.Request.Method == http.MethodHead || resp.ContentLength == 0 ||
		resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified {
		return []byte{}, None, false, nil // length and coding describe another response
	}
	if resp.ContentLength > limit {
		return []byte{}, TooLarge, false, fmt.Errorf("%w: Content-Length %d, limit %d", errTooLarge, resp.ContentLength, limit)
	}
	w := &wire{r: resp.Body}
	if m.rate != nil {
		w.r = m.rate
	}
	codings := coding.Of(resp.Header["Content-Encoding"])
	switch {
	case len(codings) > 0:
		body, repaired, err = readCoded(w, codings, limit, m)
	case resp.ContentLength > 0 && resp.ContentLength <= preallocate:
		if err = m.growBody(resp.ContentLength, resp.ContentLength); err == nil {
			body, err = readExact(w, int(resp.ContentLength))
		}
	case resp.ContentLength > 0:
		body, err = readScratch(w, w, resp.ContentLength, false, m)
		if err == nil && int64(len(body)) < resp.ContentLength {
			err = io.ErrUnexpectedEOF
		}
	default:
		body, err = readScratch(w, w, limit, false, m)
	}
	m.keepBody(int64(cap(body)))
	switch {
	case err == nil:
		return body, None, repaired, nil
	case m.refused != nil:
		return body, Refused, false, m.refused
	case errors.Is(w.err, errHollow):
		return body, TooLarge, false, fmt.Errorf("%w: %d bytes received, %d after decoding", errHollow, w.n, len(body))
	case w.err != nil:
		kind, err = kindOfRead(w.err, resp), w.err
	case errors.Is(err, errTooLarge), errors.Is(err, errBomb):
		return body, TooLarge, false, err
	case len(codings) == 0:
		kind = Truncated
	default:
		return body, BadEncoding, false, fmt.Errorf("%s: %w", strings.Join(codings, ", "), err)
	}
	if kind == Truncated {
		err = shortBodyError(w.n, resp.ContentLength, err)
	}
	return body, kind, false, err
}

// shortBodyError is the error of a body that ended early. length is the announced one, -1 for none.
func shortBodyError(got, length int64, err error) error {
	if length >= 0 {
		return fmt.Errorf("body ended after %d of %d bytes: %w", got, length, err)
	}
	return fmt.Errorf("body ended after %d bytes, before its last chunk: %w", got, err)
}

// readCoded reads the decoded body.
func readCoded(w *wire, codings []string, limit int64, m *meter) (body []byte, repaired bool, err error) {
	w.most = hollowSize
	r, done, err := coding.Decode(w, codings, m.growDecoder)
	if err != nil {
		return []byte{}, false, err
	}
	defer done()
	body, err = readScratch(r, w, limit, true, m)
	return body, coding.Repaired(r), err
}

// readExact reads size bytes and EOF.
func readExact(r io.Reader, size int) ([]byte, error) {
	body := make([]byte, size)
	n, err := io.ReadFull(r, body)
	if err != nil {
		return body[:n], io.ErrUnexpectedEOF
	}
	// HTTP/2 reports the end only on a further read. The connection is reusable only after
	// that.
	var one [1]byte
	switch n, err = io.ReadFull(r, one[:]); {
	case n > 0:
		return body, errTooLarge
	case err != io.EOF:
		return body, err
	}
	return body, nil
}

// readScratch reads r to its end, at most limit bytes, and returns new memory. w is the
// undecoded body, whose size limits the growth of a coded one.
func readScratch(r io.Reader, w *wire, limit int64, coded bool, m *meter) ([]byte, error) {
	kept := scratch.Get().(*[]byte)
	buf := (*kept)[:0]
	var err error
	for err == nil {
		// One byte above the limit reveals a body that is too long.
		rest := limit + 1 - int64(len(buf))
		if len(buf) == cap(buf) {
			size := int64(cap(buf)) + min(int64(cap(buf)), rest)
			if err = m.growBody(size, limit+1); err != nil {
				break
			}
			buf = append(make([]byte, 0, size), buf...)
		}
		room := int(min(int64(cap(buf)-len(buf)), rest))
		var n int
		n, err = r.Read(buf[len(buf) : len(buf)+room])
		buf = buf[:len(buf)+n]
		if coded {
			w.most = hollowSize + hollowRatio*int64(len(buf))
		}
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
		return buf, err // too large to reuse: the caller owns it
	}
	body := append(make([]byte, 0, len(buf)), buf...)
	*kept = buf[:0]
	scratch.Put(kept)
	return body, err
}
