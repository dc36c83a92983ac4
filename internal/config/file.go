package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	"gopkg.in/ini.v1"
)

// EnvPrefix starts the names of environment variables that override a file.
const EnvPrefix = "DC_"

// File is one ini file as it is being read. It is not safe for several
// goroutines.
type File struct {
	Path string
	dir  string

	values   map[string]map[string]string
	lines    map[string]int // see lineNumbers
	known    map[string]map[string]bool
	used     map[string][]used // by section
	order    []string          // of the sections in used
	programs []Program
	errs     []error
	getenv   func(string) (string, bool)
}

// maxFile bounds an ini file, in bytes.
const maxFile = 1 << 20

// Load reads the file at path. The error says in one line what is wrong.
func Load(path string) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("configuration file %s cannot be read: %w", path, cause(err))
	}
	if info.IsDir() || info.Size() > maxFile {
		return nil, fmt.Errorf("configuration file %s cannot be read: it is a folder or larger than %d bytes", path, maxFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration file %s cannot be read: %w", path, cause(err))
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("configuration file %s: %w", path, err)
	}
	f, err := Parse(abs, text)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// The library takes a value that begins with a back-tick for a quoted one and
// drops what follows the last back-tick, which cuts SQL texts. A guard before it
// keeps the value whole.
var leadingQuote = regexp.MustCompile("(?m)^([^;#\\[\\n=]+=[ \\t]*)(`|\"\"\")")

const guard = "\x01"

// Parse reads the text of a file that is, or would be, at the absolute path.
func Parse(path string, text []byte) (*File, error) {
	lines := lineNumbers(text)
	text = leadingQuote.ReplaceAll(text, []byte("${1}"+guard+"${2}"))
	doc, err := ini.LoadSources(ini.LoadOptions{
		IgnoreInlineComment:     true,
		SkipUnrecognizableLines: false,
		KeyValueDelimiters:      "=",
	}, text)
	if err != nil {
		return nil, fmt.Errorf("configuration file %s is not an ini file: %s", path, strings.Join(strings.Fields(err.Error()), " "))
	}
	f := &File{
		Path: path, dir: filepath.Dir(path), getenv: os.LookupEnv,
		values: map[string]map[string]string{}, known: map[string]map[string]bool{},
		lines: lines, used: map[string][]used{},
	}
	for _, s := range doc.Sections() {
		keys := map[string]string{}
		for _, k := range s.Keys() {
			keys[k.Name()] = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(k.Value()), guard))
		}
		f.values[s.Name()] = keys
	}
	return f, nil
}

func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Find gives the ini file of a program: the explicit path when one is given,
// else <program>.ini in the current folder, else in /etc/<program>/ (docs/spec/steps.md 3).
func Find(program, explicit string) (string, error) {
	if explicit != "" {
		return explicit, nil
	}
	name := program + ".ini"
	tried := []string{name, filepath.Join("/etc", program, name)}
	for _, path := range tried {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	return "", fmt.Errorf("no configuration file: neither %s; give one with --config", strings.Join(tried, " nor "))
}

// Dir is the folder of the file, absolute: what relative paths start from.
func (f *File) Dir() string { return f.dir }

// Keys are the keys that the file itself has in a section, by name.
func (f *File) Keys(section string) []string { return slices.Sorted(maps.Keys(f.values[section])) }

// Section is one section of f; one that the file does not have is empty.
func (f *File) Section(name string) *Section {
	if f.known[name] == nil {
		f.known[name] = map[string]bool{}
	}
	return &Section{file: f, name: name}
}

// Err joins all that is wrong with the values read so far; nil when nothing is.
func (f *File) Err() error {
	return errors.Join(f.errs...)
}

// Unknown lists the sections and keys of the file that nobody has asked for,
// each with the nearest known name. Call it after everything was read.
func (f *File) Unknown() []string {
	var list []string
	for section, keys := range f.values {
		if section == ini.DefaultSection && len(keys) == 0 {
			continue
		}
		known, ok := f.known[section]
		if !ok {
			list = append(list, fmt.Sprintf("section [%s] is unknown%s", section, maybe(Nearest(section, names(f.known)))))
			continue
		}
		for key := range keys {
			if !known[key] {
				list = append(list, fmt.Sprintf("key %s of section [%s] is unknown%s", key, section, maybe(f.meant(section, key))))
			}
		}
	}
	sort.Strings(list)
	return list
}

// meant is the key that an unknown one of a section may stand for. One that
// another section has is rather misplaced than misspelt.
func (f *File) meant(section, key string) string {
	near := Nearest(key, names(f.known[section]))
	if strings.EqualFold(near, key) {
		return near
	}
	for _, other := range slices.Sorted(maps.Keys(f.known)) {
		for _, k := range names(f.known[other]) {
			if strings.EqualFold(k, key) {
				return k + " of section [" + other + "]"
			}
		}
	}
	return near
}

func names[V any](known map[string]V) []string { return slices.Collect(maps.Keys(known)) }

func maybe(name string) string {
	if name == "" {
		return ""
	}
	return "; did you mean " + name + "?"
}
