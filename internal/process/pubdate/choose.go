package pubdate

import (
	"strings"

	"hce/dc/internal/web/dates"
	"hce/dc/internal/web/datetext"
)

// firstYear is the first year of a page. Dates of 1970 are zeros of programs.
const firstYear = 1971

// Choose returns the date of publication and of the last change that the candidates of a page state.
// Candidates are preferred by what they are a date of, then by their source, then by their distance
// from the title, then by their order. The text of a candidate is read only if no better one is a
// date. A month without a day and a date after the fetch are no dates of a page, and a change is no
// publication.
func Choose(all []Candidate, page Page) Chosen {
	c := choice{page: page, options: datetext.Options{Order: OrderOf(page.Language)}}
	c.ranks = [...]int{ofPublication: worst, ofChange: worst}
	for i := range all {
		if all[i].Source >= Time && c.ranks[ofPublication] < leastPlace && c.ranks[ofChange] < leastPlace {
			continue // the page states both dates for programs
		}
		if r, rank := all[i].rankFor(page); r != ofNothing {
			c.considerCandidate(&all[i], r, rank)
		}
	}
	return c.Chosen
}

// choice is the state of one Choose.
type choice struct {
	Chosen
	page    Page
	options datetext.Options
	ranks   [ofChange + 1]int // of the dates so far
}

const (
	worst      = 1 << 30                        // above all ranks
	leastPlace = 100*timeElement - labelBonus*2 // below the ranks of visible dates
)

// considerCandidate takes the date of a candidate if it is better than the one so far.
func (c *choice) considerCandidate(from *Candidate, r role, rank int) {
	text := from.Text
	switch from.Source {
	case URL:
		if rank < c.ranks[r] {
			c.takeDate(from, r, rank, ofURL(text), "")
		}
		return
	case Time, Element, Visible:
		forEachSegment(clipText(text), func(s segment) { c.considerSegment(from, s, r, rank) })
		return
	}
	c.readText(from, r, rank, clipText(text))
}

// considerSegment takes the date of a part of a visible text, whose label counts more than the names of
// its element.
func (c *choice) considerSegment(from *Candidate, s segment, r role, rank int) {
	switch s.label {
	case foreign:
		return
	case changed:
		r = ofChange
	case published:
		r, rank = ofPublication, rank-labelBonus
	}
	if from.Source == Visible && !isDateline(s.text) {
		return
	}
	c.readText(from, r, rank, s.text)
}

// readText reads a text that may be a date.
func (c *choice) readText(from *Candidate, r role, rank int, text string) {
	if rank >= c.ranks[r] {
		return
	}
	if v, ok := datetext.Read(text, c.options); ok {
		c.takeDate(from, r, rank, v, text)
	}
}

// takeDate keeps a date that the page may have.
func (c *choice) takeDate(from *Candidate, r role, rank int, v dates.Value, text string) {
	if v.Precision() < dates.Day || v.Wall().Year() < firstYear || !c.page.Now.IsZero() && v.After(c.page.Now) {
		return
	}
	c.ranks[r] = rank
	if r == ofChange {
		c.Modified = v
		return
	}
	c.Published, c.Text, c.Source = v, strings.TrimSpace(text), from.Source
}

// clipText returns the part of a text that is read.
func clipText(text string) string {
	if len(text) > MaxText {
		text = strings.ToValidUTF8(text[:MaxText], "")
	}
	return text
}

// isDateline reports whether a line says when something was written: it has one year and few words.
// A sentence mentions dates, and two years are a period.
func isDateline(text string) bool {
	const most = 16
	words, years, run := 0, 0, 0
	blank := true
	for i := range len(text) {
		b := text[i]
		if blank && b > ' ' {
			words++
		}
		blank = b <= ' '
		if b >= '0' && b <= '9' {
			run++
			continue
		}
		years += yearBefore(text[:i], run)
		run = 0
	}
	years += yearBefore(text, run)
	return years == 1 && words <= most
}

// yearBefore returns 1 if a text ends with a run of 4 digits that is a year of this or the last century.
func yearBefore(text string, run int) int {
	if run != 4 {
		return 0
	}
	if y := text[len(text)-4:]; y[:2] == "19" || y[:2] == "20" {
		return 1
	}
	return 0
}
