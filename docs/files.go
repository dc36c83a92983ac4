// Package docs has the page that names every property of a site. Programs read the names from it,
// so that they know exactly what is documented:
//
//	for _, p := range docs.ListProperties() {
//		fmt.Println(p.Names, p.Form)
//	}
package docs

import "embed"

// Files has the page.
//
//go:embed properties.md
var Files embed.FS
