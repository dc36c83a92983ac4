package main

const (
	longLine  = 6   // words from which on a line is known by its groups of three words
	hitShare  = 0.6 // of the groups of a line that is in the text
	slack     = 50  // words that the text may step back
	shortSpan = 300 // words after a known line in which short lines are looked for
)

// span is where a line is in the text, in words.
type span struct{ start, end int }

// labelLines tells which lines, as words, are in a text. Long lines are found by groups of three words, short ones
// between the long ones around them.
func labelLines(lines [][]string, text string) []bool {
	gold := wordsOf(text)
	labels := make([]bool, len(lines))
	spans := longSpans(lines, gold)
	from := 0
	for i, w := range lines {
		switch {
		case spans[i] != nil:
			labels[i], from = true, spans[i].end
		case len(w) > 0 && len(w) < longLine:
			to := min(nextStart(spans[i+1:], from, len(gold))+2, from+shortSpan, len(gold))
			if at := indexOfWords(gold, w, max(0, from-2), to); at >= 0 {
				labels[i], from = true, at+len(w)
			}
		}
	}
	return labels
}

// longSpans returns where the long lines are, nil for those that are not in the text.
func longSpans(lines [][]string, gold []string) []*span {
	at := map[[3]string][]int{}
	for i := 0; i+3 <= len(gold); i++ {
		k := [3]string(gold[i : i+3])
		at[k] = append(at[k], i)
	}
	spans := make([]*span, len(lines))
	last := 0
	for i, w := range lines {
		if len(w) < longLine {
			continue
		}
		hits, first := 0, -1
		for j := 0; j+3 <= len(w); j++ {
			if list := at[[3]string(w[j:j+3])]; len(list) > 0 {
				hits++
				if first < 0 {
					first = max(0, nextOf(list, last)-j)
				}
			}
		}
		if float64(hits) >= hitShare*float64(len(w)-2) {
			spans[i] = &span{first, first + len(w)}
			if first >= last-slack {
				last = first + len(w)
			}
		}
	}
	return spans
}

// nextOf returns the first position from last on, else the first.
func nextOf(list []int, last int) int {
	for _, p := range list {
		if p >= last {
			return p
		}
	}
	return list[0]
}

// nextStart returns the start of the next known line, or end.
func nextStart(spans []*span, from, end int) int {
	for _, s := range spans {
		if s != nil {
			if s.start >= from {
				return s.start
			}
			break
		}
	}
	return end
}

// indexOfWords returns where w is in gold[from:to], or -1.
func indexOfWords(gold, w []string, from, to int) int {
next:
	for p := from; p+len(w) <= to; p++ {
		for k := range w {
			if gold[p+k] != w[k] {
				continue next
			}
		}
		return p
	}
	return -1
}
