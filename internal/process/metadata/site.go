package metadata

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hce/dc/internal/web/htmltree"
)

// Bounds of a site.
const (
	maxNames     = 12 // names of a site
	maxNameBytes = 80 // of a name
	maxHomeLinks = 6  // links to the home page
	maxLinkNodes = 24 // nodes of a link
)

// site is what a page says about the name of its site. Names are in lower case, letters and digits only.
type site struct {
	names     []string
	host      string // without www
	labels    []string
	home      []byte // the start of absolute links to the site: https://host
	homeLinks int
	legal     string // the line with the copyright sign
}

// setURL takes the names in the host of the page: of www.harbour-post.example the label "harbourpost".
func (s *site) setURL(pageURL string) {
	_, rest, _ := strings.Cut(pageURL, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	s.home = []byte(pageURL[:len(pageURL)-len(rest)+end])
	host, _, _ := strings.Cut(rest[:end], ":")
	host = strings.TrimPrefix(strings.ToLower(host), "www.")
	s.host = plainLetters(host)
	labels := strings.Split(host, ".")
	for i, label := range labels {
		last := i == len(labels)-1 && i > 0
		if label = plainLetters(label); len(label) >= 2 && !last && !sectionLabels[label] && (i+2 >= len(labels) || len(label) > 2) {
			s.labels = append(s.labels, label)
		}
	}
}

// sectionLabels are parts of hosts that name no site.
var sectionLabels = wordSet(`www docs doc blog blogs shop store forum forums community support help news en us uk de fr m mobile web home co com org net
	learn wiki developer developers dev api boards online business my app investor github gitlab readthedocs substack wordpress blogspot medium`)

// genericWords may follow or precede the name of a site in a name of it: "Harbour Post Magazine".
var genericWords = wordSet(`the a an and of docs doc documentation manual wiki forum forums community communities blog blogs news magazine online
	official site website web shop store help support center centre home homepage page inc ltd llc gmbh co com org net company group portal us usa uk
	international global newsroom press reference guide app tv`)

// addName adds a name of the site.
func (s *site) addName(name []byte) {
	if len(name) <= 2*maxNameBytes {
		s.addText(OneLine(name))
	}
}

// addData adds a name in JSON-LD.
func (s *site) addData(name []byte) {
	if len(name) > 0 && len(name) <= 2*maxNameBytes {
		s.addText(TextOfJSON(name))
	}
}

func (s *site) addText(name string) {
	p := plainLetters(name)
	if len(p) < 2 || len(p) > maxNameBytes || len(s.names) == maxNames || emptyTitles[strings.ToLower(oneLine(name))] || slices.Contains(s.names, p) {
		return
	}
	s.names = append(s.names, p)
}

// readLink takes the text of a link to the home page, or the alternative text of its logo.
func (s *site) readLink(d *htmltree.Doc, i int32) {
	n := &d.Nodes[i]
	if s.homeLinks >= maxHomeLinks || !s.isHome(d.Attr(n, htmltree.KeyHref)) {
		return
	}
	s.homeLinks++
	var text []byte
	for k := i + 1; k < n.End && k < i+maxLinkNodes && len(text) <= maxNameBytes; k++ {
		switch c := &d.Nodes[k]; c.Tag {
		case htmltree.TagText:
			text = append(text, d.Text(c)...)
		case htmltree.TagImg:
			s.addName(d.Attr(c, htmltree.KeyAlt))
		}
	}
	s.addName(text)
}

// isHome reports whether a link leads to the home page.
func (s *site) isHome(href []byte) bool {
	if len(href) > 0 && href[0] == '/' {
		return len(href) == 1
	}
	rest, ok := bytes.CutPrefix(href, s.home)
	return ok && len(s.home) > 0 && (len(rest) == 0 || len(rest) == 1 && rest[0] == '/')
}

// forgetTitle removes a name that is the title of the page: some pages state it as the name of the site.
func (s *site) forgetTitle(title string) {
	p := plainLetters(title)
	s.names = slices.DeleteFunc(s.names, func(name string) bool { return name == p && p != s.host && !slices.Contains(s.labels, p) })
}

// isName reports whether a text is a name of the site that the page or its host states.
func (s *site) isName(text string) bool {
	if len(text) > maxNameBytes {
		return false
	}
	p := plainLetters(text)
	return p == "" || p == s.host || slices.Contains(s.names, p) || slices.Contains(s.labels, p)
}

// matchesName reports whether a text is the name of the site, or is like one.
func (s *site) matchesName(text string) bool {
	if s.isName(text) || len(text) > maxNameBytes {
		return len(text) <= maxNameBytes
	}
	p := plainLetters(text)
	words := wordsOf(text)
	bare := withoutGeneric(words)
	if bare == "" || len(words) > 6 {
		return false
	}
	for _, label := range s.labels {
		if label == bare || len(words) > 2 && label == initialsOf(words) || len(label) > 5 && len(bare) >= 4 && (withoutSuffix(label) == bare) {
			return true
		}
	}
	for _, name := range s.names {
		if name == bare || len(name) > len(p) && len(p) >= 5 && (strings.HasPrefix(name, p) || strings.HasSuffix(name, p)) {
			return true
		}
	}
	return false
}

// isPart is is for a part of a title, which may also be in the line with the copyright sign.
func (s *site) isPart(text string) bool {
	if s.matchesName(text) {
		return true
	}
	p := plainLetters(text)
	return len(p) >= 4 && len(p) <= maxNameBytes && strings.Contains(s.legal, p)
}

// wordsOf returns the words of a text in lower case.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !isWordRune(r) })
}

