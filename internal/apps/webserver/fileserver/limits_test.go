package fileserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/testkit/testwait"
)

// Requests in the queue are answered in the order in which they came. The file is larger than the buffers of
// a connection, so each answer keeps the only place until its client has read it: reading them in another
// order than that of the answers would wait for ever.
func TestFIFO(t *testing.T) {
	w := start(t, Config{MaxRequests: 1, QueueTime: time.Minute}, map[string]string{"big.bin": ""})
	const n, size = 5, 24 << 20
	if err := os.Truncate(filepath.Join(w.dir, "big.bin"), size); err != nil {
		t.Fatal(err)
	}
	release := w.occupy(t)
	conns := make([]net.Conn, n)
	for i := range n {
		conns[i] = w.dial(t)
		send(t, conns[i], "GET /big.bin HTTP/1.1\r\nHost: x\r\n\r\n")
		testwait.Until(t, "the request waits", func() bool { return w.Status().Waiting == i+1 })
	}
	if st := w.Status(); st.Working != 1 || st.LongestWait != n {
		t.Errorf("%+v", st)
	}
	release()
	for i := range n {
		if resp, body := receive(t, bufio.NewReader(conns[i]), "GET"); resp.StatusCode != 200 || len(body) != size {
			t.Errorf("request %d: %s, %d bytes", i, resp.Status, len(body))
		}
	}
	testwait.Until(t, "all requests are logged", func() bool { return w.log.Count("request", "status=200") == n })
	for i := range n { // each with the thread of its connection
		if w.log.Count(fmt.Sprintf("][%d]: INFO: request", i+1)) != 1 {
			t.Error(w.log.String())
		}
	}
}

// The queue itself keeps the order of arrival.
func TestTurns(t *testing.T) {
	q := queue{free: 1}
	if err := q.enterQueue(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	turn := make(chan int)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := q.enterQueue(t.Context(), time.Minute); err != nil {
				t.Error(err)
			}
			turn <- i
			q.leaveQueue()
		})
		testwait.Until(t, "a request waits", func() bool { return q.queueStatus().Waiting == i+1 })
	}
	q.leaveQueue()
	for i := range 20 {
		if got := <-turn; got != i {
			t.Errorf("turn of %d, want %d", got, i)
		}
	}
	all.Wait()
	if st := q.queueStatus(); st.Working != 0 || st.Waiting != 0 || q.free != 1 {
		t.Errorf("%+v, %d free", st, q.free)
	}
}

func TestTimeInQueue(t *testing.T) {
	w := start(t, Config{MaxRequests: 2, QueueTime: 30 * time.Millisecond}, map[string]string{"index.html": "top"})
	release := w.occupy(t)
	resp, body := w.get(t, "GET", "/")
	if resp.StatusCode != 408 || !resp.Close || !strings.Contains(body, "Request Timeout: all 2 places were taken for 30ms") {
		t.Errorf("%s %q", resp.Status, body)
	}
	if st := w.Status(); st.TimedOut != 1 || st.Waiting != 0 || st.Working != 2 {
		t.Errorf("%+v", st)
	}
	release()
	if resp, _ := w.get(t, "GET", "/"); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
}

