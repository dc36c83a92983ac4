package article

import (
	"regexp"
	"strings"
	"time"
	"unicode"

	"hce/dc/internal/web/datetext"
)

// parseDate reads a date in mark-up or in a text. A date without a zone is UTC. It returns the
// zero time for other texts.
func parseDate(text string) time.Time {
	text = strings.TrimSpace(text)
	if len(text) < 8 || len(text) > maxDateBytes {
		return time.Time{}
	}
	t, _ := datetext.Parse(text, datetext.Options{})
	return t
}

// maxDateBytes is the longest text of a date.
const maxDateBytes = 80

// Parts of dateInText. Digits, colons and separators may be full-width, as Japanese pages write them.
const (
	fourDigits = `(?:[1１][9９]|[2２][0０])[\d０-９]{2}` // a year of four digits
	oneOrTwo   = `[\d０-９]{1,2}`
	eastern    = `(?:` + fourDigits + `\s*[年년./／．-]|(?:昭和|平成|令和)\s*(?:元|` + oneOrTwo + `)\s*年)\s*` + oneOrTwo + `\s*[月월./／．-]\s*` + oneOrTwo + `(?:\s*[日일])?`
	dayInWords = `\d{1,2}(?:st|nd|rd|th|\.|er|º)?(?:\s+de)?\s+[\p{L}\p{M}]{3,12}\.?,?(?:\s+de)?\s+(?:19|20)\d\d`
	wordsFirst = `[\p{L}\p{M}]{3,12}\.?\s+\d{1,2}(?:st|nd|rd|th)?,?\s+(?:19|20)\d\d`
	someDay    = `(?:` + eastern + `|\b\d{1,2}[./-]\d{1,2}[./-](?:19|20)\d\d\b|\b` + dayInWords + `\b|\b` + wordsFirst + `\b)`
	weekday    = `(?:\s*[(（][\p{L}・.]{1,9}[)）])?`
	eastClock  = `(?:午前|午後|上午|下午|오전|오후)?\s*` + oneOrTwo + `\s*[時时点시](?:\s*` + oneOrTwo + `\s*[分분])?`
	halfClock  = `(?:午前|午後|上午|下午|오전|오후)\s*` + oneOrTwo + `[:：][\d０-９]{2}`
	clockTime  = oneOrTwo + `[:：h]\s?[\d０-９]{2}(?:[:：][\d０-９]{2})?(?:\s?[AaPp]\.?[Mm]\.?)?(?:\s?[+-]\d{2}:?\d{2})?`
)

// dateInText matches a day with a year of four digits or of a Japanese era, and the time behind it.
var dateInText = regexp.MustCompile(someDay + weekday + `(?:[\s,T|]*(?:at|um|à|в|o)?\s*(?:` + eastClock + `|` + halfClock + `|` + clockTime + `))?`)

// dates returns the texts near the title that are dates, in document order.
func (o *outline) dates() (found []string) {
	start, end := o.zone()
	for i := start; i < end; i++ {
		if b := &o.blocks[i]; b.size > 2*byLineSize || i == o.title {
			continue
		}
		if text := dateInText.FindString(o.text(i)); text != "" && len(found) < maxDates {
			found = append(found, strings.TrimFunc(text, unicode.IsSpace))
		}
	}
	return found
}
