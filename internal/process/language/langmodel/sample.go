package langmodel

import "unicode/utf8"

const (
	sampleParts = 6
	partSize    = 240 // bytes of one part of a sample
	slack       = 40  // bytes at the limits of a part in which a word may begin or end
)

// Sample returns parts of a text, of at most 1,440 bytes together, that are spread evenly from
// its start to its end, without cut characters and, if possible, without cut words. A short
// text is one part.
func Sample(text string) (parts [sampleParts]string) {
	if len(text) <= sampleParts*partSize {
		parts[0] = text
		return parts
	}
	for i := range parts {
		from := (len(text) - partSize) / (sampleParts - 1) * i
		if i > 0 {
			from = wordAfter(text, from)
		}
		parts[i] = text[from:cutBefore(text, min(from+partSize, len(text)))]
	}
	return parts
}

// wordAfter returns where a word begins, or at least a character, at or after from.
func wordAfter(text string, from int) int {
	for i := from; i < from+slack; i++ {
		if text[i] == ' ' || text[i] == '\n' {
			return i
		}
	}
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return from
}

// cutBefore returns the end of the last word before to, or at least of a character.
func cutBefore(text string, to int) int {
	if to == len(text) {
		return to
	}
	for i := to; i > to-slack; i-- {
		if text[i] == ' ' || text[i] == '\n' {
			return i
		}
	}
	for to > 0 && !utf8.RuneStart(text[to]) {
		to--
	}
	return to
}
