package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Section reads the values of one section.
type Section struct {
	file *File
	name string
}

// lookupValue returns the value of key. ok is false if the key is not set.
func (s *Section) lookupValue(key string) (value string, ok bool) {
	s.file.known[s.name][key] = true
	value = cmp.Or(s.overridingVariable(key), s.file.values[s.name][key])
	return value, value != ""
}

// overridingVariable returns the value of the environment variable that overrides key.
func (s *Section) overridingVariable(key string) string {
	return strings.TrimSpace(s.file.getenv(envPrefix + s.name + "_" + key))
}

// valueOrigin returns the environment variable with the value of key, or other.
func (s *Section) valueOrigin(key, other string) string {
	if s.overridingVariable(key) != "" {
		return "environment variable " + envPrefix + s.name + "_" + key
	}
	return other
}

// recordEffective notes the value of key for WriteEffective. own means that the program computes
// the default.
func (s *Section) recordEffective(key, value string, own bool) {
	origin := "default"
	if _, ok := s.lookupValue(key); ok {
		origin = s.valueOrigin(key, s.file.keyPlace(s.name, key))
	} else if own {
		origin, value = ownDefault, ""
	}
	s.recordValue(key, value, origin, false)
}

func (s *Section) refuseValue(key, value, reason string) {
	s.Fail(key, fmt.Sprintf("= %q %s", showValue(key, value), reason))
}

// Fail adds an error about a key. It does not show the value, which may be a secret.
func (s *Section) Fail(key, reason string) {
	origin := s.valueOrigin(key, fmt.Sprintf("%s: [%s] %s", s.file.Path, s.name, key))
	s.file.errs = append(s.file.errs, fmt.Errorf("%s %s", origin, reason))
}

// warnAbout adds a warning about the value of a key, which File.Unknown returns.
func (s *Section) warnAbout(key, reason string) {
	s.file.warnings = append(s.file.warnings, fmt.Sprintf("%s: key %s of section [%s] %s", s.valueOrigin(key, s.file.keyPlace(s.name, key)), key, s.name, reason))
}

// Accept marks keys as known and without effect.
func (s *Section) Accept(keys ...string) {
	for _, key := range keys {
		if v, ok := s.lookupValue(key); ok {
			s.recordValue(key, v, s.valueOrigin(key, s.file.keyPlace(s.name, key)), true)
		}
	}
}

// Text returns the value of key, or def.
func (s *Section) Text(key, def string) string {
	v := s.readText(key, def)
	s.recordEffective(key, v, false)
	return v
}

// readText is Text without record.
func (s *Section) readText(key, def string) string {
	if v, ok := s.lookupValue(key); ok {
		return v
	}
	return def
}

// Choice returns one of the allowed texts.
func (s *Section) Choice(key, def string, allowed ...string) string {
	v, ok := s.lookupValue(key)
	s.recordEffective(key, cmp.Or(v, def), false)
	if !ok || slices.Contains(allowed, v) {
		return cmp.Or(v, def)
	}
	s.refuseValue(key, v, "is not one of "+strings.Join(allowed, ", "))
	return def
}

// Int returns a whole number from lowest to highest. A def below lowest means that the
// program computes the default.
func (s *Section) Int(key string, def, lowest, highest int64) int64 {
	v, ok := s.lookupValue(key)
	if !ok {
		s.recordEffective(key, strconv.FormatInt(def, 10), def < lowest)
		return def
	}
	s.recordEffective(key, v, false)
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < lowest || n > highest {
		s.refuseValue(key, v, fmt.Sprintf("is not a whole number from %d to %d", lowest, highest))
		return def
	}
	return n
}

// Bool reads 1, yes, true, on, 0, no, false or off, in any case.
func (s *Section) Bool(key string, def bool) bool {
	v, ok := s.lookupValue(key)
	if !ok {
		s.recordEffective(key, map[bool]string{false: "0", true: "1"}[def], false)
		return def
	}
	s.recordEffective(key, v, false)
	switch strings.ToLower(v) {
	case "1", "yes", "true", "on":
		return true
	case "0", "no", "false", "off":
		return false
	}
	s.refuseValue(key, v, "is not 0 or 1")
	return def
}

