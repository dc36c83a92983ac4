package program

import (
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/apps/archive/repository"
	"hce/dc/internal/config"
)

func networkOf(t *testing.T, text string) (network, error) {
	t.Helper()
	f, err := config.Parse("/etc/archive/archive.ini", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	n := readNetwork(f)
	return n, f.Err()
}

// Each key of [Server] and [Client]: its effect, and the refusal of a wrong value.
func TestNetworkKeys(t *testing.T) {
	for _, c := range []struct {
		section, key, value, refused string
		field                        func(n network) any
		want                         string
	}{
		{"Server", "host", "::1", "", func(n network) any { return n.server.Host }, "::1"},
		{"Server", "port", "5600", "65536", func(n network) any { return n.server.Port }, "5600"},
		{"Server", "interval", "0.5", "0", func(n network) any { return n.server.Interval }, "500ms"},
		{"Server", "connections", "20", "1", func(n network) any { return n.server.Connections }, "20"},
		{"Server", "patience", "5", "0.5", func(n network) any { return n.server.Patience }, "5s"},
		{"Server", "token_file", "token", "", func(n network) any { return n.serverToken }, "/etc/archive/token"},
		{"Server", "tls_certificate", "a.pem", "", func(n network) any { return n.server.Certificate }, "/etc/archive/a.pem"},
		{"Server", "tls_key", "a.key", "", func(n network) any { return n.server.Key }, "/etc/archive/a.key"},
		{"Server", "AllowInsecureRemoteAccess", "1", "2", func(n network) any { return n.server.AllowInsecure }, "true"},
		{"Client", "url", "https://a:1", "", func(n network) any { return n.client.URL }, "https://a:1"},
		{"Client", "token_file", "token", "", func(n network) any { return n.clientToken }, "/etc/archive/token"},
		{"Client", "ca_file", "ca.pem", "", func(n network) any { return n.client.CA }, "/etc/archive/ca.pem"},
		{"Client", "patience", "5", "x", func(n network) any { return n.client.Patience }, "5s"},
		{"Client", "AllowInsecureRemoteAccess", "1", "x", func(n network) any { return n.client.AllowInsecure }, "true"},
	} {
		n, err := networkOf(t, fmt.Sprintf("[%s]\n%s = %s\n", c.section, c.key, c.value))
		if got := fmt.Sprint(c.field(n)); err != nil || got != c.want {
			t.Errorf("[%s] %s: %s, %v", c.section, c.key, got, err)
		}
		if c.refused == "" {
			continue
		}
		if _, err = networkOf(t, fmt.Sprintf("[%s]\n%s = %s\n", c.section, c.key, c.refused)); err == nil || !strings.Contains(err.Error(), c.key) {
			t.Errorf("[%s] %s = %s: %v", c.section, c.key, c.refused, err)
		}
	}
}

// A token file is one line of text that only its owner can read.
func TestTokens(t *testing.T) {
	dir := t.TempDir()
	path := func(name, text string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	if token, err := readToken(path("good", " 0123456789abcdef\n", 0o400)); err != nil || token != "0123456789abcdef" {
		t.Errorf("%q, %v", token, err)
	}
	if token, err := readToken(""); err != nil || token != "" {
		t.Errorf("no path: %q, %v", token, err)
	}
	for name, p := range map[string]string{
		"readable by others": path("open", "0123456789abcdef", 0o640), "short": path("short", "0123", 0o600), "empty": path("empty", "", 0o600),
		"two lines": path("lines", "0123456789abcdef\n0123456789abcdef\n", 0o600), "control": path("control", "0123456789abcdef\x00", 0o600), "folder": dir, "missing": filepath.Join(dir, "none"),
	} {
		if _, err := readToken(p); err == nil || strings.Contains(err.Error(), "0123456789abcdef") {
			t.Errorf("%s: %v", name, err)
		}
	}
	first, err := ensureToken(filepath.Join(dir, "new"))
	again, err2 := ensureToken(filepath.Join(dir, "new"))
	if err != nil || err2 != nil || first != again || len(first) < 40 {
		t.Errorf("%q %q, %v %v", first, again, err, err2)
	}
	if _, err := ensureToken(filepath.Join(dir, "short")); err == nil {
		t.Error("a damaged token file is replaced")
	}
}

// A URL without a scheme gets that of its version in the archive, else the one that the host speaks.
func TestAddScheme(t *testing.T) {
	r, err := repository.Open(filled(t))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	plain, secure := httptest.NewServer(nil), httptest.NewTLSServer(nil)
	defer plain.Close()
	defer secure.Close()
	plainHost, secureHost := plain.Listener.Addr().String(), secure.Listener.Addr().String()
	urls := []string{"https://example.net/", plainHost, secureHost + "/a"}
	s := session{ctx: t.Context(), talk: io.Discard}
	if err := s.addScheme(r, slices.Clone(urls)); err == nil || !strings.Contains(err.Error(), "--allow-network") {
		t.Errorf("loopback without permission: %v", err)
	}
	s.settings.crawl.Networks = "127.0.0.0/8"
	if err := s.addScheme(r, urls); err != nil {
		t.Fatal(err)
	}
	if want := []string{"https://example.net/", "http://" + plainHost + "/", "https://" + secureHost + "/a"}; !slices.Equal(urls, want) {
		t.Errorf("%q, want %q", urls, want)
	}
}
