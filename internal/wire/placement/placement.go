// Package placement says which node of a cluster owns a host. Every host has one owner, so its
// gate (package hostgate), its robots.txt and its rows are on one node only.
//
//	p, err := placement.Parse(data) // {"epoch": 3, "self": "n1", "members": ["n1", "n2", "n3"]}
//	p.OwnerOfURL("https://example.org/page") // one of the members, on all nodes the same one
//	p.Mine("https://example.org/page")       // whether it is "n1"
//
// The owner of a host is the member with the highest hash of both (rendezvous hashing, highest
// random weight). So when a member joins, about 1/n of the hosts change their owner, all of them
// to the new member; when one leaves, only its hosts do. The order of members does not matter.
//
// To find the owner takes about 0.3 µs with three members and 1.5 µs with 50, and no memory.
//
// Nodes decide alone and must agree for ever: the hash and the form of a host must not change.
// golden_test.go holds values of both.
//
// A host has no port here: http://a.example/ and http://a.example:8080/ have gates of their own,
// and one owner. Names that differ but have one address may have different owners. Then each
// node keeps the delay of that address for its own names only (shared_address_names of
// crawler-task.ini).
//
// While the members change, hosts move in groups, in the order of the groups: a host belongs to its
// old owner until its group has moved, then to its new one. So the state of a change is one number,
// and all hosts of a group change their owner at one place of the journal.
//
// Values are not changed after they are made, so goroutines may share them.
package placement

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// Placement is the content of placement.json: the members of a cluster and the node that reads
// it. The zero value is that of a machine without a cluster: it has no owners, and every URL is
// its own.
type Placement struct {
	Epoch   int64    `json:"epoch"`   // grows with each change of the members
	Self    string   `json:"self"`    // name of this node; it need not be a member
	Members []string `json:"members"` // names of the nodes that own hosts

	// Of a change of the members that is under way; otherwise Groups is 0.
	Previous []string `json:"previous,omitempty"` // the members before it
	Groups   int      `json:"groups,omitempty"`   // number of groups of hosts
	Moved    int      `json:"moved,omitempty"`    // groups below Moved belong to Members, the others to Previous
}

// ErrInvalid is the kind of errors about a placement that cannot be used.
var ErrInvalid = errors.New("invalid placement")

// MaxMembers bounds the members of a placement, MaxGroups the groups of a change.
const (
	MaxMembers = 1000
	MaxGroups  = 4096
)

const maxName = 64 // bytes

