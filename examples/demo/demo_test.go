package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hce/dc/examples/rig"
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

func TestTarget(t *testing.T) {
	d := demo{options: options{site: "https://www.Example.org/docs/a.html#x"}}
	polite, err := d.target(d.site)
	if err != nil || polite.RequestDelay != politeDelay || polite.MaxURLs != mostPages || polite.Root != "https://www.Example.org/docs/a.html" {
		t.Errorf("%+v, %v", polite, err)
	}
	pattern := regexp.MustCompile(polite.Filter)
	for url, want := range map[string]bool{
		"https://www.example.org/docs/b.html": true, "http://example.org/docs/": true,
		"https://example.org/other/": false, "https://example.org.evil.test/docs/": false, "https://exampleXorg/docs/": false,
	} {
		if pattern.MatchString(url) != want {
			t.Errorf("%s: %v", url, !want)
		}
	}
	own, err := (&demo{}).target("http://127.0.0.1:1/")
	if err != nil || own.RequestDelay != 0 || own.MaxURLs != 0 || own.MaxResourceSize != mostBytesOfPage {
		t.Errorf("%+v, %v", own, err)
	}
	if bare, err := (&demo{options: options{site: "x"}}).target("https://example.org"); err != nil || bare.Root != "https://example.org/" {
		t.Errorf("%+v, %v", bare, err)
	}
}

func TestProgressLine(t *testing.T) {
	got := progressLine(rig.Status{Contents: 5, NewURLs: 7, Errors: 2, Size: 1_234_567}, 10, 4*time.Second)
	if want := "crawled 10  processed 5  waiting 7  errors 2  1.2 MB  2.5 pages/s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := progressLine(rig.Status{}, 0, 0); got != "crawled 0  processed 0  waiting 0  errors 0  0 B  0.0 pages/s" {
		t.Error(got)
	}
}

func TestTableAndCount(t *testing.T) {
	rows := []rig.Row{
		{URL: "http://a/", MD5: "1", Status: 7, HTTPCode: 200, Size: 100},
		{URL: "http://a/x.png", MD5: "2", Status: 4, HTTPCode: 200, Size: 50},
		{URL: "http://a/no", MD5: "3", Status: 4, HTTPCode: 404, Size: 10, ErrorMask: 4, ErrorNames: []string{"HTTP_ERROR"}},
		{URL: "http://a/lies", MD5: "5", Status: 7, HTTPCode: 200, Size: 5, ErrorMask: 8192, ErrorNames: []string{"BAD_ENCODING"}},
		{URL: "http://a/odd", MD5: "4", Status: 99, ErrorMask: 32},
	}
	var out bytes.Buffer
	printTable(&out, rows, map[string]string{"1": "A \x1b[31mtitle\n", "5": "Lies"})
	want := "STATUS     CODE      SIZE  TITLE\n" +
		"processed   200     100 B  A [31mtitle\n" +
		"crawled     200      50 B  http://a/x.png\n" +
		"crawled     404      10 B  HTTP_ERROR: http://a/no\n" +
		"processed   200       5 B  BAD_ENCODING: Lies\n" +
		"99            0       0 B  error 0x20: http://a/odd\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	if got := count(rows); got != (summary{pages: 2, urls: 5, errors: 3, bytes: 165}) {
		t.Errorf("%+v", got)
	}
}

func TestPlain(t *testing.T) {
	if got := plain("  a\tb\n\nc d ", 5); got != "a b c…" {
		t.Errorf("%q", got)
	}
}

func TestServe(t *testing.T) {
	root, closeServer, err := serve("")
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

// TestFailureLeavesNothing runs the demo with a daemon that cannot start.
func TestFailureLeavesNothing(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "dc-daemon"), []byte("#!/bin/sh\necho broken ini; exit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	d := demo{options: options{bin: bin, ini: bin}, out: &out, talk: io.Discard}
	err := d.run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "broken ini") || out.Len() > 0 {
		t.Errorf("error %v, stdout %q", err, out.String())
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
