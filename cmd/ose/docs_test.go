package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each test that docs/ose.md names is in the package that it names, and each sub-command is there.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/ose.md")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, m := range regexp.MustCompile("`([a-z0-9/]+)`: ((?:(?:Test|Fuzz)[A-Za-z0-9_]+(?:, )?)+)").FindAllStringSubmatch(string(page), -1) {
		dir := filepath.Join("../..", "internal", m[1])
		if m[1] == "e2e" || strings.HasPrefix(m[1], "cmd/") {
			dir = filepath.Join("../..", m[1])
		}
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var code strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(text)
		}
		for name := range strings.SplitSeq(m[2], ", ") {
			count++
			if !strings.Contains(code.String(), "\nfunc "+name+"(") {
				t.Errorf("docs/ose.md: package %s has no %s", m[1], name)
			}
		}
	}
	if count < 30 {
		t.Errorf("%d names of tests", count)
	}
	help, _ := ose(t, 0, "--help")
	for line := range strings.Lines(help) {
		name, found := strings.CutPrefix(line, "  ")
		name, _, _ = strings.Cut(name, " ")
		if found && regexp.MustCompile(`^  [a-z]+ {3,}`).MatchString(line) && !strings.Contains(string(page), "ose "+name) {
			t.Errorf("docs/ose.md has no ose %s", name)
		}
	}
}
