package fetch

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// hangUps is a server that answers each connection's first answers requests, and closes it when
// the next one arrives, without a byte. It never announces that.
func hangUps(t *testing.T, answers int) (u string, closed *atomic.Int64) {
	closed = &atomic.Int64{}
	return "http://" + listen(t, func(conn net.Conn) {
		in := bufio.NewReader(conn)
		for n := 0; ; n++ {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if n == answers {
				closed.Add(1)
				return
			}
			text := ""
			if r.Method != http.MethodHead {
				text = r.URL.Path
			}
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(r.URL.Path), text)
		}
	}), closed
}

// A server that closes kept connections unannounced costs no page, however many are kept.
func TestKeptConnectionsAreClosedUnannounced(t *testing.T) {
	const pages = 100
	for _, workers := range []int{1, 2, 8} {
		for _, answers := range []int{1, 3} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				t.Run(fmt.Sprintf("%s, %d at once, %d answers each", method, workers, answers), func(t *testing.T) {
					u, closed := hangUps(t, answers)
					c := newClient(t, Config{})
					var next atomic.Int64
					var all sync.WaitGroup
					for range workers {
						all.Go(func() {
							for n := next.Add(1); n <= pages; n = next.Add(1) {
								path := fmt.Sprintf("/%d", n)
								resp, err := c.Get(t.Context(), Request{URL: u + path, Method: method, Timeout: time.Minute})
								switch {
								case err != nil:
									t.Errorf("%s: %v", path, err)
								case method == http.MethodGet && string(resp.Body) != path:
									t.Errorf("%s: %q", path, resp.Body)
								}
							}
						})
					}
					all.Wait()
					if closed.Load() == 0 {
						t.Error("no kept connection was used again")
					}
				})
			}
		}
	}
}

// After one kept connection broke, a request goes out on a new one at once: the server sees it
// twice, although more connections than that are kept.
func TestRetryUsesANewConnection(t *testing.T) {
	var seen atomic.Int64
	var open sync.WaitGroup
	open.Add(8)
	u := "http://" + listen(t, func(conn net.Conn) {
		in := bufio.NewReader(conn)
		for n := 0; ; n++ {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if r.URL.Path == "/last" {
				if seen.Add(1); n > 0 {
					return
				}
			} else {
				open.Done()
				open.Wait() // so that each request needs a connection of its own
			}
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	c := newClient(t, Config{})
	var first sync.WaitGroup
	for range 8 {
		first.Go(func() { must(t, c, Request{URL: u}) })
	}
	first.Wait()
	must(t, c, Request{URL: u + "/last"})
	if n := seen.Load(); n != 2 {
		t.Errorf("the server saw the request %d times, want 2", n)
	}
}

// A POST is not sent again: the server may have acted on it.
func TestPostIsNotRepeated(t *testing.T) {
	u, closed := hangUps(t, 1)
	c := newClient(t, Config{})
	must(t, c, Request{URL: u})
	fails(t, c, Request{URL: u, Method: http.MethodPost, Body: []byte("a=b")}, Connect)
	if n := closed.Load(); n != 1 {
		t.Errorf("%d requests on closed connections, want 1", n)
	}
}
