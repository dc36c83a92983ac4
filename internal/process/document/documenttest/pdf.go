package documenttest

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
)

// PDF returns a PDF with a title, and one page for each text. Lines of a text are lines of
// its page.
func PDF(title string, pages ...string) []byte {
	f := NewFile()
	f.Add(1, "<</Type/Catalog/Pages 2 0 R/Lang(en-GB)>>")
	f.Add(3, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
	f.Add(4, "<</Title("+title+")/Author(Ann Bell)/Keywords(tides, sea)/Subject(How the moon pulls)/CreationDate(D:20240517101112+02'00')>>")
	var kids strings.Builder
	for i, text := range pages {
		n := 10 + 2*i
		fmt.Fprintf(&kids, "%d 0 R ", n)
		f.Add(n, fmt.Sprintf("<</Type/Page/Parent 2 0 R/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>", n+1))
		f.AddStream(n+1, "", Lines(text))
	}
	f.Add(2, fmt.Sprintf("<</Type/Pages/Count %d/MediaBox[0 0 595 842]/Kids[%s]>>", len(pages), kids.String()))
	return f.Bytes()
}

// Lines returns a content stream with the lines of text in the font F1.
func Lines(text string) string {
	var b strings.Builder
	b.WriteString("BT /F1 12 Tf 14 TL 72 770 Td\n")
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(&b, "(%s) Tj T*\n", strings.NewReplacer("(", `\(`, ")", `\)`, `\`, `\\`).Replace(line))
	}
	b.WriteString("ET")
	return b.String()
}

// File is a PDF file that is being made. The object 1 is its catalog, the object 4 its
// information dictionary.
type File struct {
	b       bytes.Buffer
	offsets map[int]int
}

// NewFile returns a file without objects.
func NewFile() *File {
	f := &File{offsets: map[int]int{}}
	f.b.WriteString("%PDF-1.7\n%\xE2\xE3\xCF\xD3\n")
	return f
}

// Add adds an object.
func (f *File) Add(number int, object string) {
	f.offsets[number] = f.b.Len()
	fmt.Fprintf(&f.b, "%d 0 obj\n%s\nendobj\n", number, object)
}

// AddStream adds a compressed stream. dict has further entries of its dictionary.
func (f *File) AddStream(number int, dict, content string) {
	f.AddPacked(number, dict+"/Filter/FlateDecode", Deflate([]byte(content)))
}

// AddPacked adds a stream with data that is already encoded.
func (f *File) AddPacked(number int, dict string, data []byte) {
	f.Add(number, fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(data), data))
}

// Bytes returns the file.
func (f *File) Bytes() []byte {
	start, last := f.b.Len(), 0
	for n := range f.offsets {
		last = max(last, n)
	}
	fmt.Fprintf(&f.b, "xref\n0 %d\n0000000000 65535 f \n", last+1)
	for n := 1; n <= last; n++ {
		if at, ok := f.offsets[n]; ok {
			fmt.Fprintf(&f.b, "%010d 00000 n \n", at)
		} else {
			f.b.WriteString("0000000000 00000 f \n")
		}
	}
	info := ""
	if _, ok := f.offsets[4]; ok {
		info = "/Info 4 0 R"
	}
	fmt.Fprintf(&f.b, "trailer\n<</Size %d/Root 1 0 R%s/ID[<00><00>]>>\nstartxref\n%d\n%%%%EOF\n", last+1, info, start)
	return f.b.Bytes()
}

// Deflate compresses data.
func Deflate(data []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write(data) // a bytes.Buffer has no errors
	_ = w.Close()
	return b.Bytes()
}
