package pdf

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// texPrograms matches the programs that write fonts of TeX as pictures: Type 3, without a map.
var texPrograms = regexp.MustCompile(`(?i)tex|dvips`)

// leastText is the least number of small letters in a font for text. Others are for formulas.
const leastText = 8

// texEncoding returns the texts of a Type 3 font that TeX made. Its names are made of the codes, and its codes
// are those of the encodings OT1, T1 or TS1. It returns nil for other fonts.
func (d *document) texEncoding(dict types.Dict) *[256]string {
	codes, ok := d.numberedNames(dict)
	if !d.tex || !ok {
		return nil
	}
	small, first, upper := 0, false, false
	for code := range codes {
		switch {
		case code >= 'a' && code <= 'z':
			small++
		case code >= 11 && code <= 15:
			first = true
		case code >= 128:
			upper = true
		}
	}
	table := &[256]string{}
	switch {
	case small < leastText: // symbols
		for code := range codes {
			table[code&0xff] = ts1[code]
		}
	case d.hasOneWidth(dict): // a typewriter's
		fillTable(table, 0, "")
	case first || !upper && !codes[21] && !codes[27] && !codes[28] && !codes[30]:
		fillTable(table, 0, ot1Lower)
		fillTable(table, 123, "–—˝˜¨")
		fillTable(table, 92, "“")
		fillTable(table, 94, "ˆ˙")
		table['"'], table['<'], table['>'] = "”", "¡", "¿"
	default:
		fillTable(table, 0, t1Lower)
		fillTable(table, 127, t1Upper)
	}
	return table
}

// ts1 are the symbols of the encoding TS1 that programs take from fonts without letters.
var ts1 = map[int]string{
	36: "$", 39: "'", 42: "*", 96: "`", 136: "•", 151: "™", 167: "§", 169: "©", 174: "®", 176: "°", 177: "±", 181: "µ", 182: "¶", 183: "·", 191: "€",
}

const (
	ot1Lower = "ΓΔΘΛΞΠΣΥΦΨΩﬀﬁﬂﬃﬄıȷ`´ˇ˘¯˚¸ßæœøÆŒØ"
	t1Lower  = "`´ˆ˜¨˝˚ˇ˘¯˙¸˛‚‹›“”„«»–—\u200b₀ıȷﬀﬁﬂﬃﬄ"
	t1Upper  = "-ĂĄĆČĎĚĘĞĹĽŁŃŇŊŐŔŘŚŠŞŤŢŰŮŸŹŽŻĲİđ§ăąćčďěęğĺľłńňŋőŕřśšşťţűůÿźžżĳ¡¿£ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖŒØÙÚÛÜÝÞẞàáâãäåæçèéêëìíîïðñòóôõöœøùúûüýþß"
)

// fillTable sets the texts of codes from first on, and those of ASCII.
func fillTable(table *[256]string, first int, letters string) {
	for c := '!'; c <= '~' && first == 0; c++ {
		table[c] = string(c)
	}
	if first == 0 {
		table['\''], table['`'] = "’", "‘"
	}
	for i, r := range []rune(letters) {
		table[first+i] = string(r)
	}
}

// hasOneWidth reports whether all letters of a font with codes of one byte have one width.
func (d *document) hasOneWidth(dict types.Dict) bool {
	one := 0.0
	for _, o := range d.resolveArray(dict["Widths"]) {
		w, _ := d.resolveNumber(o)
		if one == 0 {
			one = w
		}
		if w != 0 && abs(w-one) > 0.01*one {
			return false
		}
	}
	return one > 0
}

// numberedNames returns the codes of a font whose glyphs have names such as "a65" or "x41" for the code 65.
func (d *document) numberedNames(dict types.Dict) (map[int]bool, bool) {
	codes := map[int]bool{}
	code := 0
	for _, o := range d.resolveArray(d.resolveDict(dict["Encoding"])["Differences"]) {
		switch o := d.resolveObject(o).(type) {
		case types.Integer:
			code = o.Value()
		case types.Name:
			if name := o.Value(); name == "a"+strconv.Itoa(code) || name == fmt.Sprintf("x%02X", code) {
				codes[code] = true
			} else if name != ".notdef" {
				return nil, false
			}
			code++
		}
	}
	return codes, len(codes) > 0 && d.resolveName(dict["Subtype"]) == "Type3"
}
