package outline

import "unicode/utf8"

// BlankAt returns the bytes of the blank at s[i], a byte of class Multibyte, or 0 for another character.
func BlankAt(s []byte, i int) int {
	switch s[i] {
	case 0xC2:
		if i+1 < len(s) && (s[i+1] == 0xA0 || s[i+1] == 0x85) {
			return 2
		}
	case 0xE2:
		if i+2 < len(s) && s[i+1] == 0x80 && (s[i+2] >= 0x80 && s[i+2] <= 0x8A || s[i+2] == 0xA8 || s[i+2] == 0xA9 || s[i+2] == 0xAF) {
			return 3
		}
	case 0xE3:
		if i+2 < len(s) && s[i+1] == 0x80 && s[i+2] == 0x80 {
			return 3
		}
	}
	return 0
}

// InvisibleAt returns the bytes of the character at s[i], a byte of class Multibyte, if it shows nothing: soft hyphens,
// zero-width blanks, marks of direction, control characters. Joiners count only where a script does not need them.
// It returns 0 for another character.
func InvisibleAt(s []byte, i int) int {
	switch s[i] {
	case 0xC2: // U+0080 to U+009F, U+00AD
		if i+1 < len(s) && (s[i+1] < 0xA0 && s[i+1] != 0x85 || s[i+1] == 0xAD) {
			return 2
		}
	case 0xD8: // U+061C
		if i+1 < len(s) && s[i+1] == 0x9C {
			return 2
		}
	case 0xE2:
		if i+2 < len(s) && (s[i+1] == 0x80 || s[i+1] == 0x81) {
			return invisiblePunctuation(s, i)
		}
	case 0xEF: // U+FEFF
		if i+2 < len(s) && s[i+1] == 0xBB && s[i+2] == 0xBF {
			return 3
		}
	case 0xF3: // U+E0000 to U+E007F, tags
		if i+3 < len(s) && s[i+1] == 0xA0 && s[i+2] <= 0x81 && !isFlag(s, i) {
			return 4
		}
	}
	return 0
}

// invisiblePunctuation is InvisibleAt for U+2000 to U+207F.
func invisiblePunctuation(s []byte, i int) int {
	c := s[i+2]
	if s[i+1] == 0x81 { // U+2060 to U+206F
		if c >= 0xA0 && c <= 0xAF {
			return 3
		}
		return 0
	}
	switch {
	case c == 0x8B || c == 0x8E || c == 0x8F || c >= 0xAA && c <= 0xAE:
		return 3
	case c == 0x8C || c == 0x8D:
		if needsJoiner(s[:i]) {
			return 0
		}
		return 3
	}
	return 0
}

// needsJoiner reports whether a text ends with a letter of a script in which joiners change the reading, or an emoji.
func needsJoiner(before []byte) bool {
	r, _ := utf8.DecodeLastRune(before)
	return r >= 0x0600 && r < 0x1200 || r >= 0x1780 && r < 0x1AB0 || r >= 0x2190 && r < 0x3000 || r >= 0xA800 && r < 0xAC00 ||
		r >= 0xFB1D && r < 0xFE70 && r != 0xFEFF || r >= 0xFE00 && r <= 0xFE0F || r >= 0x10A00 && r != utf8.RuneError
}

// isFlag reports whether the tag at s[i] is part of the flag of a region: a black flag and tags.
func isFlag(s []byte, i int) bool {
	for i >= 4 && s[i-4] == 0xF3 && s[i-3] == 0xA0 {
		i -= 4
	}
	return i >= 4 && string(s[i-4:i]) == "\U0001F3F4"
}
