package index

import (
	"strings"
	"unicode"

	"hce/dc/internal/apps/search"
	words "hce/dc/internal/apps/search/query"
)

// Weights of the forms in which a document may have a word of a question.
const (
	exactForm    = 1
	foldedForm   = 0.6
	particleForm = 0.8 // a Korean word with another particle
	stemForm     = 0.5
	insideForm   = 0.35 // inside of another word
	partOfWord   = 0.7  // arbre of l'arbre, harbour of harbour's
)

// maxWanted bounds the words of a question after long texts without blanks are split.
const maxWanted = 40

// form is one form of a word: terms at distances from the first of them. Each place has one of several
// terms.
type form struct {
	weight float64
	places []place
	grams  bool // of the names of files, not of texts
}

type place struct {
	distance int
	terms    []string
}

// wanted is a word or phrase of a question, in all of its forms; the exact one is first.
type wanted []form

// newSingleForm returns a form of one term.
func newSingleForm(weight float64, term string) form {
	return form{weight: weight, places: []place{{0, []string{term}}}}
}

// addForms adds forms of one term that are not there with a greater weight.
func (w *wanted) addForms(weight float64, terms ...string) {
	for _, term := range terms {
		known := false
		for _, f := range *w {
			known = known || len(f.places) == 1 && f.places[0].terms[0] == term
		}
		if !known {
			*w = append(*w, newSingleForm(weight, term))
		}
	}
}

// wantedOf returns what the words of a question are in an index.
func wantedOf(kind search.Kind, list []words.Term) (all []wanted) {
	for _, t := range list {
		var parts []part
		scanParts(t.Text, func(p part) { parts = append(parts, p) })
		switch {
		case len(parts) == 0:
			continue
		case t.Phrase:
			all = append(all, wanted{newSequenceForm(exactForm, parts)})
		case len(parts) == 1:
			all = append(all, piecesOf(parts[0])...)
		default:
			all = append(all, wantedParts(parts))
		}
		if kind != search.Pages && !t.Phrase {
			if f, long := gramsOf(t.Text); long {
				all[len(all)-1] = append(all[len(all)-1], f)
			}
		}
		if len(all) >= maxWanted {
			return all[:maxWanted]
		}
	}
	return all
}

func gramsOf(text string) (f form, long bool) {
	f = form{weight: insideForm, grams: true}
	for i, token := range (grams{}).Analyze([]byte(text)) {
		f.places = append(f.places, place{i, []string{string(token.Term)}})
	}
	return f, len(f.places) > 0
}

// wantedParts returns a word that joiners or signs divide: its parts next to each other, or written as
// one.
func wantedParts(parts []part) (w wanted) {
	one := joinParts(parts)
	w = append(w, newSingleForm(exactForm, folded+one), newSequenceForm(0.9, parts))
	w.addForms(foldedForm, one)
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) > 2 || !isApostrophe(last.joint) {
		return w
	}
	part := last
	if last.text == "s" {
		part = first
	} else if len(first.text) > 2 {
		return w
	}
	for _, f := range wantedWord(part) {
		f.weight *= partOfWord
		w = append(w, f)
	}
	return w
}

// newSequenceForm returns the form of parts next to each other.
func newSequenceForm(weight float64, parts []part) form {
	f := form{weight: weight}
	at := 0
	for _, p := range parts {
		if p.script == ideal || p.script == cluster {
			f.places = append(f.places, pairPlaces(p, at)...)
			at += len(splitCharacters(p.text, p.script))
			continue
		}
		terms := []string{p.text, folded + foldAccents(p.text)}
		if bare := foldAccents(p.text); bare != p.text {
			terms = append(terms, bare)
		}
		f.places = append(f.places, place{at, terms})
		at++
	}
	return f
}

