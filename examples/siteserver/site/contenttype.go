package site

import (
	"path"
	"strings"
)

// contentTypes replaces the table of the operating system, which differs between machines.
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

// contentType returns the type of a file by its name, without charset; "" if unknown.
func contentType(name string) string {
	return contentTypes[strings.ToLower(path.Ext(name))]
}
