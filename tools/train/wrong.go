package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"hce/dc/internal/process/choice"
)

// writeWrong writes the lines that the last models see wrongly, to look at. An empty path writes nothing.
func writeWrong(t *trainer, folds []*choice.Models, path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for k, m := range folds {
		for _, p := range t.pagesInFold(k) {
			if !p.shadow {
				wrongOf(w, m, p)
			}
		}
	}
	return errors.Join(w.Flush(), f.Close())
}

func wrongOf(w *bufio.Writer, m *choice.Models, p *page) {
	shares := choice.Shares(p.kinds)
	for i := range p.x {
		score := float32(0)
		for k, share := range shares {
			score += share * m.Last[k].Predict(p.x[i])
		}
		if (score > 0.5) == p.labels[i] || i == p.title {
			continue
		}
		kind, size, linked, path := p.trial.Describe(i)
		fmt.Fprintf(w, "%s\t%s\t%s\t%v\t%d\t%.2f\t%.2f\t%.2v\tkind %d size %d linked %d\t%.140s\t%.160s\n", p.Type, p.Generator, p.ID, p.labels[i], len(p.words[i]), p.first[i], score, shares, kind, size, linked,
			strings.ReplaceAll(p.lines[i], "\t", " "), path)
	}
}
