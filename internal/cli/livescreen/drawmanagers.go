package livescreen

import (
	"fmt"
	"slices"
	"strings"
)

// Draw renders the sample. See Sample.
func (s ManagersSample) Draw(style *Style) string {
	d := newScreen(*style)
	state := span{green, "up"}
	if s.Away != "" {
		state = span{red, "unreachable"}
	}
	d.addHead(s.Time, state)
	d.addManagers(s)
	if len(s.Nodes) > 0 && s.Away == "" {
		d.addRule()
		d.nodesHead()
		for _, n := range s.Nodes {
			d.addNode(n, s.Time)
		}
	}
	return d.joinLines()
}

// Reached returns ErrUnreachable if the daemon did not answer.
func (s ManagersSample) Reached() error {
	if s.Away != "" {
		return ErrUnreachable
	}
	return nil
}

// addManagers adds the managers, their work and their schedules.
func (d *screen) addManagers(s ManagersSample) {
	if s.Away != "" {
		d.addUnreachable(s.Away)
		return
	}
	d.addLine(span{bold, fmt.Sprintf("%-26s %-10s %12s  %s", "MANAGER", "STATE", "UP", "QUEUES")})
	for _, m := range s.Managers {
		d.addManager(m)
	}
	d.addRule()
	b := s.Batches
	onNodes := len(s.Nodes) > 0 && !slices.ContainsFunc(s.Managers, func(m Manager) bool { return m.Class == crawlClass })
	if onNodes {
		d.addLine(span{"", fmt.Sprintf("batches    in real time %d; all others run on the nodes", b.RealTime)})
	} else {
		d.addLine(span{"", fmt.Sprintf("batches    crawling %d, processing %d, in real time %d", b.Crawling, b.Processing, b.RealTime)})
		d.addLine(span{"", fmt.Sprintf("in all     crawl %d (failed %d), process %d (failed %d)", b.CrawlTotal, b.CrawlFaults, b.ProcessTotal, b.ProcessFaults)})
	}
	switch r := s.Rates; {
	case r != nil && onNodes:
		d.addLine(span{"", fmt.Sprintf("per second requests %.1f", r.Requests)})
	case r != nil:
		d.addLine(span{"", fmt.Sprintf("per second URLs %.1f  pages %.1f  ", r.URLs, r.Pages)}, errorsSpan(r.Errors),
			span{"", fmt.Sprintf("  batches %.1f  requests %.1f", r.Batches, r.Requests)})
	default:
		d.addLine(span{"", "per second -"})
	}
	if s.Sites != nil {
		d.addLine(span{"", "sites      " + formatTotals(*s.Sites)})
	}
	cpu := "-"
	if s.Rates != nil {
		cpu = fmt.Sprintf("%.0f %%", 100*s.Rates.CPU)
	}
	d.addLine(span{"", fmt.Sprintf("daemon     memory %s (virtual %s), CPU %s, threads %d", formatSize(s.Process.Resident), formatSize(s.Process.Virtual), cpu, s.Process.Threads)})
	d.addRule()
	d.addLine(span{bold, fmt.Sprintf("%-26s %-16s %12s  %s", "NEXT DUE", "SCHEDULE", "IN", "EVERY")})
	if len(s.Schedules) == 0 {
		d.addLine(span{"", "no schedule is active"})
	}
	for _, next := range s.Schedules {
		d.addLine(span{"", fmt.Sprintf("%-26s %-16s %12s  %s", cleanText(next.Class), cleanText(next.Name), formatDuration(next.In), formatDuration(int64(next.Period)))})
	}
}

func (d *screen) addManager(m Manager) {
	if m.Error != "" {
		d.addLine(span{"", fmt.Sprintf("%-26s ", cleanText(m.Class))}, span{red, m.Error})
		return
	}
	colour := green
	if m.State != "running" {
		colour = yellow
	}
	var words []string
	for _, q := range queues[m.Class] {
		if n, ok := m.Queues[q[0]]; ok {
			words = append(words, fmt.Sprintf("%s %d", q[1], n))
		}
	}
	d.addLine(span{"", fmt.Sprintf("%-26s ", cleanText(m.Class))}, span{colour, fmt.Sprintf("%-10s", cleanText(m.State))},
		span{"", fmt.Sprintf(" %12s  %s", formatDuration(m.Uptime), strings.Join(words, ", "))})
}

func errorsSpan(perSecond float64) span {
	s := span{"", fmt.Sprintf("errors %.1f", perSecond)}
	if perSecond > 0 {
		s.colour = red
	}
	return s
}

func formatTotals(t Totals) string {
	more := ""
	if t.More {
		more = " and more"
	}
	return fmt.Sprintf("%d%s: pages %d, contents %d, new %d, errors %d, %s", t.Sites, more, t.Resources, t.Contents, t.New, t.Errors, formatSize(t.Size))
}
