package fetch

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/web/coding"
)

// Whatever a server sends, the fault is reported, and memory stays within the limits.
func TestHostileResponses(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	const chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
	endless := func(begin, again string) func(net.Conn) {
		again = strings.Repeat(again, max(1, 4096/len(again)))
		return func(conn net.Conn) {
			io.WriteString(conn, begin)
			for {
				if _, err := io.WriteString(conn, again); err != nil {
					return
				}
			}
		}
	}
	tests := []struct {
		name string
		talk func(net.Conn)
		want Kind
	}{
		{"100 without end", endless("", "HTTP/1.1 100 Continue\r\n\r\n"), TooLarge},
		{"103 without end", endless("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), TooLarge},
		{"empty fields without end", endless(ok, "a:\r\n"), TooLarge},
		{"equal fields without end", endless(ok, "Set-Cookie: a=b\r\n"), TooLarge},
		{"continued field without end", endless(ok+"X: a\r\n", " b\r\n"), TooLarge},
		{"field name without end", endless(ok, "x"), TooLarge},
		{"status line without end", endless("HTTP/1.1 200 ", "OK"), TooLarge},
		{"chunk size without end", endless(chunked, "0"), BadEncoding},
		{"chunk extension without end", endless(chunked+"1;", "x"), BadEncoding},
		{"small chunks with long extensions", endless(chunked, "1;"+strings.Repeat("x", 200)+"\r\na\r\n"), BadEncoding},
		{"chunks of one byte", endless(chunked, "1\r\na\r\n"), TooLarge},
		{"trailer without end", endless(chunked+"1\r\na\r\n0\r\n", "X: y\r\n"), BadEncoding},
		{"body without end", endless(ok+"\r\n", "x"), TooLarge},
		{"negative length", endless(ok+"Content-Length: -1\r\n\r\n", "x"), TooLarge},
		{"length and chunks", endless(ok+"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "x"), None},
		{"unknown transfer coding", endless(ok+"Transfer-Encoding: gzip\r\n\r\n", "x"), TooLarge},
		{"switched protocols", endless("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "x"), BadResponse},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, Config{MaxHeaderBytes: 64 << 10})
			r := Request{URL: serveRaw(t, tt.talk), MaxBytes: 256 << 10}
			got := allocated(func() {
				if tt.want == None {
					must(t, c, r)
					return
				}
				fails(t, c, r, tt.want)
			})
			if got > 8<<20 {
				t.Errorf("%d MiB allocated", got>>20)
			}
		})
	}
}

// The same for headers, trailers and early hints of HTTP/2.
func TestHostileHTTP2(t *testing.T) {
	u, pool := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hints":
			w.Header().Set("Link", "</"+strings.Repeat("a", 100)+">")
			for range 20_000 {
				w.WriteHeader(http.StatusEarlyHints)
			}
		case "/fields":
			for i := range 5000 {
				w.Header().Set(fmt.Sprint("X-", i), "")
			}
		case "/trailers":
			io.WriteString(w, "ok")
			for i := range 5000 {
				w.Header().Set(fmt.Sprint(http.TrailerPrefix, "X-", i), "y")
			}
		case "/endless":
			for _, err := w.Write(noise(1 << 14)); err == nil; _, err = w.Write(noise(1 << 14)) {
			}
		}
	})
	for path, kinds := range map[string][]Kind{
		"/hints":    {TooLarge, BadResponse},
		"/fields":   {TooLarge, BadResponse},
		"/trailers": {None, Truncated, TooLarge},
		"/endless":  {TooLarge},
	} {
		t.Run(path, func(t *testing.T) {
			c := newClient(t, Config{RootCAs: pool, MaxHeaderBytes: 16 << 10})
			_, err := c.Get(t.Context(), Request{URL: u + path, MaxBytes: 256 << 10, Timeout: time.Minute})
			if !slices.Contains(kinds, KindOf(err)) {
				t.Errorf("%v, want one of %v", err, kinds)
			}
		})
	}
}

// recordingJar is a Jar that records its calls.
type recordingJar struct {
	line string
	mu   sync.Mutex
	set  []string
}

func (j *recordingJar) Cookies(u *url.URL) string {
	return strings.ReplaceAll(j.line, "%PATH%", u.Path)
}

func (j *recordingJar) SetCookies(u *url.URL, h http.Header) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.set = append(j.set, u.Path+" "+strings.Join(h["Set-Cookie"], "|"))
}

func TestJar(t *testing.T) {
	var seen []string
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.URL.Path+" "+r.Header.Get("Cookie"))
		w.Header().Set("Set-Cookie", "from="+r.URL.Path)
		if r.URL.Path == "/1" {
			http.Redirect(w, r, "/2", http.StatusFound)
		}
	})
	c := newClient(t, Config{})
	jar := &recordingJar{line: "path=%PATH%; k=jar"}
	must(t, c, Request{URL: u + "/1", MaxRedirects: 1, Jar: jar, Header: http.Header{"Cookie": {"k=given; other=x"}}})
	if want := []string{"/1 other=x; path=/1; k=jar", "/2 other=x; path=/2; k=jar"}; !slices.Equal(seen, want) {
		t.Errorf("sent %q, want %q", seen, want)
	}
	if want := []string{"/1 from=/1", "/2 from=/2"}; !slices.Equal(jar.set, want) {
		t.Errorf("SetCookies %q, want %q", jar.set, want)
	}
}

