package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"hce/dc/internal/process/language/langmodel"
)

var pieceSizes = []int{100, 200, 500} // characters

// score counts the right answers of a model.
type score struct {
	english map[string]bool // blocks that are not translated
	right   map[string][]int
	all     map[string][]int
	wrong   map[string]int
}

// measureModel writes how often a model is right about pieces of the texts of a folder, which it
// was not trained with, by language and size of the piece.
func measureModel(dir, file string, out io.Writer) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	model, err := langmodel.Read(data)
	if err != nil {
		return err
	}
	texts, err := readTexts(dir)
	if err != nil {
		return err
	}
	s := score{map[string]bool{}, map[string][]int{}, map[string][]int{}, map[string]int{}}
	forBlocks(texts["en"], func(block string) { s.english[block] = true })
	for _, lang := range sortedKeys(texts) {
		s.right[lang], s.all[lang] = make([]int, len(pieceSizes)), make([]int, len(pieceSizes))
		for i, size := range pieceSizes {
			s.visitPieces(texts[lang], lang, size, func(piece string) { s.countPiece(model, lang, i, piece) })
		}
	}
	s.writeTable(out)
	return nil
}

// visitPieces visits pieces of the texts of a language that have size characters.
func (s *score) visitPieces(packages [][]document, lang string, size int, visit func(string)) {
	var piece []rune
	forBlocks(packages, func(block string) {
		if lang != "en" && s.english[block] || !inScript(block, lang) {
			return
		}
		if piece = append(append(piece, []rune(block)...), '\n'); len(piece) >= size {
			visit(string(piece[:size]))
			piece = piece[:0]
		}
	})
}

func (s *score) countPiece(model *langmodel.Model, lang string, i int, piece string) {
	got := ""
	if r := model.Score(piece); len(r.Languages) > 0 {
		best, _ := r.Best()
		got = r.Languages[best]
	}
	s.all[lang][i]++
	if got == lang {
		s.right[lang][i]++
		return
	}
	s.wrong[fmt.Sprintf("%s as %s of %d characters", lang, got, pieceSizes[i])]++
}

func (s *score) writeTable(out io.Writer) {
	sumRight, sum := make([]int, len(pieceSizes)), make([]int, len(pieceSizes))
	for _, lang := range sortedKeys(s.all) {
		fmt.Fprintf(out, "%-8s", lang)
		for i, n := range s.all[lang] {
			fmt.Fprintf(out, " %6.2f of %-6d", percentOf(s.right[lang][i], n), n)
			sumRight[i], sum[i] = sumRight[i]+s.right[lang][i], sum[i]+n
		}
		fmt.Fprintln(out)
	}
	for i, n := range sum {
		fmt.Fprintf(out, "%d characters: %.2f of %d\n", pieceSizes[i], percentOf(sumRight[i], n), n)
	}
	mistakes := sortedKeys(s.wrong)
	slices.SortStableFunc(mistakes, func(a, b string) int { return s.wrong[b] - s.wrong[a] })
	for _, m := range mistakes[:min(25, len(mistakes))] {
		fmt.Fprintln(out, s.wrong[m], strings.TrimSpace(m))
	}
}

func percentOf(part, all int) float64 { return 100 * float64(part) / float64(max(all, 1)) }

func forBlocks(packages [][]document, visit func(string)) {
	for _, docs := range packages {
		for _, doc := range docs {
			for _, block := range doc {
				visit(block)
			}
		}
	}
}
