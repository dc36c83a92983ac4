package cli

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
	for _, want := range []string{"dc-x does x", "-c, --config FILE  ini file", "of the program", "-h, --help", "Exit status: 0."} {
		if !strings.Contains(s.Help(), want) {
			t.Errorf("no %q in\n%s", want, s.Help())
		}
	}
	if !errors.Is(s.Parse([]string{"--help"}), ErrHelp) {
		t.Error("--help is not told")
	}
}
