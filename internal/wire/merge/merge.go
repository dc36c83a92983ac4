package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"hce/dc/internal/wire"
)

// Merger merges the answers to one request. Create it with For. Goroutines may share it.
type Merger struct {
	op    wire.Op
	order order
}

// For returns the Merger for an operation and its request object, which may be invalid.
// It does not keep request.
func For(op wire.Op, request json.RawMessage) Merger {
	return Merger{op: op, order: orderOf(op, request)}
}

// collector merges the objects of one operation.
type collector interface {
	// addAnswer merges the object of the node at host. It returns false, and changes nothing,
	// if the object cannot be merged.
	addAnswer(host string, raw json.RawMessage) bool
	// mergedObject returns the merged object after at least one successful add.
	mergedObject() (json.RawMessage, error)
}

// newCollector returns nil if answers to the operation are not merged.
func (m Merger) newCollector() collector {
	switch m.op {
	case wire.SiteNew, wire.SiteUpdate, wire.SiteDelete, wire.SiteCleanup, wire.URLNew, wire.URLUpdate, wire.URLDelete, wire.URLCleanup:
		return &general{}
	case wire.SiteStatus:
		return &site{}
	case wire.SiteFind:
		return newSites()
	case wire.URLFetch, wire.URLStatus:
		return newURLs(m.order)
	case wire.URLContent:
		return newContents(m.order)
	case wire.BatchRun:
		return newBatch()
	}
	return nil
}

// Merge returns r with all mergeable items merged into the first. With fewer than two of
// them it returns r itself. It does not change the list of r.
func (m Merger) Merge(r wire.ClientResponse) wire.ClientResponse {
	c := m.newCollector()
	if c == nil || len(r.ItemsList) < 2 {
		return r
	}
	var merged, others []wire.ClientResponseItem
	for _, item := range r.ItemsList {
		if !isNull(bytes.TrimSpace(item.ItemObject)) && c.addAnswer(item.Host, item.ItemObject) {
			merged = append(merged, item)
		} else {
			others = append(others, item)
		}
	}
	if len(merged) < 2 {
		return r
	}
	object, err := c.mergedObject()
	if err != nil {
		return r // never happens: the parts are valid JSON
	}
	one := joinItems(merged)
	one.ItemObject = object
	r.ItemsList = append([]wire.ClientResponseItem{one}, others...)
	return r
}

// joinItems returns the first item with the fields of all items joined by semicolons, and
// the messages without a separator (docs/spec/objects.md 3.2).
func joinItems(items []wire.ClientResponseItem) wire.ClientResponseItem {
	var codes, hosts, nodes, ports, times []string
	one := items[0]
	one.ErrorMessage = ""
	for _, i := range items {
		one.ErrorMessage += i.ErrorMessage
		codes, hosts, nodes = append(codes, formatText(i.ErrorCode)), append(hosts, i.Host), append(nodes, i.Node)
		ports, times = append(ports, formatText(i.Port)), append(times, formatText(i.Time))
	}
	one.ErrorCode, one.Host, one.Node = strings.Join(codes, ";"), strings.Join(hosts, ";"), strings.Join(nodes, ";")
	one.Port, one.Time = strings.Join(ports, ";"), strings.Join(times, ";")
	return one
}

// formatText formats a number or text of an item, without an exponent.
func formatText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// Wanted reads the cookie MERGE_RESULTS of a request. 0 and false, as JSON or text, mean no; every
// other value and no cookie mean yes (docs/spec/objects.md 6.4).
func Wanted(cookie map[string]json.RawMessage) bool {
	switch strings.ToLower(string(cookie["MERGE_RESULTS"])) {
	case `0`, `"0"`, `false`, `"false"`:
		return false
	}
	return true
}
