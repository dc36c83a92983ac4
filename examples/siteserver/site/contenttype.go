package site

import (
	"path"
	"strings"
)

// contentTypes is a table of our own, because the one of the operating system
// differs from machine to machine.
var contentTypes = map[string]string{
	".html":  "text/html",
	".htm":   "text/html",
	".xhtml": "application/xhtml+xml",
	".txt":   "text/plain",
	".css":   "text/css",
	".js":    "text/javascript",
	".json":  "application/json",
	".xml":   "text/xml",
	".pdf":   "application/pdf",
	".png":   "image/png",
	".gif":   "image/gif",
	".jpg":   "image/jpeg",
	".jpeg":  "image/jpeg",
	".svg":   "image/svg+xml",
	".ico":   "image/x-icon",
	".woff":  "font/woff",
	".woff2": "font/woff2",
	".gz":    "application/gzip",
}

// contentType is the type of a file by its name, without a charset; "" when
// the name does not tell.
func contentType(name string) string {
	return contentTypes[strings.ToLower(path.Ext(name))]
}
