package layertest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hce/dc/internal/cli/strict"
)

// aRead is a property that package property reads for its caller.
var aRead = regexp.MustCompile(`(?:\.(?:Text|Int|On|Within|Seconds|Lookup|Failed)\(|Parsed(?:Or|InPart)?\(\w+(?:\.\w+)*, )"([A-Z][A-Za-z]*_[A-Z0-9_]+)"`)

// hce and dc-client --strict know every property that crawling and processing read.
func TestReadPropertiesAreKnown(t *testing.T) {
	read := map[string]string{}
	for _, folder := range []string{"crawl", "process"} {
		err := filepath.WalkDir(filepath.Join(root, "internal", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range aRead.FindAllStringSubmatch(string(text), -1) {
				read[m[1]] = filepath.Base(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(read) < 60 {
		t.Errorf("only %d properties were found", len(read))
	}
	for name, file := range read {
		if known, _ := strict.KnownProperty(name); !known {
			t.Errorf("%s reads property %s, which no page of docs/ lists: hce and --strict refuse it", file, name)
		}
	}
}
