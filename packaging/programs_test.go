package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/cli/command"
)

// programs returns the names of all programs, which are the folders of cmd.
func programs(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join("..", "cmd"))
	if err != nil || len(entries) < 6 {
		t.Fatalf("%d programs, %v", len(entries), err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func said(t *testing.T, program string, args ...string) string {
	t.Helper()
	c := exec.Command(installed("/usr/bin/"+program), args...)
	c.Dir = t.TempDir()
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %v: %v", program, args, err)
	}
	return string(out)
}

var (
	helpOption = regexp.MustCompile(`(?m)^  (?:-\w, |    )--([\w-]+)`)
	pageOption = regexp.MustCompile(`(?m)^\.TP\n(?:\\fB-\w\\fP, )?\\fB--([\w-]+)\\fP`)
)

// Help, manual page and completions have the same options.
func TestSameOptions(t *testing.T) {
	for _, program := range programs(t) {
		t.Run(program, func(t *testing.T) {
			help, page := said(t, program, "--help"), said(t, program, "--man")
			inPage := pageOption.FindAllStringSubmatch(page, -1)
			options := helpOption.FindAllStringSubmatch(help, -1)
			if len(options) < 4 || len(options) != len(inPage) {
				t.Fatalf("%d options in the help, %d on the page", len(options), len(inPage))
			}
			offered := said(t, program, "__completeNoDesc", "--")
			for i, o := range options {
				if inPage[i][1] != o[1] {
					t.Errorf("--%s in the help, --%s on the page", o[1], inPage[i][1])
				}
				if !strings.Contains("\n"+offered, "\n--"+o[1]+"\n") {
					t.Errorf("--%s is not completed", o[1])
				}
			}
			for _, shell := range command.Shells {
				script := said(t, program, "--completion", shell)
				if !strings.Contains(script, program) || !strings.Contains(script, "__complete") {
					t.Errorf("the %s script does not call the program:\n%s", shell, script)
				}
			}
		})
	}
}

// Every program prints its version, Go's version included.
func TestVersion(t *testing.T) {
	for _, program := range programs(t) {
		if got := said(t, program, "--version"); !strings.HasPrefix(got, program+" test-version (go1.") || strings.Count(got, "\n") != 1 {
			t.Errorf("%s prints %q", program, got)
		}
	}
}

// pages returns the names of all manual pages: one for each program and sub-command.
func pages(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(installed("/usr/share/man/man1/*.1"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".1"))
	}
	for _, want := range append(programs(t), "dc-admin-top", "dc-admin-keygen", "hce-crawl", "hce-site-new", "hce-export") {
		if !slices.Contains(names, want) {
			t.Errorf("%s has no manual page", want)
		}
	}
	return names
}

// Each page has the sections of a manual page in roff, and the formatters that are
// installed accept it without a warning.
func TestPages(t *testing.T) {
	references := regexp.MustCompile(`\\fB([\w-]+)\(1\)`)
	all := pages(t)
	for _, name := range all {
		path := installed("/usr/share/man/man1/" + name + ".1")
		page := text(t, path)
		at := 0
		for _, want := range []string{".TH \"" + strings.ToUpper(name), ".SH NAME\n" + name + ` \- `, ".SH SYNOPSIS\n", ".SH DESCRIPTION\n", ".SH EXIT STATUS\n", ".SH OPTIONS\n", ".SH EXAMPLE\n"} {
			next := strings.Index(strings.ReplaceAll(page[at:], `\\-`, "-"), want)
			if next < 0 {
				t.Errorf("%s: no %q in its place on\n%s", name, want, page)
				break
			}
			at += next
		}
		for _, line := range strings.Split(page, "\n") {
			if strings.HasPrefix(line, ".") && !regexp.MustCompile(`^\.(nh|TH|SH|PP|TP|EX|EE|br)\b`).MatchString(line) {
				t.Errorf("%s: text became the macro %q", name, line)
			}
		}
		for _, other := range references.FindAllStringSubmatch(strings.ReplaceAll(page, `\-`, "-"), -1) {
			if !slices.Contains(all, other[1]) {
				t.Errorf("%s refers to %s(1), which does not exist", name, other[1])
			}
		}
		for _, f := range [][]string{{"groff", "-man", "-Tascii", "-P-cbou", "-ww", path}, {"mandoc", "-Tlint", "-Werror", path}, {"man", "-l", path}} {
			if _, err := exec.LookPath(f[0]); err != nil {
				continue
			}
			c := exec.Command(f[0], f[1:]...)
			c.Env = append(os.Environ(), "MANPAGER=cat", "PAGER=cat", "MANWIDTH=80", "LC_ALL=C")
			var out, errs strings.Builder
			c.Stdout, c.Stderr = &out, &errs
			if err := c.Run(); err != nil || errs.Len() > 0 {
				t.Errorf("%s %s: %v %s", f[0], name, err, errs.String())
			}
			if f[0] == "groff" && !strings.Contains(out.String(), "EXIT") {
				t.Errorf("%s: no exit status on the page\n%s", name, out.String())
			}
		}
	}
}

