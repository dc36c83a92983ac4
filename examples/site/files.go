// Package site holds the pages of the example site as files.
//
// They lie in www/ as a server would send them, byte for byte: some in other
// charsets than UTF-8, one with bytes that are no letters at all. The text
// {HOST} in a file stands for the host and port that the client asked for.
// What a file cannot do (fail, redirect, be slow or endless) is done by
// examples/siteserver/site, which serves these files.
package site

import "embed"

// Files is the content of www/, rooted at "www". It is read-only.
//
//go:embed www
var Files embed.FS
