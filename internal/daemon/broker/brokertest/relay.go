package brokertest

import (
	"net/url"
	"testing"

	"hce/dc/internal/testkit/testrelay"
)

// Relay is a relay to a server of NATS without TLS.
type Relay struct{ *testrelay.Relay }

// NewRelay starts a relay to a URL or "host:port". The test's end closes it.
func NewRelay(t testing.TB, target string) *Relay {
	t.Helper()
	if u, err := url.Parse(target); err == nil && u.Host != "" {
		target = u.Host
	}
	r, err := testrelay.Start(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return &Relay{r}
}

// URL is the address of the relay for clients.
func (r *Relay) URL() string { return "nats://" + r.Address() }

func portOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "0"
	}
	return u.Port()
}
