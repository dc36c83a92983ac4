package site

import (
	"fmt"
	"html"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"sort"
	"strings"
)

// folder serves a folder of files. Unlike http.FileServer it does not redirect /index.html,
// and it adds no charset that the page does not declare. It lists a folder without
// index.html, follows symbolic links, because documentation uses them, and denies "..".
type folder struct {
	files http.Dir
}

func (f folder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	at := path.Clean("/" + r.URL.Path)
	file, info, err := f.openPath(at)
	if err != nil {
		notFound(w, r)
		return
	}
	defer file.Close()

	if info.IsDir() {
		if !strings.HasSuffix(r.URL.Path, "/") {
			w.Header().Set("Location", path.Base(at)+"/")
			w.WriteHeader(http.StatusMovedPermanently)
			return
		}
		index, indexInfo, err := f.openPath(path.Join(at, "index.html"))
		if err != nil {
			serveList(w, r, file)
			return
		}
		defer index.Close()
		file, info = index, indexInfo
	} else if strings.HasSuffix(r.URL.Path, "/") {
		notFound(w, r)
		return
	}
	if info.IsDir() || !info.Mode().IsRegular() {
		notFound(w, r)
		return
	}
	kind := contentType(info.Name())
	if kind == "" {
		if kind, err = detectType(file); err != nil {
			http.Error(w, "unreadable", http.StatusInternalServerError)
			return
		}
	}
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, "", info.ModTime(), file)
}

// openPath opens one path of the folder. The caller closes the file.
func (f folder) openPath(at string) (http.File, os.FileInfo, error) {
	file, err := f.files.Open(at)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", at, err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("open %s: %w", at, err)
	}
	return file, info, nil
}

// detectType detects a type from the first bytes, without charset, and rewinds.
func detectType(file io.ReadSeeker) (string, error) {
	start := make([]byte, 512)
	n, err := io.ReadFull(file, start)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return "", err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	kind, _, err := mime.ParseMediaType(http.DetectContentType(start[:n]))
	return kind, err
}

// serveList answers with a sorted list of links to the names in a folder.
func serveList(w http.ResponseWriter, r *http.Request, dir http.File) {
	entries, err := dir.Readdir(-1)
	if err != nil {
		http.Error(w, "unreadable", http.StatusInternalServerError)
		return
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	title := html.EscapeString(r.URL.Path)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<!DOCTYPE html>\n<html><head><title>%s</title></head>\n<body><h1>%s</h1>\n<ul>\n", title, title)
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() {
			name += "/"
		}
		link := url.URL{Path: "./" + name}
		fmt.Fprintf(w, "<li><a href=\"%s\">%s</a></li>\n", html.EscapeString(link.String()), html.EscapeString(name))
	}
	fmt.Fprint(w, "</ul>\n</body></html>\n")
}
