package docs

import (
	"regexp"
	"slices"
	"strings"
)

// Property is a row of properties.md. The cells are texts of Markdown.
type Property struct {
	Section                        string   // the head above its table
	Names                          []string // of a prefix: the name before "<"
	Readers                        []string // of ReaderNames; nil: nothing reads it
	Form, Default, Effect, Example string
}

// Sections of properties.md whose rows are not read as properties of a site.
const (
	ItemSection   = "Properties of one item"
	UnreadSection = "Properties that are accepted and have no effect"
	fieldSection  = "Fields of a site" // it ends the tables of properties
)

// ReaderNames are the words of the column "read by".
var ReaderNames = []string{"crawl", "process", "store", "daemon"}

var aCode = regexp.MustCompile("`([^`]+)`")

// ListProperties returns the rows of properties.md in their order. A row with a wrong number of cells has
// names only.
func ListProperties() []Property {
	text, err := Files.ReadFile("properties.md")
	if err != nil {
		panic(err) // the page is embedded
	}
	var list []Property
	section := ""
	for line := range strings.SplitSeq(string(text), "\n") {
		if head, ok := strings.CutPrefix(line, "## "); ok {
			section = head
		}
		if section == fieldSection {
			break
		}
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ")
		p := Property{Section: section}
		for _, m := range aCode.FindAllStringSubmatch(cells[0], -1) {
			name, _, _ := strings.Cut(m[1], "<")
			p.Names = append(p.Names, name)
		}
		if len(cells) == 6 {
			p.Readers = strings.Split(cells[1], ", ")
			p.Form, p.Default, p.Effect, p.Example = cells[2], cells[3], cells[4], cells[5]
		}
		list = append(list, p)
	}
	return list
}

// IsReadBy reports whether a reader of ReaderNames uses the property.
func (p Property) IsReadBy(reader string) bool { return slices.Contains(p.Readers, reader) }

// Examples returns an example for each name.
func (p Property) Examples() map[string]string {
	found := aCode.FindAllStringSubmatch(p.Example, -1)
	if len(found) == 0 {
		return nil
	}
	examples := map[string]string{}
	for i, name := range p.Names {
		examples[name] = found[0][1]
		if len(found) == len(p.Names) {
			examples[name] = found[i][1]
		}
	}
	return examples
}

// Defaults returns the default for each name.
func (p Property) Defaults() map[string]string {
	parts := strings.Split(p.Default, ", ")
	defaults := map[string]string{}
	for i, name := range p.Names {
		defaults[name] = p.Default
		if len(parts) == len(p.Names) {
			defaults[name] = parts[i]
		}
	}
	return defaults
}
