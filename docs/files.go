// Package docs has the pages that name every property of a site. Programs read the names from them,
// so that they know exactly what is documented:
//
//	text, err := docs.Files.ReadFile("properties.md")
package docs

import "embed"

// Files are the pages.
//
//go:embed properties.md site-properties.md processing.md spec/objects.md spec/processing.md
var Files embed.FS
