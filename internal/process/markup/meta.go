package markup

import (
	"regexp"
	"strings"

	"hce/dc/internal/web/dates"
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

// firstYear is the first year of documents. Programs without a clock write earlier ones.
const firstYear = 1980

// DateOf returns the date of a document, or the zero Value for one before 1980.
func DateOf(v dates.Value) dates.Value {
	if v.Wall().Year() < firstYear {
		return dates.Value{}
	}
	return v
}
