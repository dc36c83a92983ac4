package fetch

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Responses that violate HTTP are read as browsers read them, and marked.
func TestRepairedResponses(t *testing.T) {
	const ok, page = "HTTP/1.1 200 OK\r\n", "<p>page"
	for name, sent := range map[string]string{
		"no colon":          ok + "This is no header\r\n\r\n" + page,
		"name with a space": ok + "X Bad: 1\r\n\r\n" + page,
		"NUL":               ok + "X: a\x00b\r\n\r\n" + page,
		"length twice":      ok + "Content-Length: 7, 7\r\n\r\n" + page,
		"lower case":        "http/1.1 200 ok\r\n\r\n" + page,
	} {
		t.Run(name, func(t *testing.T) {
			u := serveRaw(t, func(conn net.Conn) { io.WriteString(conn, sent) })
			resp := must(t, newClient(t, Config{}), Request{URL: u})
			if !resp.Repaired || resp.Code != 200 || string(resp.Body) != page {
				t.Errorf("repaired %v, code %d, body %q", resp.Repaired, resp.Code, resp.Body)
			}
		})
	}
	t.Run("valid", func(t *testing.T) {
		u := serveRaw(t, func(conn net.Conn) { io.WriteString(conn, ok+"\r\n"+page) })
		if resp := must(t, newClient(t, Config{}), Request{URL: u}); resp.Repaired {
			t.Error("marked")
		}
	})
}

// Each response of a kept connection is repaired and marked for itself.
func TestRepairedOnOneConnection(t *testing.T) {
	connections := 0
	u := "http://" + listen(t, func(conn net.Conn) {
		connections++
		in := bufio.NewReader(conn)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			odd := ""
			if r.URL.Path == "/odd" {
				odd = "no colon\r\n"
			}
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n"+odd+"Content-Length: 25\r\n\r\nHTTP/1.1 200 OK\r\nno colon")
		}
	})
	c := newClient(t, Config{})
	for _, path := range []string{"/", "/odd", "/", "/odd"} {
		resp := must(t, c, Request{URL: u + path})
		if resp.Repaired != (path == "/odd") || !strings.HasSuffix(string(resp.Body), "\nno colon") {
			t.Errorf("%s: repaired %v, body %q", path, resp.Repaired, resp.Body)
		}
	}
	if connections != 1 {
		t.Errorf("%d connections", connections)
	}
}

// TLS of HTTP/1 is repaired too.
func TestRepairedBehindTLS(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nno colon\r\n\r\npage")
	}))
	defer srv.Close()
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	resp := must(t, newClient(t, Config{RootCAs: pool}), Request{URL: srv.URL})
	if string(resp.Body) != "page" || !resp.Repaired {
		t.Errorf("%q, repaired %v", resp.Body, resp.Repaired)
	}
	// net/http makes the TLS of a tunnel itself (docs/servers.md).
	proxy := httptest.NewServer(&proxyServer{})
	defer proxy.Close()
	fails(t, newClient(t, Config{RootCAs: pool}), Request{URL: srv.URL, Proxy: proxy.URL}, BadResponse)
}

// A server with RSA key exchange only is read if the request allows it.
func TestLegacyTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "old") }))
	srv.TLS = &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA}, CurvePreferences: []tls.CurveID{tls.CurveP384}}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	c := newClient(t, Config{RootCAs: pool})
	fails(t, c, Request{URL: srv.URL}, Connect)
	if resp := must(t, c, Request{URL: srv.URL, LegacyTLS: true}); string(resp.Body) != "old" {
		t.Errorf("%q", resp.Body)
	}
}
