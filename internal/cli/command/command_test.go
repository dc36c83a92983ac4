package command

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
)

// sample is a program with the kinds of options that the real ones have.
type sample struct {
	*Command
	config, command, classes string
	verbose                  bool
	runs                     int
}

func newSample() *sample {
	s := &sample{}
	s.Command = New(Text{Name: "dc-x", Summary: "does x", Description: "A text.", ExitStatus: "0 done.", UsageError: 2}, func() int {
		s.runs++
		return 7
	})
	s.Text(&s.config, "config", "c", "FILE", "ini file")
	s.Choice(&s.command, "command", "cmd", "NAME", "operation", "ONE", "TWO")
	s.Choices(&s.classes, "classes", "", "LIST", "managers", "A", "B")
	s.Flag(&s.verbose, "verbose", "v", "print more")
	return s
}

func TestMainReadsOptions(t *testing.T) {
	cases := map[string]struct {
		args    string
		config  string
		command string
		verbose bool
		err     string
	}{
		"long":                   {args: "--config a --command B", config: "a", command: "B"},
		"equals":                 {args: "--config=a=b", config: "a=b"},
		"empty value":            {args: "--command= -c a", config: "a"},
		"short":                  {args: "-c a -cmd B -v", config: "a", command: "B", verbose: true},
		"short, equals":          {args: "-c=a -cmd=B", config: "a", command: "B"},
		"one dash long":          {args: "-command B", command: "B"},
		"prefix":                 {args: "--comm B --verb", command: "B", verbose: true},
		"one dash prefix":        {args: "-com=B -con a", command: "B", config: "a"},
		"value with a dash":      {args: "-c --verbose", config: "--verbose"},
		"combined letters":       {args: "-vca", config: "a", verbose: true},
		"combined, value behind": {args: "-vc a", config: "a", verbose: true},
		"ambiguous prefix":       {args: "--co B", err: "option --co could be --config or --command"},
		"unknown":                {args: "--nothing", err: "--nothing is unknown"},
		"first error":            {args: "--nothing word", err: "--nothing is unknown"},
		"no value":               {args: "--config", err: "needs a value (FILE)"},
		"flag with value":        {args: "--verbose=1", err: "takes no value"},
		"word":                   {args: "word", err: `"word" is not an option`},
		"dashes alone":           {args: "--", err: `"--" is not an option`},
		"prefix of a switch":     {args: "--ma", err: "--ma is unknown"},
		"prefix of completion":   {args: "--compl bash", err: "--compl is unknown"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSample()
			status, stdout, stderr := mainOf(t, s.Command, strings.Fields(c.args)...)
			if stdout != "" {
				t.Errorf("stdout %q", stdout)
			}
			if c.err != "" {
				if status != 2 || s.runs != 0 || !strings.HasPrefix(stderr, "dc-x: ") || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.err) {
					t.Fatalf("status %d, stderr %q, want %q", status, stderr, c.err)
				}
				return
			}
			if status != 7 || s.runs != 1 || stderr != "" || s.config != c.config || s.command != c.command || s.verbose != c.verbose {
				t.Errorf("status %d, %d runs, %q: %q %q %v", status, s.runs, stderr, s.config, s.command, s.verbose)
			}
			if s.Given("config") != (c.config != "") {
				t.Error("Given is wrong")
			}
		})
	}
}

// mainOf runs Main with files for stdout and stderr.
func mainOf(t *testing.T, c *Command, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var files [2]*os.File
	for i, stream := range []**os.File{&os.Stdout, &os.Stderr} {
		file, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		old := *stream
		*stream, files[i] = file, file
		defer func() { *stream = old }()
	}
	status = c.Main(args)
	var texts [2]string
	for i, file := range files {
		b, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(b)
	}
	return status, texts[0], texts[1]
}

