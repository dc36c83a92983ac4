package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
)

func TestPermitted(t *testing.T) {
	tests := []struct {
		addr  string
		block string // "" for permitted
	}{
		{"8.8.8.8", ""}, {"1.1.1.1", ""}, {"93.184.216.34", ""}, {"223.255.255.255", ""},
		{"9.255.255.255", ""}, {"11.0.0.0", ""}, {"100.63.255.255", ""}, {"100.128.0.0", ""},
		{"126.255.255.255", ""}, {"128.0.0.0", ""}, {"169.253.255.255", ""}, {"169.255.0.0", ""},
		{"172.15.255.255", ""}, {"172.32.0.0", ""}, {"191.255.255.255", ""}, {"192.0.1.0", ""},
		{"192.0.3.0", ""}, {"192.88.98.255", ""}, {"192.167.255.255", ""}, {"192.169.0.0", ""},
		{"198.17.255.255", ""}, {"198.20.0.0", ""}, {"198.51.99.255", ""}, {"203.0.114.0", ""},
		{"0.0.0.0", "unspecified (this network)"}, {"0.1.2.3", "unspecified (this network)"},
		{"10.0.0.0", "private"}, {"10.255.255.255", "private"},
		{"100.64.0.0", "carrier-grade NAT"}, {"100.127.255.255", "carrier-grade NAT"},
		{"127.0.0.1", "loopback"}, {"127.255.255.255", "loopback"},
		{"169.254.0.0", "link-local"}, {"169.254.169.254", "link-local"}, {"169.254.255.255", "link-local"},
		{"172.16.0.0", "private"}, {"172.31.255.255", "private"},
		{"192.0.0.1", "protocol assignments"}, {"192.0.0.170", "protocol assignments"},
		{"192.0.2.1", "documentation"}, {"198.51.100.1", "documentation"}, {"203.0.113.255", "documentation"},
		{"192.88.99.1", "6to4 relay"},
		{"192.168.0.0", "private"}, {"192.168.255.255", "private"},
		{"198.18.0.0", "benchmarking"}, {"198.19.255.255", "benchmarking"},
		{"224.0.0.1", "multicast"}, {"239.255.255.255", "multicast"},
		{"240.0.0.1", "reserved"}, {"255.255.255.254", "reserved"}, {"255.255.255.255", "broadcast"},

		{"2606:4700:4700::1111", ""}, {"2a00:1450:4001::200e", ""}, {"2001:4860:4860::8888", ""},
		{"2001:200::1", ""}, {"2001:db7:ffff::", ""}, {"2001:db9::", ""}, {"2003::1", ""}, {"3fff:1000::", ""},
		{"::", "unspecified"}, {"::1", "loopback"},
		{"::ffff:127.0.0.1", "IPv4-mapped"}, {"::ffff:8.8.8.8", "IPv4-mapped"}, {"::ffff:a00:1", "IPv4-mapped"},
		{"::ffff:0:127.0.0.1", "IPv4-translated"},
		{"::127.0.0.1", "IPv4-compatible"}, {"::8.8.8.8", "IPv4-compatible"}, {"::2", "IPv4-compatible"},
		{"64:ff9b::127.0.0.1", "NAT64"}, {"64:ff9b::8.8.8.8", "NAT64"}, {"64:ff9b:1::a00:1", "NAT64"},
		{"100::1", "discard"},
		{"2001::1", "Teredo"}, {"2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"},
		{"2001:2::1", "benchmarking"}, {"2001:10::1", "ORCHID"}, {"2001:20::1", "ORCHID"},
		{"2001:1::1", "protocol assignments"}, {"2001:1ff:ffff::", "protocol assignments"},
		{"2001:db8::1", "documentation"}, {"3fff::1", "documentation"}, {"3fff:fff::", "documentation"},
		{"2002:7f00:1::", "6to4"}, {"2002:808:808::1", "6to4"}, {"3ffe::1", "6bone"},
		{"5f00::1", "segment routing"},
		{"fc00::1", "unique local"}, {"fd12:3456::1", "unique local"},
		{"fe80::1", "link-local"}, {"fe80::1%eth0", "link-local"}, {"febf::1", "link-local"},
		{"fec0::1", "site-local"}, {"feff::1", "site-local"},
		{"ff02::1", "multicast"}, {"ff0e::1", "multicast"},
		{"1::1", "not global unicast"}, {"4000::1", "not global unicast"}, {"e000::1", "not global unicast"},
		{"fe00::1", "not global unicast"}, {"200::1", "not global unicast"}, {"::1:0:0:0", "not global unicast"},
	}
	for _, tt := range tests {
		t.Run(tt.addr, func(t *testing.T) {
			checkBlock(t, Permitted(netip.MustParseAddr(tt.addr), nil), tt.block)
		})
	}
	checkBlock(t, Permitted(netip.Addr{}, []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}), "no address")
}

