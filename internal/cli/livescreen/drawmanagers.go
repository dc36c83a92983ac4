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
	d.head(s.Time, state)
	d.managers(s)
	if len(s.Nodes) > 0 && s.Away == "" {
		d.rule()
		d.nodesHead()
		for _, n := range s.Nodes {
			d.node(n, s.Time)
		}
	}
	return d.text()
}

// Reached returns ErrUnreachable if the daemon did not answer.
func (s ManagersSample) Reached() error {
	if s.Away != "" {
		return ErrUnreachable
	}
	return nil
}

// managers adds the managers, their work and their schedules.
func (d *screen) managers(s ManagersSample) {
	if s.Away != "" {
		d.unreachable(s.Away)
		return
	}
	d.line(span{bold, fmt.Sprintf("%-26s %-10s %12s  %s", "MANAGER", "STATE", "UP", "QUEUES")})
	for _, m := range s.Managers {
		d.manager(m)
	}
	d.rule()
	b := s.Batches
	onNodes := len(s.Nodes) > 0 && !slices.ContainsFunc(s.Managers, func(m Manager) bool { return m.Class == crawlClass })
	if onNodes {
		d.line(span{"", fmt.Sprintf("batches    in real time %d; all others run on the nodes", b.RealTime)})
	} else {
		d.line(span{"", fmt.Sprintf("batches    crawling %d, processing %d, in real time %d", b.Crawling, b.Processing, b.RealTime)})
		d.line(span{"", fmt.Sprintf("in all     crawl %d (failed %d), process %d (failed %d)", b.CrawlTotal, b.CrawlFaults, b.ProcessTotal, b.ProcessFaults)})
	}
	switch r := s.Rates; {
	case r != nil && onNodes:
		d.line(span{"", fmt.Sprintf("per second requests %.1f", r.Requests)})
	case r != nil:
		d.line(span{"", fmt.Sprintf("per second URLs %.1f  pages %.1f  ", r.URLs, r.Pages)}, errorsSpan(r.Errors),
			span{"", fmt.Sprintf("  batches %.1f  requests %.1f", r.Batches, r.Requests)})
	default:
		d.line(span{"", "per second -"})
	}
	if s.Sites != nil {
		d.line(span{"", "sites      " + totals(*s.Sites)})
	}
	cpu := "-"
	if s.Rates != nil {
		cpu = fmt.Sprintf("%.0f %%", 100*s.Rates.CPU)
	}
	d.line(span{"", fmt.Sprintf("daemon     memory %s (virtual %s), CPU %s, threads %d", size(s.Process.Resident), size(s.Process.Virtual), cpu, s.Process.Threads)})
	d.rule()
	d.line(span{bold, fmt.Sprintf("%-26s %-16s %12s  %s", "NEXT DUE", "SCHEDULE", "IN", "EVERY")})
	if len(s.Schedules) == 0 {
		d.line(span{"", "no schedule is active"})
	}
	for _, next := range s.Schedules {
		d.line(span{"", fmt.Sprintf("%-26s %-16s %12s  %s", clean(next.Class), clean(next.Name), duration(next.In), duration(int64(next.Period)))})
	}
}

func (d *screen) manager(m Manager) {
	if m.Error != "" {
		d.line(span{"", fmt.Sprintf("%-26s ", clean(m.Class))}, span{red, m.Error})
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
	d.line(span{"", fmt.Sprintf("%-26s ", clean(m.Class))}, span{colour, fmt.Sprintf("%-10s", clean(m.State))},
		span{"", fmt.Sprintf(" %12s  %s", duration(m.Uptime), strings.Join(words, ", "))})
}

func errorsSpan(perSecond float64) span {
	s := span{"", fmt.Sprintf("errors %.1f", perSecond)}
	if perSecond > 0 {
		s.colour = red
	}
	return s
}

func totals(t Totals) string {
	more := ""
	if t.More {
		more = " and more"
	}
	return fmt.Sprintf("%d%s: pages %d, contents %d, new %d, errors %d, %s", t.Sites, more, t.Resources, t.Contents, t.New, t.Errors, size(t.Size))
}
