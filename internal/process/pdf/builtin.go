package pdf

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// builtInEncoding returns the texts of the codes that the program of an embedded font gives them by
// the names of its glyphs. It returns nil for other fonts.
func (d *document) builtInEncoding(descriptor types.Dict) *[256]string {
	var names map[int]string
	switch {
	case d.isStream(descriptor["FontFile"]):
		names = type1Names(d.decodeStream(descriptor["FontFile"]))
	case d.resolveName(d.resolveDict(descriptor["FontFile3"])["Subtype"]) == "Type1C":
		c := cff{data: d.decodeStream(descriptor["FontFile3"])}
		names = c.glyphEncoding()
	}
	if len(names) == 0 {
		return nil
	}
	table := &[256]string{}
	for code, name := range names {
		table[code&0xff] = glyphText(name)
	}
	return table
}

// type1Encoding matches an entry of the encoding in a Type 1 font.
var type1Encoding = regexp.MustCompile(`dup\s+([0-9]{1,3})\s*/([^\s/]{1,64})\s+put`)

// type1Names returns the names in the encoding of a Type 1 font (Adobe Type 1 Font Format 2.2).
func type1Names(program []byte) map[int]string {
	_, text, found := bytes.Cut(program, []byte("/Encoding"))
	if !found {
		return nil
	}
	text, _, _ = bytes.Cut(text, []byte("eexec"))
	names := map[int]string{}
	for _, m := range type1Encoding.FindAllSubmatch(text, 256) {
		code, _ := strconv.Atoi(string(m[1]))
		names[code] = string(m[2])
	}
	return names
}

// cff reads the encoding of a font in the Compact Font Format (Adobe Technical Note 5176).
type cff struct {
	data    []byte
	strings [][]byte
}

// glyphEncoding returns the names of the glyphs by their codes. It returns nil for the standard encodings and
// for broken fonts.
func (c *cff) glyphEncoding() map[int]string {
	if len(c.data) < 4 {
		return nil
	}
	_, next := c.readIndex(int(c.data[2]))
	tops, next := c.readIndex(next)
	if len(tops) == 0 {
		return nil
	}
	c.strings, _ = c.readIndex(next)
	top := topDict(tops[0])
	charStrings, _ := c.readIndex(top[17])
	if top[16] <= 1 || len(charStrings) == 0 {
		return nil
	}
	codes := c.readCodes(top[16])
	sids := c.readCharset(top[15], min(len(charStrings), len(codes)+1))
	names := map[int]string{}
	for i, code := range codes {
		if i+1 < len(sids) {
			names[code] = c.glyphName(sids[i+1])
		}
	}
	return names
}

func (c *cff) byteAt(at int) int {
	if at < 0 || at >= len(c.data) {
		return 0
	}
	return int(c.data[at])
}

func (c *cff) shortAt(at int) int { return c.byteAt(at)<<8 | c.byteAt(at+1) }

// readIndex returns the parts of the INDEX at a place, and where it ends.
func (c *cff) readIndex(at int) (parts [][]byte, end int) {
	count, size := c.shortAt(at), c.byteAt(at+2)
	if count == 0 || size < 1 || size > 4 || at+3+(count+1)*size > len(c.data) {
		return nil, at + 2
	}
	offset := func(i int) int {
		n := 0
		for k := range size {
			n = n<<8 | c.byteAt(at+3+i*size+k)
		}
		return n
	}
	base := at + 2 + (count+1)*size
	for i := range count {
		from, to := base+offset(i), base+offset(i+1)
		if from < 0 || to < from || to > len(c.data) {
			return nil, at + 2
		}
		parts = append(parts, c.data[from:to])
	}
	return parts, base + offset(count)
}

