package command

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"hce/dc/internal/manual"
)

// helpTemplate is the text of --help. The annotations of a command are its sections.
const helpTemplate = `{{.CommandPath}} {{.Short}}

Usage: {{.UseLine}}
{{- if .HasAvailableSubCommands}}
{{- if ne .Use (printf "%s COMMAND [options]" .Name)}}
       {{.CommandPath}} COMMAND [options]
{{- end}}

Commands, each with its own --help:
{{- range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}}  {{.Short}}{{end}}{{end}}
{{- end}}
{{with .Long}}
{{.}}
{{end}}
Options:
{{.LocalFlags.FlagUsagesWrapped 90}}
{{- with .Example}}
Examples:
{{.}}
{{end}}
{{- range $title, $text := .Annotations}}
{{$title}}:
{{$text}}
{{end}}`

// programs are all programs with a manual page, for SEE ALSO.
var programs = []string{"crawler-task", "db-task", "dc-admin", "dc-client", "dc-daemon", "dc-import", "hce", "processor-task"}

// version is set by the Makefile: -X hce/dc/internal/cli/command.version=...
var version string

// Version returns the version of all programs: that set at link time, or that of the Go module.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && version == "" {
		return info.Main.Version
	}
	return version
}

// describeBuild returns the version of the program, Go's version and the revision in the
// version control system if Go recorded it.
func describeBuild() string {
	details := []string{runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	for i := 0; ok && i < len(info.Settings); i++ {
		s := info.Settings[i]
		switch {
		case s.Key == "vcs.revision":
			details = append(details, "revision "+s.Value)
		case s.Key == "vcs.modified" && s.Value == "true":
			details = append(details, "modified")
		}
	}
	return fmt.Sprintf("%s (%s)", Version(), strings.Join(details, ", "))
}

// bashWords defines what cobra's script needs of the package bash-completion, if that is
// not loaded.
const bashWords = `declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref() {
    read -r -a words <<<"${COMP_LINE:0:COMP_POINT}"
    [[ ${COMP_LINE:0:COMP_POINT} != *' ' ]] || words+=("")
    cword=$((${#words[@]} - 1)) cur=${words[-1]} prev=${words[-2]-}
}

`

// writeCompletion writes the completion script for the shell of --completion.
func (c *Command) writeCompletion(w io.Writer) error {
	root := c.cobra.Root()
	switch c.shell {
	case "bash":
		if _, err := io.WriteString(w, bashWords); err != nil {
			return err
		}
		return root.GenBashCompletionV2(w, false)
	case "zsh":
		return root.GenZshCompletion(w)
	case "fish":
		return root.GenFishCompletion(w, true)
	}
	return fmt.Errorf("option --completion = %q is not one of %s", c.shell, strings.Join(Shells, ", "))
}

// noValue marks the place where cobra/doc prints the default of an option without value.
const noValue = "=\x00"

// writePage writes the manual page in the man macros. It rewrites c for that purpose:
// cobra/doc reads Markdown, prints the default of an option where the name of its
// value belongs, and has no sections of a program's own.
func (c *Command) writePage(w io.Writer) error {
	var long strings.Builder
	fmt.Fprintf(&long, "%s %s.\n\n%s\n", c.cobra.CommandPath(), c.cobra.Short, escapeMarkdown(c.cobra.Long))
	for _, title := range slices.Sorted(maps.Keys(c.cobra.Annotations)) {
		fmt.Fprintf(&long, "\n# %s\n%s\n", strings.ToUpper(title), escapeMarkdown(c.cobra.Annotations[title]))
	}
	if len(c.subs) == 0 && !c.cobra.HasParent() {
		others := slices.DeleteFunc(slices.Clone(programs), func(name string) bool { return name == c.text.Name })
		fmt.Fprintf(&long, "\n# SEE ALSO\n**%s(1)**\n", strings.Join(others, "(1)**, **"))
	}
	c.cobra.Long = long.String()
	c.cobra.Flags().VisitAll(func(f *pflag.Flag) {
		f.Usage, f.DefValue = escapeMarkdown(f.Usage), f.Value.Type()
		if f.NoOptDefVal != "" {
			f.NoOptDefVal, f.DefValue = "", noValue[1:]
		}
	})
	var page strings.Builder
	if err := doc.GenMan(c.cobra, &doc.GenManHeader{Source: "HCE DC", Manual: "HCE Distributed Crawler"}, &page); err != nil {
		return fmt.Errorf("write the manual page: %w", err)
	}
	text := strings.ReplaceAll(page.String(), noValue, "")
	text = manual.LocateIn(manual.Folder, text)    // a manual page is installed
	text = strings.Replace(text, " - ", ` \- `, 1) // whatis splits the NAME section there
	_, err := io.WriteString(w, pageOption.ReplaceAllString(text, "\n.TP\n$1\n"))
	return err
}

// pageOption is an option of cobra/doc, which is no list item there.
var pageOption = regexp.MustCompile(`\n*(?:\n\.PP)?\n(\\fB-.*)\n\t`)

var markdownSpecial = regexp.MustCompile("[\\\\`*_{}\\[\\]<>#|~]")

// escapeMarkdown escapes text for cobra/doc. Lines indented by two become code.
func escapeMarkdown(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			lines[i] = "  " + line
		} else {
			lines[i] = markdownSpecial.ReplaceAllString(line, `\$0`)
		}
	}
	return strings.Join(lines, "\n")
}
