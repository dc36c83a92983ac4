package strict

import (
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
	return listNames(func(p docs.Property) bool { return p.Section != docs.ItemSection })
})

// itemProperties are the properties that only items of a batch have, sorted.
var itemProperties = sync.OnceValue(func() []string {
	return listNames(func(p docs.Property) bool { return p.Section == docs.ItemSection })
})

func listNames(isWanted func(docs.Property) bool) []string {
	var names []string
	for _, p := range docs.ListProperties() {
		if isWanted(p) {
			names = append(names, p.Names...)
		}
	}
	slices.Sort(names)
	return names
}

// KnownProperty reports whether a property is documented, and returns the nearest name if it is not.
func KnownProperty(name string) (known bool, nearest string) {
	if _, found := slices.BinarySearch(Properties(), name); found || strings.HasPrefix(name, freePrefix) {
		return true, ""
	}
	return false, config.Nearest(name, Properties())
}