// The time for a header is not the time of a request: one that waits longer in the queue is answered.
func TestLongQueue(t *testing.T) {
	w := start(t, Config{MaxRequests: 1, QueueTime: time.Minute, HeaderTime: 500 * time.Millisecond}, map[string]string{"index.html": "top"})
	release := w.occupy(t)
	c := w.dial(t)
	send(t, c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	testwait.Until(t, "the request waits", func() bool { return w.Status().Waiting == 1 })
	for range 3 { // each silent connection ends after the time for a header
		if _, err := w.dial(t).Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}
	release()
	if resp, _ := receive(t, bufio.NewReader(c), "GET"); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
}

// A client that leaves the queue costs no place.
func TestGoneFromQueue(t *testing.T) {
	w := start(t, Config{MaxRequests: 1, QueueTime: time.Minute}, map[string]string{"index.html": "top"})
	release := w.occupy(t)
	c := w.dial(t)
	send(t, c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	testwait.Until(t, "the request waits", func() bool { return w.Status().Waiting == 1 })
	_ = c.Close()
	testwait.Until(t, "it has left", func() bool { return w.Status().Waiting == 0 })
	release()
	if resp, _ := w.get(t, "GET", "/"); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
}

func TestOutOfService(t *testing.T) {
	w := start(t, Config{RetryAfter: 90 * time.Second}, map[string]string{"index.html": "top"})
	w.Off("maintenance\nuntil noon")
	for _, path := range []string{"/", "/nothing"} {
		resp, body := w.get(t, "GET", path)
		if resp.StatusCode != 503 || body != "The server is out of service: maintenance?until noon\n" || resp.Header.Get("Retry-After") != "90" {
			t.Errorf("%s: %s %q %v", path, resp.Status, body, resp.Header)
		}
	}
	if st := w.Status(); st.InService || st.Reason == "" {
		t.Errorf("%+v", st)
	}
	w.On()
	if resp, _ := w.get(t, "GET", "/"); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
}

// A request that waited while the server went out of service gets 503, too.
func TestOutOfServiceInQueue(t *testing.T) {
	w := start(t, Config{MaxRequests: 1, QueueTime: time.Minute}, map[string]string{"index.html": "top"})
	release := w.occupy(t)
	c := w.dial(t)
	send(t, c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	testwait.Until(t, "the request waits", func() bool { return w.Status().Waiting == 1 })
	w.Off("x")
	release()
	if resp, _ := receive(t, bufio.NewReader(c), "GET"); resp.StatusCode != 503 {
		t.Error(resp.Status)
	}
}

// Above the maximum of sent bytes the server goes out of service and says why; on counts from 0.
func TestFlowPolicy(t *testing.T) {
	w := start(t, Config{MaxFlow: 10_000}, map[string]string{"a.bin": strings.Repeat("x", 6000)})
	for i, want := range []int{200, 200, 503, 503} {
		resp, body := w.get(t, "GET", "/a.bin")
		if resp.StatusCode != want || want == 200 && len(body) != 6000 {
			t.Errorf("request %d: %s", i, resp.Status)
		}
		if want == 503 && !strings.Contains(body, "outgoing flow") {
			t.Errorf("%q", body)
		}
	}
	if st := w.Status(); st.InService || st.Flow < 12_000 || w.log.Count("WARN: out of service", "the maximum is 10000") != 1 {
		t.Errorf("%+v\n%s", st, w.log.String())
	}
	w.On()
	if resp, _ := w.get(t, "GET", "/a.bin"); resp.StatusCode != 200 || w.Status().Flow > 7000 || w.Status().Sent < 18_000 {
		t.Errorf("%s %+v", resp.Status, w.Status())
	}
	off := start(t, Config{}, map[string]string{"a.bin": strings.Repeat("x", 60_000)})
	for range 3 {
		if resp, _ := off.get(t, "GET", "/a.bin"); resp.StatusCode != 200 {
			t.Errorf("without the policy: %s", resp.Status)
		}
	}
}

// A connection above the policy is told the reason and closed; those below it go on.
func TestConnectionPolicy(t *testing.T) {
	w := start(t, Config{MaxConnections: 3}, map[string]string{"index.html": "top"})
	var open []net.Conn
	for range 3 {
		c := w.dial(t)
		send(t, c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		receive(t, bufio.NewReader(c), "GET")
		open = append(open, c)
	}
	c := w.dial(t)
	send(t, c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	r := bufio.NewReader(c)
	resp, body := receive(t, r, "GET")
	if resp.StatusCode != 503 || !resp.Close || !strings.Contains(body, "too many connections: at most 3") || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%s %q", resp.Status, body)
	}
	if _, err := r.ReadByte(); err == nil {
		t.Error("the refused connection stays open")
	}
	silent := w.dial(t) // is refused as well, and says nothing
	if _, err := silent.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("silent: %v", err)
	}
	send(t, open[0], "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp, _ := receive(t, bufio.NewReader(open[0]), "GET"); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
	for _, c := range open {
		_ = c.Close()
	}
	testwait.Until(t, "the connections are closed", func() bool { return w.Status().Connections == 0 })
	if resp, _ := w.get(t, "GET", "/"); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
}

// Hostile clients are answered or cut off, and others are served in the meantime.
func TestHostileClients(t *testing.T) {
	w := start(t, Config{HeaderTime: time.Second, SendTime: time.Second}, map[string]string{
		"index.html": "top", "big.bin": strings.Repeat("x", 32<<20),
	})
	for name, c := range map[string]struct {
		text string
		want int // 0: the connection is closed without an answer
	}{
		"slow header":   {"GET / HTTP/1.1\r\nHost: x\r\nX-A: ", 0},
		"silence":       {"", 0},
		"garbage":       {"\x00\x01\x02\xff\r\n\r\n", 400},
		"handshake":     {"SOOGLE CRAWLER CONNECT/0.1\n\n", 400},
		"huge header":   {"GET / HTTP/1.1\r\nHost: x\r\nX-A: " + strings.Repeat("a", 40<<10) + "\r\n\r\n", 431},
		"many headers":  {"GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A: b\r\n", 8<<10) + "\r\n", 431},
		"long path":     {"GET /" + strings.Repeat("a", 40<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", 431},
		"no host":       {"GET / HTTP/1.1\r\n\r\n", 400},
		"HTTP/9":        {"GET / HTTP/9.9\r\nHost: x\r\n\r\n", 505},
		"bad length":    {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
		"two lengths":   {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
		"long body":     {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\nabc", 200},
		"slow chunks":   {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", 405},
		"many ranges":   {"GET /big.bin HTTP/1.1\r\nHost: x\r\nConnection: close\r\nRange: bytes=0-" + strings.Repeat(",0-", 2000) + "\r\n\r\n", 200},
		"takes nothing": {"GET /big.bin HTTP/1.1\r\nHost: x\r\n\r\n", -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := w.dial(t)
			_, _ = io.WriteString(conn, c.text)
			if c.want < 0 { // the answer is not read: the server gives up
				testwait.Until(t, "the server gives up", func() bool { return w.log.Count("path=/big.bin", "status=200") > 0 })
				return
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if got := resp; c.want == 0 && (err == nil && got.StatusCode != 408) || c.want > 0 && (err != nil || got.StatusCode != c.want) {
				t.Errorf("%v, %v", got, err)
			}
			if name == "long body" || name == "slow chunks" {
				if _, err := conn.Read(make([]byte, 1<<16)); err == nil {
					_, err = conn.Read(make([]byte, 1))
					if err == nil {
						t.Error("the connection stays open")
					}
				}
			}
			if resp, _ := w.get(t, "GET", "/"); resp.StatusCode != 200 {
				t.Error(resp.Status)
			}
		})
	}
}

// Thousands of connections are open at once, most of them silent; all that ask are answered.
func TestThousandsOfConnections(t *testing.T) {
	w := start(t, Config{MaxRequests: 2, QueueTime: time.Minute}, map[string]string{"index.html": "top"})
	const n = 2000
	for i := range n {
		c := w.dial(t)
		if i%20 == 0 {
			send(t, c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			defer func() {
				if resp, _ := receive(t, bufio.NewReader(c), "GET"); resp.StatusCode != 200 {
					t.Error(resp.Status)
				}
			}()
		}
	}
	testwait.Until(t, "all are open", func() bool { return w.Status().Connections == n })
	if resp, _ := w.get(t, "GET", "/"); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
}

// At the end the server finishes running answers and closes its port.
func TestEnd(t *testing.T) {
	w := start(t, Config{MaxRequests: 1, QueueTime: time.Minute}, map[string]string{"index.html": "top"})
	release := w.occupy(t)
	c := w.dial(t)
	send(t, c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	testwait.Until(t, "the request waits", func() bool { return w.Status().Waiting == 1 })
	w.stop()
	testwait.Until(t, "the port is closed", func() bool {
		c, err := net.Dial("tcp", w.address)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	release()
	if resp, _ := receive(t, bufio.NewReader(c), "GET"); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
	if err := <-w.ended; err != nil {
		t.Error(err)
	}
}
