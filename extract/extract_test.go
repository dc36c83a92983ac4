package extract_test

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"hce/dc/extract"
)

func Example() {
	body := []byte(`<title>Tides | The Coast</title><nav><a href=/>Home</a></nav><article><h1>Tides</h1>
<p>The moon pulls the sea twice a day, and the sun helps a little.</p>
<p>Read <a href=spring.html>how spring tides</a> come about when both pull in one line.</p></article><footer>All rights reserved</footer>`)
	page, err := extract.Read(body, extract.Options{URL: "https://coast.example/sea/tides.html"})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(page.Title)
	fmt.Println(page.Markdown)
	// Output:
	// Tides
	// # Tides
	//
	// The moon pulls the sea twice a day, and the sun helps a little.
	//
	// Read [how spring tides](https://coast.example/sea/spring.html) come about when both pull in one line.
}

func TestRead(t *testing.T) {
	words := strings.Repeat("The moon pulls the sea twice a day. ", 10)
	for _, c := range []struct {
		name, kind, body, title, text string
		err                           error
	}{
		{"HTML", "text/html", "<title>Tides</title><p>" + words, "Tides", "The moon", nil},
		{"HTML without a type", "", "<!DOCTYPE html><title>Tides</title><p>" + words, "Tides", "The moon", nil},
		{"fragment without a type", "", "<p>" + words, "page", "The moon", nil},
		{"charset of the header", "text/html; charset=windows-1251", "<title>\xcf\xf0\xe8\xe2\xe5\xf2</title><p>" + words, "Привет", "The moon", nil},
		{"charset of the page", "", "<meta charset=windows-1252><title>caf\xe9</title><p>" + words, "café", "The moon", nil},
		{"plain text", "text/plain", "Tides\n\n" + words, "Tides", "The moon", nil},
		{"Markdown", "text/markdown", "# Tides\n\n" + words, "Tides", "The moon", nil},
		{"image", "image/png", "\x89PNG\r\n\x1a\n\x00\x00", "", "", extract.ErrType},
		{"damaged PDF", "application/pdf", "%PDF-1.7\nnothing", "", "", extract.ErrDamaged},
		{"nothing", "", "", "page", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			page, err := extract.Read([]byte(c.body), extract.Options{URL: "https://coast.example/page", ContentType: c.kind})
			if !errors.Is(err, c.err) || c.err == nil && err != nil || page.Title != c.title || !strings.Contains(page.Text, c.text) {
				t.Errorf("title %q, text %.60q, %v", page.Title, page.Text, err)
			}
		})
	}
}

// The modes choose more and more of a page.
func TestModes(t *testing.T) {
	body := []byte("<title>Tides</title><nav><a href=/>Home</a></nav><article><h1>Tides</h1>" +
		strings.Repeat("<p>The moon pulls the sea twice a day, and the sun helps a little.</p>", 8) + "</article><aside><p>Read our newsletter, please, and more.</p></aside><footer>All rights reserved</footer>")
	last := 0
	for _, mode := range []extract.Mode{extract.Precision, extract.Balanced, extract.Recall, extract.Whole} {
		page, err := extract.Read(body, extract.Options{Mode: mode})
		if err != nil || len(page.Text) < last || !strings.Contains(page.Text, "The moon") || page.Whole != (mode == extract.Whole) {
			t.Errorf("mode %d: %d bytes after %d, whole %v, %v", mode, len(page.Text), last, page.Whole, err)
		}
		last = len(page.Text)
	}
	if _, err := extract.Read(body, extract.Options{Mode: 9}); err == nil {
		t.Error("an unknown mode is accepted")
	}
}

// The package can be used in any Go program: it needs neither cgo nor sockets.
func TestNeedsNoCgo(t *testing.T) {
	c := exec.Command("go", "list", "-deps", "-f", "{{if .CgoFiles}}cgo {{end}}{{.ImportPath}}", "hce/dc/extract")
	c.Env = append(c.Environ(), "CGO_ENABLED=0")
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		for _, part := range []string{"cgo ", "zmq4", "go-sqlite3", "hce/dc/internal/storage", "hce/dc/internal/daemon"} {
			if strings.Contains(line, part) {
				t.Errorf("extract needs %s", strings.TrimSpace(line))
			}
		}
	}
}
