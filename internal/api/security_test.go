package api

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/cli/apikeys"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
)

// away is a service without answers.
type away struct{}

func (away) Ask(context.Context, wire.Op, any, any) error { return service.ErrUnreachable }
func (away) String() string                               { return "nothing" }

// newKey makes a key.
func (a *served) newKey(scope apikeys.Scope, sites ...string) string {
	a.Helper()
	secret, _, err := a.server.keys.New(a.Context(), apikeys.Key{Scope: scope, Sites: sites})
	if err != nil {
		a.Fatal(err)
	}
	return secret
}

// Keys: none, unknown, revoked, too narrow, and for other sites.
func TestKeys(t *testing.T) {
	a, web := start(t, nil), website(t)
	a.expect("POST", "/v1/sites", `{"id":"one","roots":["https://one.example/"]}`, 201, "") // without any key, on loopback
	a.expect("POST", "/v1/sites", `{"id":"two","roots":["https://two.example/"]}`, 201, "")
	a.AddPages("two", "https://two.example/", 1)
	read, crawl, admin := a.newKey(apikeys.Read), a.newKey(apikeys.Crawl), a.newKey(apikeys.Admin)
	narrow := a.newKey(apikeys.Crawl, "one")
	bearer := func(key string) []string { return []string{"Authorization", "Bearer " + key} }
	page := "/v1/sites/two/pages/" + wire.Md5("https://two.example/0")
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
		part                     string
		header                   []string
	}{
		{"no key", "GET", "/v1/sites", "", 401, "hce key new", nil},
		{"unknown key", "GET", "/v1/sites", "", 401, "not known", bearer("hce_abcdefgh_nothing")},
		{"empty key", "GET", "/v1/sites", "", 401, "not known", bearer("")},
		{"another scheme", "GET", "/v1/sites", "", 401, "Bearer", []string{"Authorization", "Basic YTpi"}},
		{"health needs none", "GET", "/v1/health", "", 200, "ok", nil},
		{"read reads", "GET", "/v1/sites", "", 200, `"id":"one"`, bearer(read)},
		{"read does not create", "POST", "/v1/sites", `{"roots":["https://x.example/"]}`, 403, "needs crawl", bearer(read)},
		{"read does not scrape", "POST", "/v1/scrape", `{"url":"` + web + `"}`, 403, "needs crawl", bearer(read)},
		{"read does not delete", "DELETE", "/v1/sites/one", "", 403, "needs crawl", bearer(read)},
		{"crawl scrapes", "POST", "/v1/scrape", `{"url":"` + web + `"}`, 200, "Coast", bearer(crawl)},
		{"admin does all", "PATCH", "/v1/sites/two", `{"state":"paused"}`, 200, "paused", bearer(admin)},
		{"own site", "GET", "/v1/sites/one", "", 200, `"id":"one"`, bearer(narrow)},
		{"list of own sites", "GET", "/v1/sites", "", 200, `{"items":[{"id":"one"`, bearer(narrow)},
		{"other site", "GET", "/v1/sites/two", "", 404, "site two is not known", bearer(narrow)},
		{"page of another site", "GET", page, "", 404, "site two is not known", bearer(narrow)},
		{"content of another site", "GET", page + "/content", "", 404, "site two is not known", bearer(narrow)},
		{"export of another site", "GET", "/v1/sites/two/export", "", 404, "site two is not known", bearer(narrow)},
		{"deletes another site", "DELETE", "/v1/sites/two", "", 404, "site two is not known", bearer(narrow)},
		{"creates another site", "POST", "/v1/sites", `{"roots":["https://x.example/"]}`, 403, "some sites only", bearer(narrow)},
		{"crawls another site", "POST", "/v1/crawl", `{"roots":["https://x.example/"]}`, 403, "some sites only", bearer(narrow)},
		{"state of the service", "GET", "/v1/status", "", 403, "some sites only", bearer(narrow)},
		{"what the key is", "GET", "/v1/whoami", "", 200, `"sites":["one"]`, bearer(narrow)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a.TB = t
			a.expect(tt.method, tt.path, tt.body, tt.status, tt.part, tt.header...)
		})
	}
	a.TB = t
	if text := a.expect("GET", "/v1/sites", "", 200, "one", bearer(narrow)...); strings.Contains(text, "two") {
		t.Errorf("the list has a site of others: %s", text)
	}
	prefix := strings.Split(read, "_")[1]
	if err := (&apikeys.Store{Dir: a.server.keys.Dir}).Revoke(t.Context(), prefix); err != nil { // another process
		t.Fatal(err)
	}
	a.expect("GET", "/v1/sites", "", 401, "not known", bearer(read)...)
	for _, secret := range []string{read, crawl, admin, narrow} {
		if strings.Contains(a.log.String(), secret) {
			t.Errorf("the log has the key %s", secret)
		}
	}
	if log := a.log.String(); !strings.Contains(log, "key="+strings.Split(admin, "_")[1]+" method=PATCH path=/v1/sites/two code=200") {
		t.Errorf("the change is not in the log: %s", log)
	}
}

