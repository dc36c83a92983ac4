package extract_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"hce/dc/extract"
)

// samplePage is a page of a documentation package.
type samplePage struct {
	url  string
	body []byte
}

// readFolder reads at most most pages below a folder, spread over all of them.
func readFolder(b *testing.B, dir string, most int) (list []samplePage) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	var paths []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".html") {
			paths = append(paths, path)
		}
		return nil
	})
	for i := 0; i < len(paths); i += max(1, len(paths)/most) {
		body, err := os.ReadFile(paths[i])
		if err != nil {
			b.Fatal(err)
		}
		list = append(list, samplePage{"http://docs.example" + strings.TrimPrefix(paths[i], dir), body})
	}
	return list
}

// BenchmarkRead compares Read with html.Parse of x/net alone, on the pages of documentation packages of Debian
// (scripts/setup.sh test installs them). One operation is one page.
func BenchmarkRead(b *testing.B) {
	for name, dir := range map[string]string{"postgresql": "/usr/share/doc/postgresql-doc-15/html", "python": "/usr/share/doc/python3.11-doc/html"} {
		if _, err := os.Stat(dir); err != nil {
			dir = filepath.Join("..", ".cache", "docs", strings.TrimPrefix(dir, "/usr/share/doc/"))
		}
		list := readFolder(b, dir, 300)
		if len(list) == 0 {
			b.Fatalf("no pages below %s; scripts/setup.sh test gets them", dir)
		}
		run := func(what string, read func(p samplePage)) {
			b.Run(name+"/"+what, func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					read(list[i%len(list)])
				}
			})
		}
		run("html.Parse", func(p samplePage) { _, _ = html.Parse(bytes.NewReader(p.body)) })
		run("extract.Read", func(p samplePage) { _, _ = extract.Read(p.body, extract.Options{URL: p.url, ContentType: "text/html"}) })
	}
}
