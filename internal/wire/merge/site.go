package merge

import (
	"encoding/json"

	"hce/dc/internal/wire"
)

// folds computes a field of a Site from the values of two nodes. Each node has a share of
// the limits (docs/spec/objects.md 2.1), so limits are sums.
var folds = map[string]func(a, b int64) int64{
	"resources": sum, "contents": sum, "collectedURLs": sum, "newURLs": sum, "deletedURLs": sum, "errors": sum, "size": sum,
	"maxURLs": sum, "maxResources": sum, "maxErrors": sum,
	"iterations": func(a, b int64) int64 { return max(a, b) },
	"errorMask":  func(a, b int64) int64 { return a | b },
	"avgSpeed":   func(a, b int64) int64 { return min(a, b) }, "avgSpeedCounter": func(a, b int64) int64 { return min(a, b) },
}

// sum returns the nearest int64 instead of overflowing.
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

// fold merges a site of a later node into that of earlier nodes. An absent or null value
// is replaced by the other value. If a value is not a whole number, the earlier one stays.
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

// nameErrors updates errorNames, if present, from errorMask (docs/spec/DECISIONS.md 1.8).
func nameErrors(o object) {
	mask, ok := wire.ReadInt(o["errorMask"])
	if _, has := o["errorNames"]; !ok || !has {
		return
	}
	if names, err := json.Marshal(wire.ErrorMask(mask).Names()); err == nil {
		o["errorNames"] = names
	}
}

// site collects the answers of nodes for one site.
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
		// A node without the row answers zeros.
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

// sites collects lists of sites, each id once.
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
