package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/cli/export"
)

// pages are the documents with commands of hce.
var pages = []string{"../../docs/hce.md", "../../README.md"}

func document(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every command on the pages, and every example of the help, has options and arguments that exist: it
// fails only because no daemon answers.
func TestDocumentedCommands(t *testing.T) {
	text := ""
	for _, path := range pages {
		text += document(t, path) + "\n"
	}
	for _, args := range [][]string{{"--help"}, {"crawl", "--help"}, {"site", "--help"}, {"url", "--help"}, {"page", "--help"}, {"export", "--help"}, {"import", "--help"}, {"import", "warc", "--help"}, {"explain", "--help"}, {"extract", "--help"}, {"status", "--help"}} {
		help, _, _ := clitest.Run(t, t.TempDir(), args...)
		text += help + "\n"
	}
	commands := regexp.MustCompile(`(?m)^  (?:  )?(?:bin/)?hce ([a-z].*)$`).FindAllStringSubmatch(text, -1)
	if len(commands) < 30 {
		t.Fatalf("only %d commands", len(commands))
	}
	folder := t.TempDir()
	clitest.Write(t, folder, "list.txt", "https://example.org/\n")
	for _, c := range commands {
		line, _, _ := strings.Cut(c[1], " | ")
		line, _, _ = strings.Cut(line, " > ")
		line, _, _ = strings.Cut(line, " < ")
		args := words(line)
		if args[0] == "COMMAND" || strings.HasSuffix(args[len(args)-1], "/pages/") {
			continue
		}
		if args[0] != "extract" {
			args = append(args, "--server", "127.0.0.1:1")
		}
		_, stderr, status := clitest.Run(t, folder, args...)
		switch {
		case args[0] == "doctor", args[0] == "extract", strings.Contains(line, "--file"), strings.Contains(line, "--server"), strings.Contains(line, "--ini"):
			if strings.Contains(stderr, "is unknown") || strings.Contains(stderr, "is missing") {
				t.Errorf("hce %s: %s", line, stderr)
			}
		case status != 3 || !strings.Contains(stderr, "cannot reach the daemon"):
			t.Errorf("hce %s: status %d, %s", line, status, stderr)
		}
	}
}

// words splits a command line at blanks outside of single quotes.
func words(line string) (list []string) {
	for _, word := range regexp.MustCompile(`(?:[^ ']|'[^']*')+`).FindAllString(line, -1) {
		list = append(list, strings.ReplaceAll(word, "'", ""))
	}
	return list
}

// docs/hce.md names every sub-command and format.
func TestDocumentIsComplete(t *testing.T) {
	page := document(t, "../../docs/hce.md")
	list := regexp.MustCompile(`(?m)^  ([a-z]+)  `)
	help, _, _ := clitest.Run(t, t.TempDir(), "--help")
	help, _, _ = strings.Cut(help, "Options:")
	found := 0
	for _, name := range list.FindAllStringSubmatch(help, -1) {
		found++
		if !strings.Contains(page, "| `hce "+name[1]) {
			t.Errorf("docs/hce.md has no row for hce %s", name[1])
		}
	}
	if found < 8 {
		t.Errorf("the help lists %d sub-commands", found)
	}
	for _, group := range []string{"site", "url", "import", "key"} {
		help, _, _ := clitest.Run(t, t.TempDir(), group, "--help")
		help, _, _ = strings.Cut(help, "Options:")
		row := regexp.MustCompile("(?m)^\\| `hce " + group + " .*$").FindString(page)
		for _, name := range list.FindAllStringSubmatch(help, -1) {
			if !strings.Contains(row, name[1]+"`") {
				t.Errorf("docs/hce.md does not name hce %s %s", group, name[1])
			}
		}
	}
	for _, f := range export.Formats {
		if !strings.Contains(page, "| `"+f.Name+"` |") {
			t.Errorf("docs/hce.md has no row for the format %s", f.Name)
		}
	}
}
