package pdf

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hce/dc/internal/process/document/documenttest"
)

// An accent that is drawn above a letter, as with fonts of LaTeX, is one letter with it.
func TestAccents(t *testing.T) {
	const font = "/Subtype/Type1/Encoding<</Differences[1/dieresis/acute/cedilla/dotlessi/ring 128/fi]>>/FirstChar 1/Widths[500 500 500 300 500]" +
		"/FontDescriptor<</MissingWidth 500>>"
	tests := []struct{ name, content, want string }{
		{"before the letter", `[(J\001) 500 (org)] TJ`, "Jörg"},
		{"between two arrays", `[(caf) 27 (\002)] TJ [473 (e.)] TJ`, "café."},
		{"behind the letter", `[(c) 500 (\003a)] TJ`, "ça"},
		{"on a dotless letter", `[(na\001) 400 (\004ve)] TJ`, "naïve"},
		{"above a capital", `0 2.5 Td (\005) Tj 0 -2.5 Td (Asa) Tj`, "Åsa"},
		{"on the side", `(e\002a) Tj`, "e´a"},
		{"alone", `(\001) Tj`, "¨"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := bodyOf(t, onPage("BT /F1 12 Tf 72 700 Td "+tt.content+" ET", font)); got != "<p>"+tt.want+"</p>" {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// grid returns the operators that show texts at places.
func grid(places ...any) string {
	var b strings.Builder
	for i := 0; i+2 < len(places); i += 3 {
		fmt.Fprintf(&b, "1 0 0 1 %v %v Tm (%v) Tj ", places[i], places[i+1], places[i+2])
	}
	return b.String()
}

func TestTables(t *testing.T) {
	const left, right = "the moon pulls the sea twice a day and", "The harbour follows it with its boats,"
	var columns []any
	for i := range 5 {
		columns = append(columns, 72, 700-12*i, left, 330, 700-12*i, right)
	}
	join := func(text string, n int) string { return strings.TrimSpace(strings.Repeat(text+" ", n)) }
	tests := []struct{ name, content, want string }{
		{"rows", grid(72, 700, "Place", 200, 700, "Height", 72, 686, "Dover", 200, 686, "6.8"),
			"<table><tr><th>Place</th><th>Height</th></tr><tr><td>Dover</td><td>6.8</td></tr></table>"},
		{"empty cell", grid(72, 700, "Place", 200, 700, "Height", 300, 700, "Year", 72, 686, "Dover", 300, 686, "2024", 72, 672, "Hull", 200, 672, "7.1"),
			"<table><tr><th>Place</th><th>Height</th><th>Year</th></tr><tr><td>Dover</td><td></td><td>2024</td></tr><tr><td>Hull</td><td>7.1</td><td></td></tr></table>"},
		{"cell of two lines", grid(72, 700, "Place", 200, 700, "Of", 72, 680, "Dover", 200, 680, "the Chan-", 200, 668, "nel", 72, 648, "Hull", 200, 648, "x"),
			"<table><tr><th>Place</th><th>Of</th></tr><tr><td>Dover</td><td>the Channel</td></tr><tr><td>Hull</td><td>x</td></tr></table>"},
		{"numbers at their right side", grid(72, 700, "Dover", 200, 700, "6.8", 72, 686, "Hull", 190, 686, "17.1"),
			"<table><tr><th>Dover</th><th>6.8</th></tr><tr><td>Hull</td><td>17.1</td></tr></table>"},
		{"text behind a table", grid(72, 700, "Place", 200, 700, "Height", 72, 686, "Dover", 200, 686, "6.8", 72, 640, "The moon pulls the sea twice a day."),
			"<table><tr><th>Place</th><th>Height</th></tr><tr><td>Dover</td><td>6.8</td></tr></table><p>The moon pulls the sea twice a day.</p>"},
		{"one row", grid(72, 700, "Dover", 300, 700, "17 May"), "<p>Dover 17 May</p>"},
		{"cells one below the other", grid(72, 700, "Dover", 72, 688, "Hull", 300, 700, "six", 300, 688, "seven"), "<p>Dover Hull</p><p>six seven</p>"},
		{"items", grid(72, 700, "1.", 100, 700, "Ice", 72, 686, "2.", 100, 686, "Boats"), "<p>1. Ice</p><p>2. Boats</p>"},
		{"list of contents", grid(72, 700, "1 Ice . . . . . . . 5", 72, 688, "2 Boats . . . . . . . 17"), "<p>1 Ice 5</p><p>2 Boats 17</p>"},
		{"columns drawn line by line", grid(columns...), "<p>" + join(left, 5) + "</p><p>" + join(right, 5) + "</p>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := bodyOf(t, onPage("BT /F1 12 Tf "+tt.content+" ET", helvetica))
			if got = strings.ReplaceAll(got, "\n", ""); got != tt.want {
				t.Errorf(" got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Lines of letters of one width are code with its line breaks and its indentation, unless the whole
// document is typewritten.
func TestCode(t *testing.T) {
	const font = "/Subtype/Type1/BaseFont/Courier"
	text := grid(72, 700, "if x", 86, 686, "return y") + "0 -42 Td "
	prose := "/F2 12 Tf (The moon pulls the sea twice a day, and the harbour follows.) Tj"
	if got := bodyOf(t, onPage("BT /F1 12 Tf "+text+" ET", font)); got != "<p>if x return y</p>" {
		t.Errorf("a typewritten document: %s", got)
	}
	f := documenttest.NewFile()
	f.Add(1, "<</Type/Catalog/Pages 2 0 R>>")
	f.Add(2, "<</Type/Pages/Count 1/Kids[10 0 R]>>")
	f.Add(10, "<</Type/Page/Resources<</Font<</F1<</Type/Font"+font+">>/F2<</Type/Font"+helvetica+">>>>>>/Contents 11 0 R>>")
	f.AddStream(11, "", "BT /F1 12 Tf "+text+prose+" ET")
	if got := bodyOf(t, f.Bytes()); got != "<pre>if x\n  return y</pre>\n<p>The moon pulls the sea twice a day, and the harbour follows.</p>" {
		t.Errorf("got %s", got)
	}
}

// Headers, footers and numbers of pages are no text.
func TestMargins(t *testing.T) {
	page := func(lines ...any) string { return grid(lines...) }
	tests := []struct {
		name  string
		pages []string
		want  string
	}{
		{"header and number", []string{
			page(72, 800, "Tides", 72, 700, "One moon", 300, 40, "1"), page(72, 800, "Tides", 72, 700, "Two boats", 300, 40, "2"),
		}, "<p>One moon</p><p>Two boats</p>"},
		{"left and right pages", []string{
			page(72, 800, "1", 300, 800, "Tides", 72, 700, "One"), page(72, 800, "Ann Bell", 300, 800, "2", 72, 700, "Two"),
			page(72, 800, "3", 300, 800, "Tides", 72, 700, "Three"), page(72, 800, "Ann Bell", 300, 800, "4", 72, 700, "Four"),
		}, "<p>One</p><p>Two</p><p>Three</p><p>Four</p>"},
		{"headers of short chapters", []string{
			page(72, 800, "Ice 11", 72, 700, "One"), page(72, 800, "Moon 12", 72, 700, "Two"), page(72, 800, "Sea 13", 72, 700, "Three"),
		}, "<p>One</p><p>Two</p><p>Three</p>"},
		{"the same text in the middle", []string{
			page(72, 700, "One", 72, 687, "Note", 72, 600, "Two"), page(72, 700, "Three", 72, 687, "Note", 72, 600, "Four"),
		}, "<p>One Note</p><p>Two</p><p>Three Note</p><p>Four</p>"},
		{"pages with nothing else", []string{page(72, 700, "Tides"), page(72, 700, "Tides")}, "<p>Tides</p><p>Tides</p>"},
		{"different first lines", []string{page(72, 800, "Ice", 72, 700, "One"), page(72, 800, "Sea", 72, 700, "Two")}, "<p>Ice</p><p>One</p><p>Sea</p><p>Two</p>"},
		{"a word cut by a page", []string{
			page(72, 800, "Tides", 72, 700, "The moon pulls the sea twice a day,", 72, 688, "and then all of the boats and the har-", 300, 40, "1"),
			page(72, 800, "Tides", 72, 700, "bour follow.", 300, 40, "2"),
		}, "<p>The moon pulls the sea twice a day, and then all of the boats and the harbour follow.</p>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := documenttest.NewFile()
			f.Add(1, "<</Type/Catalog/Pages 2 0 R>>")
			f.Add(3, "<</Type/Font"+helvetica+">>")
			var kids strings.Builder
			for i, content := range tt.pages {
				fmt.Fprintf(&kids, "%d 0 R ", 10+2*i)
				f.Add(10+2*i, fmt.Sprintf("<</Type/Page/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>", 11+2*i))
				f.AddStream(11+2*i, "", "BT /F1 12 Tf "+content+" ET")
			}
			f.Add(2, fmt.Sprintf("<</Type/Pages/Count %d/Kids[%s]>>", len(tt.pages), kids.String()))
			if got := strings.ReplaceAll(bodyOf(t, f.Bytes()), "\n", ""); got != tt.want {
				t.Errorf(" got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// The program of an embedded font names its glyphs.
func TestBuiltInEncodings(t *testing.T) {
	type1 := "%!PS-AdobeFont-1.0\n/Encoding 256 array\n0 1 255 {1 index exch /.notdef put} for\ndup 12 /fi put\ndup 14 /ffi put\ndup 65 /A put\nreadonly def\ncurrentfile eexec"
	for name, tt := range map[string]struct{ descriptor, program string }{
		"Type 1":  {"/FontFile 20 0 R", type1},
		"compact": {"/FontFile3 20 0 R", string(compactFont())},
	} {
		t.Run(name, func(t *testing.T) {
			subtype := ""
			if name == "compact" {
				subtype = "/Subtype/Type1C"
			}
			object := fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", subtype, len(tt.program), tt.program)
			file := onPage(`BT /F1 12 Tf 72 700 Td (A\014\016) Tj ET`, "/Subtype/Type1/BaseFont/ABCDEF+X/FontDescriptor<<"+tt.descriptor+">>", object)
			if got := bodyOf(t, file); got != "<p>Afiffi</p>" {
				t.Errorf("got %s", got)
			}
		})
	}
}

// compactFont returns the tables of a font whose glyphs are A, fi and ffi, with the codes 65, 12 and 14.
func compactFont() []byte {
	font := []byte{1, 0, 4, 1}
	index := func(parts ...string) {
		font = append(font, 0, byte(len(parts)), 1, 1)
		at := 1
		for _, part := range parts {
			at += len(part)
			font = append(font, byte(at))
		}
		font = append(font, strings.Join(parts, "")...)
	}
	offset := func(n int) string { return string([]byte{28, 0, byte(n)}) }
	build := func(charset, encoding, glyphs int) {
		font = font[:4]
		index("X")
		index(offset(charset) + "\x0f" + offset(encoding) + "\x10" + offset(glyphs) + "\x11")
		index("fi")
		font = append(font, 0, 0) // no subroutines
	}
	build(0, 0, 0)
	charset := len(font)
	encoding := charset + 7
	build(charset, encoding, encoding+5)
	font = append(font, 0, 0, 34, 391>>8, 391&0xff, 267>>8, 267&0xff) // A, the font's own string, ffi
	font = append(font, 0, 3, 65, 12, 14)
	index("", "", "", "")
	return font
}

// Letters without a text are no silent loss.
func TestLostText(t *testing.T) {
	type3 := "/Subtype/Type3/FontMatrix[0.01 0 0 0.01 0 0]/FirstChar 0/Widths[50 50 50 50]/CharProcs<<>>/Encoding<</Differences[1/g7/g8/g9]>>"
	f := documenttest.NewFile()
	f.Add(1, "<</Type/Catalog/Pages 2 0 R>>")
	f.Add(2, "<</Type/Pages/Count 1/Kids[10 0 R]>>")
	f.Add(10, "<</Type/Page/Resources<</Font<</F1<</Type/Font"+type3+">>/F2<</Type/Font"+helvetica+">>>>>>/Contents 11 0 R>>")
	f.AddStream(11, "", `BT /F1 12 Tf 72 700 Td (\001\002\003) Tj /F2 12 Tf 0 -30 Td (The moon) Tj ET`)
	page, err := Read(f.Bytes())
	if !errors.Is(err, ErrLostText) || !strings.Contains(err.Error(), "3 of 11 letters") || page == nil || !strings.Contains(string(page.HTML()), "<p>The moon</p>") {
		t.Errorf("%v, error %v", page, err)
	}
}

// Type 3 fonts of TeX have names made of their codes.
func TestFontsOfTeX(t *testing.T) {
	names := func(codes ...int) string {
		var b strings.Builder
		for _, code := range codes {
			fmt.Fprintf(&b, "%d/a%d ", code, code)
		}
		return b.String()
	}
	letters := names('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i')
	for _, tt := range []struct{ name, producer, names, text, want string }{
		{"OT1", "pdfTeX-1.40", letters + names(12, 123), `(a\014b{c)`, "afib–c"},
		{"T1", "pdfTeX-1.40", letters + names(28, 232), `(a\034b\350)`, "afibè"},
		{"another program", "Maker", letters, "(abc)", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := documenttest.NewFile()
			f.Add(1, "<</Type/Catalog/Pages 2 0 R>>")
			f.Add(2, "<</Type/Pages/Count 1/Kids[10 0 R]>>")
			f.Add(3, "<</Type/Font/Subtype/Type3/FontMatrix[0.01 0 0 0.01 0 0]/Encoding<</Differences["+tt.names+"]>>/FirstChar 97/Widths[50 60]>>")
			f.Add(4, "<</Producer("+tt.producer+")>>")
			f.Add(10, "<</Type/Page/Resources<</Font<</F1 3 0 R>>>>/Contents 11 0 R>>")
			f.AddStream(11, "", "BT /F1 12 Tf 72 700 Td "+tt.text+" Tj ET")
			page, err := Read(f.Bytes())
			if tt.want == "" {
				if !errors.Is(err, ErrNoText) {
					t.Errorf("error %v", err)
				}
			} else if err != nil || !strings.Contains(string(page.HTML()), "<p>"+tt.want+"</p>") {
				t.Errorf("%v, %s", err, page.HTML())
			}
		})
	}
}
