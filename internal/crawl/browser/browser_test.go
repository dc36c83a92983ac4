package browser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/testkit/testwait"
)

// The tests share one browser if possible, since its start takes a second.
var shared *Browser

func TestMain(m *testing.M) {
	if folder := os.Getenv("DC_BROWSER_HELPER"); folder != "" {
		helper(folder)
		return
	}
	if _, err := findProgram(""); err != nil {
		fmt.Fprintln(os.Stderr, "Chromium is missing; run scripts/setup.sh test")
		os.Exit(1)
	}
	folder, err := os.MkdirTemp("", "browser-test-")
	if err != nil {
		panic(err)
	}
	shared = New(config(folder))
	code := m.Run()
	shared.Close()
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "left behind:", left)
		code = 1
	}
	os.RemoveAll(folder)
	os.Exit(code)
}

// shortDir is t.TempDir without the name of the test: the path of a profile has a maximum.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "b-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// A folder that is too long for Chromium's socket is refused with a remedy.
func TestLongFolder(t *testing.T) {
	cfg := config(filepath.Join(shortDir(t), strings.Repeat("x", maxPath)))
	if err := os.Mkdir(cfg.TempDir, 0o755); err != nil {
		t.Fatal(err)
	}
	b := New(cfg)
	defer b.Close()
	if _, err := b.Get(t.Context(), Request{URL: "http://x.test/"}); err == nil || !strings.Contains(err.Error(), "set TMPDIR to a shorter folder") {
		t.Errorf("error %v", err)
	}
}

// refusal is the error of a guard.
type refusal struct{ addr string }

func (r refusal) Error() string { return "address " + r.addr + " refused" }
func (r refusal) Refused() bool { return true }

// guarded dials 127.0.0.1 and refuses other addresses. Names below .test are 127.0.0.1,
// except forbidden.test. Other names do not exist.
func guarded(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "forbidden.test":
		return nil, refusal{addr}
	case err != nil && strings.HasSuffix(host, ".test"):
		host = "127.0.0.1"
	case err != nil:
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	case ip != netip.MustParseAddr("127.0.0.1"):
		return nil, refusal{addr}
	}
	var d net.Dialer
	return d.DialContext(ctx, network, net.JoinHostPort(host, port))
}

func config(folder string) Config {
	cfg := Config{Dial: guarded, TempDir: folder, MaxPages: 4, Macros: MacroPolicy{Enabled: true, Remote: true, FilesBelow: "testdata"}}
	if os.Getenv("DC_BROWSER_LOG") != "" {
		cfg.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return cfg
}

// site starts a server and returns its URL. The value of a path is a page or a handler.
func site(t *testing.T, pages map[string]any) string {
	t.Helper()
	mux := http.NewServeMux()
	for path, content := range pages {
		switch content := content.(type) {
		case string:
			mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				io.WriteString(w, content)
			})
		case func(http.ResponseWriter, *http.Request):
			mux.HandleFunc(path, content)
		}
	}
	srv := httptest.NewServer(mux)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL
}

