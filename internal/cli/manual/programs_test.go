package manual

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/cli/flags"
)

// folder has all programs, built for these tests.
var folder string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	var err error
	if folder, err = os.MkdirTemp("", "manual-test"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	c := exec.Command("go", "build", "-buildvcs=false", "-o", folder+string(filepath.Separator), "./cmd/...")
	c.Dir = filepath.Join("..", "..", "..")
	if out, err := c.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s%v\n", out, err)
		return 1
	}
	return m.Run()
}

func said(t *testing.T, program string, args ...string) string {
	t.Helper()
	c := exec.Command(filepath.Join(folder, program), args...)
	c.Dir = t.TempDir()
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %v: %v", program, args, err)
	}
	return string(out)
}

// built are the programs that there are: none may lack a page.
func built(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, programs) {
		t.Fatalf("programs %q, with a page %q", names, programs)
	}
	return names
}

var helpOption = regexp.MustCompile(`(?m)^  (?:-(\w+), )?--([\w-]+)`)

// Help, manual page and completions hold the same options.
func TestSameOptions(t *testing.T) {
	for _, program := range built(t) {
		t.Run(program, func(t *testing.T) {
			help, page := said(t, program, "--help"), said(t, program, "--man")
			inPage := regexp.MustCompile(`(?m)^(?:\\fB\\-\S+\\fR, )?\\fB\\-\\-(\S+?)\\fR`).FindAllStringSubmatch(page, -1)
			options := helpOption.FindAllStringSubmatch(help, -1)
			if len(options) < 4 || len(options) != len(inPage) {
				t.Fatalf("%d options in the help, %d on the page", len(options), len(inPage))
			}
			for i, o := range options {
				if got := strings.ReplaceAll(inPage[i][1], `\-`, "-"); got != o[2] {
					t.Errorf("--%s in the help, --%s on the page", o[2], got)
				}
			}
			for _, shell := range flags.Shells {
				script := said(t, program, "--completion", shell)
				for _, o := range options {
					want := "--" + o[2]
					if shell == "fish" {
						want = " -l " + o[2]
					}
					if !strings.Contains(script, want) {
						t.Errorf("%s: no %s", shell, want)
					}
				}
			}
		})
	}
}

// The formatter of the system has nothing to complain about.
func TestPages(t *testing.T) {
	for _, program := range built(t) {
		page := filepath.Join(t.TempDir(), program+".1")
		if err := os.WriteFile(page, []byte(said(t, program, "--man")), 0o644); err != nil {
			t.Fatal(err)
		}
		formatters := 0
		for _, f := range [][]string{{"groff", "-man", "-Tascii", "-P-cbou", "-ww", page}, {"mandoc", "-Tlint", "-Werror", page}, {"man", "-l", page}} {
			if _, err := exec.LookPath(f[0]); err != nil {
				continue
			}
			formatters++
			c := exec.Command(f[0], f[1:]...)
			c.Env = append(os.Environ(), "MANPAGER=cat", "PAGER=cat", "MANWIDTH=80", "LC_ALL=C")
			var out, errs strings.Builder
			c.Stdout, c.Stderr = &out, &errs
			if err := c.Run(); err != nil || errs.Len() > 0 {
				t.Errorf("%s %s: %v %s", f[0], program, err, errs.String())
			}
			if f[0] == "groff" && !strings.Contains(out.String(), "EXIT") {
				t.Errorf("%s: no exit status on the page\n%s", program, out.String())
			}
		}
		if formatters == 0 {
			t.Skip("no formatter of manual pages is installed")
		}
	}
}

// completed asks a real bash what it offers for a line, whose last word is cut at
// the cursor.
func completed(t *testing.T, program, line string) []string {
	t.Helper()
	const ask = `source <("$1" --completion bash)
COMP_LINE=$2 COMP_POINT=${#2}
# As bash splits: at blanks, and "=" is a word.
read -r -a COMP_WORDS <<<"${2//=/ = }"
[[ $2 == *' ' ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
fn=$(complete -p "$3" | sed 's/.*-F \([^ ]*\).*/\1/')
"$fn" "$3" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"`
	c := exec.Command("bash", "--norc", "-c", ask, "bash", filepath.Join(folder, program), line, program)
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%q: %v %s", line, err, errs.String())
	}
	return strings.Fields(string(out))
}

func TestBash(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	for _, tc := range []struct {
		program, line string
		want          []string // among those offered
		only          bool     // and no others
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

// The other shells at least read their scripts, where they are installed.
func TestOtherShells(t *testing.T) {
	for _, shell := range []string{"zsh", "fish"} {
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("%s is not installed", shell)
			continue
		}
		for _, program := range built(t) {
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

// Texts that are macros or escapes to the formatter stay texts.
func TestEscapes(t *testing.T) {
	var v string
	s := flags.New("dc-x", "does x")
	s.Text(&v, "out", "o", "DIR", ".hidden 'quoted' \\ back")
	s.Note("A text\n.with a dot\n\nExamples:\n  dc-x -o '{\"a\":\"b\"}'\n\nExit status: 0.")
	page := Page(s)
	for _, want := range []string{
		"\\&.hidden \\(aqquoted\\(aq \\e back", "\\&.with a dot", ".SH EXAMPLES\n.nf\n  dc\\-x \\-o \\(aq{\"a\":\"b\"}\\(aq\n.fi", ".SH EXIT STATUS\n0.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if text, asked := Answer(s, flags.ErrMan); !asked || text != page {
		t.Error("the page is not the answer to --man")
	}
	if _, asked := Answer(s, nil); asked {
		t.Error("nothing was asked")
	}
}

// Go takes the result of the last run for this one's unless it sees a test look at
// what the programs are built from.
func TestSources(t *testing.T) {
	folders := 0
	err := filepath.WalkDir(filepath.Join("..", "..", ".."), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
				return fs.SkipDir
			}
			folders++
		}
		return err
	})
	if err != nil || folders < 50 {
		t.Errorf("%d folders, %v", folders, err)
	}
}