// Duration reads a number of units, which may have a fraction, from lowest to highest. A
// def below lowest means that the program computes the default.
func (s *Section) Duration(key string, unit, def, lowest, highest time.Duration) time.Duration {
	v, ok := s.lookupValue(key)
	if !ok {
		s.recordEffective(key, strconv.FormatFloat(float64(def)/float64(unit), 'f', -1, 64), def < lowest)
		return def
	}
	s.recordEffective(key, v, false)
	n, err := strconv.ParseFloat(v, 64)
	d := time.Duration(n * float64(unit))
	if err != nil || n != n || n < float64(lowest)/float64(unit) || n > float64(highest)/float64(unit) {
		s.refuseValue(key, v, fmt.Sprintf("is not a number from %g to %g (unit: %v)", float64(lowest)/float64(unit), float64(highest)/float64(unit), unit))
		return def
	}
	return d
}

// Below returns the value of key, which must be below that of limitKey. It replaces a larger value
// by less and adds a warning: ini files of the original have such values.
func (s *Section) Below(key string, value time.Duration, limitKey string, limit, less time.Duration) time.Duration {
	if value < limit {
		return value
	}
	s.warnAbout(key, fmt.Sprintf("= %v is not below %s = %v; %v is used", value, limitKey, limit, less))
	return less
}

// Given reports whether the file or the environment sets key.
func (s *Section) Given(key string) bool {
	_, ok := s.lookupValue(key)
	return ok
}

// Path returns the path of a file or folder. A relative path starts from the folder of the
// ini file.
func (s *Section) Path(key, def string) string { return s.PathIn(s.file.dir, key, def) }

// PathIn returns a path. A relative path starts from dir.
func (s *Section) PathIn(dir, key, def string) string {
	p := s.readText(key, def)
	if p != "" && !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	s.recordEffective(key, p, false)
	return p
}

// Networks returns a list of addresses and networks, separated by commas or blanks.
func (s *Section) Networks(key string) []netip.Prefix {
	v, _ := s.lookupValue(key)
	s.recordEffective(key, v, false)
	var list []netip.Prefix
	for _, text := range Names(v) {
		p, err := Network(text)
		if err != nil {
			s.refuseValue(key, v, "has "+err.Error())
			continue
		}
		list = append(list, p)
	}
	return list
}

// Network reads a network, or an address as the network of it alone.
func Network(text string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), nil
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q, which is not an address or a network such as 127.0.0.0/8", text)
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

// Networks reads a list of networks, separated by commas or blanks. Errors have the form "..., which is
// not ...".
func Networks(list string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, text := range Names(list) {
		network, err := Network(text)
		if err != nil {
			return nil, err
		}
		networks = append(networks, network)
	}
	return networks, nil
}

// Names returns a list of names, separated by commas or blanks.
func (s *Section) Names(key string, def []string) []string {
	v, ok := s.lookupValue(key)
	if !ok {
		s.recordEffective(key, strings.Join(def, ", "), false)
		return def
	}
	s.recordEffective(key, v, false)
	return Names(v)
}

// Names splits a list of names at commas and blanks. It is empty for "".
func Names(list string) []string {
	return strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
}

// Program is a program in the value of a key.
type Program struct {
	Section, Key string
	Path         string // a path with a slash, or a name to look up in PATH
}

// Programs returns the programs that Command has read, in that order.
func (f *File) Programs() []Program { return f.programs }

// Command returns a program and its arguments. Blanks separate words, except in "double"
// and 'single' quotes; there are no other special characters. A program with a slash is
// relative to the folder of the ini file.
func (s *Section) Command(key, def string) (program string, args []string) {
	v := s.Text(key, def)
	words := splitWords(v)
	if len(words) == 0 {
		s.refuseValue(key, v, "is not a command line")
		return "", nil
	}
	program = words[0]
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		program = filepath.Join(s.file.dir, program)
		s.recordEffective(key, program+strings.TrimPrefix(v, words[0]), false)
	}
	s.file.programs = append(s.file.programs, Program{s.name, key, program})
	return program, words[1:]
}

var (
	word   = regexp.MustCompile(`(?:[^ \t"']|"[^"]*"|'[^']*')+`)
	quoted = regexp.MustCompile(`"([^"]*)"|'([^']*)'`)
)

// splitWords returns nil if a quote is not closed.
func splitWords(line string) []string {
	if strings.Trim(word.ReplaceAllString(line, ""), " \t") != "" {
		return nil
	}
	words := word.FindAllString(line, -1)
	for i, w := range words {
		words[i] = quoted.ReplaceAllString(w, "$1$2")
	}
	return words
}
