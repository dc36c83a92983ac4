package layertest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hce/dc/docs"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/secret"
)

// readers say where a reader of the page's column "read by" names the properties that it reads: in files of
// these folders, or in these files. Of the crawler these are the properties of items; package crawl has a test of
// the others.
var readers = map[string][]struct {
	path  string
	reads *regexp.Regexp
}{
	"crawl": {
		{"internal/crawl", regexp.MustCompile(`properties\["(\w+)"\]`)},
	},
	"process": {
		{"internal/process", regexp.MustCompile(`(?:\.(?:Text|Int|On|Within|Seconds|Lookup|Failed|propertyOrKey)\(|Parsed(?:Or|InPart)?\(\w+(?:\.\w+)*, |over\[)"([A-Za-z][A-Za-z_]+)"`)},
		{"internal/wire/fieldexpression.go", regexp.MustCompile(`ProcessorExpressions += "(\w+)"`)},
		{"internal/wire/realtimeresponse", regexp.MustCompile(`findProperty\(\w+, \w+, "(\w+)"\)`)},
	},
	"store": {
		{"internal/storage", regexp.MustCompile(`"(COUNTER_CRIT_[A-Z]+|STATS_[A-Z]+_ENABLED)": `)},
		{"internal/storage", regexp.MustCompile(`(?:ReadProperty\(\w+(?:\.\w+)*, |"site_property", \[\]any\{\w+, |agingProperty = )"(\w+)"`)},
	},
	"daemon": {
		{"internal/wire/siterecrawl.go", regexp.MustCompile(`(?:Property += |number\(|choice\(|ReadText\()"(RECRAWL_\w+)"`)},
		{"internal/wire/due.go", regexp.MustCompile("ModesFlag += .*`Name`='([A-Z_]+)'")},
		{"internal/cli/daemonprogram", regexp.MustCompile("`Name`='([A-Z_]+)'")},
	},
}

// notProperties are columns of rows that one command reads by the same call.
var notProperties = []string{"Name", "Value"}

// forEachSource calls use with each Go file below a path, without tests.
func forEachSource(t *testing.T, path string, use func(text string)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, path), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		use(string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The page has a row of each property that processing, storage and the daemon read, and no other of them.
func TestPageNamesReadProperties(t *testing.T) {
	for reader, places := range readers {
		var read, written []string
		for _, place := range places {
			found := 0
			forEachSource(t, place.path, func(text string) {
				for _, m := range place.reads.FindAllStringSubmatch(text, -1) {
					found++
					if !slices.Contains(notProperties, m[1]) {
						read = append(read, m[1])
					}
				}
			})
			if found == 0 {
				t.Errorf("%s reads no property; correct the table of this test", place.path)
			}
		}
		for _, p := range docs.ListProperties() {
			if p.IsReadBy(reader) && (reader != "crawl" || p.Section == docs.ItemSection) {
				written = append(written, p.Names...)
			}
		}
		for _, name := range read {
			if !slices.Contains(written, name) {
				t.Errorf("%s reads property %s, and docs/properties.md has no such row: hce and --strict refuse it", reader, name)
			}
		}
		for _, name := range written {
			if !slices.Contains(read, name) {
				t.Errorf("docs/properties.md says that %s reads %s, which it does not", reader, name)
			}
		}
	}
}

// The page lists the properties whose values are hidden, and no other.
func TestPageListsSecrets(t *testing.T) {
	page, err := docs.Files.ReadFile("properties.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, line := range regexp.MustCompile(`(?m)^\| the properties ([^|]+)\|`).FindAllStringSubmatch(string(page), -1) {
		for _, m := range regexp.MustCompile("`(\\w+)(?:<\\w+>)?`").FindAllStringSubmatch(line[1], -1) {
			listed = append(listed, m[1])
		}
	}
	var hidden []string
	for _, p := range docs.ListProperties() {
		for _, name := range p.Names {
			if secret.IsProperty(name) {
				hidden = append(hidden, name)
			}
		}
	}
	slices.Sort(listed)
	slices.Sort(hidden)
	if !slices.Equal(listed, hidden) {
		t.Errorf("docs/properties.md lists the secret properties %q, want %q", listed, hidden)
	}
}

// Numbers in the calls that read a property: its default, and its bounds.
var (
	aDefault = regexp.MustCompile(`\.(?:On|Int|Within)\("(\w+)", (true|false|\d+)[,)]`)
	aRange   = regexp.MustCompile(`(?:\.Within\("(\w+)", \w+|number\("(\w+)"), ([\w.]+), ([\w.]+)\)`)
)

// namedBounds are the names that calls have in place of numbers.
var namedBounds = map[string]string{
	"refererNone": "0", "math.MaxUint16": "65535", "refererParent": "3", "MaxRecrawlPeriod": strconv.Itoa(wire.MaxRecrawlPeriod),
}

// The page has the defaults and the bounds that the code has as numbers.
func TestPageHasDefaultsAndBounds(t *testing.T) {
	defaults, forms := map[string]string{}, map[string]string{}
	for _, p := range docs.ListProperties() {
		for name, value := range p.Defaults() {
			defaults[name], forms[name] = value, p.Form
		}
	}
	// The page says these otherwise.
	same := map[string]string{"COLLECT_POST_DATA": "off", "HTTP_PROXY_PORT": "none"}
	numbers := map[string]string{"true": "1", "false": "0"}
	checked := 0
	for _, path := range []string{"internal/crawl", "internal/process", "internal/wire/siterecrawl.go"} {
		forEachSource(t, path, func(text string) {
			for _, m := range aDefault.FindAllStringSubmatch(text, -1) {
				want := m[2]
				if n, ok := numbers[want]; ok {
					want = n
				}
				if other, ok := same[m[1]]; ok {
					want = other
				}
				if page, ok := defaults[m[1]]; ok {
					checked++
					if page != want {
						t.Errorf("%s: the page has the default %q, the code %q", m[1], page, want)
					}
				}
			}
			for _, m := range aRange.FindAllStringSubmatch(text, -1) {
				name := m[1] + m[2]
				low, high := boundOf(m[3]), boundOf(m[4])
				checked++
				if form := forms[name]; high != "" && !(strings.Contains(form, low+" to "+high) || strings.Contains(form, low+", "+high)) {
					t.Errorf("%s: the page has the form %q, the code %s to %s", name, form, low, high)
				}
			}
		})
	}
	if checked < 30 {
		t.Errorf("only %d defaults and bounds were found", checked)
	}
}

// boundOf returns the number of a bound, "" if it is an expression of another kind.
func boundOf(text string) string {
	if _, err := strconv.Atoi(text); err == nil {
		return text
	}
	return namedBounds[text]
}
