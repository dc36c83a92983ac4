package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"hce/dc/internal/process/choice"
)

const (
	pagesOfPackage   = 24 // of a generator
	pagesOfGenerator = 56
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
	paths, err := inTurns(source)
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for _, path := range paths {
		r := markPage(path, filepath.Base(filepath.Dir(path)), counts)
		if r == nil {
			continue
		}
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n", line); err != nil {
			return err
		}
		if err := copyFile(path, filepath.Join(target, "html", r.ID+".html")); err != nil {
			return err
		}
	}
	return nil
}

// inTurns returns the paths of all pages: the first of each package, then the second of each, and so on.
func inTurns(source string) (paths []string, err error) {
	packages, err := os.ReadDir(source)
	if err != nil {
		return nil, err
	}
	lists := make([][]os.DirEntry, len(packages))
	most := 0
	for i, d := range packages {
		if lists[i], err = os.ReadDir(filepath.Join(source, d.Name())); err != nil {
			return nil, err
		}
		most = max(most, len(lists[i]))
	}
	for turn := range most {
		for i, d := range packages {
			if turn < len(lists[i]) {
				paths = append(paths, filepath.Join(source, d.Name(), lists[i][turn].Name()))
			}
		}
	}
	return paths, nil
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
