package wire

import (
	"regexp"

	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
)

var (
	idPattern  = regexp.MustCompile(`^[0-9A-Za-z_-]{1,32}$`)
	md5Pattern = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

// ValidSiteID reports whether id can be that of a site.
func ValidSiteID(id string) bool { return idPattern.MatchString(id) }

// CheckSiteID refuses an invalid site id (docs/spec/DECISIONS.md 4). Ids are part of
// table and file names. Errors are *FieldError with the given object and field.
func CheckSiteID(object, field, id string) error {
	return checkPattern(idPattern, object, field, id, "is not a site id: 1 to 32 letters, digits, - or _")
}

// CheckMd5 accepts 32 lower-case hexadecimal digits: readers of requests write keys so. Errors
// are *FieldError.
func CheckMd5(object, field, md5 string) error {
	return checkPattern(md5Pattern, object, field, md5, "is not an md5: 32 hexadecimal digits")
}

// NoKey is the key of no URL.
const NoKey = "00000000000000000000000000000000"

// keyToFind returns a key that a request looks for. A text that is no key, which the tables of the
// original merely did not have, becomes NoKey; "" stays.
func keyToFind(text string) string {
	if text == "" || md5Pattern.MatchString(text) {
		return text
	}
	return NoKey
}

func checkPattern(p *regexp.Regexp, object, field, text, reason string) error {
	if p.MatchString(text) {
		return nil
	}
	return &lenient.FieldError{Object: object, Field: field, Value: lenient.ClipText(schema.QuoteJSON(text)), Reason: reason}
}

// checkGiven is check for a text that may be "".
func checkGiven(check func(object, field, text string) error, object, field, text string) error {
	if text == "" {
		return nil
	}
	return check(object, field, text)
}
