package pdf

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"

	"hce/dc/internal/process/symbolfont"
	"hce/dc/internal/web/charset"
)

// readEncoding returns the texts of the codes of a font with codes of one byte.
func (d *document) readEncoding(dict types.Dict) *[256]string {
	if table := d.texEncoding(dict); table != nil {
		return table
	}
	object := d.resolveObject(dict["Encoding"])
	base := d.resolveName(object)
	differences := d.resolveDict(object)
	if differences != nil {
		base = d.resolveName(differences["BaseEncoding"])
	}
	var table *[256]string
	if base == "" {
		table = d.builtInEncoding(d.resolveDict(dict["FontDescriptor"]))
	}
	if table == nil {
		table = baseEncoding(base, d.resolveName(dict["BaseFont"]), d.resolveName(dict["Subtype"]))
	}
	code := 0
	for _, o := range d.resolveArray(differences["Differences"]) {
		switch o := d.resolveObject(o).(type) {
		case types.Integer:
			code = o.Value()
		case types.Name:
			if code >= 0 && code < 256 {
				table[code] = glyphText(nameOf(o.Value()))
			}
			code++
		}
	}
	return table
}

// baseEncoding returns an encoding by its name (ISO 32000-1 annex D), or the own one of a
// font.
func baseEncoding(name, font, subtype string) *[256]string {
	table := &[256]string{}
	for c := ' '; c <= '~'; c++ {
		table[c] = string(c)
	}
	switch {
	case name == "WinAnsiEncoding":
		upperHalf(table, "windows-1252")
	case name == "MacRomanEncoding":
		upperHalf(table, "macintosh")
	case symbolfont.IsSymbol(font):
		for code := range table {
			table[code] = symbolfont.Text(font, rune(code))
		}
	case strings.HasSuffix(font, "ZapfDingbats"):
		*table = [256]string{}
	case subtype == "TrueType":
		upperHalf(table, "windows-1252")
	default:
		table['\''], table['`'] = "’", "‘"
		for code, r := range standardUpperHalf {
			table[code] = string(r)
		}
	}
	return table
}

// upperHalf sets the codes from 128 to those of a character set.
func upperHalf(table *[256]string, label string) {
	codes := make([]byte, 0, 128)
	for code := 0x80; code <= 0xff; code++ {
		codes = append(codes, byte(code))
	}
	decoded, _, _ := charset.Decode(codes, "text/plain; charset="+label)
	for i, r := range []rune(string(decoded)) {
		table[(0x80+i)&0xff] = string(r)
	}
}

// standardUpperHalf is the upper half of StandardEncoding.
var standardUpperHalf = map[int]rune{
	0xA1: '¡', 0xA2: '¢', 0xA3: '£', 0xA4: '⁄', 0xA5: '¥', 0xA6: 'ƒ', 0xA7: '§', 0xA8: '¤', 0xA9: '\'', 0xAA: '“',
	0xAB: '«', 0xAC: '‹', 0xAD: '›', 0xAE: 'ﬁ', 0xAF: 'ﬂ', 0xB1: '–', 0xB2: '†', 0xB3: '‡', 0xB4: '·', 0xB6: '¶',
	0xB7: '•', 0xB8: '‚', 0xB9: '„', 0xBA: '”', 0xBB: '»', 0xBC: '…', 0xBD: '‰', 0xBF: '¿', 0xC1: '`', 0xC2: '´',
	0xC3: 'ˆ', 0xC4: '˜', 0xC5: '¯', 0xC6: '˘', 0xC7: '˙', 0xC8: '¨', 0xCA: '˚', 0xCB: '¸', 0xCD: '˝', 0xCE: '˛',
	0xCF: 'ˇ', 0xD0: '—', 0xE1: 'Æ', 0xE3: 'ª', 0xE8: 'Ł', 0xE9: 'Ø', 0xEA: 'Œ', 0xEB: 'º', 0xF1: 'æ', 0xF5: 'ı',
	0xF8: 'ł', 0xF9: 'ø', 0xFA: 'œ', 0xFB: 'ß',
}

// glyphText returns the text of a glyph name (Adobe Glyph List Specification 2): "A",
// "eacute", "f_i", "uni20AC", "u1F600", "a.swash". Unknown names have none.
func glyphText(name string) string {
	name, _, _ = strings.Cut(name, ".")
	var b strings.Builder
	for part := range strings.SplitSeq(name[:min(len(name), 64)], "_") {
		b.WriteString(glyphPart(part))
	}
	return b.String()
}

func glyphPart(name string) string {
	if len(name) == 1 && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z') {
		return name
	}
	if r, ok := glyphs[name]; ok {
		return r
	}
	if s, ok := accentedLetter(name); ok {
		return s
	}
	if base := sizeSuffix.ReplaceAllString(name, ""); base != name {
		return glyphs[base]
	}
	if hex, ok := strings.CutPrefix(name, "uni"); ok && len(hex)%4 == 0 {
		var units []uint16
		for ; len(hex) >= 4; hex = hex[4:] {
			v, err := strconv.ParseUint(hex[:4], 16, 16)
			if err != nil {
				return ""
			}
			units = append(units, uint16(v))
		}
		return string(utf16.Decode(units))
	}
	if hex, ok := strings.CutPrefix(name, "u"); ok && len(hex) >= 4 && len(hex) <= 6 {
		if v, err := strconv.ParseUint(hex, 16, 32); err == nil && v <= 0x10FFFF {
			return string(rune(v))
		}
	}
	return cyrillicLetter(name)
}

// sizeSuffix matches the end of names such as "parenleftbig".
var sizeSuffix = regexp.MustCompile(`(?:text|display|[bB]igg?|v)$`)

// decoderOf returns a decoder for the codes of a predefined map (ISO 32000-1 9.7.5.2), or
// nil for codes without a meaning.
func decoderOf(name string) func(string) string {
	switch {
	case strings.Contains(name, "-UCS2-"), strings.Contains(name, "-UTF16-"):
		return utf16Text
	}
	label := ""
	for part, l := range map[string]string{"GB": "gb18030", "B5": "big5", "RKSJ": "shift_jis", "KSC": "euc-kr"} {
		if strings.Contains(name, part) {
			label = l
		}
	}
	if label == "" {
		return nil
	}
	return func(s string) string {
		out, _, err := charset.Decode([]byte(s), "text/plain; charset="+label)
		if err != nil {
			return ""
		}
		return string(out)
	}
}
