package main

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Parts of messages that are not text: placeholders, links and templates of wikis, commands.
var placeholders = regexp.MustCompile(`\{\{(?:[^{}|:]*[|:]([^{}|]*))?[^{}]*\}\}|\[\[[^\[\]|]*\|?|\]\]|\[https?:\S+|https?:\S+|%\([^)]*\)[a-z]|%[-0-9.$]*[a-zA-Z]|\{[^{}]*\}|\$[A-Za-z0-9]+|\\[ntr"]`)

const leastLetters = 12 // of a block that is kept

// cleanBlock returns the text of a block in one line, without placeholders and accelerators. It
// returns "" for a block with few letters, and for one that is no text.
func cleanBlock(block string) string {
	block = placeholders.ReplaceAllString(block, "$1 ")
	block = strings.Join(strings.Fields(block), " ")
	block = dropAccelerators(block)
	letters, all := 0, 0
	for _, c := range block {
		all++
		if unicode.IsLetter(c) || unicode.IsMark(c) {
			letters++
			if c >= 0x2e80 {
				letters++
			}
		}
	}
	if letters < leastLetters || letters*2 < all || !utf8.ValidString(block) {
		return ""
	}
	return block
}

// dropAccelerators removes the signs that mark a key: "_File", "E&xit".
func dropAccelerators(text string) string {
	var b strings.Builder
	for i, c := range text {
		if c == '_' || c == '&' {
			next, _ := utf8.DecodeRuneInString(text[i+1:])
			if unicode.IsLetter(next) {
				continue
			}
		}
		b.WriteRune(c)
	}
	return b.String()
}
