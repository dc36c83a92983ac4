package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"hce/dc/internal/wire"
)

// Merger merges the answers to one request. Create it with For.
type Merger struct {
	op    wire.Op
	order order
}

// For makes the Merger of a request: an operation and its object, which may be
// of any form and is not kept.
func For(op wire.Op, request json.RawMessage) Merger {
	return Merger{op: op, order: orderOf(op, request)}
}

// pile gathers what several nodes answered to one operation.
type pile interface {
	// add takes the object of the node at host. It answers false, and stays as it
	// was, when the object cannot be merged with the others.
	add(host string, raw json.RawMessage) bool
	// object is the merged object, once something was added.
	object() (json.RawMessage, error)
}

// pile is an empty one, nil when the operation's answers are not merged.
func (m Merger) pile() pile {
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
		return &batch{}
	}
	return nil
}

// Merge makes one item of those that can be merged; the others follow it as they
// came. The result is r itself when there are fewer than two to merge. r's list
// is not changed.
func (m Merger) Merge(r wire.ClientResponse) wire.ClientResponse {
	p := m.pile()
	if p == nil || len(r.ItemsList) < 2 {
		return r
	}
	var merged, others []wire.ClientResponseItem
	for _, item := range r.ItemsList {
		if !isNull(bytes.TrimSpace(item.ItemObject)) && p.add(item.Host, item.ItemObject) {
			merged = append(merged, item)
		} else {
			others = append(others, item)
		}
	}
	if len(merged) < 2 {
		return r
	}
	object, err := p.object()
	if err != nil {
		return r // what was read can be written; should it not be, nothing is lost
	}
	one := joined(merged)
	one.ItemObject = object
	r.ItemsList = append([]wire.ClientResponseItem{one}, others...)
	return r
}

// joined is the first item with the nodes' fields as texts joined by semicolons,
// the messages joined by nothing (docs/spec/objects.md 3.2).
func joined(items []wire.ClientResponseItem) wire.ClientResponseItem {
	var codes, hosts, nodes, ports, times []string
	one := items[0]
	one.ErrorMessage = ""
	for _, i := range items {
		one.ErrorMessage += i.ErrorMessage
		codes, hosts, nodes = append(codes, text(i.ErrorCode)), append(hosts, i.Host), append(nodes, i.Node)
		ports, times = append(ports, text(i.Port)), append(times, text(i.Time))
	}
	one.ErrorCode, one.Host, one.Node = strings.Join(codes, ";"), strings.Join(hosts, ";"), strings.Join(nodes, ";")
	one.Port, one.Time = strings.Join(ports, ";"), strings.Join(times, ";")
	return one
}

// text is a number or text of an item; a number never gets an exponent.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
