package site

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"hce/dc/internal/testkit/testwait"
)

// quick has delays that cost a test nothing.
var quick = Options{Slow: time.Millisecond, Drop: time.Millisecond}

func serve(t *testing.T, o Options) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(Handler(o))
	t.Cleanup(server.Close)
	return server
}

// client neither follows redirects nor decompresses, so tests see the bytes that are sent.
var client = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{DisableCompression: true, DisableKeepAlives: true},
	Timeout:       20 * time.Second,
}

// get requests a path and reads at most limit bytes of the body.
func get(t *testing.T, server *httptest.Server, path string, limit int64) (*http.Response, []byte, error) {
	t.Helper()
	resp, err := client.Get(server.URL + path)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	return resp, body, err
}

func TestTroublesAnswerAsListed(t *testing.T) {
	server := serve(t, quick)
	for _, trouble := range Troubles() {
		t.Run(trouble.Path, func(t *testing.T) {
			resp, _, err := get(t, server, (&url.URL{Path: trouble.Path}).String(), 64)
			if trouble.Code == 0 {
				if resp != nil {
					t.Fatalf("answered %d, want no HTTP answer", resp.StatusCode)
				}
				return
			}
			if resp == nil {
				t.Fatalf("no answer: %v", err)
			}
			if resp.StatusCode != trouble.Code {
				t.Errorf("code %d, want %d", resp.StatusCode, trouble.Code)
			}
		})
	}
}

