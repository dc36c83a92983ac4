package layertest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// riddle finds wording that docs/style.md section 7 asks to avoid.
var riddle = regexp.MustCompile(`(?i)\b(anew|beside|(is|are) none|stands? (in|for)|what is no|who (has|asks|wants))\b`)

// unnamed finds words that hide which process, user or item is meant, unless they are in quotes as a name.
var unnamed = regexp.MustCompile(`(?i)(^|[^"'=\w])(nobody|somebody|whoever|innocent|guilty|hunger|starving)\b`)

// isProse reports whether a file is code or a document of the product: tests and the pages of the examples may tell stories.
func isProse(name string) bool {
	return !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "examples/") && !strings.HasPrefix(name, "sql/")
}

// Comments, messages and documents are in plain words. docs/style.md quotes the others.
func TestPlainWords(t *testing.T) {
	for _, name := range append(trackedFiles(t), specPages(t)...) {
		if name == "docs/style.md" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(b), "\n") {
			found := riddle.FindString(line)
			if found == "" && isProse(name) {
				found = unnamed.FindString(line)
			}
			if found != "" {
				t.Errorf("%s:%d: %q: say it with subject, verb, object and the standard term", name, i+1, found)
			}
		}
	}
}

func specPages(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(root, "docs/spec/*.md"))
	if err != nil || len(pages) < 6 {
		t.Fatalf("%d pages in docs/spec, %v", len(pages), err)
	}
	for i := range pages {
		pages[i] = strings.TrimPrefix(filepath.ToSlash(pages[i]), root+"/")
	}
	return pages
}

// Each library of go.mod is on the page of licences.
func TestLicencesAreListed(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(mod), -1) {
		if !strings.Contains(string(page), "| "+m[1]+" |") {
			t.Errorf("docs/dependencies.md does not list %s", m[1])
		}
	}
}
