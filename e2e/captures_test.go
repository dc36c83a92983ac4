//go:build e2e

package e2e

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// captured are the pictures of make captures, with texts that they show.
var captured = map[string][]string{
	"crawl":     {"$ hce crawl http://oldtown.example/ --name oldtown", "complete, with errors", "HTTP_ERROR: the server answered"},
	"top-sites": {"the data folder ~/.local/share/hce", "http://oldtown.example/", "http://harbour.example/", "PER SEC", "HTTP_ERROR", "slowest ", "2 managers"},
	"site-ls":   {"$ hce site ls", "oldtown", "http://library.example/"},
}

// pictureText returns the texts of an SVG file, one per line.
func pictureText(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var b strings.Builder
	for d := xml.NewDecoder(file); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if text, is := token.(xml.CharData); is {
			b.Write(text)
		}
	}
}

// The program of make captures crawls on a terminal, and hce top shows that crawl. The
// committed pictures are of this kind, and the documentation shows them.
func TestCaptures(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	if _, stderr, status := run(t, "captures", []string{"-bin", bin, "-out", out}, ""); status != 0 {
		t.Fatalf("status %d, %s", status, stderr)
	}
	page, err := os.ReadFile("../docs/hce.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, texts := range captured {
		for _, folder := range []string{out, "../docs/captures"} {
			shown := pictureText(t, filepath.Join(folder, name+".svg"))
			for _, text := range texts {
				if !strings.Contains(shown, text) {
					t.Errorf("%s/%s.svg has no %q:\n%s", folder, name, text, shown)
				}
			}
			if strings.Contains(shown, "127.0.0.1") {
				t.Errorf("%s/%s.svg shows the address of a run:\n%s", folder, name, shown)
			}
		}
		if !strings.Contains(string(page), "(captures/"+name+".svg)") {
			t.Errorf("docs/hce.md does not show %s.svg", name)
		}
	}
}
