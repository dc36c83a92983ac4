package documenttest

import (
	"bytes"
	"fmt"
	"strings"
)

// Hostile returns makers of documents that would cost far more than their size. Each must end
// within the limits of its reader.
func Hostile() map[string]func() []byte {
	const many = 1 << 20
	spaces := func(n int) []byte { return Deflate(bytes.Repeat([]byte(" "), n)) }
	tree := func(entries string) func() []byte { return func() []byte { return pdfTree(entries) } }
	page := func(ranges, dict string, content []byte) []byte { return onePage(ranges, dict, content) }
	docx := func(text string, times int) func() []byte {
		return func() []byte { return OOXML(strings.Repeat(text, times), nil) }
	}
	return map[string]func() []byte{
		"PDF, bomb in a page": func() []byte { return page("", "/Filter/FlateDecode", spaces(80<<20)) },
		"PDF, bomb in a bomb": func() []byte { return page("", "/Filter[/FlateDecode/FlateDecode]", Deflate(spaces(80<<20))) },
		"PDF, bomb of text": func() []byte {
			return page("", "/Filter/FlateDecode", Deflate(bytes.Repeat([]byte(Lines("The moon pulls the sea. ")), many)))
		},
		"PDF, bombs of objects":     objectStreams,
		"PDF, forms in forms":       Forms,
		"PDF, a million kids":       tree("/Kids[" + strings.Repeat("3 0 R ", many) + "]"),
		"PDF, many pages":           manyPages,
		"PDF, circle of pages":      tree("/Kids[2 0 R 2 0 R]"),
		"PDF, circle of references": tree("/Kids 5 0 R"),
		"PDF, deep arrays":          tree("/Kids" + strings.Repeat("[", many)),
		"PDF, many objects":         tree("/Kids[" + strings.Repeat("<<>>", many) + "]"),
		"PDF, numbers":              tree("/Kids[" + strings.Repeat("1 ", 4*many-4096) + "]"),
		"PDF, table of one object":  oneObject,
		"PDF, huge table":           hugeTable,
		"PDF, huge map of a font": func() []byte {
			return page(strings.Repeat("<0000><FFFF><0041>\n", many/16), "", []byte("BT /F1 12 Tf (abc) Tj ET"))
		},
		"PDF, unclosed string": func() []byte { return page("", "", []byte("BT /F1 12 Tf "+strings.Repeat("(", many))) },
		"PDF, many small texts": func() []byte {
			return page("", "/Filter/FlateDecode", Deflate([]byte("BT /F1 9 Tf "+strings.Repeat("(a)Tj 9 9 Td ", 4*many))))
		},
		"DOCX, bomb":           docx(" ", 80<<20),
		"DOCX, bomb of text":   docx("<w:p><w:r><w:t>The moon</w:t></w:r></w:p>", many),
		"DOCX, bomb of tables": docx("<w:tbl><w:tr><w:tc><w:p>", many),
		"DOCX, bomb of lists":  docx(`<w:p><w:pPr><w:numPr><w:ilvl w:val="8"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>a</w:t></w:r></w:p><w:p/>`, many/8),
		"DOCX, entities":       docx(`<!DOCTYPE a [<!ENTITY a "`+strings.Repeat("x", 1000)+`"><!ENTITY b "&a;&a;">]><w:p><w:r><w:t>&b;</w:t></w:r></w:p>`, many/64),
		"PDF, rows of one letter": func() []byte {
			return page("", "", []byte("BT /F1 9 Tf "+strings.Repeat("1 0 0 1 9 9 Tm (a)Tj 1 0 0 1 99 9 Tm (a-)Tj 1 0 0 1 9 1 Tm (a)Tj ", many/10)))
		},
		"PDF, letters from right to left": func() []byte {
			return page("<60><60><05D0>\n", "", []byte("BT /F1 9 Tf ("+strings.Repeat("`a", many)+") Tj ET"))
		},
		"DOCX, bomb of formulas": docx("<w:p><m:oMath>"+strings.Repeat("<m:f><m:num>", 30)+"x", many/32),
		"ODS, repeated cells": func() []byte {
			return ZIP(map[string]string{"content.xml": "<x><spreadsheet><table>" + strings.Repeat(`<table-row number-rows-repeated="256"><table-cell number-columns-repeated="256"><p>x</p></table-cell></table-row>`, many/64) + "</table></spreadsheet></x>"})
		},
		"ZIP, many files": manyFiles,
	}
}

// pdfTree returns a PDF with entries of its page tree, a page 3, and the circle 5, 6.
func pdfTree(tree string) []byte {
	f := NewFile()
	f.Add(1, "<</Type/Catalog/Pages 2 0 R>>")
	f.Add(2, "<</Type/Pages/Count 1000000000"+tree+">>")
	f.Add(3, "<</Type/Page/Parent 2 0 R>>")
	f.Add(5, "6 0 R")
	f.Add(6, "5 0 R")
	return f.Bytes()
}

