package livescreen

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Style is the form of a screen.
type Style struct {
	Title         string // name of the daemon
	Width, Height int    // of the screen; 0 means 80 and 24
	Plain         bool   // ASCII without colours
	Paused        bool
	Keys          bool // the last line lists the keys
}

// Colours are of the terminal's own sixteen, so that they fit its theme.
const (
	bold, red, green, yellow = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m"
	reset                    = "\x1b[0m"
)

// span is a part of a line in one colour.
type span struct{ colour, text string }

// screen collects lines.
type screen struct {
	style Style
	lines []string
}

// Draw renders a sample as at most Height lines of at most Width columns, separated by
// newlines. Texts of the daemon are shown without control characters.
func Draw(s Sample, style Style) string {
	if style.Width <= 0 {
		style.Width = 80
	}
	if style.Height <= 0 {
		style.Height = 24
	}
	d := &screen{style: style}
	state := span{green, "up"}
	switch {
	case s.Away != "":
		state = span{red, "unreachable"}
	case style.Paused:
		state = span{yellow, "paused"}
	}
	d.line(span{bold, "dc-admin top  " + style.Title + "  "}, span{"", s.Time + " UTC  "}, state)
	d.rule()
	if s.Away != "" {
		d.line(span{red, "Cannot reach the daemon: " + s.Away})
		d.line(span{"", "Trying again at each interval."})
		return d.text()
	}
	d.line(span{bold, fmt.Sprintf("%-26s %-10s %12s  %s", "MANAGER", "STATE", "UP", "QUEUES")})
	for _, m := range s.Managers {
		d.manager(m)
	}
	d.rule()
	b := s.Batches
	d.line(span{"", fmt.Sprintf("batches    crawling %d, processing %d, in real time %d", b.Crawling, b.Processing, b.RealTime)})
	d.line(span{"", fmt.Sprintf("in all     crawl %d (failed %d), process %d (failed %d)", b.CrawlTotal, b.CrawlFaults, b.ProcessTotal, b.ProcessFaults)})
	if r := s.Rates; r != nil {
		d.line(span{"", fmt.Sprintf("per second URLs %.1f  pages %.1f  ", r.URLs, r.Pages)}, errorsSpan(r.Errors),
			span{"", fmt.Sprintf("  batches %.1f  requests %.1f", r.Batches, r.Requests)})
	} else {
		d.line(span{"", "per second -"})
	}
	d.line(span{"", "sites      " + totals(s.Sites)})
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
	return d.text()
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

func totals(t *Totals) string {
	if t == nil {
		return "-"
	}
	more := ""
	if t.More {
		more = " and more"
	}
	return fmt.Sprintf("%d%s: pages %d, contents %d, new %d, errors %d, %s", t.Sites, more, t.Resources, t.Contents, t.New, t.Errors, size(t.Size))
}

// line adds a line, truncated to the screen's width.
func (d *screen) line(spans ...span) {
	var b strings.Builder
	left := d.style.Width
	for _, s := range spans {
		letters := []rune(clean(s.text))
		if d.style.Plain {
			for i, r := range letters {
				if r > unicode.MaxASCII {
					letters[i] = '?'
				}
			}
		}
		letters = letters[:min(len(letters), left)]
		left -= len(letters)
		if s.colour == "" || d.style.Plain || len(letters) == 0 {
			b.WriteString(string(letters))
			continue
		}
		b.WriteString(s.colour + string(letters) + reset)
	}
	text := b.String()
	if d.style.Plain {
		text = strings.TrimRight(text, " ")
	}
	d.lines = append(d.lines, text)
}

func (d *screen) rule() {
	stroke := "─"
	if d.style.Plain {
		stroke = "-"
	}
	d.lines = append(d.lines, strings.Repeat(stroke, d.style.Width))
}

// text joins the lines. Lines that do not fit above the line of the keys are dropped.
func (d *screen) text() string {
	height := d.style.Height
	if !d.style.Keys {
		return strings.Join(d.lines[:min(len(d.lines), height)], "\n")
	}
	d.lines = d.lines[:min(len(d.lines), max(0, height-1))]
	for len(d.lines) < height-1 {
		d.lines = append(d.lines, "")
	}
	d.line(span{bold, "q quit   p pause"})
	return strings.Join(d.lines, "\n")
}

// clean replaces control and format characters by spaces.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf) {
			return ' '
		}
		return r
	}, text)
}

// duration formats seconds as 5s, 3m5s, 2h0m or 4d3h.
func duration(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", seconds)
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", seconds/60, seconds%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%dm", seconds/3600, seconds/60%60)
	}
	return fmt.Sprintf("%dd%dh", seconds/86400, seconds/3600%24)
}

// size formats a number of bytes with one decimal.
func size(bytes int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	n, i := float64(bytes), 0
	for n >= 1024 && i < len(units)-1 {
		n, i = n/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %s", n, units[i])
}
