package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"hce/dc/internal/process/choice"
)

const (
	pagesOfPackage   = 14 // of a generator
	pagesOfGenerator = 60
	fewestLines      = 3 // of the main element
	fewestWords      = 30
)

// skippedPages are parts of paths of pages that are no documentation: indexes, sources, searches.
var skippedPages = []string{"genindex", "_source.htm", "%src%", "_modules", "_sources", "search.htm", "-use.htm", "class-use", "doc-index", "allclasses", "overview-tree", "package-tree", "py-modindex"}

// markPages reads SOURCE/PACKAGE/*.html and writes pages whose generator is known to TARGET: pages.jsonl and html/.
func markPages(source, target string) error {
	if err := os.MkdirAll(filepath.Join(target, "html"), 0o755); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(target, "pages.jsonl"))
	if err != nil {
		return err
	}
	defer out.Close()
	counts := map[string]int{}
	err = filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		pkg := filepath.Base(filepath.Dir(path))
		r := markPage(path, pkg, counts)
		if r == nil {
			return nil
		}
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n", line); err != nil {
			return err
		}
		return copyFile(path, filepath.Join(target, "html", r.ID+".html"))
	})
	for name, n := range counts {
		if !strings.Contains(name, " ") {
			fmt.Println(name, n)
		}
	}
	return err
}

// markPage returns the record of a page, or nil if it is not used.
func markPage(path, pkg string, counts map[string]int) *record {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	for _, s := range skippedPages {
		if strings.Contains(strings.ToLower(filepath.Base(path)), s) {
			return nil
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || !utf8.Valid(text) {
		return nil
	}
	g := generatorOf(text)
	if g == nil || counts[g.name] >= pagesOfGenerator || counts[pkg+" "+g.name] >= pagesOfPackage || !hasContent(text, g) {
		return nil
	}
	counts[g.name]++
	counts[pkg+" "+g.name]++
	parts := strings.Split(filepath.Base(path), "%")
	return &record{ID: pkg + "-" + strings.NewReplacer("%", "_", "/", "_").Replace(name), Type: "documentation", Generator: g.name, Main: g.main, Drop: g.drop,
		URL: "http://docs.example/" + strings.Join(parts[max(0, len(parts)-2):], "/")}
}

// hasContent reports whether the main element is in the page and has a few lines.
func hasContent(text []byte, g *generator) bool {
	var t choice.Trial
	t.Read(text, "")
	lines, count := 0, 0
	for i, in := range t.Inside(g.main, g.drop) {
		if in {
			lines++
			count += len(wordsOf(t.Text(i)))
		}
	}
	return lines >= fewestLines && count >= fewestWords
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
