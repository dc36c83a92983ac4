package template

import (
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/web/dates"
	"hce/dc/internal/wire/errormask"
)

// format is the format of a rule, by its type.
type format struct {
	most  int    // characters of a text or of attributes, or e-mail addresses; 0: no limit
	name  string // of a link: "" or email-…; of an image: URL, ALT, TITLE, DATA; of an attribute: its name
	dates string // strftime; "": ISO
	html  htmlFlags
}

// htmlFlags are the flags of type html.
type htmlFlags struct{ noScript, noMeta, encoded bool }

// Forms of e-mail links.
const (
	emailAddress = "email-address"
	emailTo      = "email-to"
	emailText    = "email-text"
)

// setFormat reads the format of the rule's type (docs/spec/processing.md 3.3). A format that is
// not known is a fault.
func (r *rule) setFormat(text string) {
	text = strings.TrimSpace(text)
	known := true
	switch r.kind {
	case typeText:
		r.format.most, known = parseNumber(strings.TrimLeft(strings.TrimSpace(strings.TrimPrefix(text, "maxCh")), "= "))
	case typeHTML:
		known = r.format.html.setFlags(text)
	case typeDatetime:
		if !strings.EqualFold(text, "FULL") {
			r.format.dates = text
			if _, err := dates.Format(text, time.Time{}); err != nil {
				r.format.dates, known = "", false
			}
		}
	case typeImage:
		r.format.name = strings.ToUpper(text)
		switch r.format.name {
		case "":
			r.format.name = "URL"
		case "URL", "ALT", "TITLE", "DATA":
		default:
			r.format.name, known = "URL", false
		}
	case typeLink, typeAttribute:
		known = r.setLimited(text)
	}
	if !known {
		r.addFault(errormask.Scraper, `"format" has %.80q, which type %s does not know; it is ignored`, text, r.kind)
	}
}

// setLimited reads [max,]name of a link or an attribute.
func (r *rule) setLimited(text string) (known bool) {
	known = true
	if before, after, ok := strings.Cut(text, ","); ok {
		r.format.most, known = parseNumber(before)
		text = strings.TrimSpace(after)
	}
	if r.kind == typeAttribute {
		r.format.name = strings.ToLower(strings.TrimPrefix(text, "@"))
		return known
	}
	switch text {
	case "", emailAddress, emailTo, emailText:
		r.format.name = text
		return known
	}
	return false
}

// parseNumber reads a number of at least 0; "" is 0.
func parseNumber(text string) (n int, ok bool) {
	if text = strings.TrimSpace(text); text == "" {
		return 0, true
	}
	n, err := strconv.Atoi(text)
	return max(n, 0), err == nil && n >= 0
}

// setFlags reads flags that are separated by "|".
func (f *htmlFlags) setFlags(text string) (known bool) {
	known = true
	for flag := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("|, \t", r) }) {
		switch strings.ToUpper(flag) {
		case "NO_SCRIPT":
			f.noScript = true
		case "NO_META":
			f.noMeta = true
		case "NO_COMMENTS": // comments are always removed
		case "ENTITIES_ENCODED":
			f.encoded = true
		default:
			known = false
		}
	}
	return known
}
