// Package command reads the command lines of the programs and prints their help,
// version, manual page and shell completion. It wraps cobra and accepts the option
// spellings of the original programs (docs/spec/objects.md 6.1, docs/spec/daemon.md 4.1).
//
//	var path string
//	c := command.New(command.Text{Name: "dc-daemon", Summary: "runs the managers"},
//		func() int { return run(path) })
//	c.Text(&path, "config", "c", "FILE", "ini file")
//	os.Exit(c.Main(os.Args[1:]))
//
// A command with Words takes arguments that are no options. A command without a run function is
// a group of sub-commands, which may be groups themselves ("hce site ls").
package command

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hce/dc/internal/config"
	"hce/dc/internal/manual"
)

// Text is what --help and the manual page say in addition to the options. Paragraphs
// are separated by an empty line; indented lines keep their line breaks.
type Text struct {
	Name        string // of the program, or of the sub-command without the program's name
	Summary     string // starts with a verb: "runs the managers"
	Description string
	Examples    string // one command per line
	ExitStatus  string
	UsageError  int // exit status after wrong arguments; 0 means 1
}

// Command is a program or a sub-command of one. Not safe for concurrent use.
type Command struct {
	cobra   *cobra.Command
	text    Text
	status  int
	removed map[string]string // hints for options of earlier versions
	hints   map[string]string // for options of other programs that people try
	aliases map[string]string // multi-letter short names such as "cmd", to long names
	values  map[string]string // known values of options, to "--option value"
	others  map[string]string // other long names, to long names
	subs    []*Command
	words   *words // nil: the command takes options only
	man     bool
	shell   string
}

// words are the arguments of a command that are no options.
type words struct {
	list        *[]string
	name        string
	least, most int // most 0: no limit
}

// New returns a command whose work is run, which returns the exit status. A command without run
// needs a sub-command.
func New(text Text, run func() int) *Command {
	c := &Command{text: text, aliases: map[string]string{}, removed: map[string]string{}, hints: map[string]string{}, others: map[string]string{}, values: map[string]string{}}
	c.cobra = &cobra.Command{
		Use: text.Name + " [options]", Short: text.Summary, Long: text.Description, Example: text.Examples,
		Version: describeBuild(), DisableFlagsInUseLine: true, DisableAutoGenTag: true,
		SilenceErrors: true, SilenceUsage: true, Annotations: map[string]string{},
		Args: cobra.ArbitraryArgs, // canonical has checked them
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case c.man:
				return c.writePage(os.Stdout)
			case c.Given(completion):
				return c.writeCompletion(os.Stdout)
			case run == nil:
				return errors.New("a command is missing; try --help")
			case c.words != nil:
				*c.words.list = args
			}
			c.status = run()
			return nil
		},
		ValidArgsFunction: c.completeOptions,
	}
	if text.ExitStatus != "" {
		c.cobra.Annotations["Exit status"] = text.ExitStatus
	}
	if run == nil {
		c.cobra.Use = text.Name + " COMMAND [options]"
	}
	c.cobra.CompletionOptions.DisableDefaultCmd = true
	c.cobra.SetHelpCommand(&cobra.Command{Use: "no-help", Hidden: true})
	c.cobra.SetHelpTemplate(helpTemplate)
	c.cobra.SetVersionTemplate("{{.CommandPath}} {{.Version}}\n")
	c.cobra.Flags().SortFlags = false
	return c
}

// NewGroup returns a command that has only sub-commands.
func NewGroup(text Text, subs ...*Command) *Command {
	c := New(text, nil)
	for _, sub := range subs {
		c.Add(sub)
	}
	return c
}

// Config declares --config, the path of the ini file of a program. Its help says where
// config.Open looks for the file without the option.
func (c *Command) Config(path *string, program string) {
	c.Text(path, "config", "c", "FILE", "ini file; without it "+program+".ini in the current folder, then in /etc/"+program+"/")
	c.cobra.Annotations["Files"] = "/etc/" + program + "/" + program + ".ini"
	c.cobra.Annotations["Environment"] = "DC_<section>_<key> overrides a key of the ini file. An empty value counts as not set."
}

// Words declares arguments that are no options, at least least and at most most of them; most 0
// means any number. name is their name in the help, such as "URL...".
func (c *Command) Words(p *[]string, name string, least, most int) {
	c.words = &words{p, name, least, most}
	c.cobra.Use = c.text.Name + " [options] " + name
}

// Add makes sub a sub-command of c. It is named by the first argument of c.
func (c *Command) Add(sub *Command) {
	c.subs = append(c.subs, sub)
	c.cobra.AddCommand(sub.cobra)
}

