package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
)

// ledger is a Memory that records its calls.
type ledger struct {
	sizes []int64
	most  int64
	kept  int64
	grow  func(ctx context.Context, size int64) error
}

func (l *ledger) Grow(ctx context.Context, size, most int64) error {
	l.sizes, l.most = append(l.sizes, size), max(l.most, most)
	if l.grow != nil {
		return l.grow(ctx, size)
	}
	return nil
}

func (l *ledger) Keep(size int64) { l.kept = size }

func memoryClient(t *testing.T) *Client {
	c := New(Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(c.Close)
	return c
}

func TestMemoryIsRequestedFirst(t *testing.T) {
	const limit = 4 << 20
	var packed, small bytes.Buffer
	b := brotli.NewWriterOptions(&packed, brotli.WriterOptions{Quality: 4, LGWin: 24})
	_, _ = io.WriteString(b, strings.Repeat("some text ", 10_000))
	_ = b.Close()
	z := gzip.NewWriter(&small)
	_, _ = io.WriteString(z, "<p>A page.")
	_ = z.Close()
	for name, c := range map[string]struct {
		length int // Content-Length; -1: none
		body   []byte
		coding string
		least  int64 // limits of the last requested size
		most   int64
	}{
		"known length":       {100_000, make([]byte, 100_000), "", 100_000, 100_000},
		"known large length": {3 << 20, make([]byte, 3<<20), "", 3 << 20, 3<<20 + 1},
		"unknown length":     {-1, make([]byte, 3<<20), "", 3 << 20, limit + 1},
		"brotli window":      {-1, packed.Bytes(), "br", 16<<20 + 100_000, limit + 1 + 16<<20},
		"small":              {-1, small.Bytes(), "gzip", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.coding != "" {
					w.Header().Set("Content-Encoding", c.coding)
				}
				if c.length < 0 {
					w.(http.Flusher).Flush()
				} else {
					w.Header().Set("Content-Length", strconv.Itoa(c.length))
				}
				_, _ = w.Write(c.body)
			}))
			defer s.Close()
			l := &ledger{}
			resp, err := memoryClient(t).Get(t.Context(), Request{URL: s.URL, MaxBytes: limit, Memory: l})
			if err != nil {
				t.Fatal(err)
			}
			last := int64(0)
			if len(l.sizes) > 0 {
				last = l.sizes[len(l.sizes)-1]
			}
			if last < c.least || last > c.most || l.most != c.most || !slices.IsSorted(l.sizes) {
				t.Errorf("requested %d, at most %d", l.sizes, l.most)
			}
			if l.kept != int64(cap(resp.Body)) {
				t.Errorf("Keep(%d) for %d bytes", l.kept, cap(resp.Body))
			}
		})
	}
}

// Time spent waiting for memory does not count. The error of Memory is returned.
func TestMemoryWaits(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(make([]byte, 1_000_000))
		if r.URL.Path == "/silent" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(s.Close)
	own := errors.New("none left")
	const timeout = 3 * time.Second // a busy machine sends a megabyte within that time
	wait := func(context.Context, int64) error { time.Sleep(timeout + timeout/10); return nil }
	for name, c := range map[string]struct {
		path string
		grow func(context.Context, int64) error
		kind Kind
	}{
		"granted late":              {"/", wait, None},
		"granted late, then silent": {"/silent", wait, Timeout},
		"refused":                   {"/", func(context.Context, int64) error { return own }, Refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, err := memoryClient(t).Get(t.Context(), Request{URL: s.URL + c.path, Timeout: timeout, Memory: &ledger{grow: c.grow}})
			if KindOf(err) != c.kind || c.kind == Refused && !errors.Is(err, own) {
				t.Fatalf("%v", err)
			}
			if c.kind == None && (len(resp.Body) != 1_000_000 || resp.Total > timeout) {
				t.Errorf("%d bytes in %v", len(resp.Body), resp.Total)
			}
		})
	}
}

// A compressed body that decodes to almost nothing is too large. An honest incompressible
// one is not.
func TestHollowBody(t *testing.T) {
	var empty, dense bytes.Buffer
	_ = gzip.NewWriter(&empty).Close()
	z, _ := gzip.NewWriterLevel(&dense, gzip.NoCompression)
	_, _ = z.Write(make([]byte, 3<<20))
	_ = z.Close()
	for name, c := range map[string]struct {
		body []byte
		kind Kind
	}{
		"members that hold nothing": {bytes.Repeat(empty.Bytes(), 4<<20/empty.Len()), TooLarge},
		"a name that never ends":    {append([]byte("\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\xff"), bytes.Repeat([]byte("n"), 4<<20)...), TooLarge},
		"stored as it is":           {dense.Bytes(), None},
		"few empty members":         {bytes.Repeat(empty.Bytes(), 1000), None},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(c.body)
			}))
			defer s.Close()
			_, err := memoryClient(t).Get(t.Context(), Request{URL: s.URL, MaxBytes: 16 << 20})
			if KindOf(err) != c.kind && !(name == "a name that never ends" && KindOf(err) == BadEncoding) {
				t.Errorf("%v, want %v", err, c.kind)
			}
		})
	}
}

func TestHeaderOnly(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/x")
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	resp, err := memoryClient(t).Get(t.Context(), Request{URL: s.URL, HeaderOnly: true, MaxBytes: 1000})
	if err != nil || len(resp.Body) != 0 || resp.Header.Get("Content-Type") != "text/x" {
		t.Errorf("%v, %v", resp, err)
	}
}
