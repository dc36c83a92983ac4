package document_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/process/document"
	"hce/dc/internal/process/document/documenttest"
)

const (
	pageURL = "http://site.example/files/report"
	docx    = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	odt     = "application/vnd.oasis.opendocument.text"
)

var (
	aPDF  = documenttest.PDF("Tides", "The moon pulls the sea twice a day, and\nthe harbour follows.", "A second page.")
	aDOCX = documenttest.DOCX("Tides", "The moon pulls the sea twice a day, and the harbour follows.", "A second paragraph.")
	anODT = documenttest.ZIP(map[string]string{
		"mimetype":    odt,
		"content.xml": `<office:document-content><office:body><office:text><text:h text:outline-level="1">Tides</text:h><text:p>The moon pulls the sea.</text:p></office:text></office:body></office:document-content>`,
	})
	aPage = []byte("<!doctype html><title>Tides</title><p>The moon pulls the sea.")
)

// The declared type and the content decide together who reads a content.
func TestTypes(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	tests := []struct {
		name, kind string
		body       []byte
		format     document.Format
		text       string // part of the text; "": there is no article
		err        error
	}{
		{"PDF", "application/pdf", aPDF, document.PDF, "harbour follows", nil},
		{"PDF as binary data", "application/octet-stream", aPDF, document.PDF, "harbour follows", nil},
		{"PDF as plain text", "text/plain", aPDF, document.PDF, "harbour follows", nil},
		{"PDF as HTML", "text/html", aPDF, document.PDF, "harbour follows", nil},
		{"PDF without a type", "", aPDF, document.PDF, "harbour follows", nil},
		{"PDF behind other bytes", "application/pdf", slices.Concat([]byte("HTTP/1.1 200 OK\r\n\r\n"), aPDF), document.PDF, "harbour follows", nil},
		{"DOCX", docx, aDOCX, document.ZIP, "harbour follows", nil},
		{"DOCX as binary data", "application/octet-stream", aDOCX, document.ZIP, "harbour follows", nil},
		{"DOCX as ZIP", "application/zip", aDOCX, document.ZIP, "harbour follows", nil},
		{"ODT", odt, anODT, document.ZIP, "moon pulls", nil},
		{"HTML as PDF", "application/pdf", aPage, document.HTML, "moon pulls", nil},
		{"HTML as binary data", "application/octet-stream", aPage, document.HTML, "moon pulls", nil},
		{"HTML with parameters", "text/html; charset=utf-8", aPage, document.HTML, "moon pulls", nil},
		{"text", "text/plain", []byte("Tides\n\nThe moon pulls the sea."), document.Text, "moon pulls", nil},
		{"text as PDF", "application/pdf", []byte("Error: the moon pulls the sea."), document.Text, "moon pulls", nil},
		{"Markdown", "text/markdown", []byte("# Tides\n\nThe moon pulls *the sea*."), document.Text, "pulls *the", nil},
		{"CSV", "text/csv", []byte("place,height\nDover,6.8\n"), document.Text, "Dover,6.8", nil},
		{"JSON", "application/json", []byte(`{"moon": "pulls"}`), document.Text, `"pulls"`, nil},
		{"XML", "application/xml", []byte(`<moon>pulls</moon>`), document.Text, `pulls`, nil},
		{"picture", "image/png", []byte(png), document.Other, "", document.ErrType},
		{"picture as binary data", "application/octet-stream", []byte(png), document.Other, "", document.ErrType},
		{"picture as PDF", "application/pdf", []byte(png), document.Broken, "", document.ErrDamaged},
		{"empty PDF", "application/pdf", nil, document.Broken, "", document.ErrDamaged},
		{"RTF", "application/rtf", []byte(`{\rtf1 The moon}`), document.Other, "", document.ErrType},
		{"PostScript", "application/postscript", []byte("%!PS-Adobe-3.0\n(The moon) show"), document.Other, "", document.ErrType},
		{"old Word", "application/msword", []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1\x00\x00"), document.Other, "", document.ErrType},
		{"other archive", "application/zip", documenttest.ZIP(map[string]string{"a.txt": "moon"}), document.ZIP, "", document.ErrType},
		{"spreadsheet", "application/vnd.ms-excel", documenttest.OOXML("", map[string]string{"word/document.xml": "<workbook/>"}), document.ZIP, "", document.ErrType},
		{"sound", "audio/mpeg", []byte("ID3 no NUL"), document.Other, "", document.ErrType},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := document.FormatOf(tt.kind, tt.body); got != tt.format {
				t.Errorf("format %d, want %d", got, tt.format)
			}
			a, err := document.Read(tt.kind, tt.body, pageURL)
			if !errors.Is(err, tt.err) || (a == nil) != (tt.text == "") {
				t.Fatalf("%v, error %v", a, err)
			}
			if a != nil && !strings.Contains(a.Text, tt.text) {
				t.Errorf("text %q", a.Text)
			}
			if errors.Is(err, document.ErrType) && !strings.Contains(err.Error(), tt.kind) {
				t.Errorf("%v does not name the type", err)
			}
		})
	}
}

