package headerrotation

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hce/dc/internal/crawl/statefile"
	"hce/dc/internal/wire/prop"
)

const (
	maxHeaders = 100
	maxValues  = 2000
	maxValue   = 8 << 10 // bytes
	maxFile    = 1 << 20 // bytes
)

const (
	filePrefix = "file://"
	userAgent  = "User-Agent"
)

// Header is one header field of a request.
type Header struct{ Name, Value string }

// Rule is a value of HTTP_HEADERS. The zero value has no headers.
type Rule struct{ fields []field }

// field is a header with its values.
type field struct {
	name   string
	values []string // at least one
	file   string   // file with the values, "" if they are known
}

// Values returns the values of a header, of which each request has one; nil if the rule does not
// set it. name is matched in any case.
func (r Rule) Values(name string) []string {
	for _, f := range r.fields {
		if strings.EqualFold(f.name, name) {
			return slices.Clone(f.values)
		}
	}
	return nil
}

// Parse parses HTTP_HEADERS, which has one of three forms: lines "Name: value", without
// empty lines and lines that start with #; an object {"Name": "value" or ["value", ...]},
// where numbers, true and false are sent as written; or `file://path`, a list of
// User-Agents, which may also be the value of that header. A text that starts with { is an
// object. Of equal names, ignoring case, the last one counts. An empty text is the zero
// Rule.
//
// Headers that cannot be sent are left out of the Rule. The error describes the first of
// them and is meant to follow "property HTTP_HEADERS ".
func Parse(text string) (Rule, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return Rule{}, nil
	case text[0] == '{':
		return parseObject(text)
	case strings.HasPrefix(text, filePrefix):
		var r Rule
		return r, r.addHeader(userAgent, []string{text})
	}
	return parseLines(text)
}

func parseObject(text string) (Rule, error) {
	var members prop.Members
	if err := prop.Decode(text, &members); err != nil {
		return Rule{}, err
	}
	var r Rule
	var first error
	for _, m := range members {
		var values prop.Texts
		err := values.UnmarshalJSON(m.Value)
		if err != nil {
			err = fmt.Errorf("%w for the header %q", err, prop.Clip(m.Name))
		} else {
			err = r.addHeader(m.Name, values)
		}
		first = cmp.Or(first, err)
	}
	return r, first
}

func parseLines(text string) (Rule, error) {
	var r Rule
	var first error
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			first = cmp.Or(first, fmt.Errorf("has no colon in line %d, which is no header", number))
			continue
		}
		first = cmp.Or(first, r.addHeader(name, []string{value}))
	}
	return r, first
}

// addHeader adds a header. It replaces the one with the same name.
func (r *Rule) addHeader(name string, values []string) error {
	f := field{name: strings.TrimSpace(name)}
	if !validName(f.name) {
		return fmt.Errorf("has the header name %q, which cannot be sent", prop.Clip(name))
	}
	if len(values) == 0 {
		return fmt.Errorf("gives the header %s no value", f.name)
	}
	if len(values) > maxValues {
		return fmt.Errorf("gives the header %s %d values; expected at most %d", f.name, len(values), maxValues)
	}
	for _, v := range values {
		v = strings.TrimSpace(v)
		if path, ok := strings.CutPrefix(v, filePrefix); ok && strings.EqualFold(f.name, userAgent) {
			if len(values) > 1 {
				return fmt.Errorf("gives %s a file among other values; give it alone", f.name)
			}
			f.file = path
			break
		}
		if !validValue(v) {
			return fmt.Errorf("has a value of %s that cannot be sent", f.name)
		}
		if !slices.Contains(f.values, v) {
			f.values = append(f.values, v)
		}
	}
	if i := slices.IndexFunc(r.fields, func(old field) bool { return strings.EqualFold(old.name, f.name) }); i >= 0 {
		r.fields[i] = f
		return nil
	}
	if len(r.fields) == maxHeaders {
		return fmt.Errorf("has more than %d headers", maxHeaders)
	}
	r.fields = append(r.fields, f)
	return nil
}

// Resolve reads the `file://` lists of the Rule: one User-Agent per line, without empty
// lines and lines that start with #, at most 2000 lines and 1 MiB. Files must be below
// folder; Resolve refuses an empty folder, paths outside of it, and links that lead
// outside. The returned Rule lacks what could not be read. The error is meant to follow
// "property HTTP_HEADERS ".
func (r Rule) Resolve(folder string) (Rule, error) {
	var resolved Rule
	var first error
	for _, f := range r.fields {
		if f.file != "" {
			var err error
			if f.values, err = readLines(folder, f.file); err != nil {
				first = cmp.Or(first, fmt.Errorf("names the file %q, %w", prop.Clip(f.file), err))
			}
			f.file = ""
		}
		if len(f.values) > 0 {
			resolved.fields = append(resolved.fields, f)
		}
	}
	return resolved, first
}

func readLines(folder, path string) ([]string, error) {
	full, err := statefile.Below(folder, path)
	if err != nil {
		return nil, fmt.Errorf("which is refused: it is the path %w", err)
	}
	relative, err := filepath.Rel(folder, full)
	if err != nil {
		return nil, fmt.Errorf("which is refused: %w", err)
	}
	text, err := statefile.ReadBelow(folder, relative, maxFile)
	if err != nil {
		return nil, fmt.Errorf("which cannot be read: %w", err)
	}
	return parseAgents(text)
}

// parseAgents returns the lines of a list that can be sent.
func parseAgents(text []byte) ([]string, error) {
	var list []string
	seen := map[string]bool{}
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || seen[line]:
		case !validValue(line):
			return list, fmt.Errorf("whose line %q cannot be sent", prop.Clip(line))
		case len(list) == maxValues:
			return list, fmt.Errorf("which has more than %d lines; the others are not used", maxValues)
		default:
			seen[line] = true
			list = append(list, line)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("which has no lines")
	}
	return list, nil
}

func validName(name string) bool {
	return name != "" && len(name) <= 256 && !strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

func validValue(value string) bool {
	return len(value) <= maxValue && !strings.ContainsFunc(value, func(c rune) bool {
		return c < ' ' && c != '\t' || c == 0x7f
	})
}
