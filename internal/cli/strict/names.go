package strict

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"hce/dc/docs"
	"hce/dc/internal/config"
)

// freePrefix starts the properties whose names end with the name of a form field.
const freePrefix = "HTTP_POST_FORM_"

// Properties are the names of all documented properties of a site, sorted.
var Properties = sync.OnceValue(func() []string {
	names := map[string]bool{}
	for page, column := range map[string]int{"properties.md": 1, "site-properties.md": 1, "processing.md": 1, "spec/objects.md": 2, "spec/processing.md": 1} {
		text, err := docs.Files.ReadFile(page)
		if err != nil {
			panic(err) // the page is embedded
		}
		for line := range strings.SplitSeq(propertyPart(page, string(text)), "\n") {
			cells := strings.Split(line, "|")
			if strings.HasPrefix(line, "| ") && len(cells) > column+1 {
				addNames(names, cells[column])
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
})

// propertyPart returns the part of a page with tables of properties.
func propertyPart(page, text string) string {
	start, end := "", ""
	switch page {
	case "site-properties.md":
		start, end = "\n## Properties\n", "\n## Filters\n"
	case "processing.md":
		start, end = "\n## Properties\n", "\n## Keys of "
	case "spec/objects.md":
		start, end = "\n### 2.4 ", "\n### 2.5 "
	case "spec/processing.md":
		start, end = "\n### 1.5 ", "\nKeys of `"
	default:
		return text
	}
	_, text, _ = strings.Cut(text, start)
	text, _, _ = strings.Cut(text, end)
	return text
}

var (
	inBrackets = regexp.MustCompile(`\([^)]*\)|<[^>]*>|both \+ \S+`)
	aName      = regexp.MustCompile(`^_?[A-Za-z][A-Za-z0-9_]*$`)
)

// addNames adds the names of a cell: "A_X, _Y" and "A_X/_Y" mean A_X and A_Y.
func addNames(names map[string]bool, cell string) {
	last := ""
	for _, word := range strings.FieldsFunc(inBrackets.ReplaceAllString(cell, ""), func(c rune) bool { return strings.ContainsRune(" ,/`", c) }) {
		if !aName.MatchString(word) {
			continue
		}
		if base := strings.LastIndexByte(last, '_'); word[0] == '_' && base > 0 {
			word = last[:base] + word
		}
		if word == strings.ToLower(word) && word != "template" || word[0] == '_' || word == "Name" { // words of the text, and of the head of a table
			continue
		}
		names[word], last = true, word
	}
}

// KnownProperty reports whether a property is documented, and returns the nearest name if it is not.
func KnownProperty(name string) (known bool, nearest string) {
	if _, found := slices.BinarySearch(Properties(), name); found || strings.HasPrefix(name, freePrefix) {
		return true, ""
	}
	return false, config.Nearest(name, Properties())
}
