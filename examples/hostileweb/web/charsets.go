package web

import (
	"strings"
	"unicode/utf16"

	"hce/dc/internal/wire/errormask"
)

const (
	russian  = "<!DOCTYPE html><title>Страница</title><p>Съешь ещё этих мягких французских булок, да выпей же чаю.</p>"
	halfUTF8 = "<!DOCTYPE html><title>Half</title><p>good \xc3\xa9, cut \xc3, lone \x80, surrogate \xed\xa0\x80, beyond \xf5\x80\x80\x80, long \xfc\x80\x80\x80\x80\x80.</p>"
)

// charsetTraps are pages with bytes that contradict their label. Readable text is not an error;
// undecodable bytes set bit 13.
func charsetTraps() []Trap {
	damaged := listMasks(errormask.BadEncoding)
	either := listMasks(0, errormask.BadEncoding)
	html := func(label string) string { return "text/html; charset=" + label }
	return []Trap{
		{Path: "/charset/broken-utf8", What: "UTF-8 with lone, cut and overlong bytes", Ends: damaged, serve: serveText(htmlUTF8, halfUTF8+strings.Repeat("é", 500))},
		{Path: "/charset/overlong", What: "tags in overlong UTF-8", Ends: damaged, serve: serveText(htmlUTF8, "<title>Overlong</title><p>\xc0\xbcscript\xc0\xbealert(1)\xc0\xbc/script\xc0\xbe"+strings.Repeat(" é", 500))},
		{Path: "/charset/utf-7", What: "tags in UTF-7, which no browser reads any more", Ends: damaged, serve: serveText(html("utf-7"), "<title>Seven</title><p>+ADw-script+AD4-alert(1)+ADw-/script+AD4-</p>")},
		{Path: "/charset/unknown", What: "a charset that does not exist", Ends: damaged, serve: serveText(html("x-klingon"), russian)},
		{Path: "/charset/giant-label", What: "a charset label of 10 KB", Ends: damaged, serve: serveText(html(strings.Repeat("x", 10_000)), russian)},
		{Path: "/charset/wrong", What: "UTF-8 that is said to be windows-1251", Ends: either, serve: serveText(html("windows-1251"), russian)},
		{Path: "/charset/wrong-too", What: "latin-1 that is said to be UTF-8", Ends: damaged, serve: serveText(htmlUTF8, "<title>Gr\xf6\xdfe</title><p>"+strings.Repeat("Gr\xf6\xdfe und \xdcbermut tun selten gut. ", 20))},
		{Path: "/charset/utf-16", What: "UTF-16 without a byte order mark and without a declaration", Ends: either, serve: serveText("text/html", encodeUTF16(russian))},
		{Path: "/charset/utf-16-odd", What: "UTF-16 with an odd number of bytes and half a pair", Ends: damaged, serve: serveText(html("utf-16le"), encodeUTF16(russian)+"\x00\xd8\x20")},
		{Path: "/charset/ascii-as-utf-16", What: "ASCII that is said to be UTF-16", Ends: either, serve: serveText(html("utf-16"), "<title>Narrow</title><p>Only one byte each.</p>")},
		{Path: "/charset/two-labels", What: "header and meta that disagree", Ends: either, serve: serveText(html("koi8-r"), `<meta charset="shift_jis"><meta charset="utf-32">`+russian)},
		{Path: "/charset/mark", What: "a UTF-8 mark, in a page that is said to be latin-1", serve: serveText(html("iso-8859-1"), "\ufeff"+russian)},
		{Path: "/charset/utf-32", What: "UTF-32, which is no charset of the web", Ends: either, serve: serveText(html("utf-32"), "\xff\xfe\x00\x00<\x00\x00\x00p\x00\x00\x00>\x00\x00\x00x\x00\x00\x00")},
		{Path: "/charset/iso-2022", What: "escapes that switch the charset and never switch back", Ends: either, serve: serveText(html("iso-2022-jp"), "<title>Escape</title><p>\x1b$B"+strings.Repeat("\x1b$B\x1b(J", 100_000)+"script")},
		{Path: "/charset/hz", What: "a charset that the web gave up because of attacks", Ends: either, serve: serveText(html("hz-gb-2312"), "<title>Tilde</title><p>~{<:Ky2;S{~}")},
		{Path: "/charset/gb18030-cut", What: "four-byte letters, each cut after the third", Ends: either, serve: serveText(html("gb18030"), "<title>Cut</title><p>"+strings.Repeat("\x81\x30\x81", 100_000))},
		{Path: "/charset/marks", What: "a million combining marks on one letter", serve: serveText(htmlUTF8, "<title>Zalgo</title><p>Z"+strings.Repeat("\u0301", 1_000_000))},
		{Path: "/charset/bidi", What: "text that turns its direction ten thousand times", serve: serveText(htmlUTF8, "<title>Turn</title><p>"+strings.Repeat("a\u202eb\u202c", 10_000))},
	}
}

// encodeUTF16 encodes s in UTF-16, little-endian.
func encodeUTF16(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		b.WriteByte(byte(u))
		b.WriteByte(byte(u >> 8))
	}
	return b.String()
}
