package crawl_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// hostile is a server with one path for each fault.
func hostile(t *testing.T) *server {
	return newServer(t, func(w http.ResponseWriter, r *http.Request) {
		raw := func(text string) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			fmt.Fprint(c, text)
		}
		switch path := r.URL.Path; path {
		case "/401", "/403", "/404", "/407", "/500", "/503":
			var code int
			fmt.Sscanf(path, "/%d", &code)
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(code)
			fmt.Fprint(w, "sorry")
		case "/empty", "/204":
			w.Header().Set("Content-Type", "text/html")
			if path == "/204" {
				w.WriteHeader(http.StatusNoContent)
			}
		case "/hang":
			<-r.Context().Done()
		case "/stall":
			page(w, "<p>the beginning")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "/endless":
			w.Header().Set("Content-Type", "text/html")
			chunk := bytes.Repeat([]byte("x"), 32<<10)
			for r.Context().Err() == nil {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		case "/large":
			page(w, strings.Repeat("x", 100_000))
		case "/bomb":
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			z.Write(make([]byte, 8<<20))
			z.Close()
		case "/gzip-cut":
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			fmt.Fprint(z, strings.Repeat("some words to be packed ", 1000))
			z.Close()
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(b.Bytes()[:b.Len()/2])
		case "/cut":
			raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\nonly this")
		case "/chunk":
			raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nno number\r\n")
		case "/noise":
			raw("SSH-2.0-OpenSSH_9.6\r\n")
		case "/close":
			raw("")
		case "/loop":
			http.Redirect(w, r, "/loop2", http.StatusFound)
		case "/loop2":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/many":
			http.Redirect(w, r, "/many?"+r.URL.RawQuery+"x", http.StatusMovedPermanently)
		case "/nowhere":
			w.WriteHeader(http.StatusFound)
		case "/mail":
			w.Header().Set("Location", "mailto:a@b.c")
			w.WriteHeader(http.StatusFound)
		case "/inside":
			http.Redirect(w, r, "http://10.1.2.3/", http.StatusFound)
		case "/pdf":
			w.Header().Set("Content-Type", "application/pdf")
			fmt.Fprint(w, "%PDF-1.7")
		case "/bad-utf8":
			w.Header().Set("Content-Type", "text/html; charset=shift_jis")
			fmt.Fprint(w, "<html><body>\x82\xa0\xfd\xfe\xff</body></html>")
		default:
			page(w, "<p>page "+path)
		}
	})
}