func TestDocumentsWinOverErrors(t *testing.T) {
	for args, want := range map[string]string{
		"--what -h":              "Usage: dc-x [options]",
		"--help":                 "Usage: dc-x [options]",
		"-vh":                    "Usage: dc-x [options]",
		"--what --man":           ".SH NAME",
		"-man":                   ".SH NAME",
		"--version":              "dc-x ",
		"word --completion fish": "complete -c dc-x",
		"--completion=bash":      "-F __start_dc-x dc-x",
		"-completion zsh":        "#compdef dc-x",
	} {
		s := newSample()
		if status, stdout, stderr := mainOf(t, s.Command, strings.Fields(args)...); status != 0 || s.runs != 0 || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("%q: status %d, %d runs, %q, %q", args, status, s.runs, stderr, stdout)
		}
	}
	for _, args := range []string{"--completion", "--completion tcsh", "--completion="} {
		status, stdout, stderr := mainOf(t, newSample().Command, strings.Fields(args)...)
		said := strings.ReplaceAll(stderr, "|", ", ")
		if status != 2 || stdout != "" || !strings.Contains(said, "bash, zsh, fish") {
			t.Errorf("%q: status %d, %q, %q", args, status, stdout, stderr)
		}
	}
}

func TestHelpNamesEveryOption(t *testing.T) {
	s := &sample{config: "x.ini"}
	s.Command = New(Text{Name: "dc-x", Summary: "does x", Description: "A text.\n\n  a table", Examples: "  dc-x -v", ExitStatus: "0 done."}, func() int { return 0 })
	s.Config(&s.config, "dc-x")
	s.Choice(&s.command, "command", "cmd", "NAME", "operation")
	_, help, _ := mainOf(t, s.Command, "--help")
	for _, want := range []string{
		"dc-x does x\n", "A text.\n\n  a table\n", "  -c, --config FILE", "/etc/dc-x/", "(default x.ini)", "--command NAME", "(short: -cmd)",
		"-h, --help", "--man", "--completion bash|zsh|fish", "--version", "Examples:\n  dc-x -v\n", "Exit status:\n0 done.\n", "Files:\n/etc/dc-x/dc-x.ini\n", "Environment:\nDC_",
	} {
		if !strings.Contains(help, want) {
			t.Errorf("no %q in\n%s", want, help)
		}
	}
}

func TestSubCommands(t *testing.T) {
	newTree := func() (*sample, *sample) {
		top, s := &sample{}, newSample()
		top.Command = New(Text{Name: "top", Summary: "shows x"}, func() int { top.runs++; return 4 })
		top.Text(&top.config, "interval", "i", "SECONDS", "time between screens")
		s.Add(top.Command)
		return s, top
	}
	for args, want := range map[string]struct {
		status         int
		stdout, stderr string
		runs           []int
	}{
		"-cmd ONE":       {7, "", "", []int{1, 0}},
		"top -i 3":       {4, "", "", []int{0, 1}},
		"top --in=3":     {4, "", "", []int{0, 1}},
		"top -h":         {0, "Usage: dc-x top [options]", "", []int{0, 0}},
		"top --man":      {0, "dc-x-top \\- shows x", "", []int{0, 0}},
		"-h":             {0, "dc-x COMMAND [options]", "", []int{0, 0}},
		"--man":          {0, "dc-x-top(1)", "", []int{0, 0}},
		"top -cmd x":     {1, "", "dc-x top: option --cmd is unknown", []int{0, 0}},
		"bottom":         {2, "", `dc-x: sub-command "bottom" is unknown`, []int{0, 0}},
		"help":           {2, "", `dc-x: sub-command "help" is unknown`, []int{0, 0}},
		"--verbose top":  {2, "", `argument "top" is not an option`, []int{0, 0}},
		"completion zsh": {2, "", `sub-command "completion" is unknown`, []int{0, 0}},
	} {
		s, top := newTree()
		status, stdout, stderr := mainOf(t, s.Command, strings.Fields(args)...)
		if status != want.status || !strings.Contains(stdout, want.stdout) || !strings.Contains(stderr, want.stderr) || (stderr == "") != (want.stderr == "") || !slices.Equal([]int{s.runs, top.runs}, want.runs) {
			t.Errorf("%q: status %d, %q, %q, runs %d and %d", args, status, stdout, stderr, s.runs, top.runs)
		}
	}
}

