package subcommand

import (
	"slices"
	"strings"
	"unicode"
)

// CommandHint returns a command of hce that works on the same data as this one, for a shell: with --data, --server and
// --config as they were typed and, if the command fetches, with --allow-network and --ini. Words in capitals, such as
// SITE, are for a person to replace. In a message it ends a line, or ";" or " or " follows.
func (o Options) CommandHint(words ...string) string {
	text := "hce"
	for _, word := range words {
		text += " " + ShellWord(word)
	}
	text += o.PlaceOptions()
	explains := words[0] == "explain" || slices.Contains(words, "--reasons")
	if explains {
		ini := o.Ini
		if ini == "" && o.Server+o.Config != "" {
			ini = "FILE" // no daemon answers this
		}
		text += optionText("--ini", ini)
	}
	if explains && o.Ini == "" || words[0] == "crawl" {
		text += optionText("--allow-network", o.Networks)
	}
	return text
}

// PlaceOptions returns the options that lead to the data, as they were typed, each behind a blank.
func (o Options) PlaceOptions() string {
	return optionText("--data", o.Data) + optionText("--server", o.Server) + optionText("--config", o.Config)
}

// optionText returns an option behind a blank, "" without a value.
func optionText(name, value string) string {
	if value == "" {
		return ""
	}
	return " " + name + " " + ShellWord(value)
}

// ShellWord returns a word as a shell reads it.
func ShellWord(word string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./:@%+=,", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
