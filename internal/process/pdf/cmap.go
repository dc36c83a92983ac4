package pdf

import "unicode/utf16"

// cmap maps codes to texts: the ToUnicode map of a font (ISO 32000-1 9.10.3).
type cmap struct {
	texts  map[int]string // by code; files disagree about its length
	spaces []space
}

// space is a range of codes of one length.
type space struct{ bytes, low, high int }

// readCmap reads a map. It stops at the limit of codes.
func (f *file) readCmap(content []byte) *cmap {
	m := &cmap{texts: map[int]string{}}
	l := lexer{text: content}
	var operands []token
	for t := l.nextToken(); t.kind != ended; t = l.nextToken() {
		switch {
		case t.kind != operator:
			if len(operands) < maxFontCodes {
				operands = append(operands, t)
			}
			continue
		case t.text == "endcodespacerange":
			for list := stringsOf(operands); len(list) >= 2 && len(m.spaces) < 64; list = list[2:] {
				m.spaces = append(m.spaces, space{len(list[0].text), codeOf(list[0].text), codeOf(list[1].text)})
			}
		case t.text == "endbfchar":
			for list := stringsOf(operands); len(list) >= 2; list = list[2:] {
				f.addCode(m, codeOf(list[0].text), utf16Text(list[1].text))
			}
		case t.text == "endbfrange":
			f.addRanges(m, operands)
		}
		operands = operands[:0]
	}
	return m
}

// addCode adds a code to m, if the limits allow it.
func (f *file) addCode(m *cmap, code int, text string) bool {
	if f.codes <= 0 || len(m.texts) >= maxFontCodes {
		f.cut = true
		return false
	}
	f.codes--
	m.texts[code] = text
	return true
}

// stringsOf returns the operands that are strings.
func stringsOf(operands []token) []token {
	list := operands[:0:0]
	for _, o := range operands {
		if o.kind == text {
			list = append(list, o)
		}
	}
	return list
}

// addRanges adds ranges: <low> <high> <text of low>, or <low> <high> [<text> <text> ...].
func (f *file) addRanges(m *cmap, operands []token) {
	for i := 0; i+2 < len(operands); {
		low, high, to := operands[i], operands[i+1], operands[i+2]
		if low.kind != text || high.kind != text {
			i++
			continue
		}
		first, last := codeOf(low.text), codeOf(high.text)
		if to.kind == opened {
			for i += 3; i < len(operands) && operands[i].kind == text; i++ {
				if first <= last {
					f.addCode(m, first, utf16Text(operands[i].text))
				}
				first++
			}
			i++ // the bracket
			continue
		}
		units := utf16Units(to.text)
		for code := first; code <= last && len(units) > 0; code++ {
			if !f.addCode(m, code, string(utf16.Decode(units))) {
				return
			}
			units[len(units)-1]++
		}
		i += 3
	}
}

// codeLength returns the bytes of the first code of s. usual is the length without a range for it.
func (m *cmap) codeLength(s string, usual int) int {
	for _, sp := range m.spaces {
		if sp.bytes >= 1 && sp.bytes <= min(len(s), 4) {
			if code := codeOf(s[:sp.bytes]); sp.low <= code && code <= sp.high {
				return sp.bytes
			}
		}
	}
	return usual
}

// codeOf returns the number of at most four bytes.
func codeOf(s string) int {
	code := 0
	for i := range min(len(s), 4) {
		code = code<<8 | int(s[i])
	}
	return code
}

func utf16Units(s string) []uint16 {
	if len(s) == 1 {
		return []uint16{uint16(s[0])}
	}
	units := make([]uint16, 0, len(s)/2)
	for i := 0; i+1 < len(s) && i < 64; i += 2 {
		units = append(units, uint16(s[i])<<8|uint16(s[i+1]))
	}
	return units
}

func utf16Text(s string) string { return string(utf16.Decode(utf16Units(s))) }
