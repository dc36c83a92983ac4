package fileserver

import (
	"bufio"
	"crypto/md5"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/testkit/testwait"
)

const png = "\x89PNG\r\n\x1a\n0000"

// The browser shows HTML and images; it offers to save everything else, with the name of the file.
func TestTypes(t *testing.T) {
	w := start(t, Config{}, map[string]string{
		"a.html": "<p>", "b.HTM": "<p>", "c.png": png, "d.svg": "<svg/>", "foto": png, "page": "<!doctype html><p>",
		"e.pdf": "%PDF-", "f.css": "p{}", "g.txt": "text", "ñ \"x\".zip": "PK", "h.unknown": "\x00\x01", "index.html": "top", "sub/index.html": "sub",
	})
	for path, want := range map[string]struct{ kind, disposition string }{
		"/a.html":                 {"text/html", ""},
		"/b.HTM":                  {"text/html", ""},
		"/page":                   {"text/html", ""},
		"/c.png":                  {"image/png", ""},
		"/d.svg":                  {"image/svg+xml", ""},
		"/foto":                   {"image/png", ""},
		"/e.pdf":                  {"application/pdf", `attachment; filename=e.pdf`},
		"/f.css":                  {"text/css; charset=utf-8", `attachment; filename=f.css`},
		"/g.txt":                  {"text/plain; charset=utf-8", `attachment; filename=g.txt`},
		"/h.unknown":              {"application/octet-stream", `attachment; filename=h.unknown`},
		"/%C3%B1%20%22x%22.zip?q": {"application/zip", `attachment; filename*=utf-8''%C3%B1%20%22x%22.zip`},
		"/":                       {"text/html", ""},
		"/sub/":                   {"text/html", ""},
	} {
		resp, body := w.get(t, "GET", path)
		if h := resp.Header; resp.StatusCode != 200 || h.Get("Content-Type") != want.kind || h.Get("Content-Disposition") != want.disposition {
			t.Errorf("%s: %s, %q, %q; %q", path, resp.Status, h.Get("Content-Type"), h.Get("Content-Disposition"), body)
		}
	}
	testwait.Until(t, "a request is logged", func() bool { return w.log.Count("path=/a.html") == 1 })
	if w.log.Count("path=/a.html", "bytes=0 ") != 0 {
		t.Error(w.log.String())
	}
	if resp, _ := w.get(t, "GET", "/sub"); resp.StatusCode != 301 || resp.Header.Get("Location") != "sub/" {
		t.Errorf("%s to %q", resp.Status, resp.Header.Get("Location"))
	}
}

// Downloads are equal byte for byte, whole and in ranges, by GET; HEAD has the same header.
func TestDownloads(t *testing.T) {
	w := start(t, Config{}, nil)
	random := rand.NewChaCha8([32]byte{1})
	big := make([]byte, 3<<20+17)
	_, _ = random.Read(big)
	if err := os.WriteFile(filepath.Join(w.dir, "big.bin"), big, 0o600); err != nil {
		t.Fatal(err)
	}
	resp, body := w.get(t, "GET", "/big.bin")
	if md5.Sum([]byte(body)) != md5.Sum(big) || resp.ContentLength != int64(len(big)) {
		t.Errorf("%d bytes, other than the file", len(body))
	}
	if head, none := w.get(t, "HEAD", "/big.bin"); none != "" || head.ContentLength != int64(len(big)) || head.Header.Get("ETag") != resp.Header.Get("ETag") {
		t.Errorf("HEAD: %v", head)
	}
	for _, c := range []struct {
		header string
		status int
		want   []byte
	}{
		{"bytes=0-0", 206, big[:1]}, {"bytes=1048570-2097160", 206, big[1048570:2097161]}, {"bytes=-17", 206, big[3<<20:]},
		{"bytes=3145000-", 206, big[3145000:]}, {"bytes=9999999-", 416, nil}, {"bytes=x", 416, nil}, {"lines=1-2", 416, nil},
	} {
		resp, body := w.get(t, "GET", "/big.bin", "Range: "+c.header)
		if resp.StatusCode != c.status || c.want != nil && body != string(c.want) {
			t.Errorf("%s: %s, %d bytes", c.header, resp.Status, len(body))
		}
	}
	if resp, _ := w.get(t, "GET", "/big.bin", "If-None-Match: "+resp.Header.Get("ETag")); resp.StatusCode != 304 {
		t.Error(resp.Status)
	}
	bodies := int64(len(big) + 1 + 1048591 + 17 + len(big) - 3145000)
	if st := w.Status(); st.Sent < bodies || st.Sent > bodies+4000 || st.Requests != 10 {
		t.Errorf("%+v, %d in bodies", st, bodies)
	}
}

