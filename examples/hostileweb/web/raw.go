package web

import (
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const htmlUTF8 = "text/html; charset=utf-8"

// Bounds of endless answers, for clients without a limit.
const (
	mostSent    = 1 << 30
	longestTalk = 10 * time.Minute
)

// serveRaw lets talk answer on the bare connection and closes it: for everything that net/http
// does not send.
func serveRaw(talk func(c net.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, "this connection cannot be broken", http.StatusHTTPVersionNotSupported)
			return
		}
		defer c.Close()
		if c.SetDeadline(time.Now().Add(longestTalk)) == nil {
			talk(c)
		}
	}
}

// sendText sends one text with serveRaw.
func sendText(text string) http.HandlerFunc {
	return serveRaw(func(c net.Conn) { sendRaw(c, text) })
}

// sendThenFlood sends text, and then more until the client leaves.
func sendThenFlood(text, more string) http.HandlerFunc {
	return serveRaw(func(c net.Conn) {
		if sendRaw(c, text) {
			floodText(c, more)
		}
	})
}

// sendThenStall sends text and keeps silent until the client leaves.
func sendThenStall(text string) http.HandlerFunc {
	return serveRaw(func(c net.Conn) {
		if sendRaw(c, text) {
			awaitClose(c)
		}
	})
}

// sendThenAbort sends text and resets the connection.
func sendThenAbort(text string) http.HandlerFunc {
	return serveRaw(func(c net.Conn) {
		sendRaw(c, text)
		time.Sleep(20 * time.Millisecond) // a reset discards data that the client has not read
		if tcp, ok := c.(interface{ SetLinger(int) error }); ok {
			_ = tcp.SetLinger(0)
		}
	})
}

// sendRaw reports whether the client still reads.
func sendRaw(c net.Conn, text string) bool {
	_, err := io.WriteString(c, text)
	return err == nil
}

// floodText repeats text until the client leaves.
func floodText(c io.Writer, text string) {
	block := []byte(strings.Repeat(text, max(1, 32<<10/len(text))))
	for sent := 0; sent < mostSent; sent += len(block) {
		if _, err := c.Write(block); err != nil {
			return
		}
	}
}

// awaitClose returns when the client leaves.
func awaitClose(c io.Reader) { _, _ = io.Copy(io.Discard, c) }

// dripText sends text one byte at a time, repeatedly.
func dripText(text string, every time.Duration) http.HandlerFunc {
	return serveRaw(func(c net.Conn) {
		if !sendRaw(c, okHead+"\r\n<title>Drops</title>") {
			return
		}
		for start := time.Now(); time.Since(start) < longestTalk; {
			for i := range len(text) {
				time.Sleep(every)
				if !sendRaw(c, text[i:i+1]) {
					return
				}
			}
		}
	})
}

// okHead is a valid header without its empty last line.
const okHead = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n"

// serveBody serves a text that is generated while it is sent.
func serveBody(kind string, write func(w io.Writer)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		if r.Method != http.MethodHead {
			write(w)
		}
	}
}

// serveText serves a constant.
func serveText(kind, s string) http.HandlerFunc {
	return serveBody(kind, func(w io.Writer) { _, _ = io.WriteString(w, s) })
}

// serveRepeated is an HTML page of start, n times part, and end.
func serveRepeated(start, part string, n int, end string) http.HandlerFunc {
	return serveBody(htmlUTF8, func(w io.Writer) {
		_, _ = io.WriteString(w, start)
		writeRepeated(w, part, n)
		_, _ = io.WriteString(w, end)
	})
}

// writeRepeated writes part n times in large blocks.
func writeRepeated(w io.Writer, part string, n int) {
	at := max(1, 32<<10/len(part))
	block := strings.Repeat(part, at)
	for ; n > 0; n -= at {
		if n < at {
			block = block[:n*len(part)]
		}
		if _, err := io.WriteString(w, block); err != nil {
			return
		}
	}
}
