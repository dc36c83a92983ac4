package index

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"github.com/blevesearch/bleve/v2/analysis/lang/de"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/lang/es"
	"github.com/blevesearch/bleve/v2/analysis/lang/fr"
	"github.com/blevesearch/bleve/v2/analysis/lang/ru"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/token/unicodenorm"
	unicodetokens "github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/mapping"
	api "github.com/blevesearch/bleve_index_api"
)

// filters are the token filters of each analyser, after NFKC and lower case. The name is an ISO 639-1
// code; cjk serves Chinese, Japanese and Korean, and plain all other languages.
var filters = map[string][]string{
	"en":    {en.PossessiveName, lowercase.Name, en.SnowballStemmerName},
	"de":    {lowercase.Name, de.NormalizeName, de.SnowballStemmerName},
	"es":    {lowercase.Name, es.SnowballStemmerName},
	"fr":    {fr.ElisionName, lowercase.Name, fr.SnowballStemmerName},
	"ru":    {lowercase.Name, ru.SnowballStemmerName},
	"cjk":   {cjk.WidthName, lowercase.Name, cjk.BigramName},
	"plain": {lowercase.Name},
}

// analysers are the analysers by name. They may be shared by goroutines.
type analysers map[string]analysis.Analyzer

// newMapping returns the settings of a new index and its analysers. Documents are built field by
// field, so the mapping has no fields.
func newMapping() (*mapping.IndexMappingImpl, analysers, error) {
	m := bleve.NewIndexMapping()
	m.ScoringModel = api.BM25Scoring
	m.DefaultMapping.Enabled = false
	if err := m.AddCustomTokenFilter("nfkc", map[string]any{"type": unicodenorm.Name, "form": unicodenorm.NFKC}); err != nil {
		return nil, nil, fmt.Errorf("prepare analysers: %w", err)
	}
	list := analysers{}
	for name, tokens := range filters {
		err := m.AddCustomAnalyzer(name, map[string]any{
			"type": custom.Name, "tokenizer": unicodetokens.Name, "token_filters": append([]string{"nfkc"}, tokens...),
		})
		if err != nil {
			return nil, nil, fmt.Errorf("prepare analyser %s: %w", name, err)
		}
		list[name] = m.AnalyzerNamed(name)
	}
	return m, list, nil
}

// of returns the analyser for a language and a text: a text that is mainly Chinese, Japanese, Korean or
// Cyrillic is not analysed by the rules of another script, whatever the page says about itself.
func (a analysers) of(language, text string) analysis.Analyzer {
	language, _, _ = strings.Cut(strings.ToLower(language), "-")
	switch script := scriptOf(text); {
	case script != "":
		language = script
	case language == "zh", language == "ja", language == "ko":
		language = "cjk"
	}
	if one, known := a[language]; known {
		return one
	}
	return a["plain"]
}

// scriptOf returns cjk or ru if most letters of the start of the text are of that script, else "".
func scriptOf(text string) string {
	letters, east, cyrillic := 0, 0, 0
	for _, c := range text[:min(len(text), 2000)] {
		switch {
		case unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			east++
		case unicode.Is(unicode.Cyrillic, c):
			cyrillic++
		case !unicode.IsLetter(c):
			continue
		}
		letters++
	}
	switch {
	case letters > 0 && 2*east > letters:
		return "cjk"
	case letters > 0 && 2*cyrillic > letters:
		return "ru"
	}
	return ""
}

// variants returns what a word or a phrase may have become in documents: the terms of each analyser,
// each list once.
func (a analysers) variants(text string) (list [][]string) {
	known := map[string]bool{}
	for _, name := range []string{"plain", "en", "de", "es", "fr", "ru", "cjk"} {
		var terms []string
		for _, token := range a[name].Analyze([]byte(text)) {
			terms = append(terms, string(token.Term))
		}
		if key := strings.Join(terms, "\x00"); len(terms) > 0 && !known[key] {
			known[key] = true
			list = append(list, terms)
		}
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

// wordsOfName returns the name of a file with a blank between its words.
func wordsOfName(name string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			return c
		}
		return ' '
	}, name)
}
