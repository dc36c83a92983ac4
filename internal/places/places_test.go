package places

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/testkit/testwait"
)

func TestLoser(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	for name, c := range map[string]struct {
		list []Conn
		want int
	}{
		"none":                      {nil, -1},
		"all have requests":         {[]Conn{{address: "a"}, {address: "b"}}, -1},
		"the longest idle":          {[]Conn{{address: "a", idle: at(3)}, {address: "a", idle: at(1)}, {address: "a", idle: at(2)}}, 1},
		"of the address with most":  {[]Conn{{address: "a", idle: at(1)}, {address: "b", idle: at(3)}, {address: "b", idle: at(2)}}, 2},
		"requests are not counted":  {[]Conn{{address: "a"}, {address: "a"}, {address: "a", idle: at(2)}, {address: "b", idle: at(1)}}, 3},
		"of two addresses the idle": {[]Conn{{address: "a", idle: at(2)}, {address: "b", idle: at(1)}}, 1},
	} {
		if got := Loser(len(c.list), func(i int) (string, time.Time) { return c.list[i].address, c.list[i].idle }); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	for address, want := range map[string]string{"127.0.0.1:80": "127.0.0.1", "[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::", "[fe80::1%eth0]:80": "fe80::", "@": "@"} {
		if got := AddressOf(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// headTime is longer than any pause of a busy machine.
const headTime = time.Minute

// serve starts an HTTP server with few places. /slow answers when release is closed.
func serve(t *testing.T, most int) (address string, release chan struct{}, busy *sync.WaitGroup) {
	t.Helper()
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	release, busy = make(chan struct{}), &sync.WaitGroup{}
	s := &http.Server{ReadHeaderTimeout: headTime, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			busy.Done()
			<-release
		}
		fmt.Fprint(w, "ok")
	})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = New(raw, most).Serve(s, func(r *http.Request) bool { return r.URL.Path == "/healthz" })
	}()
	t.Cleanup(func() { _ = s.Close(); <-ended })
	return raw.Addr().String(), release, busy
}

// flood opens connections that send a text and nothing more.
func flood(t *testing.T, address string, n int, text string) {
	t.Helper()
	for range n {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_, _ = io.WriteString(c, text) // it may have lost its place
	}
}

// get returns the status of an answer that comes on a new connection before a silent one would lose its place by time.
func get(t *testing.T, address, path string) int {
	t.Helper()
	client := http.Client{Timeout: headTime / 2, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// Thousands of connections without a whole head keep no client from its answer.
func TestIdleConnections(t *testing.T) {
	for name, text := range map[string]string{
		"silent": "", "slow heads": "GET / HTTP/1.1\r\nHost: x\r\nX-A: ", "kept after an answer": "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"second head": "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HT",
	} {
		t.Run(name, func(t *testing.T) {
			address, _, _ := serve(t, 16)
			for range 4 {
				flood(t, address, 500, text)
				for _, path := range []string{"/", "/healthz"} {
					if code := get(t, address, path); code != http.StatusOK {
						t.Errorf("%s: %d", path, code)
					}
				}
			}
		})
	}
}

// When all places have requests, health checks are answered, and others learn that they must come again.
func TestAllPlacesHaveRequests(t *testing.T) {
	address, release, busy := serve(t, 8)
	busy.Add(8)
	flood(t, address, 8, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
	busy.Wait()
	flood(t, address, 100, "")
	if code := get(t, address, "/healthz"); code != http.StatusOK {
		t.Errorf("health: %d", code)
	}
	if code := get(t, address, "/"); code != http.StatusServiceUnavailable {
		t.Errorf("other: %d", code)
	}
	close(release)
	testwait.Until(t, "places are free", func() bool { return get(t, address, "/") == http.StatusOK })
}

// A waiting listener gives a place as soon as one is free, and its end ends the wait.
func TestWaiting(t *testing.T) {
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Waiting(raw, 1)
	defer l.Close()
	accepted := make(chan *Conn)
	go func() {
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			Of(c).Begin()
			accepted <- Of(c)
		}
	}()
	flood(t, raw.Addr().String(), 3, "x\n")
	for range 2 {
		c := <-accepted
		select {
		case <-accepted:
			t.Error("two connections have one place")
		case <-time.After(10 * time.Millisecond):
		}
		if line, err := bufio.NewReader(c).ReadString('\n'); line != "x\n" {
			t.Error(line, err)
		}
		_ = c.Close()
	}
	<-accepted // keeps its place, so that Accept waits
	flood(t, raw.Addr().String(), 1, "")
	_ = l.Close()
	if _, more := <-accepted; more {
		t.Error("a connection after the end")
	}
}