// AddAs is Add for a command of another program, which gets a name of its own here. called is how that program calls
// it, such as "hce-search": its description and its examples say what c calls it.
func (c *Command) AddAs(name, called string, sub *Command) {
	sub.replaceCalls(called, c.text.Name+" "+name)
	sub.cobra.Use = name + strings.TrimPrefix(sub.cobra.Use, sub.text.Name)
	sub.text.Name = name
	c.Add(sub)
}

// replaceCalls replaces the calls of a program in texts: those in quotes, and those of examples, at the start of a line or
// behind "|".
func (c *Command) replaceCalls(called, other string) {
	c.cobra.Long = strings.ReplaceAll(c.cobra.Long, `"`+called+" ", `"`+other+" ")
	c.cobra.Example = strings.NewReplacer("  "+called+" ", "  "+other+" ", "| "+called+" ", "| "+other+" ").Replace(c.cobra.Example)
	for _, sub := range c.subs {
		sub.replaceCalls(called, other)
	}
}

// textValue is an option with a value. Its type is the name of the value in the help.
type textValue struct {
	text *string
	name string
}

func (v textValue) String() string        { return *v.text }
func (v textValue) Set(text string) error { *v.text = text; return nil }
func (v textValue) Type() string          { return v.name }

// Text declares the option --long VALUE. The present value of *p is the default.
// short may be empty, one letter, or a word such as "cmd" for -cmd.
func (c *Command) Text(p *string, long, short, value, help string) {
	c.Choice(p, long, short, value, help)
}

// Choice is Text with known values, which the shells complete. Other values are
// accepted too.
func (c *Command) Choice(p *string, long, short, value, help string, known ...string) {
	c.declareOption(textValue{p, value}, long, short, help)
	for _, name := range known {
		c.values[name] = "--" + long + " " + name
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	switch {
	case strings.Contains(value, "FILE"):
		directive = cobra.ShellCompDirectiveDefault
	case strings.Contains(value, "DIR"):
		directive = cobra.ShellCompDirectiveFilterDirs
	}
	c.registerCompletion(long, cobra.FixedCompletions(known, directive))
}

// Choices is Choice for a list of known values, separated by commas.
func (c *Command) Choices(p *string, long, short, value, help string, known ...string) {
	c.declareOption(textValue{p, value}, long, short, help)
	c.registerCompletion(long, func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		head := word[:strings.LastIndex(word, ",")+1]
		list := slices.Clone(known)
		for i := range list {
			list[i] = head + list[i]
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	})
}

// listValue is an option that may be given several times.
type listValue struct {
	list *[]string
	name string
}

func (v listValue) String() string        { return "" }
func (v listValue) Set(text string) error { *v.list = append(*v.list, text); return nil }
func (v listValue) Type() string          { return v.name }

// Networks declares --allow-network, which other programs spelled in the plural.
func (c *Command) Networks(list *string, help string) {
	c.Alias("allow-networks", "allow-network")
	c.Text(list, "allow-network", "", "LIST", help)
}

// CheckNetworks refuses a value of --allow-network that is no list of networks.
func CheckNetworks(list string) error {
	if _, err := config.Networks(list); err != nil {
		return Refuse("--allow-network has %w", err)
	}
	return nil
}

// List declares the option --long VALUE, which may be given several times.
func (c *Command) List(p *[]string, long, short, value, help string) {
	c.declareOption(listValue{p, value}, long, short, help)
	c.registerCompletion(long, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveNoFileComp))
}

// Flag declares the option --long, which takes no value.
func (c *Command) Flag(p *bool, long, short, help string) {
	c.cobra.Flags().BoolVarP(p, long, short, *p, help)
}

// Removed declares an option of an earlier version. Its use is an error with the hint.
func (c *Command) Removed(long, hint string) { c.removed[long] = hint }

// Hint adds what to use in place of an option that other programs have and people try.
func (c *Command) Hint(long, hint string) { c.hints[long] = hint }

// Alias gives an option another long name, which --help does not list.
func (c *Command) Alias(other, long string) { c.others[other] = long }

func (c *Command) declareOption(v pflag.Value, long, short, help string) {
	if len(short) > 1 {
		c.aliases[short] = long
		if short != long {
			help += " (short: -" + short + ")"
		}
		short = ""
	}
	c.cobra.Flags().VarP(v, long, short, help)
}

// registerCompletion registers the completion of an option's value.
func (c *Command) registerCompletion(long string, values cobra.CompletionFunc) {
	if err := c.cobra.RegisterFlagCompletionFunc(long, values); err != nil {
		panic(err) // only for an option that is not declared, or declared twice
	}
}

