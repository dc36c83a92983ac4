package livescreen

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Style is the form of a screen.
type Style struct {
	Program       string // such as "dc-admin top"
	Title         string // name of the daemon
	Width, Height int    // of the screen; 0 means 80 and 24
	Plain         bool   // ASCII without colours
	Paused        bool
	Keys          bool     // the last line lists the keys
	Pages         []string // names of the pages that the keys 1, 2 and so on show; nil: one page
	Page          int      // index of the page
	Offset        int      // rows of the page's list above the screen
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

// newScreen returns a screen without lines.
func newScreen(style Style) *screen {
	if style.Width <= 0 {
		style.Width = 80
	}
	if style.Height <= 0 {
		style.Height = 24
	}
	return &screen{style: style}
}

// addHead adds the first line. A pause replaces a good state.
func (d *screen) addHead(time string, state span) {
	if d.style.Paused && state.colour != red {
		state = span{yellow, "paused"}
	}
	d.addLine(span{bold, d.style.Program + "  " + d.style.Title + "  "}, span{"", time + " UTC  "}, state)
	d.addRule()
}

// addUnreachable explains that the daemon did not answer.
func (d *screen) addUnreachable(why string) {
	d.addParagraph(span{red, "Cannot reach the daemon: " + strings.TrimPrefix(why, "cannot reach the daemon at ")})
	d.addLine(span{"", "Trying again at each interval."})
}

// addLine adds a line, truncated to the screen's width.
func (d *screen) addLine(spans ...span) {
	var b strings.Builder
	left := d.style.Width
	for _, s := range spans {
		letters := []rune(cleanText(s.text))
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

// addParagraph adds a text in as many lines as it needs.
func (d *screen) addParagraph(s span) {
	line := ""
	for _, word := range strings.Fields(cleanText(s.text)) {
		if line != "" && len(line)+1+len(word) > d.style.Width {
			d.addLine(span{s.colour, line})
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	d.addLine(span{s.colour, line})
}

func (d *screen) addRule() {
	stroke := "─"
	if d.style.Plain {
		stroke = "-"
	}
	d.lines = append(d.lines, strings.Repeat(stroke, d.style.Width))
}

// joinLines joins the lines. Lines that do not fit above the line of the keys are dropped.
func (d *screen) joinLines() string {
	height := d.style.Height
	if !d.style.Keys {
		return strings.Join(d.lines[:min(len(d.lines), height)], "\n")
	}
	d.lines = d.lines[:min(len(d.lines), max(0, height-1))]
	for len(d.lines) < height-1 {
		d.lines = append(d.lines, "")
	}
	d.addLine(span{bold, d.keyLine()})
	return strings.Join(d.lines, "\n")
}

// keyLine lists the keys.
func (d *screen) keyLine() string {
	keys := "q quit   p pause"
	for i, name := range d.style.Pages {
		keys += fmt.Sprintf("   %d %s", i+1, name)
	}
	if len(d.style.Pages) > 0 {
		keys += "   Tab next page   j k scroll"
	}
	return keys
}

// linesLeft is the number of lines that fit above the line of the keys.
func (d *screen) linesLeft() int {
	left := d.style.Height - len(d.lines)
	if d.style.Keys {
		left--
	}
	return max(0, left)
}

// cleanText replaces control and format characters by spaces.
func cleanText(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf) {
			return ' '
		}
		return r
	}, text)
}

// formatDuration formats seconds as 5s, 3m5s, 2h0m or 4d3h.
func formatDuration(seconds int64) string {
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

// formatSize formats a number of bytes with one decimal.
func formatSize(bytes int64) string {
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
