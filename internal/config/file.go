package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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

	values map[string]map[string]string
	known  map[string]map[string]bool
	idle   []string
	errs   []error
	getenv func(string) (string, bool)
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
// else <program>.ini in the current folder, else in /etc/<program>/ (seed,
// "Command line arguments").
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

// Idle lists the keys of the file that are known and have no effect yet.
func (f *File) Idle() []string { return f.idle }

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
			list = append(list, fmt.Sprintf("section [%s] is unknown%s", section, nearest(section, f.known)))
			continue
		}
		for key := range keys {
			if !known[key] {
				list = append(list, fmt.Sprintf("key %s of section [%s] is unknown%s", key, section, nearest(key, known)))
			}
		}
	}
	sort.Strings(list)
	return list
}

// tooFar is the number of slips above which a name is another name.
const tooFar = 4

func nearest[V any](name string, known map[string]V) string {
	best, distance := "", tooFar
	for k := range known {
		d := editDistance(strings.ToLower(name), strings.ToLower(k), tooFar)
		if d < distance || (d == distance && d < tooFar && k < best) {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// editDistance counts the letters to insert, delete or replace; most stands for
// that many or more.
func editDistance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost = 1 + min(diagonal, row[j], row[j-1])
			}
			diagonal, row[j] = row[j], cost
		}
	}
	return min(row[len(b)], most)
}
