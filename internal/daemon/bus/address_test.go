package bus

import (
	"errors"
	"net"
	"strings"
	"testing"
)

// Every form of serverHost: local, exposed or invalid.
func TestAddresses(t *testing.T) {
	const (
		local = iota
		exposed
		wrong
	)
	for host, want := range map[string]int{
		"127.0.0.1": local, "127.1.2.3": local, "localhost": local, "LocalHost": local,
		"::1": local, "[::1]": local, "0:0:0:0:0:0:0:1": local, "::ffff:127.0.0.1": local,

		"*": exposed, "0.0.0.0": exposed, "::": exposed, "[::]": exposed, "::ffff:0.0.0.0": exposed,
		"192.0.2.1": exposed, "10.0.0.1": exposed, "169.254.1.1": exposed, "2001:db8::1": exposed, "fe80::1%lo": exposed,

		"": wrong, "lo": wrong, "eth0": wrong, "example.org": wrong, "localhost.": wrong, "ip6-localhost": wrong,
		"127.1": wrong, "0177.0.0.1": wrong, "2130706433": wrong, "127.0.0.1:5503": wrong, "127.0.0.1 ": wrong,
		"[127.0.0.1": wrong, "[]": wrong, "::1\x00": wrong, "tcp://127.0.0.1": wrong, "**": wrong,
	} {
		isLocal, err := Local(host)
		if errors.Is(err, ErrAddress) != (want == wrong) || (err != nil) != (want == wrong) || isLocal != (want == local) {
			t.Errorf("%q: local %t, %v", host, isLocal, err)
		}
	}
}

func TestExposed(t *testing.T) {
	b := newBus(t)
	server := newParty(t)
	keys := &Curve{Secret: server.secret, Allowed: invite(server)}
	cases := []struct {
		name    string
		host    string
		options Options
		want    error
	}{
		{"loopback", "127.0.0.1", Options{}, nil},
		{"another loopback", "127.1.2.3", Options{}, nil},
		{"loopback with keys", "127.0.0.1", Options{Curve: keys}, nil},
		{"every IPv4 address", "0.0.0.0", Options{}, ErrExposed},
		{"a star", "*", Options{}, ErrExposed},
		{"every address", "::", Options{}, ErrExposed},
		{"public address", "192.0.2.1", Options{}, ErrExposed},
		{"interface name", "lo", Options{}, ErrAddress},
		{"interface name with keys", "lo", Options{Curve: keys}, ErrAddress},
		{"host name with AllowInsecure", "example.org", Options{AllowInsecure: true}, ErrAddress},
		{"AllowInsecure", "0.0.0.0", Options{AllowInsecure: true}, nil},
		{"star with AllowInsecure", "*", Options{AllowInsecure: true}, nil},
		{"keys", "0.0.0.0", Options{Curve: keys}, nil},
		{"star with keys", "*", Options{Curve: keys}, nil},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			s, err := b.Bind(TCP(tc.host, 0), tc.options)
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, tc.want) || tc.want == nil && err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("keys without a list", func(t *testing.T) {
		if _, err := b.Bind(TCP("0.0.0.0", 0), Options{Curve: &Curve{Secret: server.secret}}); err == nil || !strings.Contains(err.Error(), "without a list") {
			t.Error(err)
		}
	})
	for name, secret := range map[string]string{"empty key": "", "short key": server.secret[1:], "not Z85": strings.Repeat("\"", 40)} {
		t.Run(name, func(t *testing.T) {
			if _, err := b.Bind(TCP("127.0.0.1", 0), Options{Curve: &Curve{Secret: secret, Allowed: invite()}}); err == nil || !strings.Contains(err.Error(), "not accepted") {
				t.Error(err)
			}
		})
	}
	t.Run("libzmq without libsodium", func(t *testing.T) {
		hasCurve = func() bool { return false }
		defer func() { hasCurve = realCurve }()
		if _, err := b.Connect(TCP("127.0.0.1", 1), Options{Curve: server.to(server)}); err == nil || !strings.Contains(err.Error(), "libsodium") {
			t.Error(err)
		}
	})
}

var realCurve = hasCurve

// hasIPv6 reports whether this machine has an IPv6 loopback address. A container may have none.
func hasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	if err == nil {
		l.Close()
	}
	return err == nil
}

// A socket on all addresses is reachable at each loopback address of this machine.
// TestAddresses covers the classification of IPv6 addresses without one.
func TestAllAddresses(t *testing.T) {
	hosts := map[string][]string{"*": {"127.0.0.1"}, "0.0.0.0": {"127.0.0.1"}}
	if hasIPv6() {
		hosts["::"] = []string{"::1", "127.0.0.1"}
	}
	for host, reached := range hosts {
		b := newBus(t)
		s := bind(t, b, TCP(host, 0), Options{AllowInsecure: true})
		port := s.Endpoint()[strings.LastIndexByte(s.Endpoint(), ':')+1:]
		for _, at := range reached {
			c := connect(t, b, strings.TrimSuffix(TCP(at, 0), "*")+port)
			if _, err := c.Send(nil, event("u")); err != nil {
				t.Fatal(err)
			}
			if m, err := next(t, s); err != nil || m.Event.UID != "u" {
				t.Errorf("%s at %s: %+v, %v", host, at, m, err)
			}
		}
	}
}
