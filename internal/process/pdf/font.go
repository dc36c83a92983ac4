package pdf

import (
	"cmp"
	"regexp"
	"strings"

	corefont "github.com/pdfcpu/pdfcpu/pkg/font"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
	"golang.org/x/text/unicode/norm"

	"hce/dc/internal/process/symbolfont"
)

// font decodes the strings that a page shows (ISO 32000-1 9.5 to 9.10).
type font struct {
	name      string
	wide      bool                // codes have two bytes
	toUnicode *cmap               // the map of the file; may be nil
	table     *[256]string        // texts of codes of one byte, without a map; nil for wide
	decoder   func(string) string // for wide codes of a known character set
	widths    map[int]float64     // of codes, in thousandths of the size
	width     float64             // of other codes
	mono      bool                // all letters have one width
	pictures  bool                // glyphs are drawn by the file itself: Type 3
	glyphs    int                 // shown by the pages
	lost      int                 // glyphs without a text
}

// fontOf returns a font of the resources. It returns nil for a missing one.
func (d *document) fontOf(resources types.Dict, key string) *font {
	object := d.resolveDict(resources["Font"])[key]
	number := -1
	if ref, ok := object.(types.IndirectRef); ok {
		number = ref.ObjectNumber.Value()
		if f := d.fonts[number]; f != nil {
			return f
		}
	}
	dict := d.resolveDict(object)
	if dict == nil || !d.chargeBytes(0) {
		return nil
	}
	f := d.newFont(dict)
	if number >= 0 {
		d.fonts[number] = f
	}
	return f
}

func (d *document) newFont(dict types.Dict) *font {
	f := &font{name: d.resolveName(dict["BaseFont"]), widths: map[int]float64{}, mono: d.isMono(dict), pictures: d.resolveName(dict["Subtype"]) == "Type3"}
	d.all = append(d.all, f)
	if d.isStream(dict["ToUnicode"]) {
		f.toUnicode = d.readCmap(d.decodeStream(dict["ToUnicode"]))
	}
	if d.resolveName(dict["Subtype"]) == "Type0" {
		f.wide = true
		f.decoder = decoderOf(d.resolveName(dict["Encoding"]))
		if list := d.resolveArray(dict["DescendantFonts"]); len(list) > 0 {
			d.readWideWidths(f, d.resolveDict(list[0]))
		}
		return f
	}
	f.table = d.readEncoding(dict)
	d.readWidths(f, dict)
	return f
}

// isMono reports whether all letters of a font have one width (ISO 32000-1 table 123).
func (d *document) isMono(dict types.Dict) bool {
	if list := d.resolveArray(dict["DescendantFonts"]); len(list) > 0 {
		dict = d.resolveDict(list[0])
	}
	if codes, ok := d.numberedNames(dict); ok {
		return len(codes) > leastText && d.hasOneWidth(dict)
	}
	return d.resolveInteger(d.resolveDict(dict["FontDescriptor"])["Flags"])&1 != 0 || monoName.MatchString(d.resolveName(dict["BaseFont"]))
}

// monoName matches the names of fonts with letters of one width.
var monoName = regexp.MustCompile(`(?i)^(?:[A-Z]{6}\+)?(?:courier|cmtt|cmsltt|ectt|sftt|lmmono|.*mono(?:[^a-z]|$)|consolas|menlo)`)

// readWidths reads the widths of a font with codes of one byte.
func (d *document) readWidths(f *font, dict types.Dict) {
	unit := 1.0
	if m := d.resolveArray(dict["FontMatrix"]); len(m) == 6 && d.resolveName(dict["Subtype"]) == "Type3" {
		if v, _ := d.resolveNumber(m[0]); v > 0 {
			unit = v * 1000
		}
	}
	f.width, _ = d.resolveNumber(d.resolveDict(dict["FontDescriptor"])["MissingWidth"])
	first := d.resolveInteger(dict["FirstChar"])
	widths := d.resolveArray(dict["Widths"])
	for i, o := range widths[:min(len(widths), 256)] {
		w, _ := d.resolveNumber(o)
		f.widths[first+i] = w * unit
	}
	if len(widths) > 0 {
		return
	}
	f.width = 500
	base := d.resolveName(dict["BaseFont"])
	if !corefont.IsCoreFont(base) {
		return
	}
	for code, s := range f.table {
		for _, r := range s {
			if w, err := corefont.CharWidth(base, r); err == nil && w > 0 {
				f.widths[code] = float64(w)
			}
		}
	}
}

// readWideWidths reads the widths of a composite font (ISO 32000-1 9.7.4.3): [c [w w ...] c1 c2 w ...].
func (d *document) readWideWidths(f *font, dict types.Dict) {
	f.width = 1000
	if w, ok := d.resolveNumber(dict["DW"]); ok {
		f.width = w
	}
	list := d.resolveArray(dict["W"])
	for i := 0; i+1 < len(list) && len(f.widths) < maxFontCodes; {
		first := d.resolveInteger(list[i])
		if widths := d.resolveArray(list[i+1]); widths != nil {
			for k, o := range widths[:min(len(widths), maxFontCodes)] {
				f.widths[first+k], _ = d.resolveNumber(o)
			}
			i += 2
			continue
		}
		if i+2 >= len(list) {
			return
		}
		w, _ := d.resolveNumber(list[i+2])
		for code := max(first, 0); code <= min(d.resolveInteger(list[i+1]), maxFontCodes) && len(f.widths) < maxFontCodes; code++ {
			f.widths[code] = w
		}
		i += 3
	}
}

// nextCode returns the text of the first code of s, the bytes of the code, and its width in thousandths of
// the size.
func (f *font) nextCode(s string) (text string, bytes int, width float64) {
	bytes = f.codeLength(s)
	code := codeOf(s[:bytes])
	text = f.unicodeText(s[:bytes], code)
	if f.glyphs++; text == "" && code != 0 {
		f.lost++
	}
	return text, bytes, f.widthOf(code)
}

func (f *font) widthOf(code int) float64 {
	if w, ok := f.widths[code]; ok {
		return w
	}
	return f.width
}

// codeLength returns the bytes of the first code of s.
func (f *font) codeLength(s string) int {
	switch {
	case !f.wide:
		return 1
	case f.toUnicode != nil:
		return f.toUnicode.codeLength(s, min(2, len(s)))
	}
	return min(2, len(s))
}

// unicodeText returns the text of one code. It is empty if the font does not tell.
func (f *font) unicodeText(bytes string, code int) string {
	if f.toUnicode != nil {
		if s, ok := f.toUnicode.texts[code]; ok {
			return replaceSymbols(s, f.name)
		}
	}
	switch {
	case f.table != nil:
		return replaceSymbols(f.table[code&0xff], f.name)
	case f.decoder != nil:
		return f.decoder(bytes)
	}
	return ""
}

// bullets are letters of Symbol and Wingdings that begin the items of a list, for a font without a name.
var bullets = map[rune]string{0xF0B7: "•", 0xF0A7: "•", 0xF06E: "•", 0xF0D8: "•"}

// replaceSymbols replaces ligatures and other forms of letters by the letters, and characters of the
// private use area by what the font shows. Of other fonts than Symbol and Wingdings only bullets are known.
func replaceSymbols(s, font string) string {
	if len(s) == 0 || s[0] < 0xEE || s[0] > 0xEF {
		return s
	}
	if s >= "\uFB00" && s < "\uFE00" || s >= "\uFE70" && s < "\uFEFF" {
		return norm.NFKC.String(s)
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= 0xE000 && r <= 0xF8FF:
			b.WriteString(cmp.Or(symbolfont.Text(font, r), bullets[r]))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