// TestFaults covers each error of docs/spec/steps.md 1 #11 to #15: bits, HTTP code, and the removal
// of the item from the batch (#16).
func TestFaults(t *testing.T) {
	const both = "+ site"
	tests := []struct {
		name, target string // a target without a host is on the hostile server
		bits         errormask.Mask
		code         int64
		site         string // both: the site gets the bits too
		properties   []string
		change       func(*wire.Site, *wire.URL)
	}{
		{name: "dead server", target: "http://127.0.0.1:1/", bits: errormask.Connection, code: 400},
		{name: "unresolvable name", target: "http://nobody.invalid/", bits: errormask.Connection, code: 400},
		{name: "address inside", target: "http://10.1.2.3/", bits: errormask.Connection | errormask.Guard, code: 400},
		{name: "redirect to an address inside", target: "/inside", bits: errormask.Connection | errormask.Guard, code: 400},
		{name: "no HTTP scheme", target: "ftp://127.0.0.1/x", bits: errormask.BadURL, code: 400},
		{name: "invalid port", target: "http://127.0.0.1:99999/", bits: errormask.BadURL, code: 400},
		{name: "401", target: "/401", bits: errormask.HTTP | errormask.Authorization, code: 401, site: both},
		{name: "403", target: "/403", bits: errormask.HTTP | errormask.Forbidden, code: 403, site: both},
		{name: "404", target: "/404", bits: errormask.HTTP, code: 404, site: both},
		{name: "407", target: "/407", bits: errormask.HTTP | errormask.Authorization, code: 407, site: both},
		{name: "500", target: "/500", bits: errormask.HTTP, code: 500, site: both},
		{name: "503", target: "/503", bits: errormask.HTTP, code: 503, site: both},
		{name: "empty body", target: "/empty", bits: errormask.Empty, code: 200, site: both},
		{name: "no content", target: "/204", bits: errormask.Empty, code: 204, site: both},
		{name: "no answer", target: "/hang", bits: errormask.Timeout, code: 400, change: func(_ *wire.Site, u *wire.URL) { u.HTTPTimeout = 60 }},
		{name: "answer that stalls", target: "/stall", bits: errormask.Timeout, code: 400, change: func(_ *wire.Site, u *wire.URL) { u.HTTPTimeout = 60 }},
		{name: "endless body", target: "/endless", bits: errormask.Size, code: 200, site: both},
		{name: "larger than the site allows", target: "/large", bits: errormask.Size, code: 200, site: both,
			change: func(s *wire.Site, _ *wire.URL) { s.MaxResourceSize = 99_999 }},
		{name: "compressed bomb", target: "/bomb", bits: errormask.Size, code: 200, site: both},
		{name: "gzip cut off", target: "/gzip-cut", bits: errormask.PageConvert, code: 400},
		{name: "body cut off", target: "/cut", bits: errormask.PageConvert, code: 400},
		{name: "broken chunk", target: "/chunk", bits: errormask.PageConvert, code: 400},
		{name: "not HTTP", target: "/noise", bits: errormask.FetchHTTP, code: 400},
		{name: "closed without an answer", target: "/close", bits: errormask.Connection, code: 400},
		{name: "redirect loop", target: "/loop", bits: errormask.MaxHTTPRedirects, code: 400, site: both},
		{name: "too many redirects", target: "/many", bits: errormask.MaxHTTPRedirects, code: 400, site: both},
		{name: "no redirects wanted", target: "/loop", bits: errormask.MaxHTTPRedirects, code: 400, site: both, properties: []string{"HTTP_REDIRECTS_MAX", "0"}},
		{name: "redirect without Location", target: "/nowhere", bits: errormask.BadRedirection, code: 400},
		{name: "redirect to no page", target: "/mail", bits: errormask.BadRedirection, code: 400},
		{name: "wrong MIME", target: "/pdf", bits: errormask.MIME, code: 200, properties: []string{"ALLOWED_CTYPES", "text/html, text/plain"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, w := hostile(t), newWorld(t)
			site := w.addSite("s", tt.properties...)
			target := tt.target
			if strings.HasPrefix(target, "/") {
				target = s.URL + target
			}
			bad := w.item("s", target, func(u *wire.URL) {
				u.State, u.Crawled = wire.URLEnabled, 3
				if tt.change != nil {
					tt.change(site, u)
				}
			})
			good := w.item("s", s.URL+"/good")
			if tt.target == "/ok" {
				good = w.item("s", s.URL+"/ok2")
			}
			answer := w.run(batchOf(bad, good))
			row := w.row(bad)
			if row.Status != wire.StatusCrawled || row.State != wire.URLError || row.ErrorMask != tt.bits || row.HTTPCode != tt.code || row.Crawled != 4 {
				t.Errorf("row: status %d, state %d, %s, code %d, crawled %d", row.Status, row.State, bitNames(row.ErrorMask), row.HTTPCode, row.Crawled)
			}
			if row.UDate == "" || row.TcDate == "" {
				t.Error("the row has no dates")
			}
			onSite := errormask.Mask(0)
			if tt.site == both {
				onSite = tt.bits &^ (errormask.Authorization | errormask.Forbidden)
			}
			if w.SiteBits != onSite {
				t.Errorf("site: %s, want %s", bitNames(w.SiteBits), bitNames(onSite))
			}
			if w.file(bad, wire.ContentRaw) != "" {
				t.Error("a body is stored")
			}
			if tt.target != "/ok" && strings.Join(left(answer), " ") != "/good" {
				t.Errorf("left: %v", left(answer))
			}
			if answer.ErrorMask&tt.bits != tt.bits {
				t.Errorf("batch: %s", bitNames(answer.ErrorMask))
			}
		})
	}
}

func TestBrokenCharsetIsAMarkOnly(t *testing.T) {
	s, w := hostile(t), newWorld(t)
	w.addSite("s")
	it := w.item("s", s.URL+"/bad-utf8")
	answer := w.run(batchOf(it))
	row, body := w.row(it), w.file(it, wire.ContentRaw)
	if row.ErrorMask != errormask.BadEncoding || row.State != wire.URLEnabled || row.Charset != "shift_jis" || len(answer.Items) != 1 {
		t.Errorf("%s, state %d, charset %q", bitNames(row.ErrorMask), row.State, row.Charset)
	}
	if !utf8.ValidString(body) || !strings.Contains(body, "あ") {
		t.Errorf("stored %q", body)
	}
}

// TestFailedItemsStayInRealTime: the client needs their bits (docs/spec/crawling.md 7.1 #2).
func TestFailedItemsStayInRealTime(t *testing.T) {
	s, w := hostile(t), newWorld(t)
	w.addSite("s").State = wire.SiteSuspended
	b := batchOf(w.item("s", s.URL+"/404"))
	b.CrawlerType, b.DBMode = wire.CrawlRealTime, wire.DBRead
	answer := w.run(b)
	if len(answer.Items) != 1 || answer.Items[0].URL.ErrorMask != errormask.HTTP || answer.Items[0].URL.HTTPCode != 404 {
		t.Errorf("%+v", answer.Items)
	}
}
