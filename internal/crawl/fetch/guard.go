package fetch

import (
	"fmt"
	"net/netip"
)

// AddressError means that the egress guard refuses an address.
type AddressError struct {
	Addr  netip.Addr
	Block string // the range of the address, such as "loopback"
}

// Error returns the address and the reason.
func (e *AddressError) Error() string {
	return fmt.Sprintf("address %s refused: %s", e.Addr, e.Block)
}

// Refused returns true. Packages that cannot import this one recognise the error by it.
func (e *AddressError) Refused() bool { return true }

// block is a range of addresses that a crawler must not contact.
type block struct {
	prefix netip.Prefix
	name   string
}

// blocks lists the ranges that are not public hosts: the IANA special-purpose registry (RFC
// 6890 and later) and classes D and E. IPv6 ranges outside 2000::/3 are refused anyway; they
// are listed for their names. The first match names the reason.
var blocks = []block{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified (this network)"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "carrier-grade NAT"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "protocol assignments"},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relay"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarking"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("255.255.255.255/32"), "broadcast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("::/128"), "unspecified"},
	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("::ffff:0:0/96"), "IPv4-mapped"},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), "IPv4-translated"},
	{netip.MustParsePrefix("::/96"), "IPv4-compatible"},
	{netip.MustParsePrefix("64:ff9b::/96"), "NAT64"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "NAT64"},
	{netip.MustParsePrefix("100::/64"), "discard"},
	{netip.MustParsePrefix("2001::/32"), "Teredo"},
	{netip.MustParsePrefix("2001:2::/48"), "benchmarking"},
	{netip.MustParsePrefix("2001:10::/28"), "ORCHID"},
	{netip.MustParsePrefix("2001:20::/28"), "ORCHID"},
	{netip.MustParsePrefix("2001::/23"), "protocol assignments"},
	{netip.MustParsePrefix("2001:db8::/32"), "documentation"},
	{netip.MustParsePrefix("2002::/16"), "6to4"},
	{netip.MustParsePrefix("3ffe::/16"), "6bone"},
	{netip.MustParsePrefix("3fff::/20"), "documentation"},
	{netip.MustParsePrefix("5f00::/16"), "segment routing"},
	{netip.MustParsePrefix("fc00::/7"), "unique local"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("fec0::/10"), "site-local"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

// globalUnicast is the part of IPv6 that is assigned to public hosts.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// Permitted returns nil if a crawler may connect to addr: it is in an allowed network or is
// a public unicast address. Otherwise it returns an *AddressError.
//
// IPv6 forms that carry an IPv4 address are refused, whichever address they carry; an
// allowed IPv4 network does not allow them. Zones are ignored. Source:
// docs/spec/DECISIONS.md 6.7.
func Permitted(addr netip.Addr, allowed []netip.Prefix) error {
	if !addr.IsValid() {
		return &AddressError{addr, "no address"}
	}
	bare := addr.WithZone("")
	for _, p := range allowed {
		if p.Contains(bare) {
			return nil
		}
	}
	for _, b := range blocks {
		if b.prefix.Contains(bare) {
			return &AddressError{addr, b.name}
		}
	}
	if bare.Is6() && !globalUnicast.Contains(bare) {
		return &AddressError{addr, "not global unicast"}
	}
	return nil
}
