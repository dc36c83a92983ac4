package robots

import (
	"slices"
	"strings"
	"time"

	"hce/dc/internal/web/dates"
)

// Directives are the requests of a page to robots, in its robots meta elements and
// X-Robots-Tag headers. The zero value has no requests.
type Directives struct {
	NoIndex  bool // do not show the page
	NoFollow bool // do not follow its links
	// NoArchive: do not show a copy of the page. nocache means the same.
	NoArchive bool
	// UnavailableAfter is when the page ends to be shown, in UTC; zero without a date.
	UnavailableAfter time.Time
}

const (
	// maxDirectives bounds the directives of one page, maxTag the bytes of one value.
	maxDirectives = 1000
	maxTag        = 16 << 10
)

// ParseTag parses the values of a page's X-Robots-Tag headers for agent, a product token or
// a whole User-Agent. A value is a list of directives. Each agent name in it ("otherbot:
// noindex, nofollow") restricts the directives after it to that agent. Directives for all
// agents and for agent add up. Names match in any case; other directives are ignored. At
// most 1000 directives are read.
func ParseTag(values []string, agent string) Directives {
	own := append(slices.Collect(productTokens(agent)), "*")
	return parseDirectives(values, func(name string) bool { return slices.Contains(own, name) })
}

// Addresses reports whether a meta element with that name is for agent: it is named robots, or like a
// product of the agent. Case does not matter.
func Addresses(name, agent string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	return name == "robots" || slices.Contains(slices.Collect(productTokens(agent)), name)
}

// ParseMeta parses the content of meta elements that are for this agent, as Addresses reports.
func ParseMeta(contents ...string) Directives { return parseDirectives(contents, nil) }

// Merge returns the stricter value of each directive.
func (d Directives) Merge(o Directives) Directives {
	m := Directives{d.NoIndex || o.NoIndex, d.NoFollow || o.NoFollow, d.NoArchive || o.NoArchive, d.UnavailableAfter}
	m.endAt(o.UnavailableAfter)
	return m
}

// parseDirectives collects the directives of several values. forAgent matches an agent name in lower
// case; it is nil if names are not allowed.
func parseDirectives(values []string, forAgent func(name string) bool) Directives {
	var d Directives
	left := maxDirectives
	for _, value := range values {
		if len(value) > maxTag {
			value = value[:maxTag]
			value = value[:strings.LastIndexByte(value, ',')+1] // drop a truncated directive
		}
		ours := true
		list := strings.Split(strings.ToLower(value), ",")
		for i, directive := range list {
			if left--; left < 0 {
				return d
			}
			name, rest, hasColon := strings.Cut(directive, ":")
			for hasColon && forAgent != nil && isAgent(strings.TrimSpace(name)) {
				ours = forAgent(strings.TrimSpace(name))
				name, rest, hasColon = strings.Cut(rest, ":")
			}
			if !ours {
				continue
			}
			if name = strings.TrimSpace(name); name == "unavailable_after" {
				d.endAt(dateOf(rest, list[i+1:]))
			}
			d.applyDirective(name)
		}
	}
	return d
}

// isAgent reports whether the name before a colon is that of an agent, and not a directive
// with a value or a part of a date.
func isAgent(name string) bool {
	switch name {
	case "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview":
		return false
	}
	return !strings.ContainsAny(name, " \t")
}

func (d *Directives) applyDirective(name string) {
	switch name {
	case "none":
		d.NoIndex, d.NoFollow = true, true
	case "noindex":
		d.NoIndex = true
	case "nofollow":
		d.NoFollow = true
	case "noarchive", "nocache":
		d.NoArchive = true
	}
}

// endAt sets UnavailableAfter unless it is earlier. The zero time changes nothing.
func (d *Directives) endAt(t time.Time) {
	if !t.IsZero() && (d.UnavailableAfter.IsZero() || t.Before(d.UnavailableAfter)) {
		d.UnavailableAfter = t
	}
}

// dateOf reads a date before a comma, or one whose comma follows its day of the week. It is zero if
// the date is invalid.
func dateOf(text string, rest []string) time.Time {
	if len(rest) > 0 && !strings.ContainsAny(text, "0123456789") {
		text += "," + rest[0]
	}
	t, _ := dates.Parse(strings.ToUpper(strings.TrimSpace(text)))
	return t.UTC()
}
