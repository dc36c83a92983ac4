// Package symbolfont knows what the letters of the fonts Symbol and Wingdings show. Documents of Word,
// and PDF made from them, store such a letter by its code in the font.
package symbolfont

import "strings"

// Private returns whether r is a code of a symbol font in the private use area (Microsoft's symbol
// encoding).
func Private(r rune) bool { return r >= 0xF000 && r <= 0xF0FF }

// Text returns the character that a font shows for a code: of a byte, or Private. name is the name of
// the font, which may have the prefix of a subset, such as "ABCDEF+SymbolMT". It returns "" if the font
// is another one, or the character is not known.
func Text(name string, code rune) string {
	if Private(code) {
		code -= 0xF000
	}
	if code < 0 || code > 0xFF {
		return ""
	}
	var r rune
	switch {
	case IsSymbol(name):
		r = symbol[code]
	case strings.HasPrefix(fontFamily(name), "wingdings"):
		r = wingdings[code]
	}
	if r == 0 {
		return ""
	}
	return string(r)
}

// IsSymbol reports whether a font is Symbol, by its name.
func IsSymbol(name string) bool {
	name = fontFamily(name)
	return strings.HasPrefix(name, "symbol") || strings.HasPrefix(name, "standardsym")
}

// fontFamily returns the name of a font in small letters, without the prefix of a subset (ISO 32000-1 9.6.4).
func fontFamily(name string) string {
	if len(name) > 7 && name[6] == '+' {
		name = name[7:]
	}
	return strings.ToLower(name)
}

// symbol is the encoding of the font Symbol (ISO 32000-1 annex D.5).
var symbol = codeTable(map[rune]string{
	' ':  " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
	0xA0: "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊⟨®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪",
	0xF1: "⟩∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭",
})

// wingdings has the marks of Wingdings that texts use: bullets, boxes, arrows, ticks. The bullets that
// begin the items of a list are one character.
var wingdings = codeTable(map[rune]string{
	0x28: "☎✆✉", 0x4A: "☺😐☹", 0x6C: "●", 0x6E: "•□", 0x71: "❑❒", 0x75: "◆❖", 0xA7: "•☐", 0xD8: "•", 0xDF: "←→↑↓", 0xE8: "➔", 0xEF: "⇦⇨⇧⇩", 0xFB: "✗✓☒☑",
})

func codeTable(parts map[rune]string) (t [256]rune) {
	for code, part := range parts {
		for _, r := range part {
			t[code] = r
			code++
		}
	}
	return t
}
