package sitemap

import (
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/web/dates"
	"hce/dc/internal/web/loosexml"
)

// Elements of a sitemap, in lower case.
const (
	elementPages   = "urlset"
	elementIndex   = "sitemapindex"
	elementPage    = "url"
	elementSitemap = "sitemap"
)

func parseXML(text []byte, o Options) (Sitemap, error) {
	r := loosexml.NewReader(text, elementPage, elementSitemap)
	t, ok := r.Root(func(t loosexml.Token) bool {
		switch t.Local() {
		case elementPages, elementIndex, elementPage, elementSitemap, "rss", "feed", "rdf":
			return true
		}
		return false
	})
	if !ok {
		return Sitemap{}, ErrNoSitemap
	}
	switch t.Local() {
	case "rss", "feed", "rdf":
		return Sitemap{}, ErrFeed
	}
	s := Sitemap{Index: t.Local() == elementIndex}
	home := homeOf(o.URL)
	for ; ok && !s.Cut; t, ok = r.Next() { // the root itself may be an entry
		local := t.Local()
		if t.Kind != loosexml.Start || local != elementPage && local != elementSitemap {
			continue
		}
		if len(s.Entries) == 0 { // the first entry decides for all
			s.Index = local == elementSitemap
		}
		if s.Index != (local == elementSitemap) {
			continue
		}
		e, locs := readEntry(r, t, o.MaxEntries+1)
		for _, loc := range locs {
			e.Loc = home.absoluteAddress(loc)
			s.addEntry(e, o)
		}
	}
	return s, nil
}

// readEntry reads the entry that begins with the tag start: its fields, and at most most values
// of its loc elements. Without a loc, its text may be the URL.
func readEntry(r *loosexml.Reader, start loosexml.Token, most int) (Entry, []string) {
	var (
		e     = Entry{Priority: -1}
		locs  []string
		bare  string   // text directly inside the entry
		path  []string // open elements inside the entry
		field string   // the field whose text is collected, "" without one
		depth int      // of that field's tags
		text  strings.Builder
	)
	for t, ok := r.Next(); ok; t, ok = r.Next() {
		at := t.Depth - start.Depth
		switch {
		case t.Kind == loosexml.Start && field == "":
			path = append(path[:at-1], t.Local())
			field, depth = fieldOf(path, loosexml.Prefix(t.Name)), at
			text.Reset()
		case t.Kind == loosexml.Text && field != "":
			if text.Len() <= maxFieldBytes { // a longer one is dropped as a whole
				text.WriteString(t.Text[:min(len(t.Text), maxFieldBytes+1)])
			}
		case t.Kind == loosexml.Text && at == 0 && bare == "" && len(t.Text) <= maxFieldBytes:
			bare = strings.TrimSpace(t.Text)
		case t.Kind == loosexml.End && at == 0:
			if len(locs) == 0 && !t.Cut && isURL(bare) {
				locs = append(locs, bare)
			}
			return e, locs
		case t.Kind == loosexml.End && field != "" && at == depth:
			value := strings.TrimSpace(text.String())
			switch {
			case t.Cut || value == "" || len(value) > maxFieldBytes: // a truncated URL is a different URL
			case field != "loc":
				e.setField(field, value)
			case len(locs) < most:
				locs = append(locs, value)
			}
			field = ""
		}
	}
	return e, locs
}

// fieldOf returns the field of an entry that the last element of path holds, or "". Of the
// known extensions it is only the date of news.
func fieldOf(path []string, prefix string) string {
	last := len(path) - 1
	if last > 0 && path[last-1] == "news" && path[last] == "publication_date" {
		return path[last]
	}
	switch strings.ToLower(prefix) {
	case "image", "video", "news", "xhtml", "mobile":
		return ""
	}
	switch path[last] {
	case "loc", "lastmod", "priority":
		if last == 0 {
			return path[last]
		}
	}
	return ""
}

// setField sets a field of the entry other than loc.
func (e *Entry) setField(field, text string) {
	switch field {
	case "lastmod":
		if t := parseTime(text); !t.IsZero() {
			e.LastMod = t
		}
	case "publication_date":
		if e.LastMod.IsZero() {
			e.LastMod = parseTime(text)
		}
	case "priority":
		e.Priority = parsePriority(text)
	}
}

// parsePriority returns -1 for anything but a number from 0 to 1.
func parsePriority(text string) float64 {
	v, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	if err != nil || !(v >= 0 && v <= 1) {
		return -1
	}
	return v
}

// parseTime parses a lastmod, in UTC; a year alone is its first day. It returns zero for an
// invalid text and a year before 1900, which some programs write for an unknown date.
func parseTime(text string) time.Time {
	t, ok := dates.Parse(text)
	if !ok {
		t, _ = time.Parse("2006", strings.TrimSpace(text))
	}
	if y := t.Year(); y < 1900 || y > 9999 {
		return time.Time{}
	}
	return t
}
