package site

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const htmlUTF8 = "text/html; charset=utf-8"

// Bounds of endless answers, for clients without a limit.
const (
	mostSent     = 1 << 30
	longestDrops = 10 * time.Minute
)

// serveStatus answers with code and a short page.
func serveStatus(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", htmlUTF8)
		w.WriteHeader(code)
		text := http.StatusText(code)
		fmt.Fprintf(w, "<!DOCTYPE html>\n<title>%s</title>\n<h1>%d %s</h1>\n<p><a href=\"/\">Home</a></p>\n", text, code, text)
	}
}

func notFound(w http.ResponseWriter, r *http.Request) { serveStatus(http.StatusNotFound)(w, r) }

func serveBusy(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "1")
	serveStatus(http.StatusServiceUnavailable)(w, r)
}

// postOnly is a form target that a crawler must not request.
func postOnly(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		serveStatus(http.StatusMethodNotAllowed)(w, r)
		return
	}
	writePage(w, "It is deleted", "Somebody or something pressed the button.")
}

func serveEmpty(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", htmlUTF8)
	w.Header().Set("Content-Length", "0")
}

// serveSlow waits before the first byte, or until the client leaves.
func serveSlow(wait time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !pauseRequest(r, wait) {
			return
		}
		writePage(w, "A page that took its time", "The server of this page thinks before it answers. One second and a half is nothing to a reader with a cup of tea. To a crawler that waits in turn for every page of a host it is a long time.")
	}
}

// serveTrickle sends the start of a page and then single bytes.
func serveTrickle(drop time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", htmlUTF8)
		if r.Method == http.MethodHead {
			return
		}
		out := http.NewResponseController(w)
		fmt.Fprint(w, "<!DOCTYPE html>\n<html lang=\"en\"><title>A page that comes in drops</title>\n<p>")
		for end := time.Now().Add(longestDrops); time.Now().Before(end); {
			if _, err := io.WriteString(w, "."); err != nil || out.Flush() != nil || !pauseRequest(r, drop) {
				return
			}
		}
	}
}

// pauseRequest waits, and returns false if the client leaves.
func pauseRequest(r *http.Request, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// serveLong sends a valid page of at least size bytes. Its last paragraph has a link to the next
// page.
func serveLong(size int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", htmlUTF8)
		if r.Method == http.MethodHead {
			return
		}
		writeLong(w, size)
	}
}

// serveEndless sends paragraphs until the client leaves.
func serveEndless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", htmlUTF8)
	if r.Method == http.MethodHead {
		return
	}
	fmt.Fprint(w, "<!DOCTYPE html>\n<html lang=\"en\"><title>A page without an end</title>\n")
	block := []byte(strings.Repeat("<p>And then the tide came in, and then the tide went out.</p>\n", 1000))
	for sent := 0; sent < mostSent && r.Context().Err() == nil; sent += len(block) {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// zippedPage is a small page with gzip.
var zippedPage = sync.OnceValue(func() []byte {
	var page bytes.Buffer
	writeBody(&page, "A page that was packed", "This page is sent in a gzip stream. It is small enough to need no packing, but servers pack everything. The reader should notice nothing of it.", 40)
	return gzipBytes(page.Bytes())
})

func gzipBytes(plain []byte) []byte {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	// writes to a buffer do not fail
	_, _ = z.Write(plain)
	_ = z.Close()
	return packed.Bytes()
}

func serveZipped(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		writePage(w, "A page that was not packed", "You asked for this page without gzip. It is sent as it is. The text is the same in spirit.")
		return
	}
	sendZip(w, zippedPage())
}

// cutZip truncates a gzip stream. The HTTP answer itself is complete.
func cutZip(w http.ResponseWriter, r *http.Request) {
	sendZip(w, zippedPage()[:len(zippedPage())/2])
}

func notZip(w http.ResponseWriter, r *http.Request) {
	sendZip(w, []byte("<!DOCTYPE html>\n<title>A page that was never packed</title>\n<p>The header says gzip.</p>\n"))
}

// bombBytes decompress to a thousand times their size.
var bombBytes = sync.OnceValue(func() []byte {
	var page bytes.Buffer
	page.WriteString("<!DOCTYPE html>\n<title>A small answer</title>\n<p>")
	page.Write(bytes.Repeat([]byte("a"), 32<<20))
	return gzipBytes(page.Bytes())
})

func serveBomb(w http.ResponseWriter, r *http.Request) { sendZip(w, bombBytes()) }

func sendZip(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", htmlUTF8)
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

// Answers that net/http refuses to send, byte for byte.
const (
	brokenHead    = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n"
	brokenPage    = "<!DOCTYPE html>\n<title>An answer that was cut</title>\n<p>There should be more of this page. It ends in the middle of a thought, because the connection was closed before the server had said all that it promised.</p>\n"
	garbageAnswer = "220 harbour.invalid at your service\r\n"
)

var (
	shortAnswer    = fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", brokenHead, len(brokenPage)+5000, brokenPage)
	longAnswer     = fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s<p>These words are beyond the length that was told.</p>\n", brokenHead, len(brokenPage), brokenPage)
	cutChunkAnswer = fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s", brokenHead, len(brokenPage)+5000, brokenPage)
)

// serveRaw writes answer to the bare connection and closes it.
func serveRaw(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn, out, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, "this connection cannot be broken", http.StatusHTTPVersionNotSupported)
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = out.WriteString(answer)
		_ = out.Flush()
	}
}

// resetConnection closes the connection at once, with a TCP reset if possible.
func resetConnection(w http.ResponseWriter, r *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "this connection cannot be broken", http.StatusHTTPVersionNotSupported)
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}
