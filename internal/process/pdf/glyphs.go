package pdf

import (
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// glyphs are the texts of glyph names that follow no rule.
var glyphs = map[string]string{
	"space": " ", "nbspace": " ", "exclam": "!", "quotedbl": `"`, "numbersign": "#", "dollar": "$", "percent": "%", "ampersand": "&",
	"quotesingle": "'", "parenleft": "(", "parenright": ")", "asterisk": "*", "plus": "+", "comma": ",", "hyphen": "-",
	"period": ".", "slash": "/", "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6",
	"seven": "7", "eight": "8", "nine": "9", "colon": ":", "semicolon": ";", "less": "<", "equal": "=", "greater": ">",
	"question": "?", "at": "@", "bracketleft": "[", "backslash": `\`, "bracketright": "]", "asciicircum": "^",
	"underscore": "_", "grave": "`", "braceleft": "{", "bar": "|", "asciitilde": "~",
	"quoteleft": "‘", "quoteright": "’", "quotedblleft": "“", "quotedblright": "”", "quotesinglbase": "‚", "quotedblbase": "„",
	"guillemotleft": "«", "guillemotright": "»", "guilsinglleft": "‹", "guilsinglright": "›", "endash": "–", "emdash": "—",
	"bullet": "•", "ellipsis": "…", "dagger": "†", "daggerdbl": "‡", "section": "§", "paragraph": "¶", "copyright": "©",
	"registered": "®", "trademark": "™", "degree": "°", "perthousand": "‰", "exclamdown": "¡", "questiondown": "¿",
	"cent": "¢", "sterling": "£", "yen": "¥", "Euro": "€", "currency": "¤", "florin": "ƒ", "fraction": "⁄", "brokenbar": "¦",
	"periodcentered": "·", "middot": "·", "multiply": "×", "divide": "÷", "minus": "−", "plusminus": "±", "notequal": "≠",
	"lessequal": "≤", "greaterequal": "≥", "infinity": "∞", "approxequal": "≈", "partialdiff": "∂", "summation": "∑", "product": "∏",
	"integral": "∫", "radical": "√", "logicalnot": "¬", "mu": "µ", "micro": "µ", "lozenge": "◊", "arrowright": "→", "arrowleft": "←",
	"onesuperior": "¹", "twosuperior": "²", "threesuperior": "³", "onehalf": "½", "onequarter": "¼", "threequarters": "¾",
	"ordfeminine": "ª", "ordmasculine": "º", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "oslash": "ø", "Oslash": "Ø",
	"germandbls": "ß", "lslash": "ł", "Lslash": "Ł", "eth": "ð", "Eth": "Ð", "thorn": "þ", "Thorn": "Þ", "dcroat": "đ", "Dcroat": "Đ",
	"dotlessi": "ı", "dotlessj": "ȷ", "ff": "ff", "fi": "fi", "fl": "fl", "ffi": "ffi", "ffl": "ffl", "longs": "ſ", "ij": "ĳ", "IJ": "Ĳ",
	"hbar": "ħ", "Hbar": "Ħ", "tbar": "ŧ", "Tbar": "Ŧ", "kgreenlandic": "ĸ", "eng": "ŋ", "Eng": "Ŋ", "sfthyphen": "-", "softhyphen": "-",
	"acute": "´", "dieresis": "¨", "cedilla": "¸", "macron": "¯", "circumflex": "ˆ", "tilde": "˜", "caron": "ˇ", "breve": "˘",
	"dotaccent": "˙", "ring": "˚", "ogonek": "˛", "hungarumlaut": "˝",
	"similar": "∼", "equivalence": "≡", "element": "∈", "owner": "∋", "emptyset": "∅", "universal": "∀", "existential": "∃",
	"arrowdblright": "⇒", "arrowdblleft": "⇐", "arrowdblboth": "⇔", "arrowboth": "↔", "arrowup": "↑", "arrowdown": "↓", "proportional": "∝",
	"prime": "′", "logicaland": "∧", "logicalor": "∨", "union": "∪", "intersection": "∩", "propersubset": "⊂", "propersuperset": "⊃",
	"reflexsubset": "⊆", "reflexsuperset": "⊇", "floorleft": "⌊", "floorright": "⌋", "ceilingleft": "⌈", "ceilingright": "⌉",
	"angbracketleft": "⟨", "angbracketright": "⟩", "bardbl": "‖", "gradient": "∇", "dotmath": "⋅", "asteriskmath": "∗", "openbullet": "◦",
	"circleplus": "⊕", "circlemultiply": "⊗", "minusplus": "∓", "lessmuch": "≪", "greatermuch": "≫", "perpendicular": "⊥", "star": "⋆",
	"lscript": "ℓ", "aleph": "ℵ", "negationslash": "̸", "visiblespace": "␣", "phi1": "φ", "theta1": "ϑ", "pi1": "ϖ", "rho1": "ϱ", "epsilon1": "ε",
	"braceright": "}", "checkmark": "✓", "contourintegral": "∮", "compwordmark": "\u200b", "hyphenchar": "-", "slurabove": "⌢", "coproduct": "∐",
	"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ", "iota": "ι",
	"kappa": "κ", "lambda": "λ", "nu": "ν", "xi": "ξ", "omicron": "ο", "pi": "π", "rho": "ρ", "sigma": "σ", "sigma1": "ς", "tau": "τ",
	"upsilon": "υ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Alpha": "Α", "Beta": "Β", "Gamma": "Γ", "Delta": "Δ",
	"Epsilon": "Ε", "Zeta": "Ζ", "Eta": "Η", "Theta": "Θ", "Iota": "Ι", "Kappa": "Κ", "Lambda": "Λ", "Mu": "Μ", "Nu": "Ν", "Xi": "Ξ",
	"Omicron": "Ο", "Pi": "Π", "Rho": "Ρ", "Sigma": "Σ", "Tau": "Τ", "Upsilon": "Υ", "Phi": "Φ", "Chi": "Χ", "Psi": "Ψ", "Omega": "Ω",
}

// accents are the combining characters of the accents in glyph names.
var accents = map[string]rune{
	"grave": 0x300, "acute": 0x301, "circumflex": 0x302, "tilde": 0x303, "macron": 0x304, "breve": 0x306, "dotaccent": 0x307,
	"dieresis": 0x308, "ring": 0x30A, "hungarumlaut": 0x30B, "caron": 0x30C, "cedilla": 0x327, "ogonek": 0x328, "commaaccent": 0x327,
	"tonos": 0x301,
}

// accentedLetter returns the letter of a name such as "eacute" or "alphatonos".
func accentedLetter(name string) (string, bool) {
	for accent, mark := range accents {
		base, found := strings.CutSuffix(name, accent)
		if !found || base == "" {
			continue
		}
		if letter, ok := glyphs[base]; ok && len(base) > 1 {
			base = letter
		} else if len(base) > 1 {
			continue
		}
		return norm.NFC.String(base + string(mark)), true
	}
	return "", false
}

// cyrillicLetter returns the letter of a name from "afii10017" to "afii10097" (А to я).
func cyrillicLetter(name string) string {
	number, found := strings.CutPrefix(name, "afii")
	n, err := strconv.Atoi(number)
	switch {
	case !found || err != nil:
		return ""
	case n == 61352:
		return "№"
	case n == 10023:
		return "Ё"
	case n == 10071:
		return "ё"
	case n >= 10017 && n <= 10022:
		return string(rune('А' + n - 10017))
	case n >= 10024 && n <= 10049:
		return string(rune('А' + n - 10018))
	case n >= 10065 && n <= 10070:
		return string(rune('а' + n - 10065))
	case n >= 10072 && n <= 10097:
		return string(rune('а' + n - 10066))
	}
	return ""
}