// Parse reads a placement and checks it. The error is an ErrInvalid.
func Parse(data []byte) (Placement, error) {
	var p Placement
	if err := json.Unmarshal(data, &p); err != nil {
		return Placement{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := p.Check(); err != nil {
		return Placement{}, err
	}
	return p, nil
}

// Check returns an ErrInvalid unless the placement has members, each once, and the name of its node.
func (p Placement) Check() error {
	switch {
	case p.Self == "":
		return fmt.Errorf("%w: self, the name of this node, is missing", ErrInvalid)
	case len(p.Members) == 0:
		return fmt.Errorf("%w: members is empty", ErrInvalid)
	case p.Groups < 0 || p.Groups > MaxGroups:
		return fmt.Errorf("%w: %d groups; at most %d are possible", ErrInvalid, p.Groups, MaxGroups)
	case p.Moved < 0 || p.Moved > p.Groups:
		return fmt.Errorf("%w: %d of %d groups have moved", ErrInvalid, p.Moved, p.Groups)
	case (p.Groups > 0) != (len(p.Previous) > 0):
		return fmt.Errorf("%w: previous without groups, or groups without previous", ErrInvalid)
	}
	return cmp.Or(checkNames("members", p.Members), checkNames("previous", p.Previous))
}

func checkNames(field string, names []string) error {
	if len(names) > MaxMembers {
		return fmt.Errorf("%w: %d %s; at most %d are possible", ErrInvalid, len(names), field, MaxMembers)
	}
	for i, name := range names {
		if name == "" || len(name) > maxName || slices.Contains(names[:i], name) {
			return fmt.Errorf("%w: %s has the name %.70q twice, or it has not 1 to %d bytes", ErrInvalid, field, name, maxName)
		}
	}
	return nil
}

// Active reports whether there is a cluster.
func (p Placement) Active() bool { return len(p.Members) > 0 }

// Owner returns the member that owns a host, as a URL or a gate spells it, with or without a port.
// It returns "" without members. Every text has an owner, also one that is no host.
func (p Placement) Owner(host string) string { return p.ownerOf(hostForm(host)) }

// OwnerOfURL returns the owner of the host of a URL.
func (p Placement) OwnerOfURL(url string) string { return p.ownerOf(Host(url)) }

// Mine reports whether this node owns the host of a URL. Without members it does.
func (p Placement) Mine(url string) bool { return len(p.Members) == 0 || p.OwnerOfURL(url) == p.Self }

// GroupOfURL returns the group of the host of a URL, below Groups; 0 without a change.
func (p Placement) GroupOfURL(url string) int { return p.groupOf(hashFNV(Host(url))) }

// Begun returns the placement at the begin of a change from p to members, in so many groups.
func (p Placement) Begun(epoch int64, members []string, groups int) Placement {
	return Placement{Epoch: epoch, Self: p.Self, Members: members, Previous: p.Members, Groups: groups}
}

// After returns the placement after the groups below moved have moved. After the last group the
// change is over.
func (p Placement) After(moved int) Placement {
	if p.Moved = moved; moved >= p.Groups {
		return Placement{Epoch: p.Epoch, Self: p.Self, Members: p.Members}
	}
	return p
}

// groupOf mixes the hash of a host once more than ownerOf does, so that a group has hosts of all owners.
func (p Placement) groupOf(h uint64) int {
	if p.Groups == 0 {
		return 0
	}
	return int(mixBits(mixBits(h)) % uint64(p.Groups))
}

func (p Placement) ownerOf(host string) (owner string) {
	h, best := hashFNV(host), uint64(0)
	members := p.Members
	if p.Groups > 0 && p.groupOf(h) >= p.Moved {
		members = p.Previous
	}
	for _, name := range members {
		score := mixBits(h ^ mixBits(hashFNV(name)))
		if owner == "" || score > best || score == best && name < owner {
			owner, best = name, score
		}
	}
	return owner
}

// Host returns the host of a URL in the form that owners depend on: in lower case, without user,
// port and final dots, a name of other scripts in Punycode, an IPv6 address in its shortest form
// without brackets. It is "" for a text without "://". Canonical URLs (package canonical) of one
// host have one form; so have all spellings of which hostgate makes one gate.
func Host(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		rest = rest[:i]
	}
	return hostForm(rest[strings.LastIndexByte(rest, '@')+1:])
}

// lookup maps names as browsers do (UTS 46, without transitional processing).
var lookup = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.CheckHyphens(false), idna.StrictDomainName(false))

func hostForm(host string) string {
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') && i == strings.IndexByte(host, ':') || i > 0 && host[i-1] == ']' {
		host = host[:i]
	}
	if strings.IndexByte(host, '%') >= 0 {
		if plain, err := url.PathUnescape(host); err == nil {
			host = plain
		}
	}
	if strings.IndexByte(host, ':') >= 0 {
		bare := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
		if addr, err := netip.ParseAddr(bare); err == nil {
			return addr.WithZone("").String()
		}
	}
	if !isASCII(host) {
		if name, err := lookup.ToASCII(host); err == nil {
			host = name
		}
	}
	return strings.TrimRight(strings.ToLower(host), ".")
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// hashFNV is the 64-bit FNV-1a hash.
func hashFNV(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}

// mixBits is the output function of SplitMix64. It makes all bits depend on all bits: those of FNV
// alone are close to each other for texts that differ in their last byte.
func mixBits(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
