package layertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

var (
	// aReference is the name of a page and what follows it: "docs/spec/storage.md 4.10, 6.2 #3".
	aReference = regexp.MustCompile(`docs/spec/(\w+)\.md((?:(?:,| and| to| or)? (?:F\d+|\d+(?:\.\d+)*(?:-\d+(?:\.\d+)*)?(?: #\d+)?|#\d+))*)`)
	aPlace     = regexp.MustCompile(`F\d+|\d+(?:\.\d+)*(?: #\d+)?|#\d+`)
	// unlinked are references without a page, and pages that the repository does not have.
	unlinked  = regexp.MustCompile(`\b(?:objects|storage|crawling|processing|daemon)(?:\.md)? (?:\d+\.\d+|F\d+)\b|\bDECISIONS\b|\bthe seed\b|\bseeds/`)
	aHeading  = regexp.MustCompile(`(?m)^(?:#+ |\*\*)(\d+(?:\.\d+)*)\.? .*$`)
	aRow      = regexp.MustCompile(`(?m)^(?:\| (\d+) \||(\d+)\. )`)
	aFault    = regexp.MustCompile(`\bF\d+\b`)
	goComment = regexp.MustCompile(`(?m)^\s*(//|--|#|;) ?`)
)

// page is what a reference may name on one page of docs/spec.
type page struct {
	places map[string]bool // "4.10", "6.2 #3", "F26"
}

func readPage(t *testing.T, path string) page {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	p := page{places: map[string]bool{}}
	heads := aHeading.FindAllStringSubmatchIndex(text, -1)
	for i, h := range heads {
		number := text[h[2]:h[3]]
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		p.places[number] = true
		for _, row := range aRow.FindAllStringSubmatch(text[h[0]:end], -1) {
			p.places[number+" #"+row[1]+row[2]] = true
			if strings.HasSuffix(path, "DECISIONS.md") {
				p.places[number+"."+row[1]+row[2]] = true
			}
		}
	}
	for _, fault := range aFault.FindAllString(text, -1) {
		p.places[fault] = true
	}
	return p
}

// trackedFiles lists the files of the repository that carry comments or prose.
func trackedFiles(t *testing.T) []string {
	t.Helper()
	c := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard")
	c.Dir = root
	out, err := c.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	files := slices.DeleteFunc(strings.Fields(string(out)), func(name string) bool {
		ext := filepath.Ext(name)
		text := slices.Contains([]string{".go", ".sql", ".ini", ".md", ".sh", ".yml", ".service"}, ext) || filepath.Base(name) == "Makefile"
		_, err := os.Stat(filepath.Join(root, name))
		return !text || err != nil || strings.HasPrefix(name, "docs/spec/") || strings.Contains(name, "testdata/") || strings.HasPrefix(name, "internal/layertest/")
	})
	if len(files) < 100 {
		t.Fatalf("only %d files were found", len(files))
	}
	return files
}

// Each reference to the specification names a heading, a row or a fault of a page in
// docs/spec, so that a reader can follow it.
func TestReferencesResolve(t *testing.T) {
	pages := map[string]page{}
	list, err := filepath.Glob(filepath.Join(root, "docs/spec/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range list {
		pages[strings.TrimSuffix(filepath.Base(path), ".md")] = readPage(t, path)
	}
	for _, row := range rowsOfProcessing(t) {
		pages["processing"].places[row] = true
	}
	count := 0
	for _, name := range trackedFiles(t) {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(goComment.ReplaceAllString(string(b), ""), "\n", " ")
		for _, m := range aReference.FindAllStringSubmatch(text, -1) {
			count++
			checkReference(t, name, m, pages)
		}
		plain := aReference.ReplaceAllString(text, "")
		for _, found := range unlinked.FindAllString(plain, -1) {
			t.Errorf("%s: %q is no reference that a reader can follow; write docs/spec/PAGE.md and a number", name, found)
		}
	}
	if count < 300 {
		t.Errorf("only %d references were found", count)
	}
}

func checkReference(t *testing.T, file string, match []string, pages map[string]page) {
	t.Helper()
	p, known := pages[match[1]]
	if !known {
		t.Errorf("%s: docs/spec has no page %s.md", file, match[1])
		return
	}
	if match[2] == "" {
		if filepath.Ext(file) != ".md" {
			t.Errorf("%s: a reference to docs/spec/%s.md names no section", file, match[1])
		}
		return
	}
	section := ""
	for _, place := range aPlace.FindAllString(match[2], -1) {
		if strings.HasPrefix(place, "#") {
			place = section + " " + place
		} else if !strings.HasPrefix(place, "F") {
			section, _, _ = strings.Cut(place, " ")
		}
		if !p.places[place] {
			t.Errorf("%s: docs/spec/%s.md has no %s", file, match[1], place)
		}
	}
}

// aTestList is a cell of a page of testPages: packages, each with the names of its tests.
var (
	aTestList = regexp.MustCompile("`([a-z0-9/-]+)`: ((?:(?:Test|Fuzz)[A-Za-z0-9_]+(?:, )?)+)")
	aTestName = regexp.MustCompile(`(?:Test|Fuzz)\w+`)
)

// testPages name the tests that show what they say.
var testPages = []string{"docs/limits.md", "docs/archive-server.md"}

// Each test that testPages name is in the package that they name.
func TestLimitsNameTheirTests(t *testing.T) {
	var page []byte
	for _, name := range testPages {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		page = append(page, text...)
	}
	count := 0
	for _, m := range aTestList.FindAllStringSubmatch(string(page), -1) {
		folder := filepath.Join(root, "internal", m[1])
		if _, err := os.Stat(folder); err != nil { // cmd, e2e, or a public package
			folder = filepath.Join(root, m[1])
		}
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%v: package %s, which has no tests: %v", testPages, m[1], err)
			continue
		}
		var code strings.Builder
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(b)
		}
		for _, name := range aTestName.FindAllString(m[2], -1) {
			count++
			if !strings.Contains(code.String(), "\nfunc "+name+"(") {
				t.Errorf("%v: package %s has no %s", testPages, m[1], name)
			}
		}
	}
	if count < 60 {
		t.Errorf("only %d names of tests were found", count)
	}
}
