package author

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxAuthorBytes = 120
	maxAuthorWords = 8
)

// Names returns the plausible names in texts, each once, separated by "; ".
func Names(texts []string) string {
	var names []string
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ";") {
			if name := Name(part); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, "; ")
}

// creditEnd is a date or a role after the name.
var creditEnd = regexp.MustCompile(`(?i)\s*(?:,\s(?-i:\p{Ll})|\s[|•·⋅–—]\s|\s-\s(?:` + monthStart + `|\d)|,?\s(?:on\s|updated\s|published\s|posted\s)?(?:\d{1,2}\s)?` + monthStart +
	`[a-z]*\.?\s\d|\bon\s+\d|,?\s\d{1,2}[./-]\d|,?\s\d{1,2}\s` + monthStart + `|,?\s\d{4}\b).*$`)

const monthStart = `(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)`

// oneLine returns a text with single spaces.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Plausible reports whether text has the name of a person or an account.
func Plausible(text string) bool { return Name(text) != "" }

// Credited is Name for texts that announce an author, such as "By Ann Bell". It returns ""
// for others.
func Credited(text string) string {
	if name, ok := withoutCredit(oneLine(text)); ok {
		return Name(name)
	}
	return ""
}

// Name returns a name without the words around it, or "" if text is no plausible name: a
// month, a role, an address, a date.
func Name(text string) string {
	text = strings.Trim(oneLine(text), " ,|•·-–—")
	if isCredit(text) {
		return ""
	}
	if name, ok := withoutCredit(text); ok {
		text = name
	}
	text = strings.Trim(creditEnd.ReplaceAllString(text, ""), " ,|•·-–—@")
	words := strings.Fields(text)
	switch {
	case len(text) > maxAuthorBytes || utf8.RuneCountInString(text) < 2 || len(words) > maxAuthorWords:
		return ""
	case strings.ContainsAny(text, "<>{}[]@=?!*\\") || strings.Contains(text, "//") || strings.Contains(strings.ToLower(text), "www."):
		return ""
	case noName[strings.ToLower(strings.Trim(text, ".:"))]:
		return ""
	}
	letters := 0
	for _, c := range text {
		if unicode.IsLetter(c) || unicode.IsMark(c) {
			letters++
		}
	}
	if 2*letters < utf8.RuneCountInString(text) || dayNames(words) {
		return ""
	}
	return text
}

// dayNames reports whether all words are names of months or days, or numbers.
func dayNames(words []string) bool {
	for _, w := range words {
		w = strings.ToLower(strings.Trim(w, ".,"))
		if !calendar[w] && strings.Trim(w, "0123456789") != "" {
			return false
		}
	}
	return true
}

// calendar are names of months and days. "May" alone is no name; "May Bell" is.
var calendar = wordSet(`
	january february march april may june july august september october november december
	jan feb mar apr jun jul aug sep sept oct nov dec
	monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun today yesterday
	januar februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag freitag samstag sonntag heute gestern
	janvier février mars avril juin juillet août septembre octobre novembre décembre
	lundi mardi mercredi jeudi vendredi samedi dimanche
	enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
	lunes martes miércoles jueves viernes sábado domingo
	gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre
	января февраля марта апреля мая июня июля августа сентября октября ноября декабря
	январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь
	понедельник вторник среда четверг пятница суббота воскресенье`)

// noName are texts in the place of an author that name no person.
var noName = func() map[string]bool {
	set := wordSet(`admin administrator root webmaster author authors editor editors editorial staff user guest anonymous unknown
		none null undefined news press redaktion rédaction redacción redazione редакция админ администратор автор 編集部 管理人 管理者 匿名
		updated published written posted website home blog post article share comments comment by more menu search subscribe
		writer reporter correspondent journalist contributor`)
	for _, text := range []string{"site admin", "web admin", "super user", "super admin", "the author", "guest author", "guest post", "guest writer",
		"about the author", "no author", "news desk", "web desk", "staff writer", "staff reporter", "staff report", "read more", "sign in", "log in"} {
		set[text] = true
	}
	return set
}()

// wordSet returns the words of a list.
func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}