// onePage returns a PDF with a page, and the ranges of the map of its font.
func onePage(ranges, dict string, content []byte) []byte {
	f := NewFile()
	f.Add(1, "<</Type/Catalog/Pages 2 0 R>>")
	f.Add(2, "<</Type/Pages/Count 1/Kids[10 0 R]>>")
	f.Add(3, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 5 0 R>>")
	f.AddStream(5, "", "1 begincodespacerange <00><FF> endcodespacerange\n1 beginbfrange\n"+ranges+"endbfrange")
	f.Add(10, "<</Type/Page/Parent 2 0 R/Resources<</Font<</F1 3 0 R>>>>/Contents 11 0 R>>")
	f.AddPacked(11, dict, content)
	return f.Bytes()
}

func manyPages() []byte {
	const n = 60_000
	f := NewFile()
	f.Add(1, "<</Type/Catalog/Pages 2 0 R>>")
	var kids strings.Builder
	for i := range n {
		f.Add(10+i, "<</Type/Page/Parent 2 0 R>>")
		fmt.Fprintf(&kids, "%d 0 R ", 10+i)
	}
	f.Add(2, fmt.Sprintf("<</Type/Pages/Count %d/Kids[%s]>>", n, kids.String()))
	return f.Bytes()
}

// Forms returns a PDF with forms that draw the next one twice: 2^40 in all.
func Forms() []byte {
	f := NewFile()
	f.Add(1, "<</Type/Catalog/Pages 2 0 R>>")
	f.Add(2, "<</Type/Pages/Count 1/Kids[10 0 R]>>")
	f.Add(10, "<</Type/Page/Parent 2 0 R/Resources<</XObject<</X 20 0 R>>>>/Contents 11 0 R>>")
	f.AddStream(11, "", "/X Do")
	for i := range 40 {
		f.AddStream(20+i, fmt.Sprintf("/Type/XObject/Subtype/Form/BBox[0 0 1 1]/Resources<</XObject<</X %d 0 R>>>>", 20+(i+1)%40), "/X Do /X Do")
	}
	return f.Bytes()
}

// objectStreams returns a PDF with an xref stream and object streams that are bombs.
func objectStreams() []byte {
	f := NewFile()
	bomb := Deflate(append([]byte("1 0                 <</Type/Catalog/Pages 2 0 R>>"), bytes.Repeat([]byte(" "), 16<<20)...))
	const streams = 40
	table := []byte{0, 0, 0, 0, 0, 0}
	entry := func(kind byte, a, b int) {
		table = append(table, kind, byte(a>>24), byte(a>>16), byte(a>>8), byte(a), byte(b))
	}
	for i := range streams {
		f.AddPacked(1+streams+i, "/Type/ObjStm/N 1/First 20/Filter/FlateDecode", bomb)
	}
	for i := range streams {
		entry(2, 1+streams+i, 0)
	}
	for i := range streams {
		entry(1, f.offsets[1+streams+i], 0)
	}
	start := f.b.Len()
	entry(1, start, 0)
	f.AddPacked(1+2*streams, fmt.Sprintf("/Type/XRef/Size %d/W[1 4 1]/Root 1 0 R", 2+2*streams), table)
	fmt.Fprintf(&f.b, "startxref\n%d\n%%%%EOF\n", start)
	return f.b.Bytes()
}

// hugeTable returns a PDF that declares two billion objects.
func hugeTable() []byte {
	f := NewFile()
	f.AddPacked(1, "/Type/XRef/Size 2000000000/W[1 4 1]/Index[0 2000000000]/Root 1 0 R", bytes.Repeat([]byte{1, 0, 0, 0, 9, 0}, 1<<16))
	fmt.Fprintf(&f.b, "startxref\n%d\n%%%%EOF\n", f.offsets[1])
	return f.b.Bytes()
}

// oneObject returns a PDF whose table names one large object many times.
func oneObject() []byte {
	const entries = 200_000
	f := NewFile()
	f.Add(1, "<</Type/Catalog/Pages 2 0 R/A["+strings.Repeat("1 ", 1<<20)+"]>>")
	table := []byte{0, 0, 0, 0, 0, 0}
	for range entries {
		table = append(table, 1, 0, 0, byte(f.offsets[1]>>8), byte(f.offsets[1]), 0)
	}
	start := f.b.Len()
	f.AddStream(entries+1, fmt.Sprintf("/Type/XRef/Size %d/W[1 4 1]/Root 1 0 R", entries+1), string(table))
	fmt.Fprintf(&f.b, "startxref\n%d\n%%%%EOF\n", start)
	return f.b.Bytes()
}

func manyFiles() []byte {
	files := map[string]string{}
	for i := range 60_000 {
		files[fmt.Sprint("word/", i)] = ""
	}
	return ZIP(files)
}
