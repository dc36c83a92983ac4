package index

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hce/dc/internal/apps/search"
)

// Lengths of an excerpt, in bytes.
const (
	excerptLength = 260
	excerptBefore = 60
)

// excerptOf returns the part of a text with the most matches, which are marked; without matches the
// start of the text.
func excerptOf(text string, places []spot) []search.Segment {
	places = slices.DeleteFunc(places, func(p spot) bool { return p.start >= p.end || p.end > len(text) })
	slices.SortFunc(places, func(a, b spot) int { return cmp.Or(a.start-b.start, b.end-a.end) })
	from := 0
	if first, ok := densestPlace(places); ok {
		from = max(0, places[first].start-excerptBefore)
	}
	from, to := wholeWords(text, from, from+excerptLength)
	var list []search.Segment
	add := func(part string, match bool) {
		if part = collapseBlanks(part); part != "" {
			list = append(list, search.Segment{Text: part, Match: match})
		}
	}
	if from > 0 {
		add("… ", false)
	}
	at := from
	for _, p := range places {
		if p.start >= at && p.end <= to {
			add(text[at:p.start], false)
			add(text[p.start:p.end], true)
			at = p.end
		}
	}
	add(text[at:to], false)
	if to < len(text) {
		add(" …", false)
	}
	return list
}

// densestPlace returns the place from which an excerpt has the most matches.
func densestPlace(places []spot) (best int, ok bool) {
	most, last := 0, 0
	for first := range places {
		for last < len(places) && places[last].end <= places[first].start+excerptLength-excerptBefore {
			last++
		}
		if last-first > most {
			best, most = first, last-first
		}
	}
	return best, most > 0
}

// wholeWords moves the ends of a part of a text to blanks, or at least to whole characters.
func wholeWords(text string, from, to int) (int, int) {
	if from > 0 {
		if i := strings.IndexFunc(text[from:min(len(text), from+excerptBefore/2)], unicode.IsSpace); i >= 0 {
			from += i + 1
		}
	}
	to = min(to, len(text))
	if to < len(text) {
		if i := strings.LastIndexFunc(text[from:to], unicode.IsSpace); i > excerptLength/2 {
			to = from + i
		}
	}
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	for to < len(text) && to > from && !utf8.RuneStart(text[to]) {
		to--
	}
	return min(from, to), to
}

// collapseBlanks makes one blank of each run of blanks and control characters.
func collapseBlanks(text string) string {
	var b strings.Builder
	last := false
	for _, c := range text {
		blank := unicode.IsSpace(c) || unicode.IsControl(c)
		switch {
		case !blank:
			b.WriteRune(c)
		case !last:
			b.WriteByte(' ')
		}
		last = blank
	}
	return b.String()
}
