package config

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// used is one key that a program asked for, and what it got.
type used struct {
	key, value string
	origin     string // a file and line, an environment variable, or the default
	idle       bool   // known, without effect
}

// ownDefault stands for a default that the reader of the key writes itself.
const ownDefault = "default, the program's own"

// note keeps what a key is worth; the last word on a key counts.
func (s *Section) note(key, value, origin string, idle bool) {
	f := s.file
	for i, u := range f.used[s.name] {
		if u.key == key {
			if idle && !u.idle {
				return // it has an effect elsewhere
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

// WriteEffective writes the values that the program got, as an ini file that says
// the same: each key with a comment that tells where its value comes from. Paths
// are absolute, secrets masked. Call it when everything was read.
func (f *File) WriteEffective(w io.Writer) error {
	var b strings.Builder
	for i, section := range f.order {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "[%s]\n", section)
		for _, u := range f.inOrder(section) {
			value := u.value
			if secret(u.key) && value != "" {
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
				fmt.Fprintf(&b, "; %s: unknown, without effect: %s\n", f.place(section, key), key)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// inOrder are the keys of a section in the order of the file, then those that it
// does not have, by name.
func (f *File) inOrder(section string) []used {
	list := slices.Clone(f.used[section])
	slices.SortStableFunc(list, func(a, b used) int {
		first, second := f.lines[section+"\x00"+a.key], f.lines[section+"\x00"+b.key]
		switch {
		case first != 0 && second != 0:
			return cmp.Compare(first, second)
		case first == 0 && second == 0:
			return cmp.Compare(a.key, b.key)
		}
		return cmp.Compare(second, first) // the one that stands nowhere is last
	})
	return list
}

// place is where the file has a key.
func (f *File) place(section, key string) string {
	if n := f.lines[section+"\x00"+key]; n > 0 {
		return fmt.Sprintf("%s, line %d", f.Path, n)
	}
	return f.Path
}

// lineNumbers finds the lines of an ini text that its keys stand on, by section
// and key with a zero byte between. Of a key that stands there twice the last line
// counts, as its value does.
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
		default:
			if key, _, ok := strings.Cut(line, "="); ok {
				lines[section+"\x00"+strings.TrimSpace(key)] = i + 1
			}
		}
	}
	return lines
}

// masked is shown in the place of a secret.
const masked = "********"

var secretName = regexp.MustCompile(`(?i)(pwd|passw|secret|dsn|token)|key$`)

// secret reports whether a key's value must not be shown: passwords, addresses
// that hold one, keys themselves. Files of keys may be named.
func secret(key string) bool { return secretName.MatchString(key) }

// shown is a value for a message.
func shown(key, value string) string {
	if secret(key) {
		return masked
	}
	return value
}
