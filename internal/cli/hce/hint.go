package hce

import (
	"slices"
	"strings"
	"unicode"
)

// hint returns a command of hce that works on the same data as this one, for a shell: with --data, --server and
// --config as they were typed and, if the command fetches, with --allow-network and --ini. Words in capitals, such as
// SITE, are for a person to replace. In a message it ends a line, or ";" or " or " follows.
func (o options) hint(words ...string) string {
	line := []string{"hce"}
	for _, word := range words {
		line = append(line, shellWord(word))
	}
	add := func(name, value string) {
		if value != "" {
			line = append(line, name, shellWord(value))
		}
	}
	add("--data", o.data)
	add("--server", o.server)
	add("--config", o.config)
	explains := words[0] == "explain" || slices.Contains(words, "--reasons")
	if explains {
		ini := o.ini
		if ini == "" && o.server+o.config != "" {
			ini = "FILE" // no daemon answers this
		}
		add("--ini", ini)
	}
	if explains && o.ini == "" || words[0] == "crawl" {
		add("--allow-network", o.networks)
	}
	return strings.Join(line, " ")
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