func get(t *testing.T, req Request) *Page {
	t.Helper()
	if req.Timeout == 0 {
		req.Timeout = 3 * time.Minute // a slow machine is not a failure
	}
	p, err := shared.Get(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantFault gets req and expects a fault.
func wantFault(t *testing.T, b *Browser, req Request, kind Kind) *Fault {
	t.Helper()
	if req.Timeout == 0 {
		req.Timeout = 3 * time.Minute
	}
	p, err := b.Get(t.Context(), req)
	var f *Fault
	if !errors.As(err, &f) || f.Kind != kind {
		t.Fatalf("got %v, page %+v; want a fault of kind %v", err, p, kind)
	}
	return f
}

func wantText(t *testing.T, p *Page, text string) {
	t.Helper()
	if !strings.Contains(string(p.Body), text) {
		t.Errorf("%q is missing in %q", text, p.Body)
	}
}

func TestScriptBuildsPage(t *testing.T) {
	where := site(t, map[string]any{
		"/": `<!DOCTYPE html><title>x</title><body><script>
			fetch("/data").then(r => r.text()).then(t => document.body.append("made " + t));
			onload = () => setTimeout(() => document.body.append(" and later"), 300);
			document.cookie = "seen=1";</script>`,
		"/data": func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "by script ж "+r.UserAgent()) },
	})
	p := get(t, Request{URL: where + "/", Damping: time.Second, UserAgent: "DC-Test/1"})
	wantText(t, p, "made by script ж DC-Test/1")
	wantText(t, p, "and later")
	wantText(t, p, "<!DOCTYPE html>")
	if p.Code != 200 || p.FinalURL != where+"/" || !p.Rendered || p.ContentType != "text/html" || p.Charset != "utf-8" {
		t.Errorf("page %+v", p)
	}
	if len(p.Cookies) != 1 || !strings.HasPrefix(p.Cookies[0], "seen=1; Path=/; Domain=127.0.0.1") {
		t.Errorf("cookies %q", p.Cookies)
	}
	if p.Header.Get("Content-Type") != "text/html; charset=utf-8" || p.Total <= 0 {
		t.Errorf("header %v, total %v", p.Header, p.Total)
	}
}

func TestSentRequest(t *testing.T) {
	var sent atomic.Pointer[http.Request]
	var body atomic.Pointer[string]
	where := site(t, map[string]any{"/": func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		s := string(text)
		body.Store(&s)
		sent.Store(r)
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<p>ok")
	}})
	p := get(t, Request{URL: where + "/?q=1#part", Method: "POST", PostData: []byte("a=1&b=2"), Cookie: "k=v; other=w",
		Header: []Header{{"Accept-Language", "de"}, {"X-Own", "1"}, {"Authorization", "Basic eDp5"}, {"--headless", "1"}, {"Host", "evil.test"}, {"Connection", "close"}}})
	r := sent.Load()
	if r.Method != "POST" || *body.Load() != "a=1&b=2" || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		t.Errorf("%s %q %q", r.Method, *body.Load(), r.Header)
	}
	if r.Header.Get("Accept-Language") != "de" || r.Header.Get("X-Own") != "1" || r.Header.Get("Authorization") != "Basic eDp5" || r.Header.Get("Cookie") != "k=v; other=w" {
		t.Errorf("header %q", r.Header)
	}
	if r.Host != strings.TrimPrefix(where, "http://") || r.Header.Get("--Headless") != "" || r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Proxy-Connection") != "" {
		t.Errorf("host %q, header %q", r.Host, r.Header)
	}
	if p.RequestHeader.Get("X-Own") != "1" || p.FinalURL != where+"/?q=1#part" {
		t.Errorf("page %+v", p)
	}
}

