package wire

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"hce/dc/internal/wire/schema"
)

// FieldError reports an invalid field of a request.
type FieldError struct {
	Object, Field string // "URLNew[0]", "urlMd5"
	Value         string // the invalid JSON, clipped; "" if the field is missing
	Reason        string // "is not ..."
}

func (e *FieldError) Error() string {
	name := e.Object
	if e.Field != "" {
		name += "." + e.Field
	}
	if e.Value == "" {
		return name + " " + e.Reason
	}
	return name + ": " + e.Value + " " + e.Reason
}

func clipText(b []byte) string {
	const most = 120
	s := string(bytes.ToValidUTF8(bytes.TrimSpace(b), []byte("?")))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

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
	return &FieldError{Object: object, Field: field, Value: clipText(schema.QuoteJSON(text)), Reason: reason}
}

// checkGiven is check for a text that may be "".
func checkGiven(check func(object, field, text string) error, object, field, text string) error {
	if text == "" {
		return nil
	}
	return check(object, field, text)
}

// Notes collects the parts of a request that have no effect, at most 50 of each kind. A nil
// *Notes collects nothing. Not safe for concurrent use.
type Notes struct {
	Unknown []string // unknown keys, such as Site.parentMD5
	// Known has the keys that exist in an object with an unknown key, by its name, such as
	// Site.filters[0].
	Known   map[string][]string
	Ignored []Remark
}

// Remark is about a known part of a request.
type Remark struct{ Part, Text string } // "Site.urls[1]", "has no url"

func (r Remark) String() string { return r.Part + " " + r.Text }

const mostNotes = 50

func (n *Notes) noteUnknown(object, field string, known map[string]bool) {
	if n == nil || len(n.Unknown) >= mostNotes {
		return
	}
	n.Unknown = append(n.Unknown, fmt.Sprintf("%s.%s", object, field))
	if n.Known == nil {
		n.Known = map[string][]string{}
	}
	if n.Known[object] == nil {
		n.Known[object] = slices.Sorted(maps.Keys(known))
	}
}

func (n *Notes) noteIgnored(part, text string) {
	if n != nil && len(n.Ignored) < mostNotes {
		n.Ignored = append(n.Ignored, Remark{part, text})
	}
}