// topDict returns the last whole operand of each operator with one byte.
func topDict(data []byte) map[int]int {
	found := map[int]int{}
	operand := 0
	for i := 0; i < len(data); i++ {
		b := func(k int) int {
			if i+k < len(data) {
				return int(data[i+k])
			}
			return 0
		}
		switch v := b(0); {
		case v == 12:
			i++
		case v <= 21:
			found[v], operand = operand, 0
		case v == 28:
			operand = int(int16(b(1)<<8 | b(2)))
			i += 2
		case v == 29:
			operand = int(int32(uint32(b(1)<<24 | b(2)<<16 | b(3)<<8 | b(4))))
			i += 4
		case v == 30: // a real number
			for i++; i < len(data) && data[i]&0x0f != 0x0f; i++ {
			}
		case v >= 251:
			operand = -(v-251)*256 - b(1) - 108
			i++
		case v >= 247:
			operand = (v-247)*256 + b(1) + 108
			i++
		case v >= 32:
			operand = v - 139
		}
	}
	return found
}

// readCodes returns the codes of the glyphs from 1 on.
func (c *cff) readCodes(at int) []int {
	var codes []int
	switch n := c.byteAt(at + 1); c.byteAt(at) & 0x7f {
	case 0:
		for i := range n {
			codes = append(codes, c.byteAt(at+2+i))
		}
	case 1:
		for i := range n {
			first := c.byteAt(at + 2 + 2*i)
			for k := range c.byteAt(at+3+2*i) + 1 {
				codes = append(codes, first+k)
			}
		}
	}
	return codes
}

// readCharset returns the numbers of the names of the first glyphs.
func (c *cff) readCharset(at, count int) []int {
	sids := make([]int, 1, count)
	switch {
	case at <= 2: // ISOAdobe, or one for experts
		for len(sids) < count {
			sids = append(sids, len(sids))
		}
	case c.byteAt(at) == 0:
		for len(sids) < count {
			sids = append(sids, c.shortAt(at+2*len(sids)-1))
		}
	default:
		width := min(c.byteAt(at), 2) + 2
		for at++; len(sids) < count && at < len(c.data); at += width {
			left := c.byteAt(at + 2)
			if width == 4 {
				left = c.shortAt(at + 2)
			}
			for k := 0; k <= left && len(sids) < count; k++ {
				sids = append(sids, c.shortAt(at)+k)
			}
		}
	}
	return sids
}

const (
	standardStrings = 391 // of the format; the numbers of the font's own follow
	// latinStrings are the standard strings from 150 on.
	latinStrings = "¹¬µ™Ð½±Þ¼÷¦°þ¾²®−ð×³©ÁÂÄÀÅÃÇÉÊËÈÍÎÏÌÑÓÔÖÒÕŠÚÛÜÙÝŸŽáâäàåãçéêëèíîïìñóôöòõšúûüùýÿž"
)

// glyphName returns the name of a glyph, or "uniXXXX" for a standard string.
func (c *cff) glyphName(sid int) string {
	if sid >= standardStrings {
		if i := sid - standardStrings; i < len(c.strings) {
			return string(c.strings[i])
		}
		return ""
	}
	latin := []rune(latinStrings)
	switch upper := []rune(upperStrings()); {
	case sid == 8:
		return "quoteright"
	case sid == 65:
		return "quoteleft"
	case sid >= 1 && sid <= 95:
		return uniName(rune(sid + 31))
	case sid >= 96 && sid < 96+len(upper):
		return uniName(upper[sid-96])
	case sid >= 150 && sid < 150+len(latin):
		return uniName(latin[sid-150])
	case sid == 266:
		return "ff"
	case sid == 267:
		return "ffi"
	case sid == 268:
		return "ffl"
	}
	return ""
}

// upperStrings are the standard strings from 96 on: the upper half of StandardEncoding.
func upperStrings() string {
	var b strings.Builder
	for code := 0xA1; code <= 0xFB; code++ {
		if r, ok := standardUpperHalf[code]; ok {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func uniName(r rune) string {
	return "u" + strings.ToUpper(strconv.FormatInt(int64(r)|0x10000, 16))[1:]
}