func TestStatusAndContentType(t *testing.T) {
	answer := func(code int, kind, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			if kind == "" {
				w.Header()["Content-Type"] = nil
			} else {
				w.Header().Set("Content-Type", kind)
			}
			w.WriteHeader(code)
			io.WriteString(w, body)
		}
	}
	png := "\x89PNG\r\n\x1a\n\x00\xff\xfe"
	where := site(t, map[string]any{
		"/404": answer(404, "text/html", "<p>none</p>"), "/503": answer(503, "text/html", "<p>busy</p>"),
		"/500-empty": answer(500, "text/html", ""),
		"/json":      answer(200, "application/json", `{"a": [1]}`), "/png": answer(200, "image/png", png),
		"/pdf": answer(200, "application/pdf", "%PDF-1.4\n"), "/xml": answer(200, "text/xml; charset=ISO-8859-1", "<a>\xe9</a>"),
		"/text": answer(200, "text/plain", "<b>plain"), "/none": answer(200, "", "<html><p>sniffed</p>"),
		"/none-binary": answer(200, "", png), "/latin": answer(200, "text/html; charset=windows-1251", "<p>\xe6</p>"),
		"/xhtml": answer(200, "application/xhtml+xml", `<html xmlns="http://www.w3.org/1999/xhtml"><p>x</p></html>`),
		"/file": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Disposition", "attachment; filename=x.html")
			answer(200, "text/html", "<p>saved</p>")(w, r)
		},
		"/clobber": `<!DOCTYPE html><p>kept</p><img name=documentElement><img name=doctype><form name=contentType></form>`,
	})
	for path, want := range map[string]struct {
		code     int
		rendered bool
		kind     string
		charset  string
		body     string // a whole file, or a part of a rendered page
	}{
		"/404": {404, true, "text/html", "windows-1252", "<p>none</p>"}, "/503": {503, true, "text/html", "windows-1252", "busy"},
		"/500-empty": {500, false, "text/html", "", ""},
		"/json":      {200, false, "application/json", "", `{"a": [1]}`}, "/png": {200, false, "image/png", "", png},
		"/pdf": {200, false, "application/pdf", "", "%PDF-1.4\n"}, "/xml": {200, false, "text/xml", "iso-8859-1", "<a>\xe9</a>"},
		"/text": {200, false, "text/plain", "", "<b>plain"}, "/none": {200, true, "text/html", "windows-1252", "sniffed"},
		"/none-binary": {200, false, "image/png", "", png}, "/latin": {200, true, "text/html", "windows-1251", "<p>ж</p>"},
		"/xhtml": {200, true, "application/xhtml+xml", "utf-8", "<p>x</p>"}, "/file": {200, false, "text/html", "", "<p>saved</p>"},
		"/clobber": {200, true, "text/html", "utf-8", "<!DOCTYPE html>"},
	} {
		t.Run(path[1:], func(t *testing.T) {
			t.Parallel()
			p := get(t, Request{URL: where + path})
			// An ASCII page declares no charset. Chromium guesses one of two.
			guessed := want.charset == "windows-1252" && p.Charset == "utf-8"
			if p.Code != want.code || p.Rendered != want.rendered || p.ContentType != want.kind || p.Charset != want.charset && !guessed {
				t.Errorf("code %d, rendered %v, %q, %q, body %q", p.Code, p.Rendered, p.ContentType, p.Charset, p.Body)
			}
			if want.rendered {
				wantText(t, p, want.body)
			} else if string(p.Body) != want.body {
				t.Errorf("body %q", p.Body)
			}
		})
	}
}

