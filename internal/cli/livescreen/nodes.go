package livescreen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/wire/cluster"
)

// nodesOf reads the statistic nodes of the manager Cluster.
func nodesOf(m client.Stat) (list []cluster.Node) {
	all, _ := m.Fields["nodes"].(map[string]any)
	for _, v := range all {
		var n cluster.Node
		if raw, err := json.Marshal(v); err == nil && json.Unmarshal(raw, &n) == nil {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b cluster.Node) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// addNodes adds as many nodes of a cluster as fit.
func (d *screen) addNodes(s ManagersSample, style *Style) {
	if s.Away != "" {
		d.addUnreachable(s.Away)
		return
	}
	busy, slots := 0, 0
	for _, n := range s.Nodes {
		busy, slots = busy+n.Busy, slots+n.Slots
	}
	d.addLine(span{"", fmt.Sprintf("nodes  %d, busy %d of %d slots  ", len(s.Nodes), busy, slots)}, silentNodes(s.Nodes))
	d.addRule()
	d.nodesHead()
	heights := make([]int, len(s.Nodes))
	for i := range heights {
		heights[i] = 1
	}
	first, last := visibleRange(heights, style.Offset, d.linesLeft())
	style.Offset = first
	for _, n := range s.Nodes[first:last] {
		d.addNode(n, s.Time)
	}
	if below := len(s.Nodes) - last; first+below > 0 {
		d.addLine(span{yellow, hiddenSites(first, below, false)})
	}
}

// silentNodes names the nodes without a sign of life.
func silentNodes(nodes []cluster.Node) span {
	if silent := client.Silent(nodes); len(silent) > 0 {
		return span{red, "silent: " + strings.Join(silent, ", ")}
	}
	return span{green, "none is silent"}
}

func (d *screen) nodesHead() {
	d.addLine(span{bold, fmt.Sprintf("%-20s %-12s %7s %8s %6s %8s  %s", "NODE", "STATE", "LOAD", "BUSY", "LAG", "SEEN", "VERSION")})
}

// addNode adds a line for a node. now is the time of the sample.
func (d *screen) addNode(n cluster.Node, now string) {
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
	d.addLine(span{"", fmt.Sprintf("%-20s ", d.cutText(cleanText(n.Name), 20))}, span{colour, fmt.Sprintf("%-12s", d.cutText(cleanText(n.State), 12))},
		span{"", fmt.Sprintf(" %7s %8s %6s %8s  %s", load, fmt.Sprintf("%d/%d", n.Busy, n.Slots), lag, formatAge(n.Seen, now), cleanText(n.Version))})
}

// formatAge is the time from one UTC time to a later one, "never" without the first.
func formatAge(from, to string) string {
	seen, err := time.Parse(dateLayout+".999", from)
	now, failed := time.Parse(dateLayout, to)
	if err != nil || failed != nil {
		return "never"
	}
	return formatDuration(max(0, int64(now.Sub(seen).Seconds())))
}