// What a browser sends for pages of other sites is refused, and names that lead to loopback are not served.
func TestBrowsers(t *testing.T) {
	a := start(t, nil)
	for _, tt := range []struct {
		name, method string
		status       int
		header       []string
	}{
		{"program", "GET", 200, nil},
		{"rebinding", "GET", 421, []string{"Host", "evil.example"}},
		{"rebinding with port", "GET", 421, []string{"Host", "evil.example:5581"}},
		{"name of loopback", "GET", 200, []string{"Host", "localhost:80"}},
		{"script of another site", "GET", 403, []string{"Origin", "https://evil.example"}},
		{"opaque origin", "GET", 403, []string{"Origin", "null"}},
		{"form of another site", "POST", 403, []string{"Sec-Fetch-Site", "cross-site", "Content-Type", "text/plain"}},
		{"image of another site", "GET", 403, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}},
		{"sub-domain", "GET", 403, []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}},
		{"link of another site", "GET", 200, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}},
		{"own page", "GET", 200, []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"}},
		{"typed address", "GET", 200, []string{"Sec-Fetch-Site", "none"}},
	} {
		body := ""
		if tt.method == "POST" {
			body = `{"roots":["https://x.example/"]}`
		}
		if status, text := a.send(tt.method, "/v1/sites", body, tt.header...); status != tt.status {
			t.Errorf("%s: %d %s, want %d", tt.name, status, text, tt.status)
		}
	}
	a.expect("POST", "/v1/sites", `{"roots":["https://x.example/"]}`, 415, "Content-Type", "Content-Type", "text/plain")
	a.expect("POST", "/v1/sites", `roots=x`, 415, "Content-Type", "Content-Type", "application/x-www-form-urlencoded")
	a.expect("GET", "/v1/sites", "", 200, `{"items":[]}`) // nothing was created
}

// A problem names the trace of the client (W3C Trace Context), or a new one.
func TestTrace(t *testing.T) {
	a := start(t, nil)
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	a.expect("GET", "/v1/sites/none", "", 404, `"trace":"`+id+`"`, "Traceparent", "00-"+id+"-00f067aa0ba902b7-01")
	for _, wrong := range []string{"", "00-" + noTrace + "-00f067aa0ba902b7-01", "00-" + id, "x"} {
		_, text, header := a.exchange("GET", "/v1/sites/none", "", "Traceparent", wrong)
		if own := header.Get("X-Request-Id"); len(own) != 32 || own == id || own == noTrace || !strings.Contains(text, `"trace":"`+own+`"`) {
			t.Errorf("%q: %s %s", wrong, own, text)
		}
	}
}