func TestRedirects(t *testing.T) {
	loops := 0
	where := site(t, map[string]any{
		"/http":   func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/script", http.StatusFound) },
		"/script": `<script>location = "/meta"</script>`,
		"/meta":   `<meta http-equiv=refresh content="0; url=/end">`,
		"/end":    `<p>the end</p>`,
		"/loop": func(w http.ResponseWriter, r *http.Request) {
			loops++
			http.Redirect(w, r, "/loop?"+strconv.Itoa(loops), http.StatusMovedPermanently)
		},
		"/own": func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 301 Moved Away\r\nLocation: /empty\r\nContent-Length: 9\r\nConnection: close\r\n\r\nmoved on!")
		},
		"/empty": func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Location"] = []string{"/long"}
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"/long": func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Location"] = []string{"/end"}
			w.WriteHeader(http.StatusPermanentRedirect)
			io.WriteString(w, strings.Repeat("x", maxRedirectBody+1))
		},
		"/js":    `<script>location = "/js?" + Math.random()</script>`,
		"/data":  `<p>stays</p><script>location = "ftp://127.0.0.1/x"</script>`,
		"/guard": `<script>location = "http://forbidden.test/"</script>`,
		"/mail":  `<p>stays</p><script>location = "mailto:a@b.test"</script>`,
	})
	t.Run("http, script and refresh", func(t *testing.T) {
		t.Parallel()
		var allowed []string
		p := get(t, Request{URL: where + "/http", Damping: time.Second, Allow: func(_ context.Context, next *url.URL) error {
			allowed = append(allowed, next.Path)
			return nil
		}})
		wantText(t, p, "the end")
		want := []Hop{{URL: where + "/http", Code: 302}, {URL: where + "/script", Code: 200}, {URL: where + "/meta", Code: 200}}
		same := func(got, want Hop) bool {
			return got.URL == want.URL && got.Code == want.Code && (got.Header.Get("Location") != "") == (want.Code == 302)
		}
		if !slices.EqualFunc(p.Redirects, want, same) || p.FinalURL != where+"/end" {
			t.Errorf("%v, then %s", p.Redirects, p.FinalURL)
		}
		if !slices.Equal(allowed, []string{"/http", "/script", "/meta", "/end"}) {
			t.Errorf("calls of Allow: %v", allowed)
		}
	})
	t.Run("as the server sends them", func(t *testing.T) {
		t.Parallel()
		p := get(t, Request{URL: where + "/own", Damping: time.Second})
		var got []string
		for _, hop := range p.Redirects {
			got = append(got, fmt.Sprintf("%s %.9s %d %v", hop.Status, hop.Body, len(hop.Body), hop.Cut))
		}
		if want := []string{"301 Moved Away moved on! 9 false", "307 Temporary Redirect  0 false", "308 Permanent Redirect xxxxxxxxx 16384 true"}; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
	t.Run("refused in the middle", func(t *testing.T) {
		t.Parallel()
		no := errors.New("no")
		f := wantFault(t, shared, Request{URL: where + "/http", Damping: time.Second, Allow: func(_ context.Context, next *url.URL) error {
			if next.Path == "/meta" {
				return no
			}
			return nil
		}}, Refused)
		if !errors.Is(f, no) || f.URL != where+"/meta" {
			t.Errorf("fault %v", f)
		}
	})
	for path, kind := range map[string]Kind{"/loop": TooManyRedirects, "/js": TooManyRedirects, "/guard": Guard} {
		t.Run(path[1:], func(t *testing.T) {
			t.Parallel()
			wantFault(t, shared, Request{URL: where + path, MaxRedirects: 5, Damping: 2 * time.Second}, kind)
		})
	}
	for _, path := range []string{"/data", "/mail"} {
		t.Run(path[1:], func(t *testing.T) {
			t.Parallel()
			wantText(t, get(t, Request{URL: where + path}), "stays")
		})
	}
	t.Run("no redirects allowed", func(t *testing.T) {
		t.Parallel()
		wantFault(t, shared, Request{URL: where + "/http", MaxRedirects: -1}, TooManyRedirects)
	})
}

// sends answers with a text on the bare connection.
func sends(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		io.WriteString(conn, text)
	}
}

// Responses in plain HTTP that violate HTTP are shown as in TLS, and marked.
func TestRepairedResponse(t *testing.T) {
	where := site(t, map[string]any{
		"/odd":  sends("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nno colon\r\nX Y: \x00\r\nContent-Length: 6, 6\r\n\r\n<p>odd"),
		"/to":   sends("HTTP/1.1 302 Found\r\nno colon\r\nLocation: /good\r\nContent-Length: 0\r\n\r\n"),
		"/good": "<p>good",
	})
	for path, want := range map[string]struct {
		text     string
		repaired bool
	}{"/odd": {"<p>odd", true}, "/to": {"<p>good", true}, "/good": {"<p>good", false}} {
		p := get(t, Request{URL: where + path})
		wantText(t, p, want.text)
		if p.Repaired != want.repaired {
			t.Errorf("%s: repaired %v", path, p.Repaired)
		}
	}
}

