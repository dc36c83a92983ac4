package layertest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

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
