package index

import (
	"strings"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"
)

// maxTails is how many parts of a title are found as if they were the whole.
const maxTails = 6

// titles is the analyser of the field that finds a title by all of its words: the exact and the folded
// title, and what its separators leave, such as "CREATE TABLE" of "Chapter 2. CREATE TABLE | Manual".
type titles struct{}

// Analyze returns the terms of a title.
func (titles) Analyze(text []byte) (list analysis.TokenStream) {
	title := string(text)
	known := map[string]bool{"": true}
	add := func(kind, key string) {
		if key != "" && !known[kind+key] {
			known[kind+key] = true
			list = append(list, &analysis.Token{Term: []byte(kind + key), Position: 1})
		}
	}
	exact := titleKey(title)
	add(whole, exact)
	add(plain, foldAccents(exact))
	segments := segmentsOf(title)
	for i, one := range segments[:min(len(segments), maxTails)] {
		if len(segments) > 1 {
			add(within, foldAccents(titleKey(one)))
		}
		if i > 0 {
			add(within, foldAccents(titleKey(strings.Join(segments[i:], " "))))
		}
	}
	return list
}

// titleKey returns the words of a title with one blank between them.
func titleKey(title string) string {
	var b strings.Builder
	scanParts(title, func(p part) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(p.text)
	})
	return b.String()
}

// segmentsOf splits a title at its separators.
func segmentsOf(title string) (list []string) {
	start, last := 0, ' '
	for at, c := range title {
		next := title[at+len(string(c)):]
		blank := next == "" || unicode.IsSpace([]rune(next[:min(len(next), 4)])[0])
		split := false
		switch c {
		case '|', '–', '—', '·', '•', '»', '«', '›', '‹', '：', '｜':
			split = true
		case '.', ':':
			split = blank
		case '-', '/', '~':
			split = blank && last == ' '
		}
		if split && titleKey(title[start:at]) != "" {
			list, start = append(list, title[start:at]), at+len(string(c))
		}
		if last = c; unicode.IsSpace(c) {
			last = ' '
		}
	}
	if titleKey(title[start:]) != "" {
		list = append(list, title[start:])
	}
	return list
}
