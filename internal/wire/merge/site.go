package merge

import (
	"encoding/json"

	"hce/dc/internal/wire"
)

// folds says how a field of a Site comes of the values of two nodes. Each node
// holds its share of the limits (docs/spec/objects.md 2.1), so these are sums again.
var folds = map[string]func(a, b int64) int64{
	"resources": sum, "contents": sum, "collectedURLs": sum, "newURLs": sum, "deletedURLs": sum, "errors": sum, "size": sum,
	"maxURLs": sum, "maxResources": sum, "maxErrors": sum,
	"iterations": func(a, b int64) int64 { return max(a, b) },
	"errorMask":  func(a, b int64) int64 { return a | b },
	"avgSpeed":   func(a, b int64) int64 { return min(a, b) }, "avgSpeedCounter": func(a, b int64) int64 { return min(a, b) },
}

// sum never turns over: where the sum has no room it is the greatest number.
func sum(a, b int64) int64 {
	s := a + b
	switch {
	case a > 0 && b > 0 && s < 0:
		return 1<<63 - 1
	case a < 0 && b < 0 && s >= 0:
		return -1 << 63
	}
	return s
}

// fold puts what a later node says of a site into what the earlier ones said. A
// value that one of them does not have, or that is null, is the other's; one that
// is no whole number leaves the earlier.
func fold(into, later object, host string) {
	for key, join := range folds {
		a, b := into[key], later[key]
		if isNull(b) {
			continue
		}
		if isNull(a) {
			into[key] = b
			continue
		}
		x, xOK := wire.ReadInt(a)
		y, yOK := wire.ReadInt(b)
		if xOK && yOK {
			into[key] = number(join(x, y))
		}
	}
	nameErrors(into)
	into.setHost(host)
}

// nameErrors keeps a site's errorNames, where it has them, true to its errorMask
// (docs/spec/DECISIONS.md 1.8).
func nameErrors(o object) {
	mask, ok := wire.ReadInt(o["errorMask"])
	if _, has := o["errorNames"]; !ok || !has {
		return
	}
	if names, err := json.Marshal(wire.ErrorMask(mask).Names()); err == nil {
		o["errorNames"] = names
	}
}

// site piles up what nodes say of one site.
type site struct{ one object }

func (s *site) add(host string, raw json.RawMessage) bool {
	o, ok := readObject(raw)
	if !ok {
		return false
	}
	switch {
	case s.one == nil:
		o.setHost(host)
		s.one = o
	case s.one.word("id") != o.word("id"):
		return false
	case unknown(o) && !unknown(s.one):
		// The zeros of a node that has no row are no counters and no limits.
	case unknown(s.one) && !unknown(o):
		o.setHost(host)
		s.one = o
	default:
		fold(s.one, o, host)
	}
	return true
}

func (s *site) object() (json.RawMessage, error) { return json.Marshal(s.one) }

func unknown(o object) bool { return o.int("state") == wire.SiteNotFound }

// sites piles up lists of sites; each id is there once, where it came first.
type sites struct {
	elements
	byID map[string]object
}

func newSites() *sites { return &sites{byID: map[string]object{}} }

func (s *sites) add(host string, raw json.RawMessage) bool {
	return s.each(host, raw, func(o object) {
		id := o.word("id")
		if known, ok := s.byID[id]; ok && id != "" {
			fold(known, o, host)
			return
		}
		s.byID[id] = o
		s.keep(o)
	})
}
