package outline

import "unicode/utf8"

// Classes of bytes.
const (
	Blank = 1 << iota
	cDigit
	cUpper
	cComma
	cStop
	Multibyte
	cMoney
	cSymbol
)

// ClassOf is the class of each byte; 0: a letter, or a later byte of a character.
var ClassOf [256]uint8

func init() {
	for c := range 256 {
		switch {
		case c <= ' ' || c == 0x7F:
			ClassOf[c] = Blank
		case c >= '0' && c <= '9':
			ClassOf[c] = cDigit
		case c >= 'A' && c <= 'Z':
			ClassOf[c] = cUpper
		case c == '$':
			ClassOf[c] = cMoney
		case c == ',' || c == ';':
			ClassOf[c] = cComma
		case c == '.' || c == '!' || c == '?':
			ClassOf[c] = cStop
		case c == '(' || c == ')' || c == '{' || c == '}' || c == '[' || c == ']' || c == '<' || c == '>' || c == '=' || c == '_' || c == '*' || c == '&' || c == '|' || c == '\\' || c == '#' || c == '~' || c == '^':
			ClassOf[c] = cSymbol
		case c >= 0xC2:
			ClassOf[c] = Multibyte
		}
	}
}

// addText adds a text to the last block.
func (o *Outline) addText(i int32, s []byte, link, bold bool) {
	b := &o.Lines[len(o.Lines)-1]
	b.Last = i
	from, to := -1, 0
	h := b.Hash
	words, chars, commas, stops, digits, uppers := b.Words, b.Chars, b.Commas, b.Stops, b.Digits, b.Uppers
	blank := true
	for j := 0; j < len(s); {
		c := s[j]
		k := ClassOf[c]
		if k == Blank {
			blank = true
			j++
			continue
		}
		w := 1
		if k == Multibyte {
			if skip, isBlank := skipAt(s, j); skip > 0 {
				blank = blank || isBlank
				j += skip
				continue
			}
			w = widthAt(s, j)
			if w == 3 {
				switch markAt(s, j) {
				case commaMark:
					commas++
				case stopMark:
					stops++
				case ideograph:
					if !blank {
						words += int32(j) & 1 // two characters count as one word
					}
				}
			}
		}
		if blank {
			words++
			blank = false
			if from < 0 {
				from = j
			}
		}
		if k == 0 {
			h = (h ^ uint32(c)) * 16777619
			if c < 0x80 || c >= 0xC0 {
				chars++
			}
			j++
			to = j
			continue
		}
		chars++
		switch k {
		case cDigit:
			digits++
		case cUpper:
			uppers++
		case cComma:
			commas++
		case cStop:
			stops++
		case cSymbol:
			b.Symbols++
		case cMoney, Multibyte:
			b.Money = b.Money || isMoney(s[j:j+w])
		}
		for x := 0; x < w; x++ {
			h = (h ^ uint32(s[j+x])) * 16777619
		}
		j += w
		to = j
	}
	if from < 0 {
		return
	}
	b.Hash = h
	b.Words, b.Chars, b.Commas, b.Stops, b.Digits, b.Uppers = words, chars, commas, stops, digits, uppers
	b.addSpan(s[from:to], link, bold)
}

// skipAt returns the bytes of a blank or an invisible character at s[j]; 0 for another one.
func skipAt(s []byte, j int) (bytes int, isBlank bool) {
	if w := BlankAt(s, j); w > 0 {
		return w, true
	}
	return InvisibleAt(s, j), false
}

// isMoney reports whether a character is the sign of a currency: dollar, pound, euro and those next to it.
func isMoney(c []byte) bool {
	return c[0] == '$' || len(c) == 3 && c[0] == 0xE2 && c[1] == 0x82 || len(c) == 2 && c[0] == 0xC2 && c[1] == 0xA3
}

// widthAt returns the bytes of the character at s[j], which is not ASCII.
func widthAt(s []byte, j int) int {
	switch c := s[j]; {
	case c >= 0xF0:
		return min(4, len(s)-j)
	case c >= 0xE0:
		return min(3, len(s)-j)
	}
	return min(2, len(s)-j)
}

// mark is what a character of three bytes means.
type mark uint8

const (
	noMark    mark = iota
	commaMark      // of Chinese or Japanese
	stopMark
	ideograph // a character of Chinese, Japanese or Korean
)

// markAt returns what the character of three bytes at s[j] means.
func markAt(s []byte, j int) mark {
	switch c, d, e := s[j], s[j+1], s[j+2]; {
	case c == 0xE3 && d == 0x80 && e == 0x82:
		return stopMark
	case c == 0xE3 && d == 0x80 && e == 0x81:
		return commaMark
	case c >= 0xE3 && c <= 0xED:
		return ideograph
	case c == 0xEF && d == 0xBC && e == 0x8C:
		return commaMark
	case c == 0xEF && d == 0xBC && (e == 0x81 || e == 0x9F):
		return stopMark
	}
	return noMark
}

// addSpan adds the bytes of a text, without the blanks around it.
func (b *Line) addSpan(s []byte, link, bold bool) {
	if b.Size == 0 {
		b.Start = s[0]
	}
	size := int32(len(s))
	b.Size += size
	if link {
		b.Linked += size
	}
	if bold {
		b.Bold += size
	}
	b.end, _ = utf8.DecodeLastRune(s)
}
