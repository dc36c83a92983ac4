// Package wordcount counts the words of the HTML pages of an archive. It stores the result of each page
// in the archive: as the file words.txt, and as the node wordcount of its XML.
//
//	err := wordcount.Run(ctx, store, "domain = 'example.org'", func(r wordcount.Result) error { ... })
//
// It is an example of an analysis: it works on any archive.Store, such as a client of package client.
package wordcount

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"hce/dc/internal/web/charset"
)

// Count is how often each word occurs. Words are in lower case.
type Count map[string]int

// mostLetters bounds a word, in bytes; the rest of a longer one is not kept.
const mostLetters = 200

// inline are elements that may be inside of a word; each other tag ends it.
var inline = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Cite: true, atom.Code: true,
	atom.Del: true, atom.Dfn: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Ins: true, atom.Kbd: true,
	atom.Mark: true, atom.Q: true, atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true,
	atom.Strong: true, atom.Sub: true, atom.Sup: true, atom.Time: true, atom.Tt: true, atom.U: true,
	atom.Var: true, atom.Wbr: true,
}

// hidden are elements whose content is no text of the page.
var hidden = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Noscript: true, atom.Iframe: true,
	atom.Noembed: true, atom.Noframes: true,
}

// HTML counts the words of a page: its title and its text, without scripts and styles. The charset is
// that of contentType, or what the page says or looks like. A word is a sequence of letters, digits and
// marks, with single hyphens and apostrophes inside. Each Han, Hiragana and Katakana character is a
// word. It never fails: any bytes are a page.
func HTML(body []byte, contentType string) Count {
	text, _, _ := charset.Decode(body, contentType) // the text is usable in any case
	c := counter{words: Count{}}
	z := html.NewTokenizer(bytes.NewReader(text))
	var skipped atom.Atom // the hidden element that is open
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			c.endWord()
			return c.words
		case html.TextToken:
			if skipped == 0 {
				c.addText(string(z.Text()))
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			if !inline[tag] {
				c.endWord()
			}
			switch {
			case kind == html.EndTagToken && tag == skipped:
				skipped = 0
			case kind == html.StartTagToken && skipped == 0 && hidden[tag]:
				skipped = tag
			}
		}
	}
}

// counter builds words from the letters of a page.
type counter struct {
	words  Count
	word   strings.Builder
	joined rune // a hyphen or apostrophe after the word, which belongs to it if a letter follows
}

const softHyphen = '\u00ad'

func (c *counter) addText(text string) {
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			c.endWord()
			c.words[string(r)]++
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			c.addLetter(r)
		case r == softHyphen:
		case c.word.Len() > 0 && c.joined == 0 && (r == '-' || r == '\'' || r == '’'):
			c.joined = r
		default:
			c.endWord()
		}
	}
}

func (c *counter) addLetter(r rune) {
	if c.word.Len() > mostLetters {
		return
	}
	if c.joined != 0 {
		c.word.WriteRune(c.joined)
		c.joined = 0
	}
	c.word.WriteRune(unicode.ToLower(r))
}

// endWord ends the word.
func (c *counter) endWord() {
	if c.word.Len() > 0 {
		c.words[c.word.String()]++
	}
	c.word.Reset()
	c.joined = 0
}

// Total returns the number of words.
func (c Count) Total() (total int) {
	for _, n := range c {
		total += n
	}
	return total
}

// Text returns words.txt: the totals, and each word with its number in a line, the most frequent first.
func (c Count) Text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "total %d\ndistinct %d\n\n", c.Total(), len(c))
	for _, word := range slices.SortedFunc(maps.Keys(c), func(a, b string) int {
		if c[a] != c[b] {
			return c[b] - c[a]
		}
		return strings.Compare(a, b)
	}) {
		fmt.Fprintf(&b, "%s %d\n", word, c[word])
	}
	return b.Bytes()
}

// XML returns the content of the node wordcount.
func (c Count) XML() string {
	return fmt.Sprintf("<total>%d</total><distinct>%d</distinct>", c.Total(), len(c))
}
