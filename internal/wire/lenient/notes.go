package lenient

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// ClipText returns the beginning of a text for an error.
func ClipText(b []byte) string {
	const most = 120
	s := string(bytes.ToValidUTF8(bytes.TrimSpace(b), []byte("?")))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
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

func (n *Notes) NoteIgnored(part, text string) {
	if n != nil && len(n.Ignored) < mostNotes {
		n.Ignored = append(n.Ignored, Remark{part, text})
	}
}
