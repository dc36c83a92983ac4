package index

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
)

// The first byte of a term that is not an exact form. No word has it.
const (
	folded = "^" // without accents, if that differs; words that a joiner joins, without it
	stems  = "~" // the stem, if it differs from the folded form
	inside = "#" // two characters of a Korean word
	whole  = "=" // a whole title, exact
	plain  = "≈" // a whole title, folded
	within = ">" // a part of a title, folded
)

// stemmers by ISO 639-1 code.
var stemmers = map[string]func(*snowballstem.Env) bool{
	"en": english.Stem, "de": german.Stem, "es": spanish.Stem, "fr": french.Stem, "ru": russian.Stem,
}

// stemWord returns the folded stem of an exact form.
func stemWord(language, word string) string {
	switch language {
	case "de":
		word = germanVowels(word)
	case "ru":
		word = foldAccents(word)
	}
	env := snowballstem.NewEnv(word)
	stemmers[language](env)
	return foldAccents(env.Current())
}

// germanVowels writes ae, oe, ue as the stemmer leaves ä, ö, ü behind. In words such as Bauer and
// Quelle ue has another meaning.
func germanVowels(word string) string {
	if !strings.Contains(word, "e") {
		return word
	}
	var b []byte
	for i := range len(word) {
		if word[i] == 'e' && i > 0 {
			last, before := word[i-1], byte(0)
			if i > 1 {
				before = word[i-2]
			}
			if last == 'a' || last == 'o' || last == 'u' && !strings.ContainsRune("aeq", rune(before)) {
				continue
			}
		}
		b = append(b, word[i])
	}
	return string(b)
}

// particles are endings of Korean words, longest first. What is before them has one character at least.
var particles = strings.Fields("에서부터 으로부터 이라고 으로써 으로서 에게서 에서는 에서도 까지는 까지도 이지만 입니다 습니다 에서 에게 으로 부터 까지 처럼 보다 한테 께서 에는 에도 이나 이란 이라 라고 라는 마다 조차 밖에 하고 이다 와의 과의 은 는 이 가 을 를 의 에 로 와 과 도 만 께 나 란")

func withoutParticle(word string) string {
	for _, p := range particles {
		if rest, ends := strings.CutSuffix(word, p); ends && rest != "" && !(utf8.RuneCountInString(rest) == 1 && utf8.RuneCountInString(p) == 1) {
			return rest
		}
	}
	return word
}

// analyser is the analyser of texts in one language; "" for one without a stemmer. It may be shared.
type analyser string

// analyserOf returns the analyser for a language and a text. Russian is recognised by its script,
// whatever the page says about itself.
func analyserOf(language, text string) analyser {
	language, _, _ = strings.Cut(strings.ToLower(language), "-")
	switch {
	case strings.Contains(" uk be bg sr mk kk mn ", " "+language+" "):
		return ""
	case mostlyCyrillic(text):
		return "ru"
	case stemmers[language] != nil:
		return analyser(language)
	}
	return ""
}

// mostlyCyrillic judges by the first 2,000 bytes.
func mostlyCyrillic(text string) bool {
	all, cyrillic := 0, 0
	for _, c := range text[:min(len(text), 2000)] {
		if unicode.IsLetter(c) {
			all++
			if unicode.Is(unicode.Cyrillic, c) {
				cyrillic++
			}
		}
	}
	return 2*cyrillic > all
}

// Analyze returns the terms of a text; those of one place have one position.
func (a analyser) Analyze(text []byte) analysis.TokenStream {
	t := tokens{language: string(a), known: map[string][]string{}}
	scanParts(string(text), t.add)
	t.addJoinedWord()
	return t.list
}

// tokens collects the terms of a text.
type tokens struct {
	language string
	list     analysis.TokenStream
	position int
	known    map[string][]string // other terms of an exact form
	bound    []part              // the parts of one word so far
	first    int                 // position of the first of them
}

