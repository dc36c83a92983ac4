package realtime

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// whyAbsent says why a node cannot run a share; "" if it can.
func whyAbsent(name string, nodes []executor.Node) string {
	at := slices.IndexFunc(nodes, func(n executor.Node) bool { return n.Name == name })
	switch {
	case name == "":
		return "no node owns the host: the cluster has no members; add one with \"dc-admin node add\""
	case at < 0:
		return fmt.Sprintf("node %s, which owns the host, is not known", name)
	case nodes[at].State != executor.NodeReady:
		return fmt.Sprintf("node %s, which owns the host, is %s", name, nodes[at].State)
	}
	return ""
}

// failedNode is the outcome of a share that cannot run.
func failedNode(b wire.Batch, node, why string) nodeAnswer {
	return nodeAnswer{
		item: wire.ClientResponseItem{
			ErrorCode: wire.ItemFailed, ErrorMessage: why, Host: node, Node: node, Port: 0, Time: int64(0), ID: b.ID,
			ItemObject: failedContents(b, errormask.BatchItem),
		},
		faults: int64(len(b.Items)),
	}
}

// mergeAnswers merges the good items of several nodes into the first, with the contents in the order
// of the batch. Items of failed nodes follow.
func mergeAnswers(batch []wire.BatchItem, items []wire.ClientResponseItem) []wire.ClientResponseItem {
	place := map[string]int{}
	for i, item := range batch {
		if _, twice := place[item.URLID]; !twice {
			place[item.URLID] = i
		}
	}
	type content struct {
		place int
		raw   json.RawMessage
	}
	var contents []content
	var good, bad []wire.ClientResponseItem
	var nodes []string
	for _, item := range items {
		var list []json.RawMessage
		if item.ErrorCode != wire.ResponseOK || json.Unmarshal(item.ItemObject, &list) != nil {
			bad = append(bad, item)
			continue
		}
		good, nodes = append(good, item), append(nodes, item.Node)
		at := 0
		for _, raw := range list {
			if k, ok := keyOf(raw); ok {
				if p, known := place[k.URLMd5]; known {
					at = p
				}
			}
			contents = append(contents, content{at, raw})
		}
	}
	if len(good) < 2 {
		return append(good, bad...)
	}
	slices.SortStableFunc(contents, func(a, b content) int { return cmp.Compare(a.place, b.place) })
	list := make([]json.RawMessage, len(contents))
	for i, c := range contents {
		list[i] = c.raw
	}
	one := slices.MaxFunc(good, func(a, b wire.ClientResponseItem) int { return cmp.Compare(spentTime(a), spentTime(b)) })
	one.Node = strings.Join(nodes, ";")
	one.Host = one.Node
	var err error
	if one.ItemObject, err = json.Marshal(list); err != nil {
		return items // never happens: the parts are valid JSON
	}
	return append([]wire.ClientResponseItem{one}, bad...)
}

// spentTime is the time of an item in ms.
func spentTime(i wire.ClientResponseItem) int64 {
	ms, _ := i.Time.(int64)
	return ms
}
