package site

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	pages "hce/dc/examples/site"
)

// written is the modification time of every file: a constant, so that all builds answer
// alike.
var written = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

// hostMark in a file is replaced by the host and port of the request.
var hostMark = []byte("{HOST}")

// aliases are URLs with characters that are awkward in file names.
var aliases = map[string]string{
	"/town/café.html":     "/town/cafe.html",
	"/town/town map.html": "/town/town-map.html",
	"/town/~keeper/":      "/town/keeper.html",
}

// hidden files are served only by their aliases.
var hidden = map[string]bool{"/town/cafe.html": true, "/town/town-map.html": true, "/town/keeper.html": true}

// labels are the content types that a file name does not tell, such as those of the charset
// pages. Without a charset the page declares it.
var labels = map[string]string{
	"/charsets/cp1251.html":        "text/html",
	"/charsets/cp1251-header.html": "text/html; charset=windows-1251",
	"/charsets/shiftjis.html":      "text/html; charset=Shift_JIS",
	"/charsets/latin1.html":        "text/html",
	"/charsets/utf16.html":         "text/html",
	"/charsets/gb18030.html":       "text/html",
	"/charsets/mislabelled.html":   "text/html; charset=iso-8859-1",
	"/charsets/broken.html":        "text/html; charset=x-harrow",
	"/media/feed.xml":              "application/rss+xml; charset=utf-8",
}

// file is one page or image, ready to send.
type file struct {
	body []byte
	kind string // Content-Type
	tag  string // ETag
}

// fileSet serves files by path. Folder paths end with a slash.
type fileSet map[string]file

// loadFiles reads all embedded files. It panics if one is missing, which is a build error.
func loadFiles() fileSet {
	set := make(fileSet)
	err := fs.WalkDir(pages.Files, "www", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := pages.Files.ReadFile(name)
		if err != nil {
			return err
		}
		at := strings.TrimPrefix(name, "www")
		kind := labels[at]
		if kind == "" {
			kind = contentType(at)
			if strings.HasPrefix(kind, "text/") {
				kind += "; charset=utf-8"
			}
		}
		sum := sha256.Sum256(body)
		set[at] = file{body, kind, `"` + hex.EncodeToString(sum[:8]) + `"`}
		return nil
	})
	if err != nil {
		panic("site: embedded files: " + err.Error())
	}
	for alias, at := range aliases {
		set[alias] = set[at]
	}
	for at := range hidden {
		delete(set, at)
	}
	return set
}

func (set fileSet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := r.URL.Path
	f, ok := set[at]
	if !ok && strings.HasSuffix(at, "/") {
		f, ok = set[at+"index.html"]
	}
	if !ok {
		if _, folder := set[at+"/index.html"]; folder {
			w.Header().Set("Location", path.Base(at)+"/")
			w.WriteHeader(http.StatusMovedPermanently)
			return
		}
		notFound(w, r)
		return
	}
	w.Header().Set("Content-Type", f.kind)
	body := f.body
	if bytes.Contains(body, hostMark) {
		body = bytes.ReplaceAll(body, hostMark, []byte(PlainHost(r.Host)))
	} else {
		w.Header().Set("ETag", f.tag)
	}
	http.ServeContent(w, r, "", written, bytes.NewReader(body))
}

// PlainHost removes all characters that a host cannot have: a client may send anything, and
// it is written into pages.
func PlainHost(host string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune(".-:[]", c):
			return c
		}
		return -1
	}, host)
}