// completed returns what bash offers for a command line, with the cursor at its end.
func completed(t *testing.T, program, line string) []string {
	t.Helper()
	const script = `source <("$1" --completion bash)
PATH=${1%/*}:$PATH
compopt() { :; } # exists only while bash completes
COMP_LINE=$2 COMP_POINT=${#2}
fn=$(complete -p "$3" | sed 's/.*-F \([^ ]*\).*/\1/')
"$fn" "$3"
printf '%s\n' "${COMPREPLY[@]}"`
	c := exec.Command("bash", "--norc", "-c", script, "bash", installed("/usr/bin/"+program), line, program)
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%q: %v %s", line, err, errs.String())
	}
	return strings.Fields(strings.ReplaceAll(string(out), `\,`, ",")) // bash quotes commas
}

func TestBash(t *testing.T) {
	for _, tc := range []struct {
		program, line string
		want          []string
		only          bool // nothing else is offered
	}{
		{"dc-client", "dc-client --com", []string{"--command", "--completion"}, true},
		{"dc-client", "dc-client ", []string{"--command", "--file", "-ff", "--help", "--man"}, false},
		{"dc-client", "dc-client --command SITE_F", []string{"SITE_FIND"}, true},
		{"dc-client", "dc-client -cmd SITE_", []string{"SITE_NEW", "SITE_UPDATE", "SITE_STATUS", "SITE_DELETE", "SITE_CLEANUP", "SITE_FIND"}, true},
		{"dc-client", "dc-client --command=BA", []string{"BATCH"}, true},
		{"dc-client", "dc-client --command=", []string{"BATCH", "URL_NEW"}, false},
		{"dc-client", "dc-client --file ", nil, true}, // bash offers files
		{"dc-client", "dc-client --command SITE_NEW --fi", []string{"--file", "--fields"}, true},
		{"dc-admin", "dc-admin --cmd ST", []string{"STAT", "STOP"}, true},
		{"dc-admin", "dc-admin --classes Bat", []string{"BatchTasksManager", "BatchTasksManagerProcess", "BatchTasksManagerRealTime"}, true},
		{"dc-admin", "dc-admin --classes SitesManager,Cli", []string{"SitesManager,ClientInterfaceService"}, true},
		{"dc-daemon", "dc-daemon --check", []string{"--check-config"}, true},
		{"dc-daemon", "dc-daemon --completion f", []string{"fish"}, true},
		{"hce", "hce cr", []string{"crawl"}, true},
		{"hce", "hce site re", []string{"resume", "recrawl"}, true},
		{"hce", "hce export example.org --format ", []string{"jsonl", "csv", "parquet", "md", "files", "sitemap", "warc", "wacz"}, true},
		{"hce", "hce crawl --scope d", []string{"domain"}, true},
		{"crawler-task", "crawler-task --ma", []string{"--maxtime", "--man"}, true},
	} {
		got := completed(t, tc.program, tc.line)
		for _, want := range tc.want {
			if !slices.Contains(got, want) {
				t.Errorf("%q: no %s in %q", tc.line, want, got)
			}
		}
		if tc.only && len(got) != len(tc.want) {
			t.Errorf("%q: %q", tc.line, got)
		}
	}
}

// zsh and fish, if installed, accept the syntax of their scripts. TestSameOptions checks
// the contents.
func TestOtherShells(t *testing.T) {
	for _, shell := range []string{"zsh", "fish"} {
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("%s is not installed", shell)
			continue
		}
		for _, program := range programs(t) {
			script := filepath.Join(t.TempDir(), program)
			if err := os.WriteFile(script, []byte(said(t, program, "--completion", shell)), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(shell, "-n", script).CombinedOutput(); err != nil {
				t.Errorf("%s %s: %v %s", shell, program, err, out)
			}
		}
	}
}
