package markup

import (
	"regexp"
	"strings"
)

// programTitle matches titles that a program made: of the name of a file or of a template.
var programTitle = regexp.MustCompile(`(?i)^(?:` +
	`untitled(?:[ _-]?(?:document|presentation|spreadsheet))?[ _-]?[0-9]*(?:\.\w+)?|` +
	`(?:unbenannt|sans nom|sans titre|sin título|senza titolo|bez názvu|без имени|無題|无标题)[ _-]?[0-9]*|` +
	`microsoft (?:word|powerpoint|excel) - .*|(?:microsoft )?word document|powerpoint presentation|powerpoint-präsentation|présentation powerpoint|` +
	`(?:document|dokument|documento|presentation|präsentation|présentation|presentación|book|mappe|classeur|slide)[ _-]?[0-9]+|` +
	`title|titel|(?:document )?template|no title|none|null|unknown|\(?(?:anonymous|unspecified)\)?|` +
	`[^ ]*[^ ]\.(?:docx?|docm|dotx?|dvi|eps|html?|indd|md|odp|ods|odt|pdf|pptx?|ps|pub|qxd|qxp|rtf|tex|txt|wpd|xlsx?)|` +
	`[\pL0-9.-]*_[\pL0-9_.-]*` +
	`)$`)

// OwnTitle returns the title that a person gave to a document: "" for the name of a file, of a template
// or of a program.
func OwnTitle(text string) string {
	if text = strings.TrimSpace(text); programTitle.MatchString(text) {
		return ""
	}
	return text
}

// dateForm matches a date of ISO 8601 in the form of XML Schema. Fractions of seconds and what follows are
// no part of it.
var dateForm = regexp.MustCompile(`^([0-9]{4})(-[0-9]{2}(?:-[0-9]{2})?)?(?:[T ]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(?:[.,][0-9]+)?)? ?(Z|[+-][0-9]{2}:?[0-9]{2})?`)

// firstYear is the first year of documents. Programs without a clock write earlier ones.
const firstYear = "1980"

// Date returns a date of ISO 8601 as far as it is stated: its zone stays, a date without a zone has none, a
// date without a time stays a date. It returns "" for another text, and for a date before 1980.
func Date(text string) string {
	m := dateForm.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil || m[1] < firstYear {
		return ""
	}
	date := m[1] + m[2]
	if len(date) == len("2006-01-02") && m[3] != "" {
		date += "T" + m[3] + m[4]
		if m[4] == "" {
			date += ":00"
		}
		date += m[5]
	}
	return date
}