// A command of another program is called by its name here: in its help, in calls of its texts, and in errors.
func TestAddAs(t *testing.T) {
	for args, want := range map[string]struct {
		status         int
		stdout, stderr string
	}{
		"find -h":       {0, "Usage: dc-x find COMMAND [options]\n", ""},
		"find --help":   {0, "  dc-x find in a\n  a | dc-x find in -\n", ""},
		"find in --man": {0, "dc-x-find-in \\- looks", ""},
		"find in":       {5, "", ""},
		"find at":       {1, "", `dc-x find: sub-command "at" is unknown`},
		"dc-find in":    {2, "", `sub-command "dc-find" is unknown`},
	} {
		other := New(Text{Name: "dc-find", Summary: "finds x", Description: `Say "dc-find in" to look.`, Examples: "  dc-find in a\n  a | dc-find in -"}, nil)
		other.Add(New(Text{Name: "in", Summary: "looks into x"}, func() int { return 5 }))
		s := newSample()
		s.AddAs("find", "dc-find", other)
		status, stdout, stderr := mainOf(t, s.Command, strings.Fields(args)...)
		if status != want.status || !strings.Contains(stdout, want.stdout) || !strings.Contains(stderr, want.stderr) || strings.Contains(stdout, "dc-find") {
			t.Errorf("%q: status %d, %q, %q", args, status, stdout, stderr)
		}
	}
}