func TestNotFound(t *testing.T) {
	w := start(t, Config{}, map[string]string{"www/a.html": "x", ".htpasswd": "secret", "private.html": "read only"})
	if err := os.Chmod(filepath.Join(w.dir, "private.html"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(w.dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"/test.txt", "/.htpasswd", "/link", "/www", "/www/", "/www/a.html/", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
		"/..%2f..%2fetc%2fpasswd", "/www/..%5c..%5csecret", "/a%00b", "/" + strings.Repeat("x", 5000), "/%0d%0aSet-Cookie:x",
	} {
		resp, body := w.get(t, "GET", path)
		if path == "/www" && resp.StatusCode == 301 {
			continue
		}
		if resp.StatusCode != 404 || !strings.HasPrefix(body, "ERROR: File ") || !strings.HasSuffix(body, " was not found\n") || len(body) > 300 || strings.Count(body, "\n") != 1 {
			t.Errorf("%.40s: %s %q", path, resp.Status, body)
		}
	}
	if _, body := w.get(t, "GET", "/test.txt"); body != "ERROR: File test.txt was not found\n" {
		t.Errorf("%q", body)
	}
	if resp, body := w.get(t, "GET", "/private.html"); resp.StatusCode != 200 || body != "read only" {
		t.Errorf("a private file is served: %s", resp.Status)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "X"} {
		if resp, _ := w.get(t, method, "/"); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %s", method, resp.Status)
		}
	}
}

// HTTP/1.0 closes after the answer, HTTP/1.1 keeps the connection, unless the server closes always.
func TestVersions(t *testing.T) {
	for _, closes := range []bool{false, true} {
		w := start(t, Config{CloseAlways: closes}, map[string]string{"index.html": "top"})
		c := w.dial(t)
		r := bufio.NewReader(c)
		for i := range 2 {
			send(t, c, "GET /?v=20090101 HTTP/1.1\r\nHost: x\r\n\r\n")
			resp, body := receive(t, r, "GET")
			if resp.StatusCode != 200 || body != "top" || resp.Close != closes || resp.ProtoMinor != 1 {
				t.Errorf("closes %t, request %d: %v", closes, i, resp)
			}
			if closes {
				break
			}
		}
		c = w.dial(t)
		send(t, c, "GET / HTTP/1.0\r\n\r\n")
		r = bufio.NewReader(c)
		if resp, body := receive(t, r, "GET"); body != "top" || resp.StatusCode != 200 {
			t.Errorf("HTTP/1.0: %v", resp)
		}
		if _, err := r.ReadByte(); err == nil {
			t.Error("HTTP/1.0: the connection stays open")
		}
	}
}

func TestClients(t *testing.T) {
	w := start(t, Config{}, nil)
	for _, agent := range []string{"Firefox", "Firefox", "Other\"x", strings.Repeat("y", 3000)} {
		w.get(t, "GET", "/", "User-Agent: "+agent)
	}
	list, others := w.Clients()
	if len(list) != 3 || others != 0 || list[0] != (Client{"127.0.0.1", "Firefox", 2}) || len(list[2].Agent) != 200 {
		t.Errorf("%.300v, %d", list, others)
	}
	var c clients
	for i := range maxClients + 5 {
		c.countRequest(fmt.Sprint(i), "")
	}
	if list, others := c.listClients(); len(list) != maxClients || others != 5 {
		t.Errorf("%d clients, %d others", len(list), others)
	}
}

var _ http.ResponseWriter = &answer{}
