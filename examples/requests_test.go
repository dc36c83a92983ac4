// Package examples_test checks the example requests in its folder: they are JSON, and their keys
// match their URLs.
package examples_test

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

// root is the first page of the site of all example requests: siteserver -addr 127.0.0.1:8080.
const root = "http://127.0.0.1:8080/"

func key(url string) string {
	sum := md5.Sum([]byte(url))
	return hex.EncodeToString(sum[:])
}

func TestRequests(t *testing.T) {
	files, err := filepath.Glob("*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, name := range files {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var tree any
			if err := json.Unmarshal(text, &tree); err != nil {
				t.Fatal(err)
			}
			check(t, tree)
		})
	}
}

// TestRequestsAreValid passes each file to the reader of its operation, which must accept it
// without unknown keys.
func TestRequestsAreValid(t *testing.T) {
	for name, read := range map[string]func(json.RawMessage, *lenient.Notes) error{
		"site-new.json":    func(m json.RawMessage, n *lenient.Notes) error { _, err := wire.ReadSiteNew(m, n); return err },
		"site-status.json": func(m json.RawMessage, n *lenient.Notes) error { _, err := wire.ReadSiteStatus(m, n); return err },
		"site-find.json":   func(m json.RawMessage, n *lenient.Notes) error { _, err := wire.ReadSiteFind(m, n); return err },
		"site-delete.json": func(m json.RawMessage, n *lenient.Notes) error { _, err := wire.ReadSiteDelete(m, n); return err },
		"url-new.json":     func(m json.RawMessage, n *lenient.Notes) error { _, err := wire.ReadURLNew(m, n); return err },
		"url-status.json":  func(m json.RawMessage, n *lenient.Notes) error { _, err := wire.ReadURLStatus(m, n); return err },
		"url-fetch.json":   func(m json.RawMessage, n *lenient.Notes) error { _, err := wire.ReadURLFetch(m, n); return err },
		"url-content.json": func(m json.RawMessage, n *lenient.Notes) error { _, err := wire.ReadURLContent(m, n); return err },
		"batch.json":       func(m json.RawMessage, n *lenient.Notes) error { _, err := wire.ReadBatch(m, n); return err },
		"realtime.json":    func(m json.RawMessage, n *lenient.Notes) error { _, err := wire.ReadBatch(m, n); return err },
		"process.json":     func(m json.RawMessage, n *lenient.Notes) error { _, err := wire.ReadBatch(m, n); return err },
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var notes lenient.Notes
			if err := read(text, &notes); err != nil || len(notes.Unknown) > 0 {
				t.Errorf("error %v, unknown keys %v", err, notes.Unknown)
			}
		})
	}
}

// check walks a request and checks every object that has a key and a URL.
func check(t *testing.T, tree any) {
	switch node := tree.(type) {
	case []any:
		for _, child := range node {
			check(t, child)
		}
	case map[string]any:
		url, _ := node["url"].(string)
		for field, value := range node {
			text, _ := value.(string)
			switch {
			case field == "siteId", field == "parentMd5":
				if text != key(root) {
					t.Errorf("%s is %q, want the key of %s", field, text, root)
				}
			case field == "urlMd5":
				if text != key(url) || !strings.HasPrefix(url, root) {
					t.Errorf("urlMd5 is %q, not the key of %q", text, url)
				}
			case field == "id" && text != "" && text != key(root):
				t.Errorf("id is %q, want the key of %s", text, root)
			}
			check(t, value)
		}
	}
}
