package fetch

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"hce/dc/internal/web/coding"
)

// compress encodes data; "raw" is deflate without the zlib header.
func compress(t testing.TB, coding string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "gzip", "x-gzip":
		w = gzip.NewWriter(&out)
	case "deflate":
		w = zlib.NewWriter(&out)
	case "raw":
		w, err = flate.NewWriter(&out, 6)
	case "br":
		w = brotli.NewWriter(&out)
	case "zstd":
		w, err = zstd.NewWriter(&out)
	default:
		t.Fatal(coding)
	}
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// noise returns n bytes of text that compresses little.
func noise(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return b
}

// coded serves body with a Content-Encoding.
func coded(t testing.TB, encoding string, body []byte) string {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", encoding)
		w.Write(body)
	})
}

func TestCodings(t *testing.T) {
	c := newClient(t, Config{})
	page := noise(100_000)
	z := func(coding string) []byte { return compress(t, coding, page) }
	tests := []struct {
		name, encoding string
		body           []byte
		want           []byte
	}{
		{"gzip", "gzip", z("gzip"), page},
		{"x-gzip", "x-gzip", z("gzip"), page},
		{"upper case", "GZIP", z("gzip"), page},
		{"deflate with zlib", "deflate", z("deflate"), page},
		{"deflate bare", "deflate", z("raw"), page},
		{"br", "br", z("br"), page},
		{"zstd", "zstd", z("zstd"), page},
		{"two", "gzip, br", compress(t, "br", z("gzip")), page},
		{"identity", "identity", page, page},
		{"unknown coding", "utf-8", page, page},
		{"empty gzip", "gzip", nil, nil},
		{"empty br", "br", nil, nil},
		{"gzip of nothing", "gzip", compress(t, "gzip", nil), nil},
		{"gzip in members", "gzip", append(z("gzip"), compress(t, "gzip", []byte("more"))...), append(page[:len(page):len(page)], "more"...)},
		{"gzip with padding", "gzip", append(z("gzip"), make([]byte, 100)...), page},
		{"gzip with junk like a member", "gzip", append(z("gzip"), "\x1f\x8bnot a member"...), page},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u := coded(t, tt.encoding, tt.body)
			for range 3 { // decoders are used again
				resp := must(t, c, Request{URL: u})
				if !bytes.Equal(resp.Body, tt.want) || resp.Body == nil {
					t.Fatalf("%d bytes, want %d", len(resp.Body), len(tt.want))
				}
			}
		})
	}
}

func TestBrokenCodings(t *testing.T) {
	c := newClient(t, Config{})
	page := noise(400_000) // zstd has blocks of 128 KiB
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		whole := compress(t, coding, page)
		t.Run(coding+" cut off", func(t *testing.T) {
			f := fails(t, c, Request{URL: coded(t, coding, whole[:len(whole)*3/4])}, BadEncoding)
			if f.Partial == nil || f.Code != 200 || !bytes.HasPrefix(page, f.Partial.Body) {
				t.Fatalf("fault %+v", f)
			}
			if len(f.Partial.Body) == 0 {
				t.Error("the partial body is empty")
			}
		})
		t.Run(coding+" with a connection cut off", func(t *testing.T) {
			text := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", coding, len(whole), whole[:len(whole)/2])
			fails(t, c, Request{URL: say(t, text)}, Truncated)
		})
		t.Run("invalid "+coding, func(t *testing.T) {
			fails(t, c, Request{URL: coded(t, coding, []byte("<html>plain text</html>"))}, BadEncoding)
		})
		t.Run(coding+" of one byte", func(t *testing.T) {
			fails(t, c, Request{URL: coded(t, coding, whole[:1])}, BadEncoding)
		})
	}
	second := append(compress(t, "gzip", page), compress(t, "gzip", page)[:5]...)
	fails(t, c, Request{URL: coded(t, "gzip", second)}, BadEncoding)
	fails(t, c, Request{URL: coded(t, "gzip, gzip, gzip, gzip", compress(t, "gzip", page))}, BadEncoding)
}

// memberReader returns one gzip member with each Read, as a slow network does.
type memberReader []byte

func (m memberReader) Read(p []byte) (int, error) { return copy(p, m), nil }

