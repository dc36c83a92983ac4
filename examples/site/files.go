// Package site embeds the pages of the example site.
//
// The files in www/ are the bytes that a server sends: some have other charsets than UTF-8, one
// has invalid bytes. {HOST} in a file is replaced by the host and port of the request. Package
// examples/siteserver/site serves them, and adds answers that a file cannot give.
package site

import "embed"

// Files is the content of www/, rooted at "www". It is read-only.
//
//go:embed www
var Files embed.FS