// The metadata of a document become the fields of the article.
func TestFields(t *testing.T) {
	for name, body := range map[string][]byte{"PDF": aPDF, "DOCX": aDOCX} {
		t.Run(name, func(t *testing.T) {
			a, err := document.Read("", body, pageURL)
			if err != nil {
				t.Fatal(err)
			}
			date := time.Date(2024, 5, 17, 8, 11, 12, 0, time.UTC)
			if a.Title != "Tides" || a.Author != "Ann Bell" || a.Language != "en-GB" || !a.Date.UTC().Equal(date) || fmt.Sprint(a.Keywords) != "[tides sea]" {
				t.Errorf("title %q, author %q, language %q, date %v, keywords %q", a.Title, a.Author, a.Language, a.Date, a.Keywords)
			}
		})
	}
}

// A document without a title has that of its first heading, or its first line.
func TestTitles(t *testing.T) {
	tests := []struct {
		name, kind string
		body       []byte
		want       string
	}{
		{"heading", docx, documenttest.OOXML(`<w:p><w:r><w:t>Intro</w:t></w:r></w:p><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Tides</w:t></w:r></w:p>`, nil), "Tides"},
		{"first line", docx, documenttest.OOXML(`<w:p/><w:p><w:r><w:t>Tides of the sea</w:t></w:r></w:p>`, nil), "Tides of the sea"},
		{"name of a file", "application/pdf", documenttest.PDF("Microsoft Word - tides.doc", "The moon"), "The moon"},
		{"text", "text/plain", []byte("\n  \n The moon \nx"), "The moon"},
		{"Markdown", "text/markdown; charset=utf-8", []byte("\n## The moon ##\nx"), "The moon"},
		{"only spaces", "text/plain", []byte(" \n "), "report"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if a, err := document.Read(tt.kind, tt.body, pageURL); err != nil || a.Title != tt.want {
				t.Errorf("%+v, %v; want %q", a, err, tt.want)
			}
		})
	}
}

// Conformance of all readers: damaged input gives an article or an error that says so, and never
// both nothing and no error.
func TestDamage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for kind, body := range map[string][]byte{"application/pdf": aPDF, docx: aDOCX, odt: anODT, "text/plain": []byte("The moon"), "text/html": aPage} {
		inputs := map[string][]byte{"empty": nil, "wrong magic": slices.Concat([]byte("GIF89a\x00"), body)}
		for tenth := 1; tenth < 10; tenth++ {
			inputs[fmt.Sprintf("cut at %d0 %%", tenth)] = body[:len(body)*tenth/10]
		}
		for i := range 20 {
			noise := make([]byte, 1+random.IntN(4000))
			for j := range noise {
				noise[j] = byte(random.Uint32())
			}
			inputs[fmt.Sprint("noise ", i)] = noise
			inputs[fmt.Sprint("noise behind the mark ", i)] = slices.Concat(body[:min(len(body), 8)], noise)
			flipped := slices.Clone(body)
			for range 10 {
				flipped[random.IntN(len(flipped))] = byte(random.Uint32())
			}
			inputs[fmt.Sprint("changed bytes ", i)] = flipped
		}
		for name, input := range inputs {
			t.Run(kind+", "+name, func(t *testing.T) { checkRead(t, kind, input) })
		}
	}
}

func checkRead(t *testing.T, kind string, body []byte) {
	t.Helper()
	a, err := document.Read(kind, body, pageURL)
	none := errors.Is(err, document.ErrType) || errors.Is(err, document.ErrDamaged)
	if (a == nil) != none {
		t.Errorf("article %v, error %v", a, err)
	}
	if a != nil && (a.Title == "" || a.Text == "" && len(body) > 0 && err == nil && strings.TrimSpace(string(body)) != "") {
		t.Errorf("title %q, text %q", a.Title, a.Text)
	}
}

// A file that is cut keeps the text before the cut, and says so.
func TestPartOfAFile(t *testing.T) {
	body := documenttest.ZIP(map[string]string{
		"content.xml": "<office:document-content><office:text>" + strings.Repeat("<text:p>The moon pulls the sea.</text:p>", 1_000_000) + "</office:text></office:document-content>",
	})
	a, err := document.Read(odt, body, pageURL)
	if a == nil || err == nil || !strings.Contains(err.Error(), "exceeds a limit") || !strings.Contains(a.Text, "The moon pulls the sea.") {
		t.Errorf("%v", err)
	}
}

func FuzzRead(f *testing.F) {
	kinds := []string{"application/pdf", docx, odt, "text/plain", "text/html", "application/octet-stream", "image/png", ""}
	f.Add(0, aPDF)
	f.Add(1, aDOCX)
	f.Add(2, anODT)
	f.Add(5, []byte("%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 1 0 R/Kids[1 0 R]>>endobj trailer<</Root 1 0 R>>"))
	f.Add(5, []byte("PK\x03\x04\x14\x00\x01\x00"))
	f.Add(0, documenttest.Forms())
	f.Fuzz(func(t *testing.T, kind int, body []byte) {
		checkRead(t, kinds[uint(kind)%uint(len(kinds))], body)
	})
}
