// Package query reads what a person types into the search form.
//
//	q, err := query.Parse(`"operating system" + kernel - windows site:example.org after:2024`)
//
// The language:
//
//	word            documents with the word
//	a b, a + b      documents with either; those with all words come first
//	a - b, a -b     documents with a that do not have b
//	"a b"           the words next to each other, in this order
//	site:example.org    of this host or of a host below it; with a port: of exactly this host
//	before:2024-05-31   older than this day; after: from this day on. Also 2024 and 2024-05
//
// A plus or minus inside a word (e-mail, C++) is a part of it. A word without a known name before its
// colon is a word. Parse never fails on strange characters; it refuses what is too long or too much,
// what is not a date, and a question that only excludes.
package query

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of a question.
const (
	MaxBytes = 512
	MaxTerms = 16
	MaxSites = 8
)

// Term is a word, or a phrase of several words.
type Term struct {
	Text   string
	Phrase bool
}

// Query is a question as it was understood.
type Query struct {
	Terms   []Term // either of them; documents with all come first
	Exclude []Term
	Sites   []string  // host names in lower case, perhaps with a port; either of them
	Before  time.Time // exclusive; zero without
	After   time.Time // inclusive; zero without
}

// ErrEmpty means that a question has no word.
var ErrEmpty = errors.New("the question has no word to search for")

// Parse reads a question. The error is one sentence for the person who asked.
func Parse(text string) (Query, error) {
	var q Query
	if len(text) > MaxBytes {
		return q, fmt.Errorf("the question has %d bytes; the limit is %d", len(text), MaxBytes)
	}
	if !utf8.ValidString(text) {
		return q, errors.New("the question is not valid UTF-8")
	}
	exclude := false
	for rest := text; ; {
		var t token
		t, rest = nextToken(rest)
		switch t.kind {
		case end:
			return q, q.checkPositive(exclude)
		case plus:
			exclude = false
		case minus:
			exclude = true
		default:
			if err := q.addToken(t, exclude); err != nil {
				return q, err
			}
			exclude = false
		}
	}
}

// addToken takes one word, phrase or filter.
func (q *Query) addToken(t token, exclude bool) error {
	name, value, named := strings.Cut(t.text, ":")
	if t.kind == word && named && !exclude {
		switch strings.ToLower(name) {
		case "site":
			return q.addSite(value)
		case "before":
			return setDate(&q.Before, "before", value)
		case "after":
			return setDate(&q.After, "after", value)
		}
	}
	if !hasLetter(t.text) {
		return nil // only signs: nothing to look for
	}
	list := &q.Terms
	if exclude {
		list = &q.Exclude
	}
	term := Term{t.text, t.kind == phrase && strings.IndexFunc(t.text, unicode.IsSpace) >= 0}
	for _, known := range *list {
		if strings.EqualFold(known.Text, term.Text) && known.Phrase == term.Phrase {
			return nil
		}
	}
	if *list = append(*list, term); len(q.Terms)+len(q.Exclude) > MaxTerms {
		return fmt.Errorf("the question has more than %d words", MaxTerms)
	}
	return nil
}

func (q *Query) addSite(value string) error {
	value = strings.ToLower(strings.TrimSuffix(value, "/"))
	for _, c := range value {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune(".-_:[]", c) {
			return fmt.Errorf("site:%s is not a host name; write for example site:example.org", value)
		}
	}
	if value == "" {
		return errors.New("site: needs a host name; write for example site:example.org")
	}
	if q.Sites = append(q.Sites, value); len(q.Sites) > MaxSites {
		return fmt.Errorf("the question has more than %d filters with site", MaxSites)
	}
	return nil
}

func setDate(date *time.Time, name, value string) error {
	for _, layout := range []string{"2006-01-02", "2006-01", "2006"} {
		if at, err := time.Parse(layout, value); err == nil {
			*date = at
			return nil
		}
	}
	return fmt.Errorf("%s:%s is not a date; write for example %s:2024-05-31 or %s:2024", name, value, name, name)
}

// checkPositive refuses a question without a positive word.
func (q *Query) checkPositive(open bool) error {
	switch {
	case len(q.Terms) == 0 && len(q.Exclude) > 0:
		return errors.New("the question only excludes; write a word before the minus")
	case len(q.Terms) == 0 && len(q.Sites) == 0 && q.Before.IsZero() && q.After.IsZero():
		return ErrEmpty
	case open && len(q.Terms) == 0:
		return ErrEmpty
	}
	return nil
}

// String returns the question in its normal form. Parse of it gives the same Query.
func (q Query) String() string {
	var parts []string
	for _, t := range q.Terms {
		parts = append(parts, t.String())
	}
	text := strings.Join(parts, " + ")
	for _, t := range q.Exclude {
		text += " - " + t.String()
	}
	for _, s := range q.Sites {
		text += " site:" + s
	}
	if !q.Before.IsZero() {
		text += " before:" + q.Before.Format("2006-01-02")
	}
	if !q.After.IsZero() {
		text += " after:" + q.After.Format("2006-01-02")
	}
	return strings.TrimSpace(text)
}

// String returns a word as it is, and a phrase in quotes. So does a word that the parser would read as
// something else.
func (t Term) String() string {
	first, rest := nextToken(t.Text)
	name, _, named := strings.Cut(strings.ToLower(t.Text), ":")
	filter := named && (name == "site" || name == "before" || name == "after")
	if t.Phrase || filter || first.kind != word || first.text != t.Text || rest != "" {
		return `"` + t.Text + `"`
	}
	return t.Text
}

type kind int

const (
	end kind = iota
	plus
	minus
	word
	phrase
)

type token struct {
	kind kind
	text string
}

// nextToken takes the first token of text.
func nextToken(text string) (token, string) {
	text = strings.TrimLeftFunc(text, isBlank)
	if text == "" {
		return token{}, ""
	}
	first, size := utf8.DecodeRuneInString(text)
	switch {
	case first == '+':
		return token{kind: plus}, text[size:]
	case minusSign(first):
		return token{kind: minus}, text[size:]
	case isQuote(first):
		inside := text[size:]
		if i := strings.IndexFunc(inside, isQuote); i >= 0 {
			_, size := utf8.DecodeRuneInString(inside[i:])
			return token{phrase, cleanText(inside[:i])}, inside[i+size:]
		}
		return token{phrase, cleanText(inside)}, "" // it is not closed
	}
	i := strings.IndexFunc(text, func(c rune) bool { return isBlank(c) || isQuote(c) })
	if i < 0 {
		i = len(text)
	}
	return token{word, cleanText(text[:i])}, text[i:]
}

// cleanText joins blanks and drops control characters.
func cleanText(text string) string {
	return strings.Join(strings.FieldsFunc(text, isBlank), " ")
}

func isBlank(c rune) bool   { return unicode.IsSpace(c) || unicode.IsControl(c) }
func isQuote(c rune) bool   { return c == '"' || c == '\u201c' || c == '\u201d' || c == '\u201e' }
func minusSign(c rune) bool { return c == '-' || c == '\u2013' || c == '\u2212' }

func hasLetter(text string) bool {
	return strings.IndexFunc(text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) >= 0
}
