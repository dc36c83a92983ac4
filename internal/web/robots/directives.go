package robots

import (
	"slices"
	"strings"
)

// Directives are the requests of a page to robots, in its robots meta elements and
// X-Robots-Tag headers. The zero value has no requests.
type Directives struct {
	NoIndex  bool // do not show the page
	NoFollow bool // do not follow its links
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
	own := append(slices.Collect(products(agent)), "*")
	return parse(values, func(name string) bool { return slices.Contains(own, name) })
}

// ParseMeta parses the content of meta elements for this agent: named robots, or like the
// agent.
func ParseMeta(contents ...string) Directives { return parse(contents, nil) }

// Merge returns the stricter value of each directive.
func (d Directives) Merge(o Directives) Directives {
	return Directives{d.NoIndex || o.NoIndex, d.NoFollow || o.NoFollow}
}

// parse collects the directives of several values. forAgent matches an agent name in lower
// case; it is nil if names are not allowed.
func parse(values []string, forAgent func(name string) bool) Directives {
	var d Directives
	left := maxDirectives
	for _, value := range values {
		if len(value) > maxTag {
			value = value[:maxTag]
			value = value[:strings.LastIndexByte(value, ',')+1] // drop a truncated directive
		}
		ours := true
		for directive := range strings.SplitSeq(strings.ToLower(value), ",") {
			if left--; left < 0 {
				return d
			}
			name, rest, hasColon := strings.Cut(directive, ":")
			for hasColon && forAgent != nil && isAgent(strings.TrimSpace(name)) {
				ours = forAgent(strings.TrimSpace(name))
				name, rest, hasColon = strings.Cut(rest, ":")
			}
			if ours {
				d.apply(strings.TrimSpace(name))
			}
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

func (d *Directives) apply(name string) {
	switch name {
	case "none":
		d.NoIndex, d.NoFollow = true, true
	case "noindex":
		d.NoIndex = true
	case "nofollow":
		d.NoFollow = true
	}
}
