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
		if k == 0 {
			if blank {
				words++
				blank = false
				if from < 0 {
					from = j
				}
			}
			h = (h ^ uint32(c)) * 16777619
			if c < 0x80 || c >= 0xC0 {
				chars++
			}
			j++
			to = j
			continue
		}
		if k == Blank {
			blank = true
			j++
			continue
		}
		w := 1
		if k == Multibyte {
			if w = BlankAt(s, j); w > 0 {
				blank = true
				j += w
				continue
			}
			if w = InvisibleAt(s, j); w > 0 {
				j += w
				continue
			}
			w = 1
			switch {
			case c >= 0xF0:
				w = min(4, len(s)-j)
			case c >= 0xE0:
				w = min(3, len(s)-j)
				if c >= 0xE3 && c <= 0xED && w == 3 { // Chinese, Japanese, Korean
					if c == 0xE3 && s[j+1] == 0x80 && (s[j+2] == 0x82 || s[j+2] == 0x81) {
						if s[j+2] == 0x82 {
							stops++
						} else {
							commas++
						}
					} else if !blank {
						words += int32(j) & 1 // two characters count as one word
					}
				} else if c == 0xEF && w == 3 && s[j+1] == 0xBC {
					switch s[j+2] {
					case 0x8C:
						commas++
					case 0x81, 0x9F:
						stops++
					}
				}
			default:
				w = min(2, len(s)-j)
			}
		}
		if blank {
			words++
			blank = false
			if from < 0 {
				from = j
			}
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
		case cMoney:
			b.Money = true
		case Multibyte:
			if c == 0xE2 && w == 3 && s[j+1] == 0x82 || c == 0xC2 && w == 2 && s[j+1] == 0xA3 {
				b.Money = true // euro and others, pound
			}
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
	if b.Size == 0 {
		b.Start = s[from]
	}
	size := int32(to - from)
	b.Hash = h
	b.Words, b.Chars, b.Commas, b.Stops, b.Digits, b.Uppers = words, chars, commas, stops, digits, uppers
	b.Size += size
	if link {
		b.Linked += size
	}
	if bold {
		b.Bold += size
	}
	b.end, _ = utf8.DecodeLastRune(s[from:to])
}
