package realtime

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/wire"
)

// shareByOwner divides items among the owners of their hosts, so that no host is asked by two nodes. The
// share of an item without an owner has no node.
func shareByOwner(items []wire.BatchItem, owner func(url string) string) []share {
	var list []share
	at := map[string]int{}
	for _, item := range items {
		node := owner(item.URL.URL)
		i, known := at[node]
		if !known {
			i, at[node] = len(list), len(list)
			list = append(list, share{node: node})
		}
		list[i].items = append(list[i].items, item)
	}
	return list
}

// share is the part of a batch for one node.
type share struct {
	node  string
	items []wire.BatchItem
}

// shareAmongNodes divides items among the ready nodes. Several items go to the nodes in turn, each item
// to one node. One item goes by the routing; turn counts batches. Without ready nodes there is
// no share.
func shareAmongNodes(items []wire.BatchItem, nodes []executor.Node, routing, turn int) []share {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n executor.Node) bool { return n.State != executor.NodeReady })
	if len(nodes) == 0 {
		return nil
	}
	if len(items) > 1 {
		list := make([]share, min(len(nodes), len(items)))
		for i, item := range items {
			s := &list[i%len(list)]
			s.items = append(s.items, item)
		}
		// Start at another node each time: small batches would use only the first ones.
		for i := range list {
			list[i].node = nodes[(turn+i)%len(nodes)].Name
		}
		return list
	}
	switch routing {
	case RouteAll:
		var list []share
		for _, n := range nodes {
			list = append(list, share{n.Name, items})
		}
		return list
	case RouteRandom:
		return []share{{nodes[rand.IntN(len(nodes))].Name, items}}
	case RouteLeastLoaded:
		least := slices.MinFunc(nodes, func(a, b executor.Node) int {
			return cmp.Or(cmp.Compare(a.Busy[TaskType], b.Busy[TaskType]), cmp.Compare(a.Load, b.Load))
		})
		return []share{{least.Name, items}}
	}
	return []share{{nodes[turn%len(nodes)].Name, items}}
}