func TestJoinCookies(t *testing.T) {
	long := strings.Repeat("x", maxCookieLine)
	tests := []struct{ name, line, set, want string }{
		{"nothing", "", "", ""},
		{"one side", "a=1", "", "a=1"},
		{"other side", "", "a=1", "a=1"},
		{"both", "a=1; b=2", "b=3; c=4", "a=1; b=3; c=4"},
		{"sloppy", " a=1;;b = 2 ;", "b=3", "a=1; b=3"},
		{"no name", "x", "=y", "x; =y"},
		{"too long", "a=1; b=" + long + "; c=2", "d=" + long + "; e=3", "a=1; c=2; e=3"},
		{"cannot be sent", "a=1", "b=\r\nX: y; c=3", "a=1; c=3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := joinCookies(tt.line, tt.set); got != tt.want {
				t.Errorf("%.200q, want %q", got, tt.want)
			}
		})
	}
	many := strings.Repeat("name=value; ", 100_000)
	if got := joinCookies(many, many); len(got) > maxCookieLine || len(got) < maxCookieLine-100 {
		t.Errorf("%d bytes", len(got))
	}
}

// Names and passwords in a Location are ignored. Those of the first URL stay on its site.
func TestRedirectUserinfo(t *testing.T) {
	var seen []string
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		seen = append(seen, strings.Split(r.Host, ":")[0]+r.URL.Path+" "+name+" "+password)
		if to := r.FormValue("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
	})
	c := newClient(t, Config{Resolver: names{"a.test": {"127.0.0.1"}, "b.test": {"127.0.0.1"}}})
	a, b := named(u, "a.test"), named(u, "b.test")
	with := func(user, u string) string { return strings.Replace(u, "://", "://"+user+"@", 1) }
	tests := []struct {
		name, url string
		want      string
	}{
		{"of a server, own site", a + "/1?to=" + with("evil:x", a) + "/2", "a.test/2  "},
		{"of a server, other site", a + "/1?to=" + with("evil:x", b) + "/2", "b.test/2  "},
		{"kept on the site", with("me:secret", a) + "/1?to=/2", "a.test/2 me secret"},
		{"kept with a whole URL", with("me:secret", a) + "/1?to=" + a + "/2", "a.test/2 me secret"},
		{"not replaced", with("me:secret", a) + "/1?to=" + with("evil:x", a) + "/2", "a.test/2 me secret"},
		{"not taken elsewhere", with("me:secret", a) + "/1?to=" + b + "/2", "b.test/2  "},
		{"not taken elsewhere by name", with("me:secret", a) + "/1?to=" + with("me:secret", b) + "/2", "b.test/2  "},
		{"not back again", with("me:secret", a) + "/1?to=" + url.QueryEscape(b+"/2?to="+a+"/3"), "a.test/3  "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			seen = nil
			resp := must(t, c, Request{URL: tt.url, MaxRedirects: 3})
			if got := seen[len(seen)-1]; got != tt.want {
				t.Errorf("the last server saw %q, want %q", got, tt.want)
			}
			if strings.Contains(resp.FinalURL, "evil") {
				t.Errorf("final URL %s", resp.FinalURL)
			}
		})
	}
}

// 307 and 308 keep method and body, also for another host (RFC 9110 15.4), but not the
// fields of the first host.
func TestRedirectBody(t *testing.T) {
	var seen string
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.FormValue("to"); to != "" && r.URL.Path == "/1" {
			http.Redirect(w, r, to, http.StatusPermanentRedirect)
			return
		}
		body, _ := io.ReadAll(r.Body)
		seen = r.Method + " " + string(body) + " " + r.Header.Get("Authorization") + r.Header.Get("Cookie") + r.Header.Get("Proxy-Authorization")
	})
	c := newClient(t, Config{Resolver: names{"a.test": {"127.0.0.1"}, "b.test": {"127.0.0.1"}}})
	a, b := named(u, "a.test"), named(u, "b.test")
	for to, want := range map[string]string{a + "/2": "PUT body secretk=v", b + "/2": "PUT body "} {
		must(t, c, Request{URL: a + "/1?to=" + url.QueryEscape(to), Method: "PUT", Body: []byte("body"), MaxRedirects: 1,
			Header: http.Header{"Authorization": {"secret"}, "Cookie": {"k=v"}, "Proxy-Authorization": {"secret"}, "Content-Type": {"a/b"}}})
		if seen != want {
			t.Errorf("%s saw %q, want %q", to, seen, want)
		}
	}
}

// No response header leads to a panic, to credentials in a URL, or to unsendable values.
func FuzzHeaders(f *testing.F) {
	for _, s := range []string{"gzip, br", "x-gzip,,\t deflate", "/a?b#c", "//u:p@h/", "http://u:p@a.test/%zz", "\\\\h\\p", "a=b; Path=/", "a=\"b\"; Domain=test", "?", "", "http://[::1"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, text, line string) {
		h := http.Header{"Content-Encoding": {text}, "Location": {text}, "Set-Cookie": {text}}
		for _, coding := range coding.Of(h["Content-Encoding"]) {
			if !slices.Contains([]string{"gzip", "deflate", "br", "zstd"}, coding) {
				t.Fatalf("coding %q", coding)
			}
		}
		from, _ := url.Parse("http://me:secret@a.test/x")
		jar := newJar()
		ch := &chain{client: &Client{}, url: from, trust: true, req: Request{Jar: jar, Header: http.Header{"Cookie": {line}}, MaxRedirects: 1}}
		jar.SetCookies(from, h)
		if got := ch.sentHeader().Get("Cookie"); len(got) > maxCookieLine || strings.ContainsAny(got, "\r\n\x00") {
			t.Fatalf("cookies %q", got)
		}
		next, fault := ch.redirectTarget(&http.Response{Header: h})
		if fault != nil {
			return
		}
		if name := next.User.Username(); name != "" && (name != "me" || !sameSite(from, next)) {
			t.Fatalf("%q leads to %s", text, next)
		}
	})
}
