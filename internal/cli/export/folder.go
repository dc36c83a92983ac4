package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/cli/pages"
	"hce/dc/warc"
)

// errNotWritten means that a writer has nothing of a page, which does not count then.
var errNotWritten = errors.New("the page has no such content")

// markdown writes one file for each page, with its values in front of the text (YAML in JSON form).
type markdown struct{ folderOf }

func newMarkdown(out Output, s Settings) (Writer, error) {
	return markdown{folderOf{out.Folder, s.Several}}, nil
}

// folderOf is the folder of a page: with several sites, which may have the same URL, one for each site.
type folderOf struct {
	folder  string
	several bool
}

func (f folderOf) folderFor(p *pages.Page) string {
	if f.several {
		return filepath.Join(f.folder, p.SiteID)
	}
	return f.folder
}

// frontFields are the fields in front of a Markdown file.
var frontFields = []string{"url", "title", "author", "date", "language", "description", "crawled", "changed", "outdated"}

func (m markdown) Page(p *pages.Page) error {
	if p.Result == nil {
		return errNotWritten
	}
	var b strings.Builder
	b.WriteString("---\n")
	for _, name := range frontFields {
		value, err := json.Marshal(fieldOf(name).value(p, Settings{})) // JSON texts are YAML texts
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s: %s\n", name, value)
	}
	b.WriteString("---\n\n")
	b.WriteString(strings.TrimSpace(p.Text("content_markdown")))
	b.WriteString("\n")
	return writeFile(m.folderFor(p), FileName(p.URL.URL, p.URLMd5, ".md"), []byte(b.String()))
}

func (m markdown) Flush() error { return nil }
func (m markdown) End() error   { return nil }

// received writes the pages as the server sent them.
type received struct{ folderOf }

func newFiles(out Output, s Settings) (Writer, error) {
	return received{folderOf{out.Folder, s.Several}}, nil
}

func (r received) Page(p *pages.Page) error {
	if p.Raw == nil {
		return errNotWritten
	}
	return writeFile(r.folderFor(p), FileName(p.URL.URL, p.URLMd5, suffixOf(p.ContentType)), p.Raw)
}

func (r received) Flush() error { return nil }
func (r received) End() error   { return nil }

// suffixes of content types for URLs without one.
var suffixes = map[string]string{
	"text/html": ".html", "application/xhtml+xml": ".html", "text/plain": ".txt", "application/pdf": ".pdf", "text/css": ".css",
	"application/json": ".json", "text/xml": ".xml", "application/xml": ".xml", "application/rss+xml": ".xml", "image/png": ".png", "image/jpeg": ".jpg",
}

func suffixOf(contentType string) string { return suffixes[strings.ToLower(contentType)] }

const (
	longestPart = 80 // bytes of a folder or file name
	mostFolders = 12
	// keyLetters of a key keep the pages of a large site apart: with 8, two of 100,000 pages of one
	// folder had the same name, and one of them was lost.
	keyLetters = 16
)

// FileName returns the relative path of a page: host, folders and name of its URL, without
// characters that a file system or a shell reads in another way, then "~" and 16 letters of its key,
// then the suffix. No folder has a "~", so no page takes the place of a folder of another one.
func FileName(text, md5, suffix string) string {
	u := canonical.Split(text)
	if u.Host == "" {
		return md5 + suffix
	}
	parts := []string{plainName(u.Host)}
	name := "index"
	for part := range strings.SplitSeq(strings.Trim(warc.URI(u.Path), "/"), "/") {
		if part != "" {
			parts = append(parts, plainName(part))
		}
	}
	if !strings.HasSuffix(u.Path, "/") && len(parts) > 1 {
		name, parts = parts[len(parts)-1], parts[:len(parts)-1]
	}
	if len(parts) > mostFolders {
		parts = parts[:mostFolders]
	}
	for _, known := range []string{filepath.Ext(name), suffix} {
		if known != "" && len(known) <= 6 && strings.HasSuffix(name, known) {
			name = strings.TrimSuffix(name, known)
			if suffix == "" {
				suffix = known
			}
			break
		}
	}
	return filepath.Join(append(parts, name+"~"+md5[:min(keyLetters, len(md5))]+suffix)...)
}

// plainName keeps letters, digits and a few signs of a part of a path. It never returns "", "." or "..".
func plainName(part string) string {
	safe := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_.", c) {
			return c
		}
		return '_'
	}, part)
	safe = strings.TrimLeft(safe[:min(len(safe), longestPart)], ".-")
	if safe == "" {
		return "_"
	}
	return safe
}

// writeFile writes a file below folder.
func writeFile(folder, name string, text []byte) error {
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