func (t *tokens) add(p part) {
	if p.joint == 0 {
		t.addJoinedWord()
		t.first = t.position + 1
	}
	t.bound = append(t.bound, p)
	if p.script == ideal || p.script == cluster {
		t.addCharacters(p)
		return
	}
	t.position++
	t.appendToken(p, p.text)
	others, found := t.known[p.text]
	if !found {
		others = t.otherTerms(p)
		t.known[p.text] = others
	}
	for _, term := range others {
		t.appendToken(p, term)
	}
}

func (t *tokens) appendToken(p part, term string) {
	t.list = append(t.list, &analysis.Token{Term: []byte(term), Start: p.start, End: p.end, Position: t.position})
}

// otherTerms returns the terms of a word besides its exact form.
func (t *tokens) otherTerms(p part) (list []string) {
	if p.script == hangul {
		if rest := withoutParticle(p.text); rest != p.text {
			list = append(list, stems+rest)
		}
		for _, two := range neighbourPairs(p.text, hangul) {
			list = append(list, inside+two)
		}
		return list
	}
	bare := foldAccents(p.text)
	if bare != p.text {
		list = append(list, folded+bare)
	}
	if typed := foldAccents(written.Replace(p.text)); typed != bare {
		list = append(list, folded+typed)
	}
	if t.language != "" {
		if s := stemWord(t.language, p.text); s != bare {
			list = append(list, stems+s)
		}
	}
	return list
}

// addCharacters adds each character of a script without blanks, and each two of them.
func (t *tokens) addCharacters(p part) {
	list := splitCharacters(p.text, p.script)
	size, read := p.end-p.start, 0
	place := func(n int) int { return p.start + n*size/len(p.text) } // exact if lower changed no length
	at := p
	for i, one := range list {
		t.position++
		at.start, at.end = place(read), place(read+len(one))
		t.appendToken(at, one)
		if i+1 < len(list) {
			two := one + list[i+1]
			at.end = place(read + len(two))
			t.appendToken(at, two)
		}
		read += len(one)
	}
}

// addJoinedWord adds the word that the parts since the last blank make together, without their joiners.
func (t *tokens) addJoinedWord() {
	if n := len(t.bound); n > 1 && n <= maxBound {
		last := t.position
		t.position = t.first
		t.appendToken(part{start: t.bound[0].start, end: t.bound[n-1].end}, folded+joinParts(t.bound))
		t.position = last
	}
	t.bound = t.bound[:0]
}

// maxBound is how many parts one word has; more are a path or a list.
const maxBound = 6

func joinParts(list []part) string {
	var b strings.Builder
	for _, p := range list {
		b.WriteString(foldAccents(p.text))
	}
	return b.String()
}

// splitCharacters splits a word of a script without blanks: marks stay with their character.
func splitCharacters(word string, s script) (list []string) {
	start := 0
	for at, c := range word {
		if at > start && !(s == cluster && unicode.IsMark(c)) {
			list, start = append(list, word[start:at]), at
		}
	}
	return append(list, word[start:])
}

// neighbourPairs returns each two neighbours.
func neighbourPairs(word string, s script) (list []string) {
	single := splitCharacters(word, s)
	for i := range len(single) - 1 {
		list = append(list, single[i]+single[i+1])
	}
	return list
}

// grams is the analyser of names of files: all runs of three letters, in their order.
type grams struct{}

// Analyze returns the trigrams of a text in lower case.
func (grams) Analyze(text []byte) (tokens analysis.TokenStream) {
	list := []rune(strings.ToLower(string(text)))
	for i := 0; i+3 <= len(list); i++ {
		tokens = append(tokens, &analysis.Token{Term: []byte(string(list[i : i+3])), Position: i + 1})
	}
	return tokens
}

// keyword is the analyser of fields that are one term.
type keyword struct{}

// Analyze returns the text as one term.
func (keyword) Analyze(text []byte) analysis.TokenStream {
	return analysis.TokenStream{{Term: text, Position: 1, End: len(text), KeyWord: true}}
}