func TestNetworkFaults(t *testing.T) {
	ports, release, err := childprocess.FreePorts(1) // nobody listens
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	closed := fmt.Sprintf("127.0.0.1:%d", ports[0])
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = nil
	tls.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	tls.StartTLS()
	t.Cleanup(tls.Close)
	where := site(t, map[string]any{
		"/empty":      func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Type", "text/plain") },
		"/204":        func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) },
		"/drop":       func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) },
		"/empty-html": "",
		"/cut":        sends("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<p>half"),
		"/no-http":    sends("220 mail.invalid\r\n"),
		"/bad-gzip":   sends("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n<p>no gzip"),
		"/large":      func(w http.ResponseWriter, r *http.Request) { w.Write(bytes.Repeat([]byte("x\n"), 1<<20)) },
		"/long": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "4000000")
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte("x"))
		},
		"/grows": `<script>document.write("x".repeat(2e6))</script>`,
	})
	for name, c := range map[string]struct {
		url  string
		kind Kind
	}{
		"unknown name": {"http://nowhere.invalid/", NameNotResolved}, "unknown name, TLS": {"https://nowhere.invalid/", NameNotResolved},
		"forbidden address": {"http://10.0.0.1/", Guard}, "forbidden address, TLS": {"https://10.0.0.1/", Guard},
		"forbidden name": {"http://forbidden.test/", Guard}, "metadata": {"http://169.254.169.254/latest/", Guard},
		"loopback v6": {"http://[::1]/", Guard}, "localhost is a name": {"http://localhost/", NameNotResolved},
		"closed port": {"http://" + closed + "/", Connect}, "closed port, TLS": {"https://" + closed + "/", Connect},
		"unknown authority": {tls.URL, Connect},
		"empty":             {where + "/empty", Empty}, "no content": {where + "/204", Empty},
		"dropped": {where + "/drop", Connect}, "empty HTML": {where + "/empty-html", Empty}, "cut": {where + "/cut", BadBody}, "no HTTP": {where + "/no-http", BadResponse}, "bad gzip": {where + "/bad-gzip", BadBody}, "too large": {where + "/large", TooLarge}, "declared too large": {where + "/long", TooLarge}, "grows too large": {where + "/grows", TooLarge},
		"file": {"file:///etc/passwd", BadURL}, "chrome": {"chrome://version", BadURL}, "no host": {"http:///x", BadURL}, "not a URL": {"http://a b/", BadURL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := wantFault(t, shared, Request{URL: c.url, MaxBytes: 1 << 20}, c.kind)
			if c.kind == Connect && f.Code != codeOther {
				t.Errorf("code %d", f.Code)
			}
		})
	}
}

func TestForbiddenAddressIsNotReached(t *testing.T) {
	var reached atomic.Int32
	forbidden := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reached.Add(1) }))
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	forbidden.Listener = &countingListener{l, &reached}
	forbidden.Start()
	defer forbidden.Close()
	at := l.Addr().String()
	where := site(t, map[string]any{"/": `<p>here</p><script>
		const at = "` + at + `";
		fetch("http://" + at + "/fetch", {mode: "no-cors"}).catch(() => document.body.append("fetch failed"));
		new WebSocket("ws://" + at + "/ws");
		navigator.sendBeacon("http://" + at + "/beacon");
		new Worker(URL.createObjectURL(new Blob(["fetch('http://" + at + "/worker', {mode: 'no-cors'})"])));
		for (const [name, attribute] of [["img", "src"], ["iframe", "src"], ["link", "href"], ["script", "src"]]) {
			const e = document.createElement(name); e[attribute] = "http://" + at + "/" + name;
			if (name == "link") e.rel = "stylesheet"; document.head.append(e);
		}
		const rtc = new RTCPeerConnection({iceServers: [{urls: "stun:" + at}]}); rtc.createDataChannel("x");
		rtc.createOffer().then(o => rtc.setLocalDescription(o));
		</script><link rel=dns-prefetch href="http://` + at + `"><link rel=preconnect href="http://` + at + `">`})
	p := get(t, Request{URL: where + "/", Damping: time.Second})
	wantText(t, p, "fetch failed")
	if n := reached.Load(); n != 0 {
		t.Errorf("the forbidden address was reached %d times", n)
	}
}

