package node

import (
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"hce/dc/internal/cli/target"
)

// countingListener counts connections.
type countingListener struct {
	net.Listener
	n atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.n.Add(1)
	}
	return c, err
}

// The scheme of a host is looked up as the crawler would connect: an address that it may not reach gets no
// connection.
func TestChooseScheme(t *testing.T) {
	plain, secure := httptest.NewUnstartedServer(nil), httptest.NewUnstartedServer(nil)
	count := map[*httptest.Server]*countingListener{}
	for _, s := range []*httptest.Server{plain, secure} {
		count[s] = &countingListener{Listener: s.Listener}
		s.Listener = count[s]
		defer s.Close()
	}
	plain.Start()
	secure.StartTLS()
	for _, c := range []struct {
		name    string
		server  *httptest.Server
		road    Road
		scheme  string
		reached bool
		refused string
	}{
		{name: "TLS", server: secure, road: Road{Networks: "127.0.0.0/8"}, scheme: "https", reached: true},
		{name: "no TLS", server: plain, road: Road{Networks: "10.0.0.0/8, 127.0.0.1"}, scheme: "http", reached: true},
		{name: "not public", server: secure, refused: "is not public"},
		{name: "another network", server: secure, road: Road{Networks: "10.0.0.0/8"}, refused: "is not public"},
		{name: "a proxy", server: secure, road: Road{Networks: "127.0.0.0/8", Proxied: true}, scheme: "https"},
		{name: "of another machine", server: secure, road: Road{Remote: true}, scheme: "https"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := count[c.server].n.Load()
			typed := strings.TrimPrefix(strings.TrimPrefix(c.server.URL, "https://"), "http://")
			u, err := target.Parse(typed)
			if err != nil || !u.Guessed {
				t.Fatalf("%+v, %v", u, err)
			}
			var said []string
			got, err := ChooseScheme(t.Context(), u, c.road, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("%v", err)
				}
			} else if want := c.scheme + "://" + typed; err != nil || strings.TrimSuffix(got.Text, "/") != want {
				t.Errorf("%s, %v, want %s; said %q", got.Text, err, want, said)
			}
			if reached := count[c.server].n.Load() > before; reached != c.reached {
				t.Errorf("reached: %v", reached)
			}
		})
	}
}
