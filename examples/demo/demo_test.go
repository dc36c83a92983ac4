package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseFlags(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		ok   bool
	}{
		{"no flags", nil, true},
		{"site", []string{"-site", "https://example.org/"}, true},
		{"folder", []string{"-dir", t.TempDir(), "-keep"}, true},
		{"both", []string{"-site", "https://example.org/", "-dir", t.TempDir()}, false},
		{"no URL", []string{"-site", "example.org"}, false},
		{"not http", []string{"-site", "ftp://example.org/"}, false},
		{"no folder", []string{"-dir", "/nonexistent"}, false},
		{"argument", []string{"surplus"}, false},
		{"unknown flag", []string{"-nosuch"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var talk bytes.Buffer
			if _, err := parseFlags(c.args, &talk); (err == nil) != c.ok || (talk.Len() > 0) == c.ok {
				t.Errorf("error %v, said %q", err, talk.String())
			}
		})
	}
}

func TestCount(t *testing.T) {
	got, err := countRows(strings.NewReader(`{"httpCode":200,"size":100,"errors":[]}
{"httpCode":404,"size":10,"errors":["HTTP_ERROR"]}
{"httpCode":0,"size":0,"errors":[]}
`))
	if err != nil || got != (summary{pages: 1, urls: 3, errors: 1, bytes: 110}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"", `{"httpCode":404,"errors":["HTTP_ERROR"]}`, "no JSON"} {
		if _, err := countRows(strings.NewReader(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestServe(t *testing.T) {
	root, closeServer, err := serveFolder("")
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(root + "town/mill.html")
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	closeServer()
	if _, err := http.Get(root); err == nil {
		t.Error("the server still answers")
	}
}

// TestFailureLeavesNothing runs the demo with a hce that fails.
func TestFailureLeavesNothing(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "hce"), []byte("#!/bin/sh\necho broken ini >&2; exit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out, talk bytes.Buffer
	d := demo{options: options{bin: bin}, out: &out, talk: &talk}
	err := d.runSteps(t.Context())
	if err == nil || err.Error() != "hce crawl: exit status 3" || !strings.Contains(talk.String(), "broken ini") || out.Len() > 0 {
		t.Errorf("error %v, stdout %q, stderr %q", err, out.String(), talk.String())
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