func TestPermittedByAllowedNetworks(t *testing.T) {
	tests := []struct {
		name, addr, allowed string
		block               string
	}{
		{"listed", "127.0.0.1", "127.0.0.1/32", ""},
		{"neighbour", "127.0.0.2", "127.0.0.1/32", "loopback"},
		{"network", "10.1.2.3", "10.0.0.0/8", ""},
		{"other network", "10.1.2.3", "192.168.0.0/16", "private"},
		{"all of IPv4", "169.254.169.254", "0.0.0.0/0", ""},
		{"all of IPv4 is not IPv6", "::1", "0.0.0.0/0", "loopback"},
		{"mapped form of a listed one", "::ffff:127.0.0.1", "127.0.0.0/8", "IPv4-mapped"},
		{"mapped form itself listed", "::ffff:127.0.0.1", "::ffff:7f00:1/128", ""},
		{"all of IPv6", "fe80::1", "::/0", ""},
		{"zone", "fe80::1%eth0", "fe80::/10", ""},
		{"public, not in the list", "8.8.8.8", "10.0.0.0/8", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Permitted(netip.MustParseAddr(tt.addr), []netip.Prefix{netip.MustParsePrefix(tt.allowed)})
			checkBlock(t, err, tt.block)
		})
	}
}

func checkBlock(t *testing.T, err error, want string) {
	t.Helper()
	var refused *AddressError
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && (!errors.As(err, &refused) || refused.Block != want):
		t.Errorf("error %v, want refusal as %q", err, want)
	}
}

// FuzzPermitted compares the guard with the predicates of netip.
func FuzzPermitted(f *testing.F) {
	for _, b := range blocks {
		f.Add(b.prefix.Addr().AsSlice())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		addr, ok := netip.AddrFromSlice(raw)
		if !ok || Permitted(addr, nil) != nil {
			return
		}
		if !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.IsLoopback() || addr.Is4In6() {
			t.Errorf("%s permitted", addr)
		}
	})
}

func BenchmarkPermitted(b *testing.B) {
	addr := netip.MustParseAddr("2606:4700:4700::1111")
	for b.Loop() {
		if Permitted(addr, nil) != nil {
			b.Fatal("refused")
		}
	}
}

// fixedNames is a Resolver with fixed addresses that counts lookups.
type fixedNames struct {
	addrs   map[string][]netip.Addr
	lookups int
}

func (r *fixedNames) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	r.lookups++
	if found := r.addrs[host]; len(found) > 0 {
		return found, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func TestDial(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	names := &fixedNames{addrs: map[string][]netip.Addr{
		"open.test":    {netip.MustParseAddr("127.0.0.1")},
		"private.test": {netip.MustParseAddr("10.0.0.1")},
		"both.test":    {netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("127.0.0.1")},
	}}
	c := newClient(t, Config{Resolver: names})
	for name, tt := range map[string]struct {
		network, host string
		want          string // "", "refused", "no name", "network"
	}{
		"name":                     {"tcp", "open.test", ""},
		"literal":                  {"tcp", "127.0.0.1", ""},
		"private name":             {"tcp", "private.test", "refused"},
		"private literal":          {"tcp", "10.0.0.1", "refused"},
		"only the open is dialled": {"tcp", "both.test", ""},
		"mapped literal":           {"tcp", "::ffff:127.0.0.1", "refused"},
		"unknown name":             {"tcp", "nowhere.test", "no name"},
		"other network":            {"udp", "open.test", "network"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := c.Dial(t.Context(), tt.network, net.JoinHostPort(tt.host, port))
			if conn != nil {
				conn.Close()
			}
			var (
				refusal interface{ Refused() bool }
				dns     *net.DNSError
				network net.UnknownNetworkError
			)
			got := ""
			switch {
			case errors.As(err, &refusal):
				got = "refused"
			case errors.As(err, &dns):
				got = "no name"
			case errors.As(err, &network):
				got = "network"
			case err != nil:
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got %q (%v), want %q", got, err, tt.want)
			}
		})
	}
	before := names.lookups
	conn, err := c.Dial(t.Context(), "tcp", "open.test:"+port)
	if err != nil || names.lookups != before+1 {
		t.Fatalf("%v, %d lookups", err, names.lookups-before)
	}
	conn.Close()
	c.Close()
	if _, err := c.Dial(t.Context(), "tcp", "127.0.0.1:"+port); err == nil {
		t.Error("a closed Client dials")
	}
}
