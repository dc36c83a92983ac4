package livescreen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/wire"
)

// nodesOf reads the statistic nodes of the manager Cluster.
func nodesOf(m client.Stat) (list []wire.ClusterNode) {
	all, _ := m.Fields["nodes"].(map[string]any)
	for _, v := range all {
		var n wire.ClusterNode
		if raw, err := json.Marshal(v); err == nil && json.Unmarshal(raw, &n) == nil {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b wire.ClusterNode) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// nodes adds as many nodes of a cluster as fit.
func (d *screen) nodes(s ManagersSample, style *Style) {
	if s.Away != "" {
		d.unreachable(s.Away)
		return
	}
	busy, slots := 0, 0
	for _, n := range s.Nodes {
		busy, slots = busy+n.Busy, slots+n.Slots
	}
	d.line(span{"", fmt.Sprintf("nodes  %d, busy %d of %d slots  ", len(s.Nodes), busy, slots)}, silence(s.Nodes))
	d.rule()
	d.nodesHead()
	heights := make([]int, len(s.Nodes))
	for i := range heights {
		heights[i] = 1
	}
	first, last := window(heights, style.Offset, d.left())
	style.Offset = first
	for _, n := range s.Nodes[first:last] {
		d.node(n, s.Time)
	}
	if below := len(s.Nodes) - last; first+below > 0 {
		d.line(span{yellow, others(first, below, false)})
	}
}

// silence names the nodes without a sign of life.
func silence(nodes []wire.ClusterNode) span {
	if silent := client.Silent(nodes); len(silent) > 0 {
		return span{red, "silent: " + strings.Join(silent, ", ")}
	}
	return span{green, "none is silent"}
}

func (d *screen) nodesHead() {
	d.line(span{bold, fmt.Sprintf("%-20s %-12s %7s %8s %6s %8s  %s", "NODE", "STATE", "LOAD", "BUSY", "LAG", "SEEN", "VERSION")})
}

// node adds a line for a node. now is the time of the sample.
func (d *screen) node(n wire.ClusterNode, now string) {
	colour := green
	switch {
	case client.IsSilent(n):
		colour = red
	case n.State != "ready" || !n.Member:
		colour = yellow
	}
	load, lag := "-", "-"
	if n.Load >= 0 {
		load = fmt.Sprintf("%.2f", n.Load)
	}
	if n.Lag >= 0 {
		lag = fmt.Sprint(n.Lag)
	}
	d.line(span{"", fmt.Sprintf("%-20s ", d.cut(clean(n.Name), 20))}, span{colour, fmt.Sprintf("%-12s", d.cut(clean(n.State), 12))},
		span{"", fmt.Sprintf(" %7s %8s %6s %8s  %s", load, fmt.Sprintf("%d/%d", n.Busy, n.Slots), lag, ago(n.Seen, now), clean(n.Version))})
}

// ago is the time from one UTC time to a later one, "never" without the first.
func ago(from, to string) string {
	seen, err := time.Parse(dateLayout+".999", from)
	now, failed := time.Parse(dateLayout, to)
	if err != nil || failed != nil {
		return "never"
	}
	return duration(max(0, int64(now.Sub(seen).Seconds())))
}
