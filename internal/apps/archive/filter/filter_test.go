package filter

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/apps/archive"
)

// TestMain lets the test program be the program of a filter.
func TestMain(m *testing.M) {
	switch os.Getenv("FILTER_PROGRAM") {
	case "":
		os.Exit(m.Run())
	case "short":
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			var m archive.Meta
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				os.Exit(1)
			}
			fmt.Println(len(m.Title) < 5)
		}
	case "silent":
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
	case "wrong":
		fmt.Println("perhaps")
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
	case "long":
		fmt.Print(strings.Repeat("true", 100))
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
	}
}

func TestMIME(t *testing.T) {
	for _, tt := range []struct {
		include, exclude string
		kept, dropped    string
	}{
		{"", "", "text/html image/png application/x-none", ""},
		{"*", "", "text/html image/png", ""},
		{"text/html", "", "text/html TEXT/HTML", "text/htmlx xtext/html text/plain"},
		{"text/*", "", "text/html text/css", "image/png text application/text/x"},
		{"text/*", "text/css", "text/html", "text/css image/png"},
		{"", "image/*", "text/html", "image/png image/svg+xml"},
		{"application/*+xml", "", "application/rss+xml", "application/rssxml application/xml"},
		{"", "*", "", "text/html image/png"},
		{"image/png text/html", "", "text/html image/png", "image/gif"},
	} {
		t.Run(tt.include+"|"+tt.exclude, func(t *testing.T) {
			f, err := NewMIME(strings.Fields(tt.include), strings.Fields(tt.exclude))
			if err != nil {
				t.Fatal(err)
			}
			for want, kinds := range map[bool]string{true: tt.kept, false: tt.dropped} {
				for _, kind := range strings.Fields(kinds) {
					if kept, err := f.Keep(t.Context(), archive.Meta{MIMEType: kind}); kept != want || err != nil {
						t.Errorf("%s: kept %v, %v", kind, kept, err)
					}
				}
			}
		})
	}
	for _, wrong := range []string{"html", "text/", "text/html;x", "(", "a/b/c"} {
		if _, err := NewMIME([]string{wrong}, nil); err == nil {
			t.Errorf("pattern %q is accepted", wrong)
		}
	}
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Each filter has a configuration file of its own; a file is kept if all filters keep it.
func TestOpen(t *testing.T) {
	t.Setenv("FILTER_PROGRAM", "short")
	dir := t.TempDir()
	write(t, dir, "filter-texts.ini", "[Filter]\ntype = mime\ninclude = text/*\n")
	write(t, dir, "filter-mime.ini", "[Filter]\nexclude = text/css\n")
	write(t, dir, "filter-short.ini", "[Filter]\ntype = program\nprogram = "+os.Args[0]+" -test.v\n")
	list, err := Open(dir, []string{"texts", "mime", "short"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		kind, title string
		want        bool
	}{{"text/html", "abc", true}, {"text/html", "long title", false}, {"text/css", "abc", false}, {"image/png", "", false}, {"text/plain", "", true}} {
		if kept, err := list.Keep(t.Context(), archive.Meta{MIMEType: tt.kind, Title: tt.title}); kept != tt.want || err != nil {
			t.Errorf("%v: kept %v, %v", tt, kept, err)
		}
	}
	if err := list.Close(); err != nil {
		t.Error(err)
	}
	write(t, dir, "filter-bad.ini", "[Filter]\ntype = mimes\n")
	write(t, dir, "filter-extra.ini", "[Filter]\ntype = mime\nincludes = x/y\n")
	write(t, dir, "filter-pattern.ini", "[Filter]\ntype = mime\ninclude = html\n")
	write(t, dir, "filter-noprogram.ini", "[Filter]\ntype = program\n")
	write(t, dir, "filter-away.ini", "[Filter]\ntype = program\nprogram = ./none\n")
	for name, want := range map[string]string{
		"none": "no configuration file", "bad": "is not one of mime, program", "extra": "did you mean include?", "pattern": "is not a MIME type",
		"noprogram": "the key program is missing", "away": "start ", "../x": "letters, digits",
	} {
		if _, err := Open(dir, []string{"mime", name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("filter %s: %v, want %s", name, err, want)
		}
	}
}

// A program that does not answer well fails the crawl, and its end is not waited for long.
func TestProgramFails(t *testing.T) {
	for kind, want := range map[string]string{"silent": "no answer within", "wrong": `answers "perhaps"`, "long": "instead of true or false"} {
		t.Run(kind, func(t *testing.T) {
			t.Setenv("FILTER_PROGRAM", kind)
			p, err := StartProgram(300*time.Millisecond, os.Args[0])
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if _, err := p.Keep(t.Context(), archive.Meta{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}
