package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/openapi.json")

// TestDocument: the document in the repository is that of the code. With -update it is written.
func TestDocument(t *testing.T) {
	text, err := Document("1")
	if err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", " "); err != nil {
		t.Fatal(err)
	}
	indented.WriteByte('\n')
	path := filepath.Join("..", "..", "docs", "openapi.json")
	if *update {
		if err := os.WriteFile(path, indented.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(stored, indented.Bytes()) {
		t.Errorf("%s is not the document of the code (%v); write it with: go test ./internal/api -run TestDocument -update", path, err)
	}
}
