package config

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

// used is a key that the program has read, with its value.
type used struct {
	key, value string
	origin     string // a file and line, an environment variable, or the default
	idle       bool   // known, without effect
}

// ownDefault is the origin of a default that the program computes.
const ownDefault = "default, the program's own"

// recordValue records the value of a key. A later call replaces the value, unless it only marks
// the key as idle.
func (s *Section) recordValue(key, value, origin string, idle bool) {
	f := s.file
	for i, u := range f.used[s.name] {
		if u.key == key {
			if idle && !u.idle {
				return
			}
			f.used[s.name][i] = used{key, value, origin, idle}
			return
		}
	}
	if f.used[s.name] == nil {
		f.order = append(f.order, s.name)
	}
	f.used[s.name] = append(f.used[s.name], used{key, value, origin, idle})
}

// WriteEffective writes all values as an ini file with the same effect. A comment before
// each key names the origin of its value. Paths are absolute, secrets are masked. Call it
// after the program has read all values.
func (f *File) WriteEffective(w io.Writer) error {
	var b strings.Builder
	for i, section := range f.order {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "[%s]\n", section)
		for _, u := range f.inOrder(section) {
			value := redactPasswords(u.value)
			if isSecret(u.key) && value != "" {
				value = masked
			}
			fmt.Fprintf(&b, "; %s\n", u.origin)
			if u.idle {
				b.WriteString("; it has no effect here\n")
			}
			b.WriteString(strings.TrimRight(u.key+" = "+value, " ") + "\n")
		}
		for _, key := range slices.Sorted(maps.Keys(f.values[section])) {
			if !f.known[section][key] {
				fmt.Fprintf(&b, "; %s: unknown, without effect: %s\n", f.keyPlace(section, key), key)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// inOrder returns the keys of a section: first those of the file in their order, then the
// others by name.
func (f *File) inOrder(section string) []used {
	line := func(u used) int { return cmp.Or(f.lines[section+"\x00"+u.key], math.MaxInt) }
	list := slices.Clone(f.used[section])
	slices.SortStableFunc(list, func(a, b used) int {
		return cmp.Or(cmp.Compare(line(a), line(b)), cmp.Compare(a.key, b.key))
	})
	return list
}

// keyPlace returns the file and line of a key.
func (f *File) keyPlace(section, key string) string {
	if n := f.lines[section+"\x00"+key]; n > 0 {
		return fmt.Sprintf("%s, line %d", f.Path, n)
	}
	return f.Path
}

// lineNumbers returns the line of each section and key of an ini text. Its map keys are section,
// zero byte, key; the key of a section is "". The last line of a repeated key counts.
func lineNumbers(text []byte) map[string]int {
	lines := map[string]int{}
	section, goesOn := "DEFAULT", false
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		part := goesOn
		goesOn = strings.HasSuffix(line, `\`)
		switch {
		case part || line == "" || line[0] == ';' || line[0] == '#':
		case line[0] == '[':
			section, _, _ = strings.Cut(line[1:], "]")
			section = strings.TrimSpace(section)
			lines[section+"\x00"] = i + 1
		default:
			if key, _, ok := strings.Cut(line, "="); ok {
				lines[section+"\x00"+strings.TrimSpace(key)] = i + 1
			}
		}
	}
	return lines
}

// masked replaces a secret.
const masked = "********"

var secretName = regexp.MustCompile(`(?i)(pwd|passw|secret|dsn|token)|key$`)

// isSecret reports whether the value of a key must not be shown: a password, an address with
// a password, or a cryptographic key. Names of key files are not secret.
func isSecret(key string) bool { return secretName.MatchString(key) }

// showValue returns a value for a message.
func showValue(key, value string) string {
	if isSecret(key) {
		return masked
	}
	return value
}
