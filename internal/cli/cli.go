// Package cli reads the arguments of the programs: long names with short ones,
// `--name value` and `--name=value`, one dash or two, and unique prefixes of long
// names, as the users of the first implementation type them (objects 6.1).
//
//	s := cli.New("dc-daemon", "runs the managers of the crawler cluster")
//	s.Text(&config, "config", "c", "FILE", "ini file")
//	switch err := s.Parse(os.Args[1:]); {
//	case errors.Is(err, cli.ErrHelp): fmt.Print(s.Help()); os.Exit(0)
//	case err != nil: ...
//	}
//
// The package writes nothing and ends nothing: main decides.
package cli

import (
	"errors"
	"fmt"
	"strings"
)

// ErrHelp says that --help or -h was among the arguments.
var ErrHelp = errors.New("help is asked for")

// Set is the options of one program.
type Set struct {
	program, summary string
	options          []*option
	notes            []string
}

type option struct {
	long, short, value, help string
	text                     *string
	flag                     *bool
	given                    bool
}

// New is an empty set; summary says in a few words what the program does.
func New(program, summary string) *Set {
	return &Set{program: program, summary: summary}
}

// Text declares an option with a value; value names it in the help, and short
// may be "".
func (s *Set) Text(p *string, long, short, value, help string) {
	s.options = append(s.options, &option{long: long, short: short, value: value, help: help, text: p})
}

// Flag declares an option without a value.
func (s *Set) Flag(p *bool, long, short, help string) {
	s.options = append(s.options, &option{long: long, short: short, help: help, flag: p})
}

// Note adds a paragraph at the end of the help.
func (s *Set) Note(text string) { s.notes = append(s.notes, text) }

// Given reports whether the option of that long name was among the arguments.
func (s *Set) Given(long string) bool {
	for _, o := range s.options {
		if o.long == long {
			return o.given
		}
	}
	return false
}

// Parse reads the arguments. An error names the argument; ErrHelp wins over
// other errors.
func (s *Set) Parse(args []string) error {
	var failed error
	keep := func(err error) {
		if failed == nil {
			failed = err
		}
	}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
		if name == arg || name == "" {
			keep(fmt.Errorf("argument %q is not an option; try --help", arg))
			continue
		}
		name, value, hasValue := strings.Cut(name, "=")
		if name == "help" || name == "h" {
			return ErrHelp
		}
		o, err := s.find(name)
		if err != nil {
			keep(err)
			continue
		}
		o.given = true
		switch {
		case o.flag != nil && hasValue:
			keep(fmt.Errorf("option --%s takes no value", o.long))
		case o.flag != nil:
			*o.flag = true
		case hasValue:
			*o.text = value
		case i+1 < len(args):
			i++
			*o.text = args[i]
		default:
			keep(fmt.Errorf("option --%s needs a value (%s)", o.long, o.value))
		}
	}
	return failed
}

func (s *Set) find(name string) (*option, error) {
	var found []*option
	for _, o := range s.options {
		if o.long == name || (o.short == name && name != "") {
			return o, nil
		}
		if strings.HasPrefix(o.long, name) {
			found = append(found, o)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf("option --%s is unknown; try --help", name)
	}
	return nil, fmt.Errorf("option --%s could be --%s or --%s", name, found[0].long, found[1].long)
}

// Help is the text of --help.
func (s *Set) Help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n\nUsage: %s [options]\n\nOptions:\n", s.program, s.summary, s.program)
	all := append(append([]*option{}, s.options...), &option{long: "help", short: "h", help: "show this text and exit"})
	width := 0
	heads := make([]string, len(all))
	for i, o := range all {
		head := "--" + o.long
		if o.short != "" {
			head = "-" + o.short + ", " + head
		}
		if o.value != "" {
			head += " " + o.value
		}
		heads[i] = head
		width = max(width, len(head))
	}
	for i, o := range all {
		lines := strings.Split(o.help, "\n")
		fmt.Fprintf(&b, "  %-*s  %s\n", width, heads[i], lines[0])
		for _, line := range lines[1:] {
			fmt.Fprintf(&b, "  %*s  %s\n", width, "", line)
		}
	}
	for _, n := range s.notes {
		b.WriteString("\n" + n + "\n")
	}
	return b.String()
}
