package hce

import (
	"slices"
	"strings"
	"unicode"
)

// commandHint returns a command of hce that works on the same data as this one, for a shell: with --data, --server and
// --config as they were typed and, if the command fetches, with --allow-network and --ini. Words in capitals, such as
// SITE, are for a person to replace. In a message it ends a line, or ";" or " or " follows.
func (o options) commandHint(words ...string) string {
	text := "hce"
	for _, word := range words {
		text += " " + shellWord(word)
	}
	text += o.placeOptions()
	explains := words[0] == "explain" || slices.Contains(words, "--reasons")
	if explains {
		ini := o.ini
		if ini == "" && o.server+o.config != "" {
			ini = "FILE" // no daemon answers this
		}
		text += optionText("--ini", ini)
	}
	if explains && o.ini == "" || words[0] == "crawl" {
		text += optionText("--allow-network", o.networks)
	}
	return text
}

// placeOptions returns the options that lead to the data, as they were typed, each behind a blank.
func (o options) placeOptions() string {
	return optionText("--data", o.data) + optionText("--server", o.server) + optionText("--config", o.config)
}

// optionText returns an option behind a blank, "" without a value.
func optionText(name, value string) string {
	if value == "" {
		return ""
	}
	return " " + name + " " + shellWord(value)
}

// shellWord returns a word as a shell reads it.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./:@%+=,", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
