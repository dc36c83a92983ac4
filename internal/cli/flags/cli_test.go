package flags

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	cases := map[string]struct {
		args    string
		config  string
		command string
		verbose bool
		err     string
	}{
		"long":             {args: "--config a --command B", config: "a", command: "B"},
		"equals":           {args: "--config=a=b", config: "a=b"},
		"short":            {args: "-c a -cmd B -v", config: "a", command: "B", verbose: true},
		"one dash long":    {args: "-command B", command: "B"},
		"prefix":           {args: "--comm B --verb", command: "B", verbose: true},
		"ambiguous prefix": {args: "--co B", err: "could be"},
		"unknown":          {args: "--nothing", err: "--nothing is unknown"},
		"no value":         {args: "--config", err: "needs a value (FILE)"},
		"flag with value":  {args: "--verbose=1", err: "takes no value"},
		"no option":        {args: "word", err: `"word" is not an option`},
		"help wins":        {args: "--nothing -h", err: ErrHelp.Error()},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var config, command string
			var verbose bool
			s := New("dc-x", "does x")
			s.Text(&config, "config", "c", "FILE", "ini file")
			s.Text(&command, "command", "cmd", "NAME", "operation")
			s.Flag(&verbose, "verbose", "v", "say more")
			err := s.Parse(strings.Fields(c.args))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("err = %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || config != c.config || command != c.command || verbose != c.verbose {
				t.Errorf("%q %q %v %v", config, command, verbose, err)
			}
			if s.Given("config") != (c.config != "") {
				t.Error("Given is wrong")
			}
		})
	}
}

func TestHelpNamesEveryOption(t *testing.T) {
	var v string
	s := New("dc-x", "does x")
	s.Text(&v, "config", "c", "FILE", "ini file\nof the program")
	s.Note("Exit status: 0.")
	for _, want := range []string{"dc-x does x", "-c, --config FILE   ini file", "of the program", "-h, --help", "Exit status: 0."} {
		if !strings.Contains(s.Help(), want) {
			t.Errorf("no %q in\n%s", want, s.Help())
		}
	}
	if !errors.Is(s.Parse([]string{"--help"}), ErrHelp) {
		t.Error("--help is not told")
	}
}

func TestAskedAboutItself(t *testing.T) {
	for args, want := range map[string]error{
		"--what --man": ErrMan, "-man": ErrMan, "--completion fish": CompletionError{"fish"}, "--completion=bash": CompletionError{"bash"},
	} {
		var command, config string
		s := New("dc-x", "does x")
		s.Text(&config, "config", "c", "FILE", "ini file")
		s.Text(&command, "command", "", "NAME", "operation")
		err := s.Parse(strings.Fields(args))
		if err != want {
			t.Errorf("%q: %v", args, err)
		}
		// Prefixes of the program's own options stay what they were.
		if err := s.Parse([]string{"--com", "x", "--m"}); command != "x" || err == nil {
			t.Errorf("%q, %v", command, err)
		}
	}
	s := New("dc-x", "does x")
	for _, args := range []string{"--completion", "--completion tcsh", "--completion="} {
		if err := s.Parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), "bash, zsh, fish") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestOptions(t *testing.T) {
	var v string
	s := New("dc-x", "does x")
	s.Text(&v, "classes", "", "LIST", "managers")
	s.List("classes", "A", "B")
	all := s.Options()
	if len(all) != 4 || all[0].Long != "classes" || !all[0].List || len(all[0].Values) != 2 || all[3].Long != "help" {
		t.Errorf("%+v", all)
	}
	for _, o := range all {
		if !strings.Contains(s.Help(), "--"+o.Long) {
			t.Errorf("no --%s in the help", o.Long)
		}
	}
}
