// Package contenthash computes ContentURLMd5, the hash of the text of a page, by which pages
// with the same content are found (CONTENT_HASH, docs/spec/processing.md 2.9).
//
//	rule, err := contenthash.Parse(`{"algorithm":2,"tags":"title,content_encoded"}`)
//	row.ContentURLMd5 = rule.Sum(&chosen, "")
package contenthash

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kljensen/snowball"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/result"
)

// Rule is a value of CONTENT_HASH.
type Rule struct {
	Algorithm int      // Text, Words, Stems or Sounds
	Tags      []string // in order, each not empty
	// Delete asks to delete the newer one of two pages with the same hash. The original service
	// never did; nor does this one. It is for a message of the caller.
	Delete bool
}

// Algorithms.
const (
	Text   = 1 // the whole text
	Words  = 2 // its different words, in any order
	Stems  = 3 // their stems
	Sounds = 4 // their Soundex codes
)

// shortest is the least number of characters of a word.
const shortest = 3

// Parse reads CONTENT_HASH. It returns nil for null and for algorithm 0.
func Parse(text string) (*Rule, error) {
	var v *struct {
		Algorithm prop.Int   `json:"algorithm"`
		Tags      prop.Texts `json:"tags"`
		Delete    prop.Bool  `json:"delete"`
	}
	if err := prop.Decode(text, &v); err != nil || v == nil || v.Algorithm == 0 {
		return nil, err
	}
	if v.Algorithm < Text || v.Algorithm > Sounds {
		return nil, fmt.Errorf(`has %d at "algorithm", which does not exist; expected 1 (text), 2 (words), 3 (stems) or 4 (Soundex)`, v.Algorithm)
	}
	r := &Rule{Algorithm: int(v.Algorithm), Delete: bool(v.Delete)}
	for name := range strings.SplitSeq(strings.Join(v.Tags, ","), ",") {
		if name = strings.TrimSpace(name); name != "" {
			r.Tags = append(r.Tags, name)
		}
	}
	if len(r.Tags) == 0 {
		return nil, fmt.Errorf(`names no tag at "tags"`)
	}
	return r, nil
}

// Sum returns the hash of a result, 32 characters, or "" if its listed tags have no text: pages
// without text are not the same page. Defaults of rules are no text. language is the two-letter
// code of the text for Stems; "": that of the listed tags, then html_lang. A language without
// stems counts as English. A nil Rule gives "".
func (h *Rule) Sum(r *result.Result, language string) string {
	if h == nil {
		return ""
	}
	text, spoken := h.joinTagValues(r)
	if h.Algorithm != Text {
		text = h.joinWordKeys(strings.Fields(text), cmp.Or(language, spoken, r.First("html_lang")))
	}
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return wire.Md5(text)
}

// joinTagValues returns the values of the tags, each with a space behind it, in lower case.
func (h *Rule) joinTagValues(r *result.Result) (text, language string) {
	var b strings.Builder
	for _, name := range h.Tags {
		t := r.Tag(name)
		if t == nil || t.Default {
			continue
		}
		language = cmp.Or(language, t.Lang)
		for _, v := range t.Data {
			b.WriteString(v)
			b.WriteByte(' ')
		}
	}
	return strings.ToLower(b.String()), language
}

// joinWordKeys returns the keys of the words that are long enough, each once, sorted and joined.
func (h *Rule) joinWordKeys(list []string, language string) string {
	keys := make([]string, 0, len(list))
	met := make(map[string]bool, len(list))
	stems := stemsOf(language)
	for _, word := range list {
		if met[word] || utf8.RuneCountInString(word) < shortest {
			continue
		}
		met[word] = true
		switch h.Algorithm {
		case Stems:
			word, _ = snowball.Stem(word, stems, true) // the language is known
		case Sounds:
			word = soundexCode(word)
		}
		keys = append(keys, word)
	}
	slices.Sort(keys)
	return strings.Join(slices.Compact(keys), "")
}

// stemsOf returns the name of the stems of a language: "pt-BR" has those of "pt".
func stemsOf(language string) string {
	code, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(language)), "-")
	code, _, _ = strings.Cut(code, "_")
	switch code {
	case "es":
		return "spanish"
	case "fr":
		return "french"
	case "ru":
		return "russian"
	case "sv":
		return "swedish"
	case "no", "nb", "nn":
		return "norwegian"
	case "hu":
		return "hungarian"
	}
	return "english"
}
