package writer

import (
	"os"
	"path/filepath"
	"testing"

	"hce/dc/internal/process/outline"
	"hce/dc/internal/web/htmltree"
)

// BenchmarkCorpus reads and writes the pages of the corpus of the extractors with all their lines, without the choice.
func BenchmarkCorpus(b *testing.B) {
	names, _ := filepath.Glob("../extractor/testdata/corpus/*.html")
	var pages [][]byte
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		pages = append(pages, text)
		b.SetBytes(int64(len(text)))
	}
	var doc htmltree.Doc
	var o outline.Outline
	var w Writer
	var chosen []bool
	var dst []byte
	base := NewBase("https://town.example/a/b.html", nil, "")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		doc.Parse(pages[i%len(pages)])
		o.Read(&doc)
		chosen = chosen[:0]
		for range o.Lines {
			chosen = append(chosen, true)
		}
		w.Begin(&o, base, chosen)
		dst = w.AppendMarkdown(dst[:0])
		dst = w.AppendText(dst[:0], -1)
	}
}