// completeOptions completes an empty word: programs take options only.
func (c *Command) completeOptions(_ *cobra.Command, _ []string, word string) (words []string, _ cobra.ShellCompDirective) {
	if word == "" {
		c.cobra.Flags().VisitAll(func(f *pflag.Flag) { words = append(words, "--"+f.Name) })
		for short := range c.aliases {
			words = append(words, "-"+short)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// Given reports whether the arguments contained the option.
func (c *Command) Given(long string) bool { return c.cobra.Flags().Changed(long) }

// Main reads args, which exclude the program's name, runs the command and returns the
// exit status. Wrong arguments are reported in one line on stderr. --help, --man,
// --completion and --version print to stdout and win over wrong arguments.
func (c *Command) Main(args []string) int {
	c.declareCommon()
	c.locatePages()
	if isCompletion(args) {
		c.cobra.SetArgs(c.completionArgs(args))
		return c.runCobra(c)
	}
	run, rest, path := c, args, []string(nil)
	for {
		rest = run.optionsLast(rest)
		if len(rest) == 0 || len(run.subs) == 0 || strings.HasPrefix(rest[0], "-") {
			break
		}
		sub := run.findSub(rest[0])
		if sub == nil {
			return run.reportUsage(fmt.Errorf("sub-command %q is unknown%s; try --help", rest[0], run.nearestSub(rest[0])))
		}
		run, rest, path = sub, rest[1:], append(path, rest[0])
	}
	rest, err := run.canonicalArgs(rest)
	if err != nil {
		return run.reportUsage(err)
	}
	c.cobra.SetArgs(append(path, rest...))
	defer startProfile(c.text.Name)()
	return c.runCobra(run)
}

// locatePages has the help name pages where they are (package manual).
func (c *Command) locatePages() {
	c.cobra.Long, c.cobra.Example = manual.Locate(c.cobra.Long), manual.Locate(c.cobra.Example)
	c.cobra.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = manual.Locate(f.Usage) })
	for _, sub := range c.subs {
		sub.locatePages()
	}
}

// optionsLast moves options before the name of a sub-command behind it. The value of an option is not
// taken for a name, unless it has that of a sub-command.
func (c *Command) optionsLast(args []string) []string {
	if len(args) == 0 || !strings.HasPrefix(args[0], "-") {
		return args
	}
	name, _, _ := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
	if own := c.findOptions(name); len(own) > 0 && !slices.Contains(switches, own[0].Name) {
		return args // the option is one of this command
	}
	at := slices.IndexFunc(args, func(arg string) bool { return c.findSub(arg) != nil })
	if at < 0 {
		return args
	}
	return slices.Concat(args[at:at+1], args[:at], args[at+1:])
}

// nearestSub suggests the sub-command that name probably means.
func (c *Command) nearestSub(name string) string {
	var known []string
	for _, sub := range c.subs {
		known = append(known, sub.text.Name)
	}
	if near := config.Nearest(name, known); near != "" {
		return config.Suggestion(near)
	}
	return c.nearestWord(name)
}

// findSub returns the sub-command of that name, or nil.
func (c *Command) findSub(name string) *Command {
	for _, sub := range c.subs {
		if sub.text.Name == name {
			return sub
		}
	}
	return nil
}

// runCobra runs cobra with the arguments that are set. run is the selected command.
func (c *Command) runCobra(run *Command) int {
	if err := c.cobra.Execute(); err != nil {
		return run.reportUsage(err)
	}
	return run.status
}

// reportUsage reports err in one line and returns the exit status of wrong arguments.
func (c *Command) reportUsage(err error) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n", c.cobra.CommandPath(), err)
	return max(c.text.UsageError, 1)
}

// Shells are the shells that --completion supports.
var Shells = []string{"bash", "zsh", "fish"}

// completion and switches are the options of every program. They have no prefixes, so
// that they never make a prefix of a program's own option ambiguous.
const completion = "completion"

var switches = []string{"man", "version", "help"}

func (c *Command) declareCommon() {
	for _, sub := range c.subs {
		sub.declareCommon()
	}
	c.Flag(&c.man, "man", "", "print the manual page and exit; man -l - shows it")
	c.Choice(&c.shell, completion, "", strings.Join(Shells, "|"), "print the shell completion and exit", Shells...)
	if c.cobra.Flags().Lookup("version") != nil { // a sub-command may have an option of its own
		c.cobra.Version = ""
	} else {
		c.Flag(new(bool), "version", "", "print the version and exit")
	}
	c.Flag(new(bool), "help", "h", "print this text and exit")
}
