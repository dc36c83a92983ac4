package server_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/archivetest"
	"hce/dc/internal/apps/archive/client"
	"hce/dc/internal/apps/archive/protocol"
	"hce/dc/internal/apps/archive/server"
	"hce/dc/internal/places/placestest"
	"hce/dc/internal/testkit/testwait"
)

// request sends a raw request and returns the status of the answer, 0 for none.
func request(t testing.TB, w *world, text string) int {
	t.Helper()
	conn, err := net.Dial("tcp", w.server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(conn, text)
	method, _, _ := strings.Cut(text, " ")
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

// No request of these stores anything or stops the server.
func TestHostileRequests(t *testing.T) {
	w := start(t, archivetest.New(t), nil)
	m := w.page(t)
	version := "url=http://example.org/a.html&commitTag=" + m.CommitTag
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"garbage":            {"\x00\x01\xff\xfe garbage \r\n\r\n", 400},
		"TLS":                {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400},
		"other folder":       {"GET /v1/open?" + version + "&name=..%2f..%2fetc%2fpasswd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400},
		"absolute":           {"GET /v1/open?" + version + "&name=/etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400},
		"path with dots":     {"GET /v1/../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400},
		"huge name":          {"PUT /v1/create?" + version + "&name=" + strings.Repeat("n", 20000) + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\n\r\nx", 400},
		"huge header":        {"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + strings.Repeat("x", 200000) + "\r\n\r\n", 431},
		"unknown kind":       {"GET /v1/delete?" + version + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400},
		"wrong method":       {"POST /v1/create?" + version + "&name=a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n", 400},
		"GET with a body":    {"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n\r\nhello", 400},
		"bad escape":         {"GET /v1/query?where=%zz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400},
		"SQL":                {"GET /v1/query?where=1;drop%20table%20versions HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400},
		"sub-select":         {"GET /v1/query?where=url%20in%20(select%20sql%20from%20sqlite_master) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400},
		"name of a web page": {"GET /v1/status HTTP/1.1\r\nHost: rebound.example\r\n\r\n", 401},
		"web page":           {"PUT /v1/create?" + version + "&name=a HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\nContent-Length: 1\r\n\r\nx", 401},
		"web page reads":     {"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: cross-site\r\n\r\n", 401},
		"two lengths":        {"PUT /v1/create?" + version + "&name=a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400},
		"bad chunk":          {"PUT /v1/create?" + version + "&name=a HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx", 400},
		"large number":       {"GET /v1/commits?after=9223372036854775808 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400},
		"largest number":     {"GET /v1/observe?after=9223372036854775807 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400},
		"HEAD":               {"HEAD /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400},
	} {
		if got := request(t, w, c.text); got != c.want {
			t.Errorf("%s: HTTP %d, want %d", name, got, c.want)
		}
	}
	if files, err := w.List(t.Context(), m); err != nil || len(files) != 1 {
		t.Errorf("files %v, %v", files, err)
	}
	testwait.Until(t, "no writer is open", func() bool { return w.OpenWriters() == 0 })
	if n := w.log.Count("panic"); n != 0 {
		t.Errorf("%s", w.log)
	}
}

// A client that sends a byte from time to time is ended; one that is slow but steady is not.
func TestSlowClients(t *testing.T) {
	w := start(t, archivetest.New(t), func(c *server.Config) { c.Patience = 2 * time.Second })
	m := w.page(t)
	head := "PUT /v1/create?url=http://example.org/a.html&commitTag=" + m.CommitTag + "&name=%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5000\r\n\r\n"
	send := func(name string, piece int, pause time.Duration) (sent int) {
		conn, err := net.Dial("tcp", w.server.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, head, name)
		ended := make(chan struct{})
		go func() { _, _ = io.Copy(io.Discard, conn); close(ended) }()
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for sent < 5000 {
			if _, err := conn.Write(make([]byte, piece)); err != nil {
				return sent
			}
			sent += piece
			select {
			case <-ticker.C:
			case <-ended:
				return sent
			}
		}
		testwait.Until(t, "the file is stored", func() bool { _, err := w.Open(t.Context(), m, name); return err == nil })
		return sent
	}
	if sent := send("steady.bin", 100, 10*time.Millisecond); sent != 5000 {
		t.Errorf("the steady client could send %d bytes", sent)
	}
	if sent := send("drops.bin", 1, 10*time.Millisecond); sent == 5000 {
		t.Error("the dropping client was not ended")
	}
	testwait.Until(t, "no writer is open", func() bool { return w.OpenWriters() == 0 })
	if _, err := w.Open(t.Context(), m, "drops.bin"); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// A client whose source is slow but steady sends what it has, and does not wait for a full buffer.
func TestSlowSource(t *testing.T) {
	w := start(t, archivetest.New(t), nil)
	m := w.page(t)
	file, err := connect(t, w.server.URL(), nil).Create(t.Context(), m, "slow.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(file, "first"); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the server has the beginning", func() bool { return w.Written() == 5 })
	if err := file.Close(); err != nil || archivetest.Read(t, w.Store, m, "slow.txt") != "first" {
		t.Error(err)
	}
}

// Connections that send nothing or half a request do not exhaust the server: a client has its answer while they are open.
func TestManyConnections(t *testing.T) {
	w := start(t, archivetest.New(t), func(c *server.Config) { c.Connections = 50 })
	placestest.Fill(t, w.server.Addr(), 500)
	for range 3 {
		if _, err := connect(t, w.server.URL(), nil).Status(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestToken(t *testing.T) {
	w := start(t, archivetest.New(t), func(c *server.Config) { c.Token = "secret-token" })
	for _, token := range []string{"", "secret-toke", "secret-token2"} {
		_, err := connect(t, w.server.URL(), func(c *client.Config) { c.Token = token }).Commits(t.Context(), 0, 1)
		if !errors.Is(err, protocol.ErrDenied) || strings.Contains(err.Error(), "secret-token") {
			t.Errorf("%q: %v", token, err)
		}
	}
	right := connect(t, w.server.URL(), func(c *client.Config) { c.Token = "secret-token" })
	if _, err := right.Commits(t.Context(), 0, 1); err != nil {
		t.Error(err)
	}
	err := connect(t, w.server.URL(), nil).Observe(t.Context(), 0, func([]archive.Commit) error { return nil })
	if !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("observe: %v", err)
	}
	if strings.Contains(w.log.String(), "secret-toke") {
		t.Error("a token is in the log")
	}
	if _, err := client.New(client.Config{URL: "http://10.0.0.1:1", Token: "t"}); err == nil || !strings.Contains(err.Error(), "https") {
		t.Errorf("token without TLS: %v", err)
	}
}

// An address that other machines can reach needs a token and TLS.
func TestAddresses(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	for _, cfg := range []server.Config{{Host: "0.0.0.0"}, {Host: "0.0.0.0", Token: "t"}, {Host: "::"}, {Host: "example.org", Token: "t"}} {
		cfg.Store, cfg.Log = archivetest.New(t), log
		if _, err := server.Listen(cfg); err == nil || !strings.Contains(err.Error(), "token_file") {
			t.Errorf("%s: %v", cfg.Host, err)
		}
	}
	if _, err := server.Listen(server.Config{Certificate: "none.pem", Key: "none.pem", Store: archivetest.New(t), Log: log}); err == nil || !strings.Contains(err.Error(), "tls_certificate") {
		t.Errorf("%v", err)
	}
	for _, address := range []string{"", "127.0.0.1:1", "ftp://a", "http://", "http://a\x00b"} {
		if _, err := client.New(client.Config{URL: address}); err == nil {
			t.Errorf("address %q: no error", address)
		}
	}
}

func TestTLS(t *testing.T) {
	certificate, key := pair(t)
	w := start(t, archivetest.New(t), func(c *server.Config) {
		c.Host, c.Token, c.Certificate, c.Key = "0.0.0.0", "token", certificate, key
	})
	address := "https://127.0.0.1:" + w.server.Addr()[strings.LastIndex(w.server.Addr(), ":")+1:]
	m := w.page(t)
	trusting := connect(t, address, func(c *client.Config) { c.Token, c.CA = "token", certificate })
	if err := archivetest.Write(t, trusting, m, "a.txt", "x"); err != nil || archivetest.Read(t, trusting, m, "a.txt") != "x" {
		t.Errorf("%v", err)
	}
	var o told
	observe(t, trusting, 0, o.take)
	testwait.Until(t, "the observer is told", func() bool { return len(o.list()) == 1 })
	if _, err := connect(t, address, func(c *client.Config) { c.Token = "token" }).Commits(t.Context(), 0, 1); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("unknown certificate: %v", err)
	}
}

// pair makes a certificate of 127.0.0.1.
func pair(t testing.TB) (certificate, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "archive"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, form, form, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, raw []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("server.pem", "CERTIFICATE", raw), write("server.key", "PRIVATE KEY", private)
}
