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

// folder serves a folder of files as it is. It differs from http.FileServer
// in two points that matter to a crawler: /index.html is answered and not
// redirected, and no charset is claimed that the page does not claim itself.
// A folder without index.html is listed. A symbolic link is followed wherever
// it leads, since documentation shares files that way; ".." leads nowhere.
type folder struct {
	files http.Dir
}

func (f folder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	at := path.Clean("/" + r.URL.Path)
	file, info, err := f.open(at)
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
		index, indexInfo, err := f.open(path.Join(at, "index.html"))
		if err != nil {
			list(w, r, file)
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
		if kind, err = sniff(file); err != nil {
			http.Error(w, "unreadable", http.StatusInternalServerError)
			return
		}
	}
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, "", info.ModTime(), file)
}

// open opens one path of the folder. The caller closes the file.
func (f folder) open(at string) (http.File, os.FileInfo, error) {
	file, err := f.files.Open(at)
	if err != nil {
		return nil, nil, fmt.Errorf("site.folder: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("site.folder: %w", err)
	}
	return file, info, nil
}

// sniff tells a type from the first bytes, without charset, and rewinds.
func sniff(file io.ReadSeeker) (string, error) {
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

// list answers with the names in a folder as links, sorted.
func list(w http.ResponseWriter, r *http.Request, dir http.File) {
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
