package pdf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/process/document/documenttest"
)

// bodyOf returns the paragraphs and headings of a file, one a line.
func bodyOf(t *testing.T, file []byte) string {
	t.Helper()
	page, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(page.HTML()), "<body>\n")
	body, _, _ = strings.Cut(body, "</body>")
	return strings.TrimSpace(body)
}

// onPage returns a file with one page, whose font F1 has the entries of its dictionary. objects
// are further objects, from number 20 on.
func onPage(content, font string, objects ...string) []byte {
	f := documenttest.NewFile()
	f.Add(1, "<</Type/Catalog/Pages 2 0 R>>")
	f.Add(2, "<</Type/Pages/Count 1/Kids[10 0 R]>>")
	f.Add(3, "<</Type/Font"+font+">>")
	f.Add(10, "<</Type/Page/Parent 2 0 R/Resources<</Font<</F1 3 0 R>>/XObject<</X 20 0 R>>>>/Contents 11 0 R/Annots[21 0 R 22 0 R]>>")
	f.AddStream(11, "", content)
	for i, o := range objects {
		f.Add(20+i, o)
	}
	return f.Bytes()
}

const helvetica = "/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding"

func TestLayout(t *testing.T) {
	tests := []struct{ name, content, want string }{
		{"lines of a paragraph", "12 TL 72 700 Td (The moon) Tj T* (pulls the sea.) Tj", "<p>The moon pulls the sea.</p>"},
		{"next-line operators", "12 TL 72 700 Td (The moon) Tj (pulls) ' 0 0 (the sea.) \"", "<p>The moon pulls the sea.</p>"},
		{"paragraphs by distance", "72 700 Td (One) Tj 0 -12 Td (one) Tj 0 -30 Td (Two) Tj", "<p>One one</p>\n<p>Two</p>"},
		{"paragraphs by indentation", "72 700 Td (One) Tj 0 -12 Td (one) Tj 15 -12 Td (Two) Tj -15 -12 Td (two) Tj", "<p>One one</p>\n<p>Two two</p>"},
		{"columns", "72 700 Td (One) Tj 0 -12 Td (one) Tj 200 12 Td (Two) Tj 0 -12 Td (two) Tj", "<p>One one</p>\n<p>Two two</p>"},
		{"hyphen", "72 700 Td (The har-) Tj 0 -12 Td (bour) Tj", "<p>The harbour</p>"},
		{"hyphen of a compound", "72 700 Td (The Jean-) Tj 0 -12 Td (Luc) Tj", "<p>The Jean-Luc</p>"},
		{"hyphen of an address", "72 700 Td (http://a.example/old-) Tj 0 -12 Td (harbour) Tj", "<p>http://a.example/old-harbour</p>"},
		{"hyphen of an abbreviation", "72 700 Td (COVID-) Tj 0 -12 Td (19) Tj", "<p>COVID-19</p>"},
		{"hyphen that is a word's elsewhere", "72 700 Td (A well-known well-) Tj 0 -12 Td (known) Tj", "<p>A well-known well-known</p>"},
		{"hyphens of a compound", "72 700 Td (state-of-the-) Tj 0 -12 Td (art) Tj", "<p>state-of-the-art</p>"},
		{"hyphen before and", "72 700 Td (pre-) Tj 0 -12 Td (and post-war) Tj", "<p>pre- and post-war</p>"},
		{"range of years", "72 700 Td (2020\\226) Tj 0 -12 Td (2024) Tj", "<p>2020–2024</p>"},
		{"soft hyphen", "72 700 Td (har\\255bour of Har\\255) Tj 0 -12 Td (wich) Tj", "<p>harbour of Harwich</p>"},
		{"minus", "72 700 Td (2024-) Tj 0 -12 Td (05) Tj", "<p>2024-05</p>"},
		{"space by position", "72 700 Td (The) Tj 30 0 Td (moon) Tj", "<p>The moon</p>"},
		{"space in an array", "72 700 Td [(The) -300 (mo) 20 (on)] TJ", "<p>The moon</p>"},
		{"space by the distance of letters", "72 700 Td [(Th) 0 (e)] TJ 4 Tc (e) Tj 0 Tc (moon) Tj", "<p>Thee moon</p>"},
		{"space that is not visible", "72 700 Td -3.3 Tw (mo on) Tj", "<p>moon</p>"},
		{"raised letter", "72 700 Td (day) Tj 7 Ts /F1 7 Tf (2) Tj 0 Ts /F1 12 Tf ( and) Tj", "<p>day<sup>2</sup> and</p>"},
		{"exponent", "72 700 Td (10) Tj /F1 8 Tf 14 5 Td (6) Tj /F1 12 Tf 5 -5 Td ( boats) Tj", "<p>10<sup>6</sup> boats</p>"},
		{"index", "72 700 Td (H) Tj /F1 8 Tf 9 -2 Td (2) Tj /F1 12 Tf 5 2 Td (O) Tj", "<p>H<sub>2</sub>O</p>"},
		{"mark of a footnote", "/F1 8 Tf 72 704 Td (1) Tj /F1 12 Tf 5 -4 Td (Ice) Tj", "<p><sup>1</sup>Ice</p>"},
		{"text drawn twice", "72 700 Td (Bold) Tj 0.3 0 Td (Bold) Tj", "<p>Bold</p>"},
		{"tracked letters", "72 700 Td 4 Tc (TIDES) Tj", "<p>TIDES</p>"},
		{"larger line", "72 740 Td /F1 20 Tf (Tides) Tj /F1 12 Tf 0 -30 Td (The moon pulls the sea.) Tj", "<h1>Tides</h1>\n<p>The moon pulls the sea.</p>"},
		{"turned page", "0 1 -1 0 300 72 Tm (The) Tj 0 1 -1 0 312 72 Tm (moon) Tj", "<p>The moon</p>"},
		{"scaled letters", "ET 0.1 0 0 0.1 0 0 cm BT /F1 120 Tf 720 7000 Td (The) Tj 0 -130 Td (moon) Tj", "<p>The moon</p>"},
		{"graphics state", "ET q 2 0 0 2 0 0 cm Q BT 72 700 Td (The moon) Tj", "<p>The moon</p>"},
		{"escapes", `72 700 Td (\(a\) \101\\ b\
c) Tj <20 64 6> Tj`, `<p>(a) A\ bc d` + "`</p>"},
		{"inline image", "72 700 Td (a) Tj BI /W 1 ID (xx EIx) EI\n(b) Tj", "<p>ab</p>"},
		{"marked content", "72 700 Td /Span <</ActualText (x) /A [1 2]>> BDC (a) Tj (b) Tj EMC (c) Tj", "<p>xc</p>"},
		{"nested marked content", "72 700 Td /P BMC /Span <</ActualText <FEFF0416>>> BDC /P BMC (a) Tj EMC (b) Tj EMC (c) Tj EMC (d) Tj EMC EMC (e) Tj", "<p>Жcde</p>"},
		{"bullets", "72 700 Td (\\225 One) Tj 10 -12 Td (one) Tj -10 -12 Td (\\225 Two) Tj 0 -12 Td (1. Three) Tj", "<ul>\n<li>One one</li>\n<li>Two</li>\n</ul>\n<p>1. Three</p>"},
		{"short lines", "72 700 Td (A line that is as wide as its column, and) Tj 0 -12 Td (goes on) Tj 0 -12 Td (Short) Tj 0 -12 Td (Lines) Tj", "<p>A line that is as wide as its column, and goes on</p>\n<p>Short</p>\n<p>Lines</p>"},
		{"comment", "72 700 Td % (no) Tj\n(a) Tj", "<p>a</p>"},
		{"mark-up", "72 700 Td (<b>&) Tj", "<p>&lt;b&gt;&amp;</p>"},
		{"broken operators", "72 700 Td ) > } Tf Tj [ TJ (a) Tj 1 2 3 4 5 cm Q Q", "<p>a</p>"},
		{"huge numbers", "1e300 1e300 Td (a) Tj 99999999999999999999 0 Td (b) Tj", "<p>ab</p>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := bodyOf(t, onPage("BT /F1 12 Tf "+tt.content+" ET", helvetica)); got != tt.want {
				t.Errorf(" got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Letters from right to left are put in their order of reading, whether a line draws them as one
// string, or one by one from either side.
func TestDirection(t *testing.T) {
	const font = helvetica + "/ToUnicode 20 0 R" // א ב ג, lam with alef, م
	chars := stream("5 beginbfchar <61> <05D0> <62> <05D1> <63> <05D2> <64> <06440627> <65> <FEE2> endbfchar")
	tests := []struct{ name, content, want string }{
		{"one string", "(cba X 21 a) Tj", "א X 21 אבג"},
		{"word in another script", "(Moon a ba) Tj", "Moon אב א"},
		{"brackets", "(\\(cb\\) a) Tj", "א (בג)"},
		{"number with separators", "(c 12:30, 1.5 a) Tj", "א 1.5 ,12:30 ג"},
		{"letters from the right without gaps", "[(a) 1112 (b) 1112 (c)] TJ", "אבג"},
		{"numbers", "(c 12 ba) Tj", "אב 12 ג"},
		{"letters from the left", "(c) Tj (b) Tj (a) Tj", "אבג"},
		{"words from the right", "100 0 Td (ba) Tj -60 0 Td (c) Tj", "אב ג"},
		{"ligature", "(ed) Tj", "لام"},
		{"actual text", "/Span <</ActualText <FEFF05D005D1>>> BDC (cc) Tj EMC", "אב"},
		{"two lines", "(ba) Tj 0 -12 Td (c) Tj", "אב ג"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := bodyOf(t, onPage("BT /F1 12 Tf 72 700 Td "+tt.content+" ET", font, chars)); got != "<p>"+tt.want+"</p>" {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func stream(text string) string {
	return fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(text), text)
}

func TestFonts(t *testing.T) {
	wide := "/Subtype/Type0/Encoding/Identity-H/DescendantFonts[<</Subtype/CIDFontType2/DW 1000/W[1[500 500] 3 9 400]>>]"
	tests := []struct {
		name, font, text string
		objects          []string
		want             string
	}{
		{"WinAnsi", helvetica, `(caf\351 \223x\224 \200)`, nil, "café “x” €"},
		{"MacRoman", "/Subtype/TrueType/Encoding/MacRomanEncoding", `(caf\216)`, nil, "café"},
		{"standard", "/Subtype/Type1/BaseFont/Times-Roman", `('\256\341)`, nil, "’fiÆ"},
		{"differences", "/Subtype/Type1/Encoding<</Differences[1/Eacute/f_i/uni20AC/u1F600/afii10017/afii10097/Lslash/a.alt 65/alphatonos/nonsense]>>",
			`(\001\002\003\004\005\006\007\010AB)`, nil, "Éfi€😀АяŁaά"},
		{"Symbol", "/Subtype/Type1/BaseFont/Symbol", `(abW\267)`, nil, "αβΩ•"},
		{"dingbats", "/Subtype/Type1/BaseFont/ZapfDingbats", `(ab)`, nil, ""},
		{"map", helvetica + "/ToUnicode 20 0 R", `(ABCDEz)`, []string{stream("1 beginbfchar <41> <00660069> endbfchar 2 beginbfrange <42> <43> <0430> <44> <45> [<0031> <D83DDE00>] endbfrange")}, "fiаб1😀z"},
		{"map of two bytes for codes of one", helvetica + "/ToUnicode 20 0 R", `(A)`, []string{stream("1 begincodespacerange <0000> <FFFF> endcodespacerange 1 beginbfchar <0041> <0416> endbfchar")}, "Ж"},
		{"Symbol of Word", "/Subtype/TrueType/BaseFont/ABCDEF+SymbolMT/ToUnicode 20 0 R", `(AB)`, []string{stream("2 beginbfchar <41> <F061> <42> <F0A3> endbfchar")}, "α≤"},
		{"Symbol, upper half", "/Subtype/Type1/BaseFont/Symbol", `(\243\271)`, nil, "≤≠"},
		{"private use", helvetica + "/ToUnicode 20 0 R", `(AB)`, []string{stream("2 beginbfchar <41> <F0B7> <42> <E001> endbfchar")}, "•"},
		{"wide", wide + "/ToUnicode 20 0 R", "<000100020009>", []string{stream("1 begincodespacerange <0000> <FFFF> endcodespacerange 1 beginbfrange <0001> <0009> <0410> endbfrange")}, "АБИ"},
		{"wide without a map", wide, "<00010002>", nil, ""},
		{"wide, UTF-16", strings.Replace(wide, "Identity-H", "UniJIS-UTF16-H", 1), "<65E5672C>", nil, "日本"},
		{"wide, GBK", strings.Replace(wide, "Identity-H", "GBK-EUC-H", 1), "<C4E3BAC3>", nil, "你好"},
		{"broken map", helvetica + "/ToUnicode 20 0 R", "(A)", []string{stream("<< endbfrange <41> <41> endbfrange <41> endbfchar [ endbfrange <41><40><0041> endbfrange")}, "A"},
		{"no font", "", "(A)", nil, "A"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := onPage("BT /F1 12 Tf 72 700 Td "+tt.text+" Tj ET", tt.font, tt.objects...)
			if tt.want == "" {
				if _, err := Read(file); !errors.Is(err, ErrNoText) {
					t.Errorf("error %v", err)
				}
			} else if got := bodyOf(t, file); got != "<p>"+tt.want+"</p>" {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// A page has the texts of its forms, and its links.
func TestFormsAndLinks(t *testing.T) {
	file := onPage("BT /F1 12 Tf 72 700 Td (Before) Tj ET q 1 0 0 1 0 -12 cm /X Do Q", helvetica,
		"<</Type/XObject/Subtype/Form/Matrix[1 0 0 1 72 0]/Length 42>>\nstream\nBT /F1 12 Tf 0 700 Td (in a form) Tj ET    \nendstream",
		"<</Subtype/Link/A<</S/URI/URI(http://tables.example/?a=1&b=2)>>>>", "<</Subtype/Link/A<</S/URI/URI(javascript:x)>>>>")
	want := `<area href="http://tables.example/?a=1&amp;b=2"><p>Before in a form</p>`
	if got := bodyOf(t, file); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestMetadata(t *testing.T) {
	f := documenttest.NewFile()
	f.Add(1, "<</Type/Catalog/Pages 2 0 R/Metadata 5 0 R>>")
	f.Add(2, "<</Type/Pages/Count 1/Kids[10 0 R]>>")
	f.Add(4, "<</Title(untitled.doc)/CreationDate(yesterday)/ModDate(D:20240601)>>")
	f.Add(5, stream(`<x:xmpmeta><rdf:RDF><rdf:Description xmp:CreateDate="2024-05-17T10:11:12+02:00"><dc:title><rdf:Alt><rdf:li>Tides</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>Ann Bell</rdf:li><rdf:li>Carl Dorn</rdf:li></rdf:Seq></dc:creator><dc:subject><rdf:Bag><rdf:li>sea</rdf:li><rdf:li>moon</rdf:li></rdf:Bag></dc:subject>
<dc:language><rdf:Bag><rdf:li>en</rdf:li></rdf:Bag></dc:language><dc:description><rdf:Alt><rdf:li>How the moon pulls</rdf:li></rdf:Alt></dc:description></rdf:Description></rdf:RDF></x:xmpmeta>`))
	f.Add(10, "<</Type/Page>>")
	page, err := Read(f.Bytes())
	if !errors.Is(err, ErrNoText) || page.Title != "Tides" || page.Author != "Ann Bell; Carl Dorn" || page.Keywords != "sea; moon" || page.Language != "en" ||
		page.Description != "How the moon pulls" || page.Created.String() != "2024-05-17T10:11:12+02:00" || page.Modified.String() != "2024-06-01" {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestParseDate(t *testing.T) {
	for text, want := range map[string]string{
		"D:20240517101112+02'00'": "2024-05-17T10:11:12+02:00", "D:20240517101112-0330": "2024-05-17T10:11:12-03:30", "20240517101112Z": "2024-05-17T10:11:12Z",
		"D:20240517101112": "2024-05-17T10:11:12", "D:202405171011": "2024-05-17T10:11:00", "D:20240517": "2024-05-17", "D:202405": "2024-05", "D:2024": "", "D:20241317": "", "": "", "D:19700101000000Z": "", "D:00010101": "", "soon": "",
	} {
		if got := parseDate(text).String(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Files of other programs: encrypted without a password, with object streams, linearized.
func TestFileForms(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pdf")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			file, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(name, "password") {
				if _, err := Read(file); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "encrypted with a password") {
					t.Errorf("error %v", err)
				}
				return
			}
			page, err := Read(file)
			if err != nil || page.Title != "Tides" || page.Author != "Ann Bell" || !strings.Contains(string(page.HTML()), "<p>The moon pulls the sea.</p>\n<p>A second page.</p>") {
				t.Errorf("%v, %+v", err, page)
			}
		})
	}
}

// A file without its cross-references is repaired.
func TestRepair(t *testing.T) {
	file := documenttest.PDF("Tides", "The moon pulls the sea.")
	table := strings.LastIndex(string(file), "xref\n0 ")
	for name, broken := range map[string][]byte{
		"no end":          file[:table],
		"wrong offset":    []byte(strings.Replace(string(file), "startxref\n", "startxref\n1", 1)),
		"shifted":         slices.Concat([]byte("GET / HTTP/1.1\r\n\r\n"), file),
		"wrong length":    []byte(strings.Replace(string(file), "/Length ", "/Length 1", 1)),
		"wrong offsets":   []byte(strings.Replace(string(file), " 00000 n", "0 00000 n", 3)),
		"text at its end": append(slices.Clone(file), strings.Repeat("\nx", 2000)...),
	} {
		t.Run(name, func(t *testing.T) {
			page, err := Read(broken)
			if err != nil || !strings.Contains(string(page.HTML()), "The moon pulls the sea.") {
				t.Errorf("%v", err)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(documenttest.PDF("Tides", "The moon"))
	f.Add(documenttest.Forms())
	f.Add([]byte("%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 1 0 R/Kids[1 0 R]>>endobj trailer<</Root 1 0 R>>"))
	f.Add([]byte("%PDF-1.5\n1 0 obj<</Type/ObjStm/N 9/First 0/Extends 1 0 R/Length 1 0 R>>stream\n1 0 1 0\nendstream endobj startxref 9"))
	f.Add(onPage("BT /F1 9 Tf (a) Tj /X Do ET", "/Subtype/Type0/DescendantFonts[3 0 R]/ToUnicode 11 0 R", "<</Subtype/Form/Resources 20 0 R/XObject<</X 20 0 R>>>>"))
	f.Fuzz(func(t *testing.T, file []byte) {
		page, err := Read(file)
		if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNoText) || page == nil && err == nil {
			t.Errorf("page %v, error %v", page, err)
		}
	})
}

func FuzzContent(f *testing.F) {
	for _, seed := range []string{"BT /F1 9 Tf (a) Tj ET", "[(a) 1e99 (b)] TJ", "BI ID EI", "<<<<[[((", "/X Do q Q cm \\"} {
		f.Add(seed, "1 beginbfrange <00> <FF> <0041> endbfrange")
	}
	f.Fuzz(func(t *testing.T, content, ranges string) {
		d := document{file: &file{streams: 1 << 20, objects: 1000, codes: 1000}}
		in := interpreter{document: &d, state: newState()}
		in.font = &font{toUnicode: d.readCmap([]byte(ranges)), widths: map[int]float64{}, width: 500}
		in.runContent([]byte(content), nil, 0)
		glyphText(content)
	})
}
