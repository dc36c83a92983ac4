package merge

import (
	"encoding/json"
	"strconv"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// folds computes a field of a Site from the values of two nodes. Each node has a share of
// the limits (docs/spec/objects.md 2.1), so limits are sums.
var folds = map[string]func(a, b int64) int64{
	"resources": addSaturating, "contents": addSaturating, "collectedURLs": addSaturating, "newURLs": addSaturating, "crawlingURLs": addSaturating, "processingURLs": addSaturating, "deletedURLs": addSaturating, "errors": addSaturating, "size": addSaturating,
	"maxURLs": addSaturating, "maxResources": addSaturating, "maxErrors": addSaturating,
	"iterations": func(a, b int64) int64 { return max(a, b) },
	"errorMask":  func(a, b int64) int64 { return a | b },
	"avgSpeed":   func(a, b int64) int64 { return min(a, b) }, "avgSpeedCounter": func(a, b int64) int64 { return min(a, b) },
}

// addSaturating returns the nearest int64 instead of overflowing.
func addSaturating(a, b int64) int64 {
	s := a + b
	switch {
	case a > 0 && b > 0 && s < 0:
		return 1<<63 - 1
	case a < 0 && b < 0 && s >= 0:
		return -1 << 63
	}
	return s
}

// mergeSite merges a site of a later node into that of earlier nodes. An absent or null value
// is replaced by the other value. If a value is not a whole number, the earlier one stays.
func mergeSite(into, later object) {
	foldCounters(into, later)
	into["host"] = later["host"]
}

// foldCounters is fold without the host.
func foldCounters(into, later object) {
	for key, join := range folds {
		a, b := into[key], later[key]
		x, xOK := schema.ReadInt(a)
		y, yOK := schema.ReadInt(b)
		switch {
		case isNull(a) && !isNull(b):
			into[key] = b
		case xOK && yOK:
			into[key] = strconv.AppendInt(nil, join(x, y), 10)
		}
	}
	joinFinished(into, later)
	nameErrors(into)
}

// joinFinished: a site is finished when it is on both nodes. A node that does not say so decides nothing.
func joinFinished(into, later object) {
	switch says, known := later["finished"]; {
	case !known:
		delete(into, "finished")
	case string(into["finished"]) == "true":
		into["finished"] = says
	}
}

// nameErrors updates errorNames, if present, from errorMask (docs/spec/DECISIONS.md 1.8).
func nameErrors(o object) {
	mask, ok := schema.ReadInt(o["errorMask"])
	if _, has := o["errorNames"]; !ok || !has {
		return
	}
	if names, err := json.Marshal(errormask.Mask(mask).Names()); err == nil {
		o["errorNames"] = names
	}
}

// site collects the answers of nodes for one site.
type site struct{ one object }

func (s *site) addAnswer(host string, raw json.RawMessage) bool {
	o, ok := readObject(raw)
	if !ok {
		return false
	}
	o.setHost(host)
	switch {
	case s.one == nil:
		s.one = o
	case s.one.textOrEmpty("id") != o.textOrEmpty("id"):
		return false
	case isUnknownSite(o) && !isUnknownSite(s.one):
		// A node without the row answers zeros.
	case isUnknownSite(s.one) && !isUnknownSite(o):
		s.one = o
	default:
		mergeSite(s.one, o)
	}
	return true
}

func (s *site) mergedObject() (json.RawMessage, error) { return json.Marshal(s.one) }

// isUnknownSite reports whether the node does not know the site.
func isUnknownSite(o object) bool { return o.intValue("state") == wire.SiteNotFound }

// newSites collects lists of sites, each id once.
func newSites() *elements {
	e, byID := &elements{}, map[string]object{}
	e.take = func(o object) {
		id := o.textOrEmpty("id")
		if known, ok := byID[id]; ok && id != "" {
			mergeSite(known, o)
			return
		}
		byID[id] = o
		e.appendObject(o)
	}
	return e
}