// A fault between two members is not the end of the body.
func TestFaultBetweenMembers(t *testing.T) {
	member := compress(t, "gzip", nil)
	w := &wire{r: memberReader(member), most: int64(1000 * len(member))}
	r, release, err := coding.Decode(w, []string{"gzip"}, func(int64) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if n, err := r.Read(make([]byte, 10)); n != 0 || !errors.Is(err, errHollow) {
		t.Errorf("%d bytes, error %v, want %v", n, err, errHollow)
	}
	silent := serveRaw(t, func(conn net.Conn) {
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n%s", compress(t, "gzip", []byte("first")))
		_, _ = io.Copy(io.Discard, conn) // until the client hangs up
	})
	f := fails(t, newClient(t, Config{}), Request{URL: silent, Timeout: 300 * time.Millisecond}, Timeout)
	if f.Partial == nil || string(f.Partial.Body) != "first" {
		t.Errorf("%+v", f)
	}
}

func TestBombs(t *testing.T) {
	c := newClient(t, Config{})
	zeros := make([]byte, 8<<20) // twice bombSize
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		t.Run(coding, func(t *testing.T) {
			u := coded(t, coding, compress(t, coding, zeros))
			got := allocated(func() {
				f := fails(t, c, Request{URL: u}, TooLarge)
				if !errors.Is(f, errBomb) {
					t.Errorf("fault %v, want a bomb", f)
				}
			})
			if got > 30<<20 {
				t.Errorf("%d MiB allocated", got>>20)
			}
			fails(t, c, Request{URL: u, MaxBytes: 1 << 20}, TooLarge)
		})
	}
	t.Run("in layers", func(t *testing.T) {
		bomb := compress(t, "gzip", compress(t, "gzip", zeros))
		fails(t, c, Request{URL: coded(t, "gzip, gzip", bomb)}, TooLarge)
	})
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestMaxBytes(t *testing.T) {
	c := newClient(t, Config{MaxBytes: 50_000})
	page := noise(20_000)
	sized := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Length", "20000"); w.Write(page) })
	chunked := serve(t, func(w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush(); w.Write(page) })
	gzipped := coded(t, "gzip", compress(t, "gzip", page))
	for name, u := range map[string]string{"sized": sized, "chunked": chunked, "gzip": gzipped} {
		t.Run(name, func(t *testing.T) {
			for _, limit := range []int64{0, 20_000, 20_001, 1 << 62} {
				if resp := must(t, c, Request{URL: u, MaxBytes: limit}); !bytes.Equal(resp.Body, page) {
					t.Errorf("limit %d: %d bytes", limit, len(resp.Body))
				}
			}
			for _, limit := range []int64{1, 10_000, 19_999} {
				f := fails(t, c, Request{URL: u, MaxBytes: limit}, TooLarge)
				if !errors.Is(f, errTooLarge) && name != "gzip" {
					t.Errorf("limit %d: fault %v", limit, f)
				}
				if f.Code != 200 || int64(len(f.Partial.Body)) > limit || f.Partial.Header == nil {
					t.Errorf("limit %d: %d bytes kept, %+v", limit, len(f.Partial.Body), f)
				}
			}
		})
	}
	t.Run("limit of the Client", func(t *testing.T) {
		u := serve(t, func(w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush(); w.Write(make([]byte, 50_001)) })
		f := fails(t, c, Request{URL: u, MaxBytes: 1 << 30}, TooLarge)
		if len(f.Partial.Body) != 50_000 {
			t.Errorf("%d bytes kept", len(f.Partial.Body))
		}
	})
	t.Run("announced length is refused unread", func(t *testing.T) {
		u := serveRaw(t, func(conn net.Conn) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 9000000000\r\n\r\n")
			conn.Read(make([]byte, 1)) // no byte of the body ever comes
		})
		f := fails(t, c, Request{URL: u}, TooLarge)
		if len(f.Partial.Body) != 0 {
			t.Errorf("%d bytes kept", len(f.Partial.Body))
		}
	})
}

func TestEndlessBody(t *testing.T) {
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		junk := noise(64 << 10)
		for {
			if _, err := w.Write(junk); err != nil {
				return
			}
		}
	})
	c := newClient(t, Config{})
	got := allocated(func() { fails(t, c, Request{URL: u, MaxBytes: 4 << 20}, TooLarge) })
	if got > 20<<20 {
		t.Errorf("%d MiB allocated for 4", got>>20)
	}
}

// Memory follows the received bytes, not the announced length.
func TestHugeLengthIsNotTrusted(t *testing.T) {
	u := say(t, "HTTP/1.1 200 OK\r\nContent-Length: 500000000\r\n\r\nthat is all")
	c := newClient(t, Config{})
	got := allocated(func() {
		f := fails(t, c, Request{URL: u}, Truncated)
		if string(f.Partial.Body) != "that is all" {
			t.Errorf("body %q", f.Partial.Body)
		}
	})
	if got > 4<<20 {
		t.Errorf("%d MiB allocated", got>>20)
	}
}

