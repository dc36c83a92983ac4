package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hce/dc/internal/config"
)

// canonicalArgs rewrites args to --long and --long=value, the forms that pflag reads. It
// accepts one dash or two, multi-letter short names (-cmd), unique prefixes of long
// names, combined letters (-vcFILE), "--long=value" and "--long value".
// Words follow the options, after "--". It returns the first error. A common option wins
// over errors and other options.
func (c *Command) canonicalArgs(args []string) (canonical []string, failed error) {
	var plain []string
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if c.words != nil && (!strings.HasPrefix(arg, "-") || arg == "-" || arg == "--") {
			if arg == "--" {
				plain, args = append(plain, args...), nil
			} else {
				plain = append(plain, arg)
			}
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		found := c.findOptions(name)
		if len(name) == 1 && !strings.HasPrefix(arg, "--") { // a letter is no abbreviation
			found = slices.DeleteFunc(found, func(f *pflag.Flag) bool { return f.Shorthand != name })
		}
		var err error
		switch {
		case !strings.HasPrefix(arg, "-") || name == "":
			err = fmt.Errorf("argument %q is not an option%s; try --help", arg, c.nearestWord(arg))
		case c.removed[name] != "":
			err = fmt.Errorf("option --%s was removed; %s", name, c.removed[name])
		case len(found) > 1:
			err = fmt.Errorf("option --%s could be --%s or --%s", name, found[0].Name, found[1].Name)
		case len(found) == 0:
			split := c.splitLetters(arg)
			if split == nil {
				err = c.unknownOptionError(arg, name)
			}
			args = append(split, args...)
		case slices.Contains(switches, found[0].Name) && found[0].NoOptDefVal != "":
			return []string{"--" + found[0].Name}, nil
		case found[0].NoOptDefVal != "" && hasValue:
			err = fmt.Errorf("option --%s takes no value", found[0].Name)
		case found[0].NoOptDefVal != "":
			canonical = append(canonical, "--"+found[0].Name)
		case !hasValue && len(args) == 0:
			err = fmt.Errorf("option --%s needs a value (%s)", found[0].Name, found[0].Value.Type())
		default:
			if !hasValue {
				value, args = args[0], args[1:]
			}
			if found[0].Name == completion {
				return []string{"--" + completion + "=" + value}, nil
			}
			canonical = append(canonical, "--"+found[0].Name+"="+value)
		}
		if failed == nil {
			failed = err
		}
	}
	if c.words == nil {
		return canonical, failed
	}
	if failed == nil {
		failed = c.words.checkCount(plain)
	}
	return append(append(canonical, "--"), plain...), failed
}

// checkCount refuses a wrong number of words.
func (w *words) checkCount(given []string) error {
	switch {
	case len(given) < w.least:
		return fmt.Errorf("argument %s is missing; try --help", w.name)
	case w.most > 0 && len(given) > w.most:
		return fmt.Errorf("argument %q is one too many; try --help", given[w.most])
	}
	return nil
}

// findOptions returns the options that name can mean: the one of that long or short name, or
// all those whose long name begins with it.
func (c *Command) findOptions(name string) (found []*pflag.Flag) {
	options := c.cobra.Flags()
	name = cmp.Or(c.aliases[name], c.others[name], name)
	if exact := options.Lookup(name); exact != nil {
		return []*pflag.Flag{exact}
	}
	if len(name) == 1 {
		if exact := options.ShorthandLookup(name); exact != nil {
			return []*pflag.Flag{exact}
		}
	}
	options.VisitAll(func(f *pflag.Flag) {
		if strings.HasPrefix(f.Name, name) && f.Name != completion && !slices.Contains(switches, f.Name) {
			found = append(found, f)
		}
	})
	return found
}

// unknownOptionError says that there is no such option, and what is meant in its place.
func (c *Command) unknownOptionError(arg, name string) error {
	if hint := c.foreignOptionHint(arg, name); hint != "" {
		option, _, _ := strings.Cut(arg, "=")
		return fmt.Errorf("option %s is unknown; %s", option, hint)
	}
	if len(name) == 1 {
		return fmt.Errorf("option %s is unknown; try --help", arg)
	}
	return fmt.Errorf("option --%s is unknown%s; try --help", name, c.nearestOption(name))
}

// nearestOption suggests the option that name probably means.
func (c *Command) nearestOption(name string) string {
	var known []string
	c.cobra.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if near := config.Nearest(name, known); near != "" {
		return "; did you mean --" + near + "?"
	}
	return ""
}

// splitLetters separates the first letter of combined options: -vcFILE becomes -v
// -cFILE, and -cFILE becomes -c=FILE. It returns nil if arg is not of that form.
func (c *Command) splitLetters(arg string) []string {
	if strings.HasPrefix(arg, "--") || len(arg) < 3 {
		return nil
	}
	letter := c.cobra.Flags().ShorthandLookup(arg[1:2])
	switch {
	case letter == nil:
		return nil
	case letter.NoOptDefVal != "":
		return []string{arg[:2], "-" + arg[2:]}
	}
	return []string{arg[:2] + "=" + arg[2:]}
}

// completionArgs rewrites the options of a command line that a shell completes. The
// last word is incomplete; it is rewritten only as far as it names an option.
func (c *Command) completionArgs(args []string) []string {
	request, words := args[:1], slices.Clone(args[1:])
	if len(words) > 1 {
		if sub := c.findSub(words[0]); sub != nil {
			return append(append(slices.Clone(request), words[0]), sub.completionArgs(words)[1:]...)
		}
	}
	for i, word := range words {
		name, value, hasValue := strings.Cut(strings.TrimLeft(word, "-"), "=")
		found := c.findOptions(name)
		last := i == len(words)-1
		if !strings.HasPrefix(word, "-") || len(found) != 1 || last && !hasValue {
			continue
		}
		words[i] = "--" + found[0].Name
		if hasValue {
			words[i] += "=" + value
		}
	}
	return append(slices.Clone(request), words...)
}

// isCompletion reports whether a shell's completion script called the program.
func isCompletion(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}