// countingListener counts accepted connections.
type countingListener struct {
	net.Listener
	reached *atomic.Int32
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.reached.Add(1)
	}
	return conn, err
}

func TestHostilePages(t *testing.T) {
	where := site(t, map[string]any{
		"/endless": `<p>x</p><script>while (true) {}</script>`,
		"/later":   `<p>there</p><script>onload = () => { while (true) {} }</script>`,
		"/never":   `<p>partly</p><script src="/hang" defer></script><iframe src="/hang"></iframe>`,
		"/unended": `<p>partly</p><iframe src="/hang"></iframe>`,
		"/hang":    func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"/dialogs": `<p>x</p><script>alert(1); confirm(2); prompt(3); onbeforeunload = () => "stay"; document.body.append("passed")</script>`,
		"/windows": `<p>x</p><script>let n = 0; for (let i = 0; i < 200; i++) if (window.open("/frames")) n++; document.body.append("opened " + n)</script>`,
		"/frames":  `<p>x</p><iframe src="/frames?` + "1" + `"></iframe>`,
		"/flood":   `<script>for (let i = 0; i < 5000; i++) fetch("/end?" + i).catch(() => {}); document.write("flooded")</script>`,
		"/floods":  `<p>loaded</p><script>let n = 0; onload = () => setInterval(() => { for (let i = 0; i < 500; i++) fetch("/end?" + n++).catch(() => {}) }, 1)</script>`,
		"/end":     `ok`,
		"/log":     `<p>x</p><script>for (let i = 0; i < 20000; i++) console.log("x".repeat(1000)); document.body.append("logged")</script>`,
		"/many":    `<body><script>for (let i = 0; i < 200; i++) { const f = document.createElement("iframe"); document.body.append(f); f.remove(); } document.body.append("framed")</script>`,
		"/open":    `<p>x</p><script>const d = document; d.open(); d.write("<p>written"); d.close()</script>`,
		"/auth": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", "Basic realm=x")
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(401)
			io.WriteString(w, "<p>log in</p>")
		},
	})
	t.Run("pages that end", func(t *testing.T) {
		for path, want := range map[string]string{
			"/dialogs": "passed", "/windows": "opened 0", "/frames": "iframe", "/flood": "flooded", "/floods": "loaded",
			"/log": "logged", "/many": "framed", "/open": "written", "/auth": "log in",
		} {
			t.Run(path[1:], func(t *testing.T) {
				t.Parallel()
				wantText(t, get(t, Request{URL: where + path}), want)
			})
		}
	})
	// Endless scripts run alone: they would slow down the other pages.
	t.Run("endless", func(t *testing.T) {
		wantFault(t, shared, Request{URL: where + "/endless", Timeout: 2 * time.Second}, TimeOver)
	})
	t.Run("endless later", func(t *testing.T) {
		wantFault(t, shared, Request{URL: where + "/later", Timeout: 2 * time.Second, Damping: time.Second}, TimeOver)
	})
	t.Run("never finished", func(t *testing.T) {
		t.Parallel()
		wantFault(t, shared, Request{URL: where + "/never", Timeout: 2 * time.Second}, TimeOver)
	})
	t.Run("no answer", func(t *testing.T) {
		t.Parallel()
		wantFault(t, shared, Request{URL: where + "/hang", Timeout: 2 * time.Second}, TimeOver)
	})
	t.Run("a frame without answer", func(t *testing.T) {
		t.Parallel()
		wantFault(t, shared, Request{URL: where + "/unended", Timeout: 4 * time.Second}, TimeOver)
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := shared.Get(ctx, Request{URL: where + "/hang"}); KindOf(err) != Cancelled {
			t.Errorf("got %v", err)
		}
	})
	t.Run("time in Allow is not counted", func(t *testing.T) {
		t.Parallel()
		const wait = 200 * time.Millisecond
		began := time.Now()
		p := get(t, Request{URL: where + "/end", Allow: func(context.Context, *url.URL) error {
			time.Sleep(wait)
			return nil
		}})
		if took := time.Since(began); p.Total > took-wait {
			t.Errorf("total %v of %v, of which %v in Allow", p.Total, took, wait)
		}
	})
}

