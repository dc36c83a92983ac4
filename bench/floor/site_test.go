package main

import (
	"os"
	"path/filepath"
	"testing"
)

// writeSite writes four pages with links in several spellings.
func writeSite(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"index.html": `<a href="a.html#x">a</a> <a href="./a.html">a</a> <a href="sub/c.html">c</a> <a href="http://192.0.2.1/">away</a> <a href="mailto:x@y">mail</a>`,
		"a.html":     `<img src="p.png"><a href="b.html">b</a><a href="/">home</a>`,
		"b.html":     `<a href="missing.html">broken</a>`,
		"sub/c.html": `<base href="/"><a href="a.html">a</a>`,
		"p.png":      "picture",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