// pairPlaces returns the places of a text without blanks, from a distance on: as few pairs of characters as
// have all of them.
func pairPlaces(p part, at int) (list []place) {
	two := neighbourPairs(p.text, p.script)
	if len(two) == 0 {
		return []place{{at, []string{p.text}}}
	}
	for i := 0; i < len(two); i += 2 {
		list = append(list, place{at + i, two[i : i+1]})
	}
	if len(two)%2 == 0 {
		list = append(list, place{at + len(two) - 1, two[len(two)-1:]})
	}
	return list
}

// Characters up to which a text without blanks is one word.
const (
	idealWord   = 4
	clusterWord = 8
)

// piecesOf returns the words of a part. A long text without blanks is several: Japanese changes its
// script between words; of others each pair of characters is a word.
func piecesOf(p part) (list []wanted) {
	if p.script != ideal && p.script != cluster {
		return []wanted{wantedWord(p)}
	}
	longest := idealWord
	if p.script == cluster {
		longest = clusterWord
	}
	if len(splitCharacters(p.text, p.script)) <= longest {
		return []wanted{{form{weight: exactForm, places: pairPlaces(p, 0)}}}
	}
	for _, piece := range scriptsOf(p.text) {
		n := len(splitCharacters(piece, p.script))
		kana := strings.IndexFunc(piece, func(c rune) bool { return !unicode.Is(unicode.Hiragana, c) }) < 0
		katakana := strings.IndexFunc(piece, func(c rune) bool { return !unicode.Is(unicode.Katakana, c) && c != 'ー' }) < 0
		switch {
		case kana && n < 3 && piece != p.text: // an ending or a particle
		case n <= longest || katakana:
			list = append(list, wanted{form{weight: exactForm, places: pairPlaces(part{text: piece, script: p.script}, 0)}})
		default:
			for _, two := range neighbourPairs(piece, p.script) {
				list = append(list, wanted{newSingleForm(exactForm, two)})
			}
		}
	}
	return list
}

// scriptsOf splits Japanese where Han, Hiragana and Katakana meet.
func scriptsOf(text string) (list []string) {
	kind := func(c rune) int {
		switch {
		case unicode.Is(unicode.Hiragana, c):
			return 1
		case unicode.Is(unicode.Katakana, c), c == 'ー':
			return 2
		}
		return 0
	}
	start, last := 0, -1
	for at, c := range text {
		k := kind(c)
		if at > 0 && k != last {
			list, start = append(list, text[start:at]), at
		}
		last = k
	}
	return append(list, text[start:])
}

// wantedWord returns the forms of a word with blanks around it.
func wantedWord(p part) (w wanted) {
	w.addForms(exactForm, p.text)
	if p.script == hangul {
		base := withoutParticle(p.text)
		w.addForms(particleForm, stems+p.text, base, stems+base)
		if two := neighbourPairs(base, hangul); len(two) > 0 {
			f := form{weight: insideForm}
			for _, one := range two { // they have the position of their word
				f.places = append(f.places, place{0, []string{inside + one}})
			}
			w = append(w, f)
		}
		return w
	}
	bare := foldAccents(p.text)
	w.addForms(foldedForm, folded+bare, bare, foldAccents(written.Replace(p.text)))
	for _, language := range []string{"de", "en", "es", "fr", "ru"} {
		if cyrillic := unicode.Is(unicode.Cyrillic, []rune(p.text)[0]); cyrillic == (language == "ru") {
			if s := stemWord(language, p.text); len(s) > 1 {
				w.addForms(stemForm, stems+s, s, folded+s)
			}
		}
	}
	return w
}

// titleTerms returns the terms of the field of titles that a question may be, and their weights.
func titleTerms(list []words.Term) (terms []string, weights []float64) {
	var text []string
	for _, t := range list {
		text = append(text, t.Text)
	}
	exact := titleKey(strings.Join(text, " "))
	if exact == "" {
		return nil, nil
	}
	return []string{whole + exact, plain + foldAccents(exact), within + foldAccents(exact)}, []float64{1, 0.85, 0.7}
}
