// Package flags reads the arguments of the programs: long names with short ones,
// `--name value` and `--name=value`, one dash or two, and unique prefixes of long
// names, as the users of the first implementation type them (docs/spec/objects.md 6.1).
//
//	s := flags.New("dc-daemon", "runs the managers of the crawler cluster")
//	s.Text(&config, "config", "c", "FILE", "ini file")
//	switch err := s.Parse(os.Args[1:]); {
//	case errors.Is(err, flags.ErrHelp): fmt.Print(s.Help()); os.Exit(0)
//	case err != nil: ...
//	}
//
// Every program also has --man, its manual page, and --completion SHELL; package
// manual makes both from the set. They are spelt in full, so that they take no
// prefix from a program's own options.
//
// The package writes nothing and ends nothing: main decides.
package flags

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// What a program may be asked about itself: --help or -h, and --man.
var (
	ErrHelp = errors.New("help is asked for")
	ErrMan  = errors.New("the manual page is asked for")
)

// CompletionError says that the completion of a shell is asked for.
type CompletionError struct{ Shell string }

func (e CompletionError) Error() string { return "the completion for " + e.Shell + " is asked for" }

// Shells are those of --completion.
var Shells = []string{"bash", "zsh", "fish"}

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
	values                   []string // that are known beforehand
	list                     bool     // several of them, separated by commas
}

// Option is one option as it is documented.
type Option struct {
	Long, Short, Value, Help string // Short and Value may be ""
	// Values are those that are known beforehand; List: several of them may be
	// given, separated by commas.
	Values []string
	List   bool
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

// Values tells the values of an option that are known beforehand, for shells to
// offer; others are not refused.
func (s *Set) Values(long string, values ...string) { s.offer(long, false, values) }

// List is Values for an option that takes several, separated by commas.
func (s *Set) List(long string, values ...string) { s.offer(long, true, values) }

func (s *Set) offer(long string, list bool, values []string) {
	for _, o := range s.options {
		if o.long == long {
			o.values, o.list = values, list
		}
	}
}

// Program and Summary are what New was told, Notes what Note was.
func (s *Set) Program() string { return s.program }

// Summary says in a few words what the program does.
func (s *Set) Summary() string { return s.summary }

// Notes are the texts of Note.
func (s *Set) Notes() []string { return s.notes }

// Options are all options, those that every program has last.
func (s *Set) Options() []Option {
	var all []Option
	for _, o := range s.options {
		all = append(all, Option{o.long, o.short, o.value, o.help, o.values, o.list})
	}
	return append(all,
		Option{Long: "man", Help: "print the manual page and exit; man -l - shows it"},
		Option{Long: "completion", Value: "SHELL", Help: "print the completion for " + strings.Join(Shells, ", ") + " and exit", Values: Shells},
		Option{Long: "help", Short: "h", Help: "show this text and exit"},
	)
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

// Parse reads the arguments. An error names the argument; ErrHelp, ErrMan and a
// CompletionError win over others.
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
		switch name {
		case "help", "h":
			return ErrHelp
		case "man":
			return ErrMan
		case "completion":
			if !hasValue && i+1 < len(args) {
				value = args[i+1]
			}
			if !slices.Contains(Shells, value) {
				return fmt.Errorf("option --completion = %q is not one of %s", value, strings.Join(Shells, ", "))
			}
			return CompletionError{value}
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
	all := s.Options()
	width := 0
	heads := make([]string, len(all))
	for i, o := range all {
		head := "--" + o.Long
		if o.Short != "" {
			head = "-" + o.Short + ", " + head
		}
		if o.Value != "" {
			head += " " + o.Value
		}
		heads[i] = head
		width = max(width, len(head))
	}
	for i, o := range all {
		lines := strings.Split(o.Help, "\n")
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