func TestSlowDrip(t *testing.T) {
	u := serveRaw(t, func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
		for {
			if _, err := io.WriteString(conn, "x"); err != nil {
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
	})
	f := fails(t, newClient(t, Config{}), Request{URL: u, Timeout: 500 * time.Millisecond}, Timeout)
	if f.Code != 200 || len(f.Partial.Body) == 0 || strings.Trim(string(f.Partial.Body), "x") != "" {
		t.Errorf("fault %+v, partial %+v", f, f.Partial)
	}
	// The same with a slow header.
	u = serveRaw(t, func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
		for {
			if _, err := io.WriteString(conn, "X: y\r\n"); err != nil {
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
	})
	fails(t, newClient(t, Config{}), Request{URL: u, Timeout: 500 * time.Millisecond}, Timeout)
}

func TestFraming(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	c := newClient(t, Config{})
	tests := []struct {
		name, text string
		kind       Kind
		body       string
	}{
		{"HTTP/1.0 without a length", "HTTP/1.0 200 OK\r\n\r\nold page", None, "old page"},
		{"HTTP/1.0 without a body", "HTTP/1.0 200 OK\r\n\r\n", None, ""},
		{"chunked", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", None, "abc"},
		{"no body by length", ok + "Content-Length: 0\r\n\r\n", None, ""},
		{"204", "HTTP/1.1 204 No Content\r\n\r\n", None, ""},
		{"204 with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", None, ""},
		{"304 with length and coding", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nContent-Encoding: gzip\r\n\r\n", None, ""},
		{"more than announced", ok + "Content-Length: 3\r\n\r\nabcdef", None, "abc"},
		{"less than announced", ok + "Content-Length: 9\r\n\r\nabc", Truncated, "abc"},
		{"none of what was announced", ok + "Content-Length: 9\r\n\r\n", Truncated, ""},
		{"chunk without end", ok + "Transfer-Encoding: chunked\r\n\r\n9\r\nabc", Truncated, "abc"},
		{"no last chunk", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", Truncated, "abc"},
		{"chunk size is no number", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nxyz\r\n", BadEncoding, "abc"},
		{"chunk size is huge", ok + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nabc", BadEncoding, ""},
		{"chunk runs over", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n", BadEncoding, "abc"},
		{"continue first", "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nok", None, "ok"},
		{"early hints first", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nok", None, "ok"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u := say(t, tt.text)
			var body []byte
			if tt.kind == None {
				body = must(t, c, Request{URL: u}).Body
			} else {
				body = fails(t, c, Request{URL: u}, tt.kind).Partial.Body
			}
			if string(body) != tt.body || body == nil {
				t.Errorf("body %q, want %q", body, tt.body)
			}
		})
	}
	head := must(t, c, Request{URL: say(t, ok+"Content-Length: 123456789012\r\nContent-Encoding: gzip\r\n\r\n"), Method: "HEAD"})
	if len(head.Body) != 0 || head.Header.Get("Content-Length") != "123456789012" {
		t.Errorf("HEAD: body %q, header %v", head.Body, head.Header)
	}
}

// Streams that are reset within a body.
func TestHTTP2CutOff(t *testing.T) {
	u, pool := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "abc")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	f := fails(t, newClient(t, Config{RootCAs: pool}), Request{URL: u}, Truncated)
	if string(f.Partial.Body) != "abc" {
		t.Errorf("body %q", f.Partial.Body)
	}
}

// A body of known length is read into memory of exactly that length.
func TestOneAllocation(t *testing.T) {
	page := noise(20_000)
	resp := &http.Response{StatusCode: 200, ContentLength: int64(len(page)), Request: &http.Request{Method: "GET"}}
	n := testing.AllocsPerRun(100, func() {
		resp.Body = io.NopCloser(bytes.NewReader(page))
		body, _, _, err := readBody(resp, 1<<20, &meter{})
		if err != nil || cap(body) != len(page) {
			t.Fatalf("cap %d, %v", cap(body), err)
		}
	})
	// Two readers, the wire, its last byte, and the body.
	if n > 6 {
		t.Errorf("%v allocations", n)
	}
}

// HTTP/2 can end a stream before the announced length without a connection error.
func TestShortStream(t *testing.T) {
	for _, size := range []int64{10, preallocate + 1} {
		resp := &http.Response{StatusCode: 200, ContentLength: size, Request: &http.Request{Method: "GET"},
			Body: io.NopCloser(strings.NewReader("abc"))}
		body, kind, _, err := readBody(resp, 1<<30, &meter{})
		if string(body) != "abc" || kind != Truncated || err == nil {
			t.Errorf("length %d: body %q, kind %v, %v", size, body, kind, err)
		}
	}
}

// No body breaks a decoder or exceeds the limit.
func FuzzDecode(f *testing.F) {
	for i, coding := range []string{"gzip", "deflate", "br", "zstd", "raw"} {
		f.Add(uint8(i), compress(f, coding, noise(1000)))
		f.Add(uint8(i), compress(f, coding, make([]byte, 200_000)))
	}
	codings := []string{"gzip", "deflate", "br", "zstd", "deflate", "gzip, br"}
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		resp := &http.Response{
			StatusCode: 200, ContentLength: -1, Request: &http.Request{Method: "GET"},
			Header: http.Header{"Content-Encoding": {codings[int(which)%len(codings)]}},
			Body:   io.NopCloser(bytes.NewReader(body)),
		}
		const limit = 100_000
		got, kind, _, err := readBody(resp, limit, &meter{})
		if len(got) > limit || got == nil || (err == nil) != (kind == None) {
			t.Fatalf("%d bytes, kind %v, %v", len(got), kind, err)
		}
	})
}
