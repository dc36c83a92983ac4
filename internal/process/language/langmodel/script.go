package langmodel

import "unicode"

// A Script is a set of letters that belong to one group of languages. Han includes kana.
type Script uint8

// The scripts of the languages that a model may know. Other letters are ignored.
const (
	None Script = iota
	Latin
	Cyrillic
	Arabic
	Hebrew
	Devanagari
	Bengali
	Ethiopic
	Han
	Tibetan
	Greek
	Hangul
	Thai
	Lao
	Khmer
	Myanmar
	Georgian
	Armenian
	Gurmukhi
	Gujarati
	Oriya
	Tamil
	Telugu
	Kannada
	Malayalam
	Sinhala
	Thaana
	scripts // their number
)

// block is a range of letters, without the punctuation and digits between from and to.
type block struct {
	from, to rune
	script   Script
}

var blocks = []block{
	{'A', 'Z', Latin}, {'a', 'z', Latin}, {0xAA, 0xAA, Latin}, {0xBA, 0xBA, Latin}, {0xC0, 0xD6, Latin}, {0xD8, 0xF6, Latin}, {0xF8, 0x2AF, Latin},
	{0x300, 0x36F, Latin}, {0x370, 0x373, Greek}, {0x376, 0x377, Greek}, {0x386, 0x386, Greek}, {0x388, 0x3FF, Greek},
	{0x400, 0x481, Cyrillic}, {0x48A, 0x52F, Cyrillic}, {0x531, 0x556, Armenian}, {0x561, 0x587, Armenian},
	{0x5D0, 0x5F2, Hebrew}, {0x620, 0x63F, Arabic}, {0x641, 0x64A, Arabic}, {0x66E, 0x66F, Arabic}, {0x671, 0x6D3, Arabic}, {0x6D5, 0x6D5, Arabic},
	{0x6EE, 0x6EF, Arabic}, {0x6FA, 0x6FF, Arabic}, {0x750, 0x77F, Arabic}, {0x780, 0x7B1, Thaana}, {0x8A0, 0x8C9, Arabic},
	{0x900, 0x963, Devanagari}, {0x971, 0x97F, Devanagari}, {0x980, 0x9E3, Bengali}, {0x9F0, 0x9F1, Bengali},
	{0xA00, 0xA63, Gurmukhi}, {0xA70, 0xA75, Gurmukhi}, {0xA80, 0xAE3, Gujarati}, {0xB00, 0xB63, Oriya}, {0xB80, 0xBE5, Tamil}, {0xC00, 0xC63, Telugu},
	{0xC80, 0xCE3, Kannada}, {0xD00, 0xD63, Malayalam}, {0xD7A, 0xD7F, Malayalam}, {0xD80, 0xDF3, Sinhala}, {0xE01, 0xE3A, Thai}, {0xE40, 0xE4E, Thai},
	{0xE80, 0xECD, Lao}, {0xEDC, 0xEDF, Lao}, {0xF40, 0xFBC, Tibetan}, {0x1000, 0x103F, Myanmar}, {0x1050, 0x109F, Myanmar}, {0x10A0, 0x10FA, Georgian}, {0x10FC, 0x10FF, Georgian},
	{0x1100, 0x11FF, Hangul}, {0x1200, 0x135A, Ethiopic}, {0x1380, 0x138F, Ethiopic}, {0x1780, 0x17D3, Khmer}, {0x1C90, 0x1CBF, Georgian},
	{0x1E00, 0x1EFF, Latin}, {0x1F00, 0x1FFF, Greek}, {0x3005, 0x3007, Han}, {0x3041, 0x309F, Han}, {0x30A1, 0x30FA, Han}, {0x30FC, 0x30FF, Han}, {0x3400, 0x4DBF, Han}, {0x4E00, 0x9FFF, Han},
	{0xA000, 0xABFF, None}, {0xAC00, 0xD7A3, Hangul}, {0xF900, 0xFAFF, Han}, {0xFB1D, 0xFB4F, Hebrew}, {0xFB50, 0xFDFF, Arabic}, {0xFE70, 0xFEFC, Arabic}, {0xFF66, 0xFF9F, Han}, {0x20000, 0x3FFFF, Han},
}

// tabled are the runes whose script and lower case are in tables.
const tabled = 0x600

var (
	scriptTable [tabled]Script
	lowerTable  [tabled]uint16
)

func init() {
	for _, b := range blocks {
		for c := b.from; c <= b.to && c < tabled; c++ {
			scriptTable[c] = b.script
		}
	}
	for c := range lowerTable {
		lowerTable[c] = uint16(unicode.ToLower(rune(c)))
	}
}

// scriptOf returns the script of a letter, and None for a rune that is no letter.
func scriptOf(c rune) Script {
	if c < tabled {
		return scriptTable[c]
	}
	if c >= 0x4E00 && c <= 0x9FFF {
		return Han
	}
	low, high := 0, len(blocks)
	for low < high {
		if middle := (low + high) / 2; blocks[middle].to < c {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low < len(blocks) && blocks[low].from <= c {
		return blocks[low].script
	}
	return None
}

func lowerRune(c rune) rune {
	switch {
	case c < tabled:
		return rune(lowerTable[c])
	case c >= 0x1E00 && c <= 0x1EFF:
		return c | 1
	case c >= 0x1C90 && c <= 0x1CBF:
		return c - 0x1C90 + 0x10D0
	}
	return c
}

// letterEvidence is how much a letter of a script says, compared to one of Latin script: texts of
// other scripts often have names and terms in Latin letters, hardly ever the other way round.
func letterEvidence(s Script) int {
	switch s {
	case Latin:
		return 2
	case Han, Hangul:
		return 6
	}
	return 3
}
