package manual

import (
	"fmt"
	"strings"

	"hce/dc/internal/cli/flags"
)

// Completion is a script that makes a shell complete the options of a program and
// their known values. It is "" for a shell that is not in flags.Shells.
func Completion(s *flags.Set, shell string) string {
	switch shell {
	case "bash":
		return bash(s)
	case "zsh":
		return zsh(s)
	case "fish":
		return fish(s)
	}
	return ""
}

// forms are the spellings of an option.
func forms(o flags.Option) []string {
	list := []string{"--" + o.Long}
	if o.Short != "" && o.Short != o.Long {
		list = append(list, "-"+o.Short)
	}
	return list
}

// file reports whether the value of an option is the name of a file or folder.
func file(o flags.Option) bool {
	return strings.Contains(o.Value, "FILE") || strings.Contains(o.Value, "FOLDER") || strings.Contains(o.Value, "DIR")
}

// function is the name of a shell function for a program.
func function(program string) string { return "_" + strings.ReplaceAll(program, "-", "_") }

func bash(s *flags.Set) string {
	var b strings.Builder
	var options []string
	fmt.Fprintf(&b, "# bash completion for %s, made by %s --completion bash\n", s.Program(), s.Program())
	fmt.Fprintf(&b, `%s() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} head=
    COMPREPLY=()
    # "--name=value" comes as three words.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD-2]}
    fi
    case $prev in
`, function(s.Program()))
	for _, o := range s.Options() {
		options = append(options, forms(o)...)
		if o.Value == "" {
			continue
		}
		names := append(forms(o), "-"+o.Long)
		fmt.Fprintf(&b, "    %s)\n", strings.Join(names, " | "))
		if o.List {
			b.WriteString("        if [[ $cur == *,* ]]; then\n            head=${cur%,*},\n            cur=${cur##*,}\n        fi\n")
		}
		if len(o.Values) > 0 {
			fmt.Fprintf(&b, "        COMPREPLY=($(compgen -P \"$head\" -W '%s' -- \"$cur\"))\n", strings.Join(o.Values, " "))
		}
		b.WriteString("        return\n        ;;\n") // without known values bash offers files
	}
	fmt.Fprintf(&b, `    esac
    if [[ $cur == -* || -z $cur ]]; then
        COMPREPLY=($(compgen -W '%s' -- "$cur"))
    fi
}
complete -o default -F %s %s
`, strings.Join(options, " "), function(s.Program()), s.Program())
	return b.String()
}

func zsh(s *flags.Set) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n# zsh completion for %s, made by %s --completion zsh\n\n_arguments \\\n", s.Program(), s.Program(), s.Program())
	for _, o := range s.Options() {
		names := forms(o)
		help := strings.NewReplacer("'", `'\''`, "[", `\[`, "]", `\]`, ":", `\:`).Replace(oneLine(o.Help))
		value := ""
		switch {
		case o.Value == "":
		case len(o.Values) > 0 && o.List:
			value = fmt.Sprintf(":%s:_sequence compadd - %s", o.Value, strings.Join(o.Values, " "))
		case len(o.Values) > 0:
			value = fmt.Sprintf(":%s:(%s)", o.Value, strings.Join(o.Values, " "))
		default:
			value = ":" + strings.ReplaceAll(o.Value, ":", `\:`) + ":"
			if file(o) {
				value += "_files"
			}
		}
		if len(names) == 1 {
			fmt.Fprintf(&b, "    '%s[%s]%s' \\\n", names[0], help, value)
			continue
		}
		fmt.Fprintf(&b, "    '(%s)'{%s}'[%s]%s' \\\n", strings.Join(names, " "), strings.Join(names, ","), help, value)
	}
	return strings.TrimSuffix(b.String(), " \\\n") + "\n"
}

func fish(s *flags.Set) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# fish completion for %s, made by %s --completion fish\n", s.Program(), s.Program())
	for _, o := range s.Options() {
		fmt.Fprintf(&b, "complete -c %s -l %s", s.Program(), o.Long)
		switch {
		case len(o.Short) == 1:
			b.WriteString(" -s " + o.Short)
		case o.Short != "" && o.Short != o.Long:
			b.WriteString(" -o " + o.Short)
		}
		switch {
		case o.Value == "":
			b.WriteString(" -f")
		case len(o.Values) > 0 && o.List:
			fmt.Fprintf(&b, " -x -a '(__fish_complete_list , \"printf %%s\\\\\\\\n %s\")'", strings.Join(o.Values, " "))
		case len(o.Values) > 0:
			fmt.Fprintf(&b, " -x -a '%s'", strings.Join(o.Values, " "))
		case file(o):
			b.WriteString(" -r -F")
		default:
			b.WriteString(" -x")
		}
		fmt.Fprintf(&b, " -d '%s'\n", strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(oneLine(o.Help)))
	}
	return b.String()
}

// oneLine is a help text for a list that shows one line.
func oneLine(help string) string { return strings.Join(strings.Fields(help), " ") }
