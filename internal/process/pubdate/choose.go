package pubdate

import (
	"strings"

	"hce/dc/internal/web/dates"
	"hce/dc/internal/web/datetext"
)

// firstYear is the first year of a page. Dates of 1970 are zeros of programs.
const firstYear = 1971

// Choose returns the date of publication and of the last change that the candidates of a page state.
// Of candidates of the same rank the first counts. It reads the text of a candidate only if no better
// one is a date. A month without a day and a date after the fetch are no dates of a page.
func Choose(all []Candidate, page Page) (c Chosen) {
	o := datetext.Options{Order: OrderOf(page.Language)}
	best := [...]int{ofPublication: 1 << 30, ofChange: 1 << 30}
	for i := range all {
		candidate := &all[i]
		role, rank := candidate.rank()
		if role == ofNothing || rank >= best[role] {
			continue
		}
		v, ok := candidate.read(o)
		if !ok || v.Precision() < dates.Day || v.Wall().Year() < firstYear || !page.Now.IsZero() && v.After(page.Now) {
			continue
		}
		best[role] = rank
		if role == ofChange {
			c.Modified = v
		} else {
			c.Published, c.Text, c.Source = v, strings.TrimSpace(candidate.Text), candidate.Source
		}
	}
	return c
}

// read reads the text of a candidate.
func (c *Candidate) read(o datetext.Options) (dates.Value, bool) {
	text := strings.TrimSpace(c.Text)
	if c.Source == URL {
		return ofURL(text)
	}
	if len(text) > MaxText {
		text = strings.ToValidUTF8(text[:MaxText], "")
	}
	if c.Source == Visible && !hasYear(text) {
		return dates.Value{}, false
	}
	return datetext.Read(text, o)
}

// hasYear reports whether a text has a year of four digits.
func hasYear(text string) bool {
	run := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && text[i] >= '0' && text[i] <= '9' {
			run++
			continue
		}
		if run == 4 && (text[i-4] == '2' && text[i-3] == '0' || text[i-4] == '1' && text[i-3] == '9') {
			return true
		}
		run = 0
	}
	return false
}