// Bodies, heads, paths and rates have bounds.
func TestBounds(t *testing.T) {
	a := start(t, func(c *Config) { c.Rate = 100 })
	a.expect("POST", "/v1/scrape", `{"url":"https://x.example/`+strings.Repeat("a", 5000)+`"}`, 422, "body.url")
	status, _ := a.send("POST", "/v1/sites", `{"roots":["https://x.example/`+strings.Repeat("a", 2<<20)+`"]}`)
	if status != 413 {
		t.Errorf("2 MB: %d", status)
	}
	for _, path := range []string{"/v1/sites/%2e%2e%2f", "/v1/sites/a%00b", "/v1/sites/a%0d%0aX: y", "/v1/sites/" + strings.Repeat("a", 3000), "/v1//sites/none", "/v1/../v1/sites/none", "/v1/sites/'"} {
		if status, text := a.send("GET", path, ""); status != 404 && status != 422 {
			t.Errorf("%.60s: %d %s", path, status, text)
		}
	}
	limited := 0
	for range 400 {
		if status, _, header := a.exchange("GET", "/v1/whoami", ""); status == 429 {
			if limited++; header.Get("Retry-After") == "" {
				t.Error("429 without Retry-After")
			}
		} else if status != 200 {
			t.Fatalf("status %d", status)
		}
	}
	if limited == 0 {
		t.Error("400 requests at once were served at 100 a second")
	}
}

// A client that sends a huge body is refused before it has sent it, and the answer comes at once.
func TestHugeBody(t *testing.T) {
	a := start(t, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(a.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	fmt.Fprintf(conn, "POST /v1/sites HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", 100<<20)
	go func() { _, _ = io.CopyN(conn, endless{}, 100<<20) }() // ends with the connection
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != 413 {
		t.Errorf("%+v %v", answer, err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// Other machines are served with TLS and keys only.
func TestListen(t *testing.T) {
	for name, tt := range map[string]struct {
		config Config
		key    bool
		want   string
	}{
		"no TLS":    {Config{Host: "0.0.0.0", Port: -1}, true, "needs TLSCertificate and TLSKey"},
		"no file":   {Config{Host: "127.0.0.1", Port: -1, TLSCert: "none.pem", TLSKey: "none.pem"}, true, "TLSCertificate and TLSKey: open none.pem"},
		"all names": {Config{Host: "example.invalid", Port: -1}, true, "needs TLSCertificate and TLSKey"},
		"loopback":  {Config{Host: "127.0.0.1", Port: -1}, false, ""},
	} {
		s := New(tt.config)
		s.keys = &apikeys.Store{Dir: t.TempDir()}
		if tt.key {
			if _, _, err := s.keys.New(t.Context(), apikeys.Key{Scope: apikeys.Read}); err != nil {
				t.Fatal(err)
			}
		}
		listener, err := s.listen()
		if err == nil {
			listener.Close()
		}
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// With TLS a key is needed on loopback too, and old versions of the protocol are refused.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	pool := writeCertificate(t, cert, key)
	a := start(t, func(c *Config) { c.Host, c.Port, c.TLSCert, c.TLSKey = "127.0.0.1", -1, cert, key })
	secret := a.newKey(apikeys.Read)
	listener, err := a.server.listen()
	if err != nil {
		t.Fatal(err)
	}
	a.server.serve(listener)
	t.Cleanup(func() { a.server.http.Close(); a.server.ended.Wait() })
	get := func(key string, config *tls.Config) (int, error) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+listener.Addr().String()+"/v1/whoami", nil)
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		client := http.Client{Transport: &http.Transport{TLSClientConfig: config}}
		defer client.CloseIdleConnections()
		answer, err := client.Do(r)
		if err != nil {
			return 0, err
		}
		answer.Body.Close()
		return answer.StatusCode, nil
	}
	for _, tt := range []struct {
		name, key string
		config    *tls.Config
		want      int
	}{
		{"key", secret, &tls.Config{RootCAs: pool}, 200},
		{"no key", "", &tls.Config{RootCAs: pool}, 401},
		{"unknown certificate", secret, &tls.Config{}, 0},
		{"TLS 1.1", secret, &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, 0},
	} {
		if got, err := get(tt.key, tt.config); got != tt.want || (err != nil) != (tt.want == 0) {
			t.Errorf("%s: %d %v", tt.name, got, err)
		}
	}
}

// writeCertificate writes a certificate of 127.0.0.1 and its key, and returns the pool that trusts it.
func writeCertificate(t *testing.T, cert, key string) *x509.CertPool {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return pool
}
