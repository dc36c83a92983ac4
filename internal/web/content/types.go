package content

import (
	"fmt"
	"strconv"
	"strings"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/prop"
)

// maxEntries bounds the entries of each list and map in a property.
const maxEntries = 1000

// Types is a list of types, as in ALLOWED_CTYPES and MIME_TYPE_STORE_ON_DISK. An empty list
// means all types.
type Types []string

// ParseTypes parses a comma-separated list of types, such as "text/html, image/*", or a
// JSON list. "*" and an empty text mean all types.
func ParseTypes(text string) (Types, error) {
	list := prop.Texts{text}
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		if err := prop.Decode(text, &list); err != nil {
			return nil, err
		}
	}
	var types Types
	for _, part := range list {
		for entry := range strings.SplitSeq(part, ",") {
			entry, _, _ = strings.Cut(entry, ";")
			switch entry = strings.ToLower(strings.Trim(strings.TrimSpace(entry), `"'`)); {
			case entry == "":
				continue
			case entry == "*":
				entry = "*/*"
			case !validType(entry):
				return nil, fmt.Errorf(`has %.80q; expected a type such as "text/html" or "text/*"`, entry)
			}
			if len(types) == maxEntries {
				return nil, fmt.Errorf("has more than %d types", maxEntries)
			}
			types = append(types, entry)
		}
	}
	return types, nil
}

// Holds reports whether the list contains the type, by name or wildcard.
func (t Types) Holds(kind string) bool { return len(t) == 0 || t.listsType(kind) }

// listsType is Holds, but false for an empty list.
func (t Types) listsType(kind string) bool {
	for _, entry := range t {
		family, all := strings.CutSuffix(entry, "*")
		if entry == kind || entry == "*/*" || all && strings.HasSuffix(family, "/") && strings.HasPrefix(kind, family) {
			return true
		}
	}
	return false
}

// TypeMap is the property CONTENT_TYPE_MAP: new names of types.
type TypeMap map[string]string

// ParseTypeMap parses {"type": "type"}.
func ParseTypeMap(text string) (TypeMap, error) {
	var members prop.Members
	if err := prop.Decode(text, &members); err != nil {
		return nil, err
	}
	if len(members) > maxEntries {
		return nil, fmt.Errorf("has more than %d types", maxEntries)
	}
	types := make(TypeMap, len(members))
	for _, m := range members {
		to, err := prop.Text(m.Value)
		if err != nil {
			return nil, fmt.Errorf("at %.80q: %w", m.Name, err)
		}
		from, to := normalType(m.Name), normalType(to)
		if !validType(to) {
			return nil, fmt.Errorf(`has %.80q at %.80q; expected a type such as "text/html"`, to, m.Name)
		}
		types[from] = to
	}
	return types, nil
}

// Map returns the new name of kind, or kind. It maps once, not transitively. The key
// "type/*" applies to a family without a more exact key, the key "" to an undeclared type.
func (t TypeMap) Map(kind string) string {
	if to, ok := t[kind]; ok {
		return to
	}
	family, _, _ := strings.Cut(kind, "/")
	if to, ok := t[family+"/*"]; ok {
		return to
	}
	return kind
}

func normalType(kind string) string {
	kind, _, _ = strings.Cut(kind, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// Statuses is the property HTTP_CODE_STATUS_UPDATE: by HTTP code, the Status of a URL after
// its crawl.
type Statuses map[int]int64

// ParseStatuses parses {"code": status}. A code has three digits; a status is one of those
// in which a row can rest or be selected again.
func ParseStatuses(text string) (Statuses, error) {
	var members prop.Members
	if err := prop.Decode(text, &members); err != nil {
		return nil, err
	}
	statuses := make(Statuses)
	for _, m := range members {
		code, err := strconv.Atoi(strings.TrimSpace(m.Name))
		if err != nil || code < 100 || code > 999 {
			return nil, fmt.Errorf("has the name %.80q; expected an HTTP code", m.Name)
		}
		status := prop.Int(-1)
		if err := status.UnmarshalJSON(m.Value); err != nil {
			return nil, fmt.Errorf("at %.80q: %w", m.Name, err)
		}
		if status < wire.StatusUndefined || status > wire.StatusSelectedIncremental {
			return nil, fmt.Errorf("has %.80s at %q; expected a status from %d to %d",
				m.Value, m.Name, wire.StatusUndefined, wire.StatusSelectedIncremental)
		}
		statuses[code] = int64(status)
	}
	return statuses, nil
}