func TestPagesShareNoState(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	where := site(t, map[string]any{"/": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<p>got %q</p><script>document.cookie = "mine=%s"; localStorage.x = (localStorage.x || "") + "y"; document.body.append(" store " + localStorage.x)</script>`, r.Header.Get("Cookie"), r.URL.RawQuery)
	}, "/wait": func(w http.ResponseWriter, r *http.Request) {
		both.Done()
		both.Wait()
		http.Redirect(w, r, "/?"+r.URL.RawQuery, http.StatusFound)
	}})
	results := make(chan error, 2)
	for i := range 2 {
		go func() {
			p, err := shared.Get(t.Context(), Request{URL: where + "/wait?" + strconv.Itoa(i), Cookie: "given=" + strconv.Itoa(i)})
			if err == nil && !strings.Contains(string(p.Body), fmt.Sprintf(`got "given=%d"`, i)) || err == nil && !strings.Contains(string(p.Body), "store y<") {
				err = fmt.Errorf("page %d: %s", i, p.Body)
			}
			if err == nil && len(p.Cookies) != 2 {
				err = fmt.Errorf("page %d: cookies %q", i, p.Cookies)
			}
			results <- err
		}()
	}
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

func TestTraffic(t *testing.T) {
	var requests atomic.Int64
	where := site(t, map[string]any{
		"/": `<p>x</p><script>Promise.allSettled([0, 1, 2, 3].map(() => fetch("/big").then(r => r.arrayBuffer()))).then(all =>
			document.body.append("complete: " + all.filter(r => r.status == "fulfilled").length))</script>`,
		"/big": func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			w.Write(make([]byte, 1<<20))
		},
	})
	cfg := config(shortDir(t))
	cfg.MaxTraffic = 2 << 20
	cfg.MaxRequests = 3
	b := New(cfg)
	defer b.Close()
	p, err := b.Get(t.Context(), Request{URL: where + "/", Damping: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, p, "x")
	if n := requests.Load(); n == 0 || n > 3 || strings.Contains(string(p.Body), "complete: 3") {
		t.Errorf("%d requests: %s", n, p.Body)
	}
}

func TestMemory(t *testing.T) {
	where := site(t, map[string]any{
		"/eats": `<script>const all = []; setInterval(() => all.push(new Uint8Array(32 << 20).fill(1)), 10)</script>`,
		"/fine": `<p>fine</p>`,
	})
	cfg := config(shortDir(t))
	cfg.MaxMemory = 700 << 20
	b := New(cfg)
	defer b.Close()
	if f := wantFault(t, b, Request{URL: where + "/eats", Damping: 20 * time.Second}, Memory); f.Kind.Bits() == 0 {
		t.Error("no bits")
	}
	if p, err := b.Get(t.Context(), Request{URL: where + "/fine"}); err != nil || !strings.Contains(string(p.Body), "fine") {
		t.Errorf("%v, %v", p, err)
	}
}

func TestBrowserLifeCycle(t *testing.T) {
	where := site(t, map[string]any{"/": `<p>fine</p>`, "/hang": func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }})
	folder := shortDir(t)
	b := New(config(folder))
	if _, err := b.Get(t.Context(), Request{URL: where + "/"}); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(folder, profilePrefix+"*"))
	if err != nil || len(left) != 1 || len(processesOf(left[0])) == 0 {
		t.Fatalf("folders %v, %v", left, err)
	}
	syscall.Kill(b.running.cmd.Process.Pid, syscall.SIGKILL)
	<-b.running.gone
	if p, err := b.Get(t.Context(), Request{URL: where + "/"}); err != nil || !strings.Contains(string(p.Body), "fine") {
		t.Fatalf("after a kill: %v, %v", p, err)
	}
	running := make(chan error, 1)
	go func() {
		_, err := b.Get(t.Context(), Request{URL: where + "/hang"})
		running <- err
	}()
	testwait.Until(t, "the page has a slot", func() bool { return len(b.tabs.free) > 0 })
	b.Close()
	if err := <-running; KindOf(err) != Cancelled {
		t.Errorf("open page: %v", err)
	}
	if left, _ := os.ReadDir(folder); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	if pids := processesOf(folder); len(pids) != 0 {
		t.Errorf("processes %v", pids)
	}
	if _, err := b.Get(t.Context(), Request{URL: where + "/"}); KindOf(err) != Cancelled {
		t.Errorf("after Close: %v", err)
	}
}

// A browser that does not answer is killed, and the next page has a new one.
func TestStoppedBrowser(t *testing.T) {
	where := site(t, map[string]any{"/": `<p>fine</p>`})
	b := New(config(shortDir(t)))
	b.cfg.answerTime = 2 * time.Second
	defer b.Close()
	if _, err := b.Get(t.Context(), Request{URL: where + "/", Timeout: 3 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(b.running.cmd.Process.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	wantFault(t, b, Request{URL: where + "/"}, Driver)
	b.cfg.answerTime = defaultAnswerTime
	p, err := b.Get(t.Context(), Request{URL: where + "/", Timeout: 3 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, p, "fine")
}

func TestNotInstalled(t *testing.T) {
	b := New(Config{Path: "no-such-browser", Dial: guarded})
	defer b.Close()
	f := wantFault(t, b, Request{URL: "http://127.0.0.1/"}, NotInstalled)
	if !strings.Contains(f.Error(), "chromium") || f.Kind.Bits() == 0 {
		t.Error(f)
	}
	bad := New(Config{Path: "/bin/false", Dial: guarded, TempDir: shortDir(t)})
	defer bad.Close()
	wantFault(t, bad, Request{URL: "http://127.0.0.1/"}, Driver)
}

// helper is the process that TestKilledTask kills. It renders a page that never ends.
func helper(folder string) {
	b := New(config(folder))
	if _, err := b.Get(context.Background(), Request{URL: os.Getenv("DC_BROWSER_URL")}); err != nil {
		fmt.Println("fault", err)
		os.Exit(1)
	}
	go b.Get(context.Background(), Request{URL: os.Getenv("DC_BROWSER_URL") + "busy", Timeout: time.Hour})
	select {}
}

func TestKilledTask(t *testing.T) {
	busy := make(chan struct{})
	where := site(t, map[string]any{"/{$}": `<p>fine</p>`, "/busy": `<script>fetch("/now"); while (true) {}</script>`,
		"/now": func(w http.ResponseWriter, r *http.Request) { close(busy) }})
	folder := shortDir(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DC_BROWSER_HELPER="+folder, "DC_BROWSER_URL="+where+"/")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-busy:
	case <-time.After(time.Minute):
		cmd.Process.Kill()
		t.Fatal("the helper has opened no page after a minute")
	}
	before := processesOf(filepath.Join(folder, profilePrefix))
	if len(before) < 3 {
		t.Errorf("only %d processes", len(before))
	}
	cmd.Process.Kill()
	cmd.Wait()
	t.Cleanup(func() { killUsers(filepath.Join(folder, profilePrefix)) })
	testwait.Until(t, "all processes of the browser end", func() bool {
		return len(processesOf(filepath.Join(folder, profilePrefix))) == 0
	})
	// The next browser removes the orphaned folder.
	sweepProfiles(folder)
	if left, _ := os.ReadDir(folder); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}