// Characters of Markdown and roff stay as they are on the manual page.
func TestPageKeepsCharacters(t *testing.T) {
	var v string
	c := New(Text{
		Name: "dc-x", Summary: "does x", Description: "A text\n.with a dot, *stars* and <angles>_",
		Examples: `  dc-x -o '{"a":"b"}'`, ExitStatus: "0 done.",
	}, func() int { return 0 })
	c.Text(&v, "out", "o", "DIR", `.hidden 'quoted' \ back URL_AGE`)
	c.Flag(new(bool), "force", "f", "replace")
	c.declareCommon()
	var page bytes.Buffer
	if err := c.writePage(&page); err != nil {
		t.Fatal(err)
	}
	plain := strings.NewReplacer(`\-`, "-", `\(aq`, "'", `\&`, "").Replace(page.String())
	for _, want := range []string{
		`.hidden 'quoted' \\ back URL_AGE`, "\n\\&.with a dot, *stars* and <angles>_", `dc-x -o '{"a":"b"}'`, ".SH EXIT STATUS\n", "0 done.",
		`\fB-o\fP, \fB--out\fP=DIR`, "\\fB--force\\fP\n",
	} {
		if text := page.String(); !strings.Contains(plain, strings.ReplaceAll(want, `\&`, "")) && !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.ContainsRune(page.String(), 0) {
		t.Error("the page has a NUL")
	}
}

func TestCompletionArguments(t *testing.T) {
	s := newSample()
	for args, want := range map[string]string{
		"--com":               "--com",
		"-cmd T":              "--command T",
		"-cmd=T":              "--command=T",
		"--classes A,":        "--classes A,",
		"-v -c x --comm TWO ": "--verbose --config x --command TWO ",
	} {
		got := s.completionArgs(append([]string{"__complete"}, strings.Split(args, " ")...))
		if strings.Join(got[1:], " ") != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
}

func TestProfile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(ProfileDir, dir)
	if status := newSample().Main(nil); status != 7 {
		t.Errorf("exit status %d", status)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || !strings.HasPrefix(entries[0].Name(), "dc-x.") {
		t.Fatalf("%v, %v", entries, err)
	}
	if info, err := entries[0].Info(); err != nil || info.Size() == 0 {
		t.Errorf("%v, %v", info, err)
	}
	t.Setenv(ProfileDir, dir+"/nothing")
	if status := newSample().Main(nil); status != 7 {
		t.Errorf("without the folder: exit status %d", status)
	}
}

// A group has sub-commands that take words and lists.
func TestWords(t *testing.T) {
	type seen struct {
		words, list []string
		verbose     bool
	}
	newTree := func(got *seen) *Command {
		root := New(Text{Name: "x", Summary: "does x", UsageError: 2}, nil)
		site := New(Text{Name: "site", Summary: "manages sites", UsageError: 2}, nil)
		add := New(Text{Name: "add", Summary: "adds", UsageError: 2}, func() int { return 5 })
		add.Words(&got.words, "URL [NAME]", 1, 2)
		add.List(&got.list, "include", "", "PATTERN", "pages")
		add.Flag(&got.verbose, "verbose", "v", "print more")
		site.Add(add)
		root.Add(site)
		return root
	}
	cases := map[string]struct {
		args   string
		status int
		words  string
		list   string
		says   string // on stderr, or on stdout with status 0
	}{
		"words":              {args: "site add a b", status: 5, words: "a,b"},
		"options in between": {args: "site add a -v b --include x", status: 5, words: "a,b", list: "x"},
		"a repeated option":  {args: "site add --include x --inc=y,z a", status: 5, words: "a", list: "x,y,z"},
		"behind dashes":      {args: "site add -- -v a", status: 5, words: "-v,a"},
		"one dash":           {args: "site add -", status: 5, words: "-"},
		"missing":            {args: "site add -v", status: 2, says: "argument URL [NAME] is missing"},
		"too many":           {args: "site add a b c", status: 2, says: `"c" is one too many`},
		"no sub-command":     {args: "site", status: 2, says: "a command is missing"},
		"unknown":            {args: "site ad", status: 2, says: `x site: sub-command "ad" is unknown; did you mean add?`},
		"options first":      {args: "--include x site add a", status: 5, words: "a", list: "x"},
		"options of a group": {args: "site --include x -v add a b", status: 5, words: "a,b", list: "x"},
		"unknown option":     {args: "--inclode x site add a", status: 2, says: "x site add: option --inclode is unknown; did you mean --include?"},
		"a letter":           {args: "site add -i x a", status: 2, says: "option -i is unknown"},
		"two dashes":         {args: "site add --i x a", status: 5, words: "a", list: "x"},
		"help first":         {args: "--help site add", says: "Usage: x site add [options] URL [NAME]\n"},
		"help of a group":    {args: "site --help", says: "Usage: x site COMMAND [options]\n\nCommands"},
		"help":               {args: "site add --help", says: "Usage: x site add [options] URL [NAME]\n"},
		"page":               {args: "site add --man", says: "x-site-add"},
		"completion":         {args: "__completeNoDesc site a", says: "add\n"},
		"completed option":   {args: "__completeNoDesc site add --inc", says: "--include\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got seen
			status, stdout, stderr := mainOf(t, newTree(&got), strings.Fields(c.args)...)
			said := stderr
			if c.status == 0 {
				said = stdout
			}
			if status != c.status || !strings.Contains(said, c.says) {
				t.Errorf("status %d, %q, %q", status, stdout, stderr)
			}
			if strings.Join(got.words, ",") != c.words || strings.Join(got.list, ",") != c.list {
				t.Errorf("words %q, list %q", got.words, got.list)
			}
		})
	}
}

// Options of other programs name the ones that mean the same here, in every program.
func TestForeignOptions(t *testing.T) {
	site := func() *Command {
		var text string
		c := New(Text{Name: "x"}, func() int { return 0 })
		for _, option := range []string{"max-pages", "delay", "depth", "out", "user-agent", "include"} {
			c.Text(&text, option, "", "VALUE", "")
		}
		c.Choice(&text, "command", "cmd", "NAME", "", "SITE_STATUS", "URL_NEW")
		c.Flag(new(bool), "force", "f", "")
		c.Hint("rate", "use --delay TIME, the pause")
		return c
	}
	plain := func() *Command {
		c := New(Text{Name: "x"}, func() int { return 0 })
		c.Flag(new(bool), "json", "", "")
		return c
	}
	for _, tt := range []struct {
		args, says string
		of         func() *Command
	}{
		{"--limit 5", "option --limit is unknown; use --max-pages VALUE", site},
		{"--limit=5", "option --limit is unknown; use --max-pages VALUE", site},
		{"--wait 2", "use --delay VALUE", site},
		{"--level 3", "use --depth VALUE", site},
		{"-l 3", "option -l is unknown; use --depth VALUE", site},
		{"-o x", "option -o is unknown; use --out VALUE", site},
		{"-O x", "use --out VALUE", site},
		{"--output x", "use --out VALUE", site},
		{"-U x", "use --user-agent VALUE", site},
		{"--overwrite", "option --overwrite is unknown; use --force", site},
		{"--rate 3", "use --delay TIME, the pause", site},
		{"--dellay 3", "did you mean --delay?", site},
		{"-Z", "option -Z is unknown; try --help", site},
		{"site_status", "did you mean --command SITE_STATUS?", site},
		{"delay 3", `argument "delay" is not an option; did you mean --delay?`, site},
		{"-o x", "write it into a file with > FILE", plain},
		{"--limit 3", "option --limit is unknown; try --help", plain},
	} {
		status, _, stderr := mainOf(t, tt.of(), strings.Fields(tt.args)...)
		if status == 0 || !strings.Contains(stderr, tt.says) {
			t.Errorf("%s: %q, want %q", tt.args, stderr, tt.says)
		}
	}
}
