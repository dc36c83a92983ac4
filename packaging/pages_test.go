package packaging

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hce/dc/internal/manual"
)

// aPage is the name of a page in a text, and where the text says that it is.
var aPage = regexp.MustCompile(`[\w./-]*\b(?:docs|doc/dc)/[\w/-]+\.md\b`)

// checkPages reports the pages in a text of an installed system that are not there.
func checkPages(t *testing.T, name, text string) (found int) {
	t.Helper()
	for _, page := range aPage.FindAllString(text, -1) {
		found++
		if !strings.HasPrefix(strings.TrimPrefix(page, root), manual.Folder+"/") {
			t.Errorf("%s names %s, a file of the source tree", name, page)
			continue
		}
		exists(t, name, strings.TrimPrefix(page, root))
	}
	return found
}

// Help of all commands and manual pages, ini files and rules of an installed system name pages where they are.
func TestPagesOfInstalledTexts(t *testing.T) {
	found := 0
	for _, program := range programs(t) {
		found += checkHelp(t, program)
	}
	for _, folder := range []string{"/etc", "/usr/lib", "/usr/share/man", "/usr/share/doc/dc/prometheus", "/usr/share/doc/dc/grafana"} {
		err := filepath.WalkDir(installed(folder), func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				found += checkPages(t, path, text(t, path))
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if found < 20 {
		t.Errorf("only %d pages are named", found)
	}
}

var aCommand = regexp.MustCompile(`(?m)^  (\w[\w-]*) {2,}`)

// checkHelp checks the help of a command and those below it.
func checkHelp(t *testing.T, program string, path ...string) int {
	t.Helper()
	help := said(t, program, append(path, "--help")...)
	found := checkPages(t, program+" "+strings.Join(path, " "), help)
	_, commands, has := strings.Cut(help, "\nCommands, each with its own --help:\n")
	if !has {
		return found
	}
	commands, _, _ = strings.Cut(commands, "\n\n")
	for _, name := range aCommand.FindAllStringSubmatch(commands, -1) {
		found += checkHelp(t, program, append(path[:len(path):len(path)], name[1])...)
	}
	return found
}

// Each string of the programs that names a page names one that the package has.
func TestPagesOfMessages(t *testing.T) {
	found := 0
	for _, folder := range []string{"../cmd", "../internal", "../extract"} {
		err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				literal, is := n.(*ast.BasicLit)
				if is && literal.Kind == token.STRING {
					found += checkPages(t, path, manual.LocateIn(manual.Folder, literal.Value))
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if found < 20 {
		t.Errorf("only %d pages are named", found)
	}
}

// aLink is the target of a link in a page, without its heading.
var aLink = regexp.MustCompile(`\]\(([\w./-]+\.md)(?:#[\w-]*)?\)`)

// Links between installed pages lead to installed pages.
func TestLinksOfPages(t *testing.T) {
	err := filepath.WalkDir(installed(manual.Folder), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".md") {
			return err
		}
		for _, link := range aLink.FindAllStringSubmatch(text(t, path), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), link[1])); err != nil {
				t.Errorf("%s: the link %s leads to no installed page", path, link[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
