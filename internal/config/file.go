package config

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	"gopkg.in/ini.v1"
)

// envPrefix starts the names of environment variables that override a file.
const envPrefix = "DC_"

// File is an ini file and the values that the program has read from it. Not safe for
// concurrent use.
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
	warnings []string
	getenv   func(string) string
}

// maxFile is the largest ini file, in bytes.
const maxFile = 1 << 20

// Load reads the file at path. Errors have one line.
func Load(path string) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("configuration file %s cannot be read: %w", path, pathCause(err))
	}
	if info.IsDir() || info.Size() > maxFile {
		return nil, fmt.Errorf("configuration file %s cannot be read: it is a folder or larger than %d bytes", path, maxFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration file %s cannot be read: %w", path, pathCause(err))
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("configuration file %s: %w", path, err)
	}
	return Parse(abs, text)
}

// leadingQuote finds values that begin with a back-tick, such as SQL. The library would
// take them for quoted values and cut them after the last back-tick. Parse inserts guard
// before the quote and removes it from the value.
var leadingQuote = regexp.MustCompile("(?m)^([^;#\\[\\n=]+=[ \\t]*)(`|\"\"\")")

const guard = "\x01"

// Parse reads the text of an ini file. path is absolute; the file need not exist.
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
		Path: path, dir: filepath.Dir(path), getenv: os.Getenv,
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

func pathCause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Open loads the ini file of a program: that at the explicit path if it is not "", or
// <program>.ini in the current folder or in /etc/<program>/ (docs/spec/steps.md 3). The error
// wraps ErrNoFile if neither file exists.
func Open(program, explicit string) (*File, error) {
	path, err := findFile(program, explicit)
	if err != nil {
		return nil, err
	}
	return Load(path)
}

// OpenOr is Open for a program that works without an ini file: if neither file exists, the file is empty and
// in folder. An explicit path must exist.
func OpenOr(program, explicit, folder string) (f *File, found bool, err error) {
	f, err = Open(program, explicit)
	if !errors.Is(err, ErrNoFile) {
		return f, true, err
	}
	folder, err = filepath.Abs(folder)
	if err != nil {
		return nil, false, fmt.Errorf("folder of %s.ini: %w", program, err)
	}
	f, err = Parse(filepath.Join(folder, program+".ini"), nil)
	return f, false, err
}

// ErrNoFile means that a program has no ini file.
var ErrNoFile = errors.New("no configuration file")

func findFile(program, explicit string) (string, error) {
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
	return "", fmt.Errorf("%w: neither %s; give one with --config", ErrNoFile, strings.Join(tried, " nor "))
}

// Dir returns the absolute folder of the file. Relative paths start from it.
func (f *File) Dir() string { return f.dir }

// Override sets a value for this process, in place of those of the file and of its environment variable.
func (f *File) Override(section, key, value string) {
	name, others := envPrefix+section+"_"+key, f.getenv
	f.getenv = func(variable string) string {
		if variable == name {
			return value
		}
		return others(variable)
	}
}

// Keys returns the sorted keys of a section of the file.
func (f *File) Keys(section string) []string { return slices.Sorted(maps.Keys(f.values[section])) }

// Section returns a section, which is empty if the file does not have it.
func (f *File) Section(name string) *Section {
	if f.known[name] == nil {
		f.known[name] = map[string]bool{}
	}
	return &Section{file: f, name: name}
}

// Err joins the errors of all values that were read. It returns nil without errors.
func (f *File) Err() error {
	return errors.Join(f.errs...)
}

// Unknown lists the sections and keys of the file that the program did not read, with their line and
// the nearest known name, and values without effect. Call it after the program has read all values.
func (f *File) Unknown() []string {
	list := slices.Clone(f.warnings)
	for section, keys := range f.values {
		if section == ini.DefaultSection && len(keys) == 0 {
			continue
		}
		known, ok := f.known[section]
		if !ok {
			list = append(list, fmt.Sprintf("%s: section [%s] is unknown%s", f.keyPlace(section, ""), section, Suggestion(Nearest(section, keysOf(f.known)))))
			continue
		}
		for key := range keys {
			if !known[key] {
				list = append(list, fmt.Sprintf("%s: key %s of section [%s] is unknown%s", f.keyPlace(section, key), key, section, Suggestion(f.nearestKey(section, key))))
			}
		}
	}
	sort.Strings(list)
	return slices.Compact(list)
}

// LogUnknown logs what Unknown lists.
func (f *File) LogUnknown(log *slog.Logger) {
	for _, unknown := range f.Unknown() {
		log.Warn("configuration", "warning", unknown)
	}
}

// nearestKey returns the known key that an unknown key probably means. It prefers an equal
// key of another section to a similar one of this section.
func (f *File) nearestKey(section, key string) string {
	near := Nearest(key, keysOf(f.known[section]))
	if strings.EqualFold(near, key) {
		return near
	}
	for _, other := range slices.Sorted(maps.Keys(f.known)) {
		for _, k := range keysOf(f.known[other]) {
			if strings.EqualFold(k, key) {
				return k + " of section [" + other + "]"
			}
		}
	}
	return near
}

func keysOf[V any](known map[string]V) []string { return slices.Collect(maps.Keys(known)) }
