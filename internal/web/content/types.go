package content

import (
	"fmt"
	"strings"

	"hce/dc/internal/wire/prop"
)

// maxEntries bounds the entries of each list and map that a property holds.
const maxEntries = 1000

// Types is a list of types as ALLOWED_CTYPES and MIME_TYPE_STORE_ON_DISK hold
// it. The empty list means all.
type Types []string

// ParseTypes reads a comma list of types, such as "text/html, image/*". A JSON
// list of them does as well. "*" and an empty text mean all.
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
				return nil, fmt.Errorf(`has %.80q, where a type such as "text/html" or "text/*" is wanted`, entry)
			}
			if len(types) == maxEntries {
				return nil, fmt.Errorf("has more than %d types", maxEntries)
			}
			types = append(types, entry)
		}
	}
	return types, nil
}

// Holds reports whether the type is one of the list, by name or by wildcard.
func (t Types) Holds(kind string) bool { return len(t) == 0 || t.names(kind) }

// names is Holds with an empty list that holds nothing.
func (t Types) names(kind string) bool {
	for _, entry := range t {
		family, all := strings.CutSuffix(entry, "*")
		if entry == kind || entry == "*/*" || all && strings.HasSuffix(family, "/") && strings.HasPrefix(kind, family) {
			return true
		}
	}
	return false
}

// TypeMap is what CONTENT_TYPE_MAP calls types instead.
type TypeMap map[string]string

// ParseTypeMap reads {"type": "type"}.
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
		from, to := normal(m.Name), normal(to)
		if !validType(to) {
			return nil, fmt.Errorf(`has %.80q at %.80q, where a type such as "text/html" is wanted`, to, m.Name)
		}
		types[from] = to
	}
	return types, nil
}

// Map returns what kind is called instead, or kind. It is one step: what it
// returns is not mapped again. A key "type/*" stands for all of a family that
// have no key of their own, "" for a type that nobody stated.
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

func normal(kind string) string {
	kind, _, _ = strings.Cut(kind, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}
