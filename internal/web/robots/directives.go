package robots

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/web/dates"
)

// Directives are the requests of a page to robots, in its robots meta elements and
// X-Robots-Tag headers. The zero value has no requests.
type Directives struct {
	NoIndex      bool // do not show the page
	NoFollow     bool // do not follow its links
	NoArchive    bool // do not offer a copy
	NoSnippet    bool // do not show its text
	NoImageIndex bool
	NoTranslate  bool

	// UnavailableAfter is when to stop showing the page, in UTC; zero for never.
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
// agents and for agent add up. Names match in any case; unknown directives and invalid
// dates are ignored. At most 1000 directives are read.
func ParseTag(values []string, agent string) Directives {
	own := slices.Collect(products(agent))
	r := directiveReader{left: maxDirectives}
	for _, v := range values {
		r.read(v, func(name string) bool {
			return name == "*" || slices.Contains(own, strings.ToLower(name))
		})
	}
	return r.d
}

// ParseMeta parses the content of meta elements for this agent: named robots, or like the
// agent.
func ParseMeta(contents ...string) Directives {
	r := directiveReader{left: maxDirectives}
	for _, c := range contents {
		r.read(c, nil)
	}
	return r.d
}

// Merge returns the stricter value of each directive.
func (d Directives) Merge(o Directives) Directives {
	d.NoIndex = d.NoIndex || o.NoIndex
	d.NoFollow = d.NoFollow || o.NoFollow
	d.NoArchive = d.NoArchive || o.NoArchive
	d.NoSnippet = d.NoSnippet || o.NoSnippet
	d.NoImageIndex = d.NoImageIndex || o.NoImageIndex
	d.NoTranslate = d.NoTranslate || o.NoTranslate
	d.until(o.UnavailableAfter)
	return d
}

// until keeps the earlier date.
func (d *Directives) until(t time.Time) {
	if !t.IsZero() && (d.UnavailableAfter.IsZero() || t.Before(d.UnavailableAfter)) {
		d.UnavailableAfter = t
	}
}

// directiveReader collects the directives of several values.
type directiveReader struct {
	d    Directives
	left int
}

// read parses one value. forAgent matches an agent name; it is nil if names are not
// allowed.
func (r *directiveReader) read(value string, forAgent func(name string) bool) {
	if len(value) > maxTag {
		value = value[:maxTag]
		value = value[:strings.LastIndexByte(value, ',')+1] // drop a truncated directive
	}
	ours := true
	for value != "" && r.left > 0 {
		r.left--
		name, rest, _ := strings.Cut(value, ",")
		argument, hasArgument := "", false
		for {
			var head string
			head, argument, hasArgument = strings.Cut(name, ":")
			head = strings.ToLower(strings.TrimSpace(head))
			if !hasArgument || takesArgument[head] || forAgent == nil {
				name = head
				break
			}
			ours = forAgent(head)
			name = argument
		}
		if name == "unavailable_after" && hasArgument {
			argument, rest = dateArgument(argument, rest)
		}
		if ours {
			r.apply(name, strings.TrimSpace(argument))
		}
		value = rest
	}
}

// takesArgument holds the directives with a value, which are not agent names.
var takesArgument = map[string]bool{
	"unavailable_after": true, "max-snippet": true, "max-image-preview": true, "max-video-preview": true,
}

func (r *directiveReader) apply(name, argument string) {
	switch name {
	case "none":
		r.d.NoIndex, r.d.NoFollow = true, true
	case "noindex":
		r.d.NoIndex = true
	case "nofollow":
		r.d.NoFollow = true
	case "noarchive", "nocache":
		r.d.NoArchive = true
	case "nosnippet":
		r.d.NoSnippet = true
	case "noimageindex":
		r.d.NoImageIndex = true
	case "notranslate":
		r.d.NoTranslate = true
	case "max-snippet":
		if n, err := strconv.Atoi(argument); err == nil && n == 0 {
			r.d.NoSnippet = true
		}
	case "unavailable_after":
		if t, ok := dates.Parse(argument); ok {
			r.d.until(t)
		}
	}
}

// dateArgument completes a date that contains commas, as in "Wed, 25 Jun 2025 15:00:00
// GMT", by at most two parts of rest.
func dateArgument(argument, rest string) (whole, left string) {
	longer, after := argument, rest
	for range 3 {
		if _, ok := dates.Parse(longer); ok {
			return longer, after
		}
		if after == "" {
			break
		}
		piece, more, _ := strings.Cut(after, ",")
		longer, after = longer+","+piece, more
	}
	return argument, rest
}