func TestFits(t *testing.T) {
	for _, c := range []struct {
		name string
		bits []int
		mask int64
		want bool
	}{
		{"no error", nil, 0, true},
		{"unexpected error", nil, 4, false},
		{"one of two bits", []int{5, 55}, 1 << 55, true},
		{"with other bits", []int{2}, 1<<2 | 1<<48, true},
		{"another bit", []int{2}, 1 << 3, false},
		{"missing error", []int{2}, 0, false},
	} {
		if got := (Trouble{Bits: c.bits}).Fits(c.mask); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestRedirects(t *testing.T) {
	server := serve(t, quick)
	for path, want := range map[string]string{
		"/go/301": "/town/mill.html", "/go/308": "/town/ferry.html", "/go/relative": "../crawler/batch.html",
		"/go/chain/1": "/go/chain/2", "/go/chain/2": "3", "/go/chain/3": "/town/lighthouse.html",
		"/go/loop/a": "/go/loop/b", "/go/loop/b": "/go/loop/a", "/go/nowhere": "",
		"/go/file": "file:///etc/passwd", "/town": "town/", "/frames": "frames/",
	} {
		resp, _, err := get(t, server, path, 1<<16)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if got := resp.Header.Get("Location"); got != want {
			t.Errorf("%s leads to %q, want %q", path, got, want)
		}
	}
}

func TestFaults(t *testing.T) {
	server := serve(t, quick)
	body := func(t *testing.T, path string, limit int64) ([]byte, error) {
		t.Helper()
		_, body, err := get(t, server, path, limit)
		return body, err
	}
	unpack := func(packed []byte) (int64, error) {
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return 0, err
		}
		return io.Copy(io.Discard, z)
	}
	t.Run("empty", func(t *testing.T) {
		if b, err := body(t, "/fault/empty.html", 10); len(b) != 0 || err != nil {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	})
	t.Run("short body ends early", func(t *testing.T) {
		if _, err := body(t, "/fault/short.html", 1<<20); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("chunk ends early", func(t *testing.T) {
		if _, err := body(t, "/fault/cut-chunk.html", 1<<20); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("long body is cut by its length", func(t *testing.T) {
		if b, err := body(t, "/fault/long.html", 1<<20); string(b) != brokenPage || err != nil {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	})
	t.Run("gzip", func(t *testing.T) {
		resp, err := http.Get(server.URL + "/fault/gzip.html")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); err != nil || !resp.Uncompressed || !bytes.Contains(b, []byte("packed")) {
			t.Errorf("unpacked %v, %d bytes, %v", resp.Uncompressed, len(b), err)
		}
		if b, err := body(t, "/fault/gzip.html", 1<<20); err != nil || !bytes.Contains(b, []byte("not packed")) {
			t.Errorf("without Accept-Encoding: %q, %v", b, err)
		}
	})
	t.Run("gzip cut off", func(t *testing.T) {
		b, err := body(t, "/fault/cut-gzip.html", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := unpack(b); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("no gzip", func(t *testing.T) {
		b, err := body(t, "/fault/not-gzip.html", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := unpack(b); !errors.Is(err, gzip.ErrHeader) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("bomb", func(t *testing.T) {
		b, err := body(t, "/fault/bomb.html", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := unpack(b); n < 32<<20 || len(b) > 64<<10 || err != nil {
			t.Errorf("%d bytes unpack to %d, %v", len(b), n, err)
		}
	})
	t.Run("big page has its last link", func(t *testing.T) {
		b, err := body(t, "/fault/big.html", 1<<24)
		if err != nil || len(b) < 3_000_000 || !bytes.Contains(b[len(b)-200:], []byte(`href="after-big.html"`)) {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	})
	t.Run("huge page is beyond 10 MB", func(t *testing.T) {
		if b, err := body(t, "/fault/huge.html", 1<<24); err != nil || len(b) <= 10<<20 {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	})
	t.Run("endless body goes on", func(t *testing.T) {
		if b, err := body(t, "/fault/endless.html", 12<<20); err != nil || len(b) != 12<<20 {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	})
	t.Run("drops go on", func(t *testing.T) {
		if b, err := body(t, "/fault/trickle.html", 90); err != nil || len(b) != 90 {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	})
	t.Run("garbage", func(t *testing.T) {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, "GET /fault/garbage.html HTTP/1.1\r\nHost: x\r\n\r\n")
		if b, err := io.ReadAll(conn); string(b) != garbageAnswer || err != nil {
			t.Errorf("%q, %v", b, err)
		}
	})
	t.Run("HEAD has no body and ends", func(t *testing.T) {
		for _, path := range []string{"/fault/endless.html", "/fault/trickle.html", "/fault/huge.html", "/town/mill.html"} {
			resp, err := client.Head(server.URL + path)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			resp.Body.Close()
		}
	})
	t.Run("POST", func(t *testing.T) {
		for path, want := range map[string]int{"/fault/post-only": 200, "/town/mill.html": 405} {
			resp, err := client.Post(server.URL+path, "text/plain", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
			}
		}
	})
}

func TestSlowPageWaits(t *testing.T) {
	server := serve(t, Options{Slow: 50 * time.Millisecond})
	start := time.Now()
	resp, _, err := get(t, server, "/fault/slow.html", 1<<16)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	if took := time.Since(start); took < 50*time.Millisecond {
		t.Errorf("answered after %v", took)
	}
}

func TestCharsets(t *testing.T) {
	server := serve(t, quick)
	for _, c := range []struct{ page, kind, word string }{
		{"utf8", "text/html; charset=utf-8", "λιμάνι"},
		{"cp1251", "text/html", "Приливная мельница работает"},
		{"cp1251-header", "text/html; charset=windows-1251", "Мельница и луна"},
		{"shiftjis", "text/html; charset=Shift_JIS", "灯台守はもういません"},
		{"latin1", "text/html", "derrière l'église"},
		{"utf16", "text/html", "灯台守はもういません"},
		{"gb18030", "text/html", "渡船每天开三次"},
		{"broken", "text/html; charset=x-harrow", "A charset that nobody knows"},
	} {
		t.Run(c.page, func(t *testing.T) {
			resp, body, err := get(t, server, "/charsets/"+c.page+".html", 1<<16)
			if err != nil {
				t.Fatal(err)
			}
			kind := resp.Header.Get("Content-Type")
			if kind != c.kind {
				t.Errorf("type %q, want %q", kind, c.kind)
			}
			reader, err := charset.NewReader(bytes.NewReader(body), kind)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(reader)
			if err != nil || !strings.Contains(string(text), c.word) {
				t.Errorf("no %q in the decoded page (%v)", c.word, err)
			}
		})
	}
	t.Run("mislabelled", func(t *testing.T) {
		resp, body, err := get(t, server, "/charsets/mislabelled.html", 1<<16)
		if err != nil || !utf8.Valid(body) || resp.Header.Get("Content-Type") != "text/html; charset=iso-8859-1" {
			t.Errorf("want UTF-8 with the label of ISO-8859-1: %q, %v", resp.Header.Get("Content-Type"), err)
		}
	})
}

func TestFiles(t *testing.T) {
	server := serve(t, quick)
	for path, kind := range map[string]string{
		"/robots.txt": "text/plain; charset=utf-8", "/media/lamp.png": "image/png", "/media/wave.gif": "image/gif",
		"/media/mill.svg": "image/svg+xml", "/media/timetable.pdf": "application/pdf", "/media/tides.json": "application/json",
		"/media/feed.xml": "application/rss+xml; charset=utf-8", "/media/notes.txt": "text/plain; charset=utf-8",
		"/town/caf%C3%A9.html": htmlUTF8, "/town/town%20map.html": htmlUTF8, "/town/%7Ekeeper/": htmlUTF8, "/search?q=tide": htmlUTF8,
	} {
		resp, body, err := get(t, server, path, 1<<16)
		if err != nil || resp.StatusCode != 200 || len(body) == 0 || resp.Header.Get("Content-Type") != kind {
			t.Errorf("%s: %v, %d bytes, %v", path, resp, len(body), err)
		}
	}
	t.Run("host of the client", func(t *testing.T) {
		_, body, err := get(t, server, "/links/odd.html", 1<<16)
		host := strings.TrimPrefix(server.URL, "http://")
		if err != nil || bytes.Contains(body, hostMark) || !bytes.Contains(body, []byte(`href="//`+host+`/town/market.html"`)) {
			t.Errorf("the host is not in the page (%v)", err)
		}
	})
	t.Run("hostile host", func(t *testing.T) {
		if got := PlainHost(`x"><script>.example:80`); got != "xscript.example:80" {
			t.Error(got)
		}
	})
	t.Run("not modified", func(t *testing.T) {
		resp, _, err := get(t, server, "/town/mill.html", 1<<16)
		if err != nil {
			t.Fatal(err)
		}
		request, _ := http.NewRequest("GET", server.URL+"/town/mill.html", nil)
		request.Header.Set("If-None-Match", resp.Header.Get("ETag"))
		again, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		again.Body.Close()
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("code %d", again.StatusCode)
		}
	})
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"index.html": "<title>root</title>", "sub/page.htm": "<p>page", "sub/a & b.html": "<p>both", "sub/x.bin": "\x00\x01\x02",
		"sub/README": "plain words",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(filepath.Dir(dir), "secret.html")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	server := serve(t, Options{Dir: dir})
	for _, c := range []struct {
		name, path string
		code       int
		kind, text string
	}{
		{"index of the root", "/", 200, "text/html", "root"},
		{"index by name", "/index.html", 200, "text/html", "root"},
		{"page", "/sub/page.htm", 200, "text/html", "page"},
		{"no charset", "/sub/README", 200, "text/plain", "plain words"},
		{"bytes", "/sub/x.bin", 200, "application/octet-stream", "\x00\x01\x02"},
		{"folder without slash", "/sub", 301, "", ""},
		{"list without an index", "/sub/", 200, htmlUTF8, `<a href="./a%20&amp;%20b.html">a &amp; b.html</a>`},
		{"page with a slash", "/sub/page.htm/", 404, htmlUTF8, ""},
		{"missing file", "/nothing.html", 404, htmlUTF8, ""},
		{"outside the folder", "/../secret.html", 404, htmlUTF8, ""},
		{"outside the folder, escaped", "/sub/%2e%2e/%2e%2e/secret.html", 404, htmlUTF8, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body, err := get(t, server, c.path, 1<<16)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != c.code || resp.Header.Get("Content-Type") != c.kind || !strings.Contains(string(body), c.text) {
				t.Errorf("%d %q %q", resp.StatusCode, resp.Header.Get("Content-Type"), body)
			}
		})
	}
}

// lines is a writer that can be read while the server writes.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestRequestLog(t *testing.T) {
	var log lines
	server := serve(t, Options{Slow: time.Millisecond, Log: &log})
	paths := []string{"/town/mill.html", "/search?q=tide", "/fault/404.html", "/fault/reset.html"}
	for _, path := range paths {
		get(t, server, path, 1<<16)
	}
	var text string
	testwait.Until(t, "the log has a line for each request", func() bool {
		text = log.String()
		return strings.Count(text, "\n") >= len(paths)
	})
	byPath := make(map[string]Request)
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		var r Request
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if r.End < r.Start || r.Start == 0 {
			t.Errorf("times of %s: %d to %d", r.Path, r.Start, r.End)
		}
		byPath[r.Path] = r
	}
	want, _ := url.Parse(server.URL)
	for path, code := range map[string]int{"/town/mill.html": 200, "/search?q=tide": 200, "/fault/404.html": 404, "/fault/reset.html": 0} {
		r, ok := byPath[path]
		if !ok || r.Code != code || r.Host != want.Host || r.Agent == "" || r.Method != "GET" || (code == 200) != (r.Bytes > 200) {
			t.Errorf("%s: %+v", path, r)
		}
	}
}