// withoutGeneric joins the words that are not generic.
func withoutGeneric(words []string) string {
	var b strings.Builder
	for _, w := range words {
		if !genericWords[w] {
			b.WriteString(w)
		}
	}
	return b.String()
}

// withoutSuffix cuts a generic word off the label of a host: harbourmagazine.
func withoutSuffix(label string) string {
	for _, word := range []string{"online", "magazine", "news", "blog", "forum", "forums", "shop", "store", "mag", "group", "hq", "app", "inc"} {
		if rest, ok := strings.CutSuffix(label, word); ok {
			return rest
		}
	}
	return label
}

func initialsOf(words []string) string {
	var b strings.Builder
	for _, w := range words {
		if w != "of" && w != "the" && w != "and" && w != "for" {
			r, _ := utf8.DecodeRuneInString(w)
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// plainLetters returns the letters and digits of a text in lower case.
func plainLetters(text string) string {
	return strings.Map(func(r rune) rune {
		if isWordRune(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}

// cutNames returns a title without names of the site at its ends. A title that is only a name of it is unchanged.
func (s *site) cutNames(title string) string {
	for rounds := 0; rounds < 4; rounds++ {
		first, last := titleSeparators(title)
		head, tail := title[:last.from], title[last.to:]
		switch {
		case last.to > 0 && s.isPart(tail):
			if emptyTitles[strings.ToLower(head)] {
				return tail
			}
			title = head
		case first.to > 0 && s.isName(title[:first.from]) && !s.matchesName(title[first.to:]):
			title = title[first.to:]
		default:
			return title
		}
	}
	return title
}

// separator is a place between two parts of a title. to is 0 if a title has no separator.
type separator struct{ from, to int }

// titleSeparators returns the first and the last separator of a title.
func titleSeparators(title string) (first, last separator) {
	for i, r := range title {
		if !isSeparator(r) {
			continue
		}
		size := utf8.RuneLen(r)
		before, after := title[:i], title[i+size:]
		if strings.TrimSpace(before) == "" || strings.TrimSpace(after) == "" || !standsApart(r, before, after) {
			continue
		}
		at := separator{len(strings.TrimRight(before, " ")), i + size + len(after) - len(strings.TrimLeft(after, " "))}
		if first.to == 0 {
			first = at
		}
		last = at
	}
	return first, last
}

func isSeparator(r rune) bool {
	return strings.ContainsRune("|｜¦·•⋅∙«»‹›<>:：_-–—―/~→▸►@", r)
}

// standsApart reports whether a separator is not inside of a word or a number.
func standsApart(r rune, before, after string) bool {
	switch r {
	case '|', '｜', '¦', '»', '«', '：':
		return true
	}
	left, _ := utf8.DecodeLastRuneInString(before)
	right, _ := utf8.DecodeRuneInString(after)
	switch r {
	case ':':
		return right == ' ' || right == ':'
	case '-', '–', '—', '_':
		if left > 0x2E80 || right > 0x2E80 {
			return true
		}
	}
	return left == ' ' && right == ' ' || left == r || right == r
}
