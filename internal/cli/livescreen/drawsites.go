package livescreen

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Pages of a SitesSample: SitesPages, or those of a cluster.
var (
	SitesPages   = []string{"sites", "managers"}
	clusterPages = []string{"sites", "managers", "nodes"}
)

// Draw renders the page of style: 0 the sites, 1 the managers, 2 the nodes of a cluster. It sets the
// pages that there are. See Sample.
func (s SitesSample) Draw(style *Style) string {
	style.Pages = SitesPages
	if s.Managers != nil && len(s.Managers.Nodes) > 0 {
		style.Pages = clusterPages
	}
	d := newScreen(*style)
	state := span{green, "up"}
	switch {
	case s.Away != "":
		state = span{red, "unreachable"}
	case s.Missing != "":
		state = span{red, "incomplete"}
	case s.Idle != "":
		state = span{yellow, "no daemon"}
	}
	d.addHead(s.Time, state)
	switch {
	case s.Away != "":
		d.addUnreachable(s.Away)
	case style.Page == len(SitesPages) && s.Managers != nil:
		d.addNodes(*s.Managers, style)
	case style.Page > 0 && s.Managers != nil:
		d.addManagers(*s.Managers)
	case style.Page > 0:
		d.addParagraph(span{yellow, "The managers are unknown: " + s.NoManagers})
	default:
		d.addSites(s, style)
	}
	return d.joinLines()
}

// addSites adds the totals and as many sites as fit.
func (d *screen) addSites(s SitesSample, style *Style) {
	t := s.Totals
	more := ""
	if t.More {
		more = " and more"
	}
	d.addLine(span{"", fmt.Sprintf("sites  %d%s, %d active", t.Sites, more, t.Active)})
	d.addLine(span{"", fmt.Sprintf("URLs   %d done, %d waiting, %d in flight, %d in processing, %d pages", t.Done, t.Waiting, t.InFlight, t.Processing, t.Pages)})
	d.addLine(span{"", fmt.Sprintf("rate   %s a second  ", perSecond(t.Rate))}, failureSpan(t.Errors))
	if s.Missing != "" {
		d.addParagraph(span{red, "Pages are missing in these numbers: " + s.Missing})
	}
	if s.Idle != "" {
		d.addParagraph(span{yellow, "Nothing is crawled: " + s.Idle})
	}
	d.addRule()
	width := max(narrowest, d.style.Width-columnsWidth)
	d.addLine(span{bold, fmt.Sprintf("%-*s %-8s %8s %8s %6s %7s %7s", width, "SITE", "STATE", "DONE", "WAITING", "FLIGHT", "PER SEC", "ERRORS")})
	heights := make([]int, len(s.Sites))
	for i, site := range s.Sites {
		heights[i] = 1
		if site.describeDetails() != "" {
			heights[i] = 2
		}
	}
	first, last := visibleRange(heights, style.Offset, d.linesLeft())
	style.Offset = first
	for _, site := range s.Sites[first:last] {
		d.addSite(site, width)
	}
	if below := len(s.Sites) - last; first+below > 0 || t.More {
		d.addLine(span{yellow, hiddenSites(first, below, t.More)})
	}
}

// Widths of the table: the site has what the other columns leave.
const (
	columnsWidth = 1 + 8 + 1 + 8 + 1 + 8 + 1 + 6 + 1 + 7 + 1 + 7
	narrowest    = 20
)

// visibleRange returns the range of rows that fit into lines, from offset on, and from an earlier row if the end
// of the list leaves room. One line is kept if rows are left out.
func visibleRange(heights []int, offset, lines int) (first, last int) {
	sum := 0
	for _, h := range heights {
		sum += h
	}
	if sum <= lines {
		return 0, len(heights)
	}
	lines--
	last, sum = len(heights), 0
	for first = last; first > 0 && sum+heights[first-1] <= lines; first-- {
		sum += heights[first-1]
	}
	first, sum = max(0, min(offset, first)), 0
	for last = first; last < len(heights) && sum+heights[last] <= lines; last++ {
		sum += heights[last]
	}
	return first, last
}

// hiddenSites says how many sites are not shown. unread means that there are sites which are not in the sample.
func hiddenSites(above, below int, unread bool) string {
	text := fmt.Sprintf("and %d more", below)
	if above > 0 {
		text = fmt.Sprintf("and %d above, %d below", above, below)
	}
	if unread {
		text += ", and sites that were crawled longer ago"
	}
	return text
}

// addSite adds one or two lines for a site.
func (d *screen) addSite(s Site, width int) {
	name := s.Root
	if name == "" {
		name = s.ID
	}
	more := ""
	if s.Roots > 1 {
		more = fmt.Sprintf(" +%d", s.Roots-1)
	}
	name = d.cutText(name, width-len(more)) + more
	pad := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(name)))
	state := span{"", fmt.Sprintf(" %-8s", d.cutText(s.State, 8))}
	if s.active {
		state.colour = green
	}
	count := span{"", fmt.Sprintf(" %7d", s.Errors)}
	if s.Errors > 0 {
		count.colour = red
	}
	d.addLine(span{"", name + pad}, state, span{"", fmt.Sprintf(" %8d %8d %6d %7s", s.Done, s.Waiting, s.InFlight, perSecond(s.Rate))}, count)
	if text := s.describeDetails(); text != "" {
		d.addLine(span{"", "    " + text})
	}
}

// describeDetails describes the causes of errors and the slowest host, "" if both are unknown.
func (s Site) describeDetails() string {
	var parts []string
	if causes := CausesText(s.Causes); causes != "" {
		parts = append(parts, causes)
	}
	if s.SlowHost != "" && s.SlowMs > 0 {
		parts = append(parts, fmt.Sprintf("slowest %s %d ms", s.SlowHost, s.SlowMs))
	}
	return strings.Join(parts, "; ")
}

// cutText shortens text to most letters and marks that.
func (d *screen) cutText(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	mark := "…"
	if d.style.Plain {
		mark = "~"
	}
	return string([]rune(text)[:max(0, most-1)]) + mark
}

// perSecond formats a rate, "-" if it is unknown.
func perSecond(rate *float64) string {
	if rate == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", *rate)
}

func failureSpan(n int64) span {
	s := span{"", fmt.Sprintf("errors %d", n)}
	if n > 0 {
		s.colour = red
	}
	return s
}

// mostCauses is the number of causes that are named.
const mostCauses = 3

// CausesText lists the most frequent causes of errors: "HTTP_ERROR 7, REQUEST_TIMEOUT 2". It is "" without one.
func CausesText(causes map[string]int64) string {
	names := CauseNames(causes)
	var parts []string
	for _, name := range names[:min(mostCauses, len(names))] {
		parts = append(parts, fmt.Sprintf("%s %d", name, causes[name]))
	}
	return strings.Join(parts, ", ")
}

// CauseNames returns the causes, the most frequent first.
func CauseNames(causes map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(causes), func(a, b string) int {
		return cmp.Or(cmp.Compare(causes[b], causes[a]), cmp.Compare(a, b))
	})
}
