package links

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// HTML returns the links of an HTML page, at most maxLinks of them (0 = all).
// text is UTF-8; broken mark-up is read as the tokenizer of the HTML standard
// reads it. Comments and scripts hold no links; noscript and noframes do, as
// nobody here runs scripts or draws frames, and so do style elements and
// attributes. Time is linear in the text.
func HTML(text []byte, maxLinks int) Page { return scan(text, maxLinks, false) }

// XML returns the links of a feed, a site map or any other XML document: the
// text of link, guid and loc elements, the attributes of feeds that hold URLs
// (Atom's link among them) and those of HTML. Prefixes are ignored. A guid with
// isPermaLink="false" is no link.
func XML(text []byte, maxLinks int) Page { return scan(text, maxLinks, true) }

// scanner is one pass over one page.
type scanner struct {
	page  Page
	xml   bool
	max   int
	seen  map[string]bool
	attrs []attribute // those of the tag at hand, reused

	title    []byte
	inTitle  bool
	hasTitle bool

	text    []byte // of the XML element textOf, which holds a URL
	textOf  string
	inStyle bool
	sawRoot bool
	sawBase bool

	form openForm
}

// attribute is one of the tag at hand.
type attribute struct{ key, value string }

func scan(text []byte, maxLinks int, xml bool) Page {
	z := html.NewTokenizer(bytes.NewReader(text))
	z.AllowCDATA(xml)
	s := scanner{xml: xml, max: maxLinks, seen: make(map[string]bool)}
	for {
		switch z.Next() {
		case html.ErrorToken:
			s.endText()
			s.endTitle()
			s.endForm()
			return s.page
		case html.TextToken:
			s.take(z)
		case html.StartTagToken, html.SelfClosingTagToken:
			s.endText()
			s.start(z)
		case html.EndTagToken:
			s.endText()
			s.inStyle = false
			if s.form.open {
				name, _ := z.TagName()
				s.endOfForm(string(name))
			}
			if s.inTitle {
				s.endTitle()
			}
		}
	}
}

// styleURL tells the tags whose style attribute is worth reading.
var styleURL = []byte("url(")

// take keeps the text at hand when somebody waits for it.
func (s *scanner) take(z *html.Tokenizer) {
	switch {
	case s.inStyle:
		s.style(z.Text())
	case s.textOf != "":
		if len(s.text) <= maxURL {
			s.text = append(s.text, z.Text()...)
		}
	case s.form.waiting:
		if len(s.form.text) <= maxValue {
			s.form.text = append(s.form.text, z.Text()...)
		}
	case s.inTitle:
		if len(s.title) <= maxTitle {
			s.title = append(s.title, z.Text()...)
		}
	}
}

// start reads one start tag.
func (s *scanner) start(z *html.Tokenizer) {
	styled := bytes.Contains(z.Raw(), styleURL)
	name, more := z.TagName()
	if s.xml {
		z.NextIsNotRawText()
		if i := bytes.IndexByte(name, ':'); i >= 0 {
			name = name[i+1:]
		}
	}
	rules := attributes[string(name)]
	feed := false
	if s.xml {
		if extra, ok := xmlAttributes[string(name)]; ok {
			rules = extra
		}
		feed = xmlTexts[string(name)]
	}
	switch string(name) {
	case "title":
		s.inTitle = !s.hasTitle
		return
	case "noscript", "noframes":
		z.NextIsNotRawText()
		return
	case "style":
		s.inStyle = true
		return
	}
	root := !s.sawRoot && (s.xml || string(name) == "html")
	if len(rules) == 0 && !feed && !root && !styled && string(name) != "base" && string(name) != "meta" {
		return
	}

	tag := string(name)
	s.read(z, more, rules)
	if root {
		s.sawRoot = true
		s.page.Lang = cut(first(s.value("lang"), s.value("xml:lang")), maxLang)
	}
	switch tag {
	case "base":
		s.base()
		return
	case "meta":
		s.meta()
		return
	}
	if !s.xml && (s.form.open || tag == "form") {
		s.startOfForm(tag)
	}
	rel := strings.ToLower(strings.TrimSpace(s.value("rel")))
	if tag == "link" && s.page.Canonical == "" && hasWord(rel, "canonical") {
		s.page.Canonical = clean(s.value("href"))
	}
	for _, r := range rules {
		if v := s.value(r.attr); v != "" {
			s.addAll(v, r, tag, rel)
		}
	}
	if styled {
		s.style([]byte(s.value("style")))
	}
	if feed && s.value("href") == "" && !strings.EqualFold(s.value("ispermalink"), "false") {
		s.textOf, s.text = tag, s.text[:0]
	}
}

// read collects the attributes of the tag at hand that somebody asks for and
// whose value is short enough to be meant. Of equal names the first counts.
func (s *scanner) read(z *html.Tokenizer, more bool, rules []rule) {
	s.attrs = s.attrs[:0]
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		name := asked(key, rules)
		if name == "" || len(value) > maxList || s.has(name) {
			continue
		}
		s.attrs = append(s.attrs, attribute{name, string(value)})
	}
}

// asked returns the name of an attribute that this package reads, "" for any
// other. The names are constants, so that a tag costs no memory for them.
func asked(key []byte, rules []rule) string {
	for _, r := range rules {
		if string(key) == r.attr {
			return r.attr
		}
	}
	switch string(key) {
	case "rel":
		return "rel"
	case "href":
		return "href"
	case "name":
		return "name"
	case "content":
		return "content"
	case "http-equiv":
		return "http-equiv"
	case "lang":
		return "lang"
	case "xml:lang":
		return "xml:lang"
	case "ispermalink":
		return "ispermalink"
	case "style":
		return "style"
	}
	return ""
}

// has reports whether the tag at hand has the named attribute.
func (s *scanner) has(key string) bool {
	for _, a := range s.attrs {
		if a.key == key {
			return true
		}
	}
	return false
}

// value returns the named attribute of the tag at hand, "" when it has none.
func (s *scanner) value(key string) string {
	for _, a := range s.attrs {
		if a.key == key {
			return a.value
		}
	}
	return ""
}

// addAll adds the URLs that one value holds.
func (s *scanner) addAll(value string, r rule, tag, rel string) {
	switch r.kind {
	case single:
		s.add(value, tag, r.attr, rel)
	case spaces:
		for url := range strings.FieldsSeq(value) {
			s.add(url, tag, r.attr, rel)
		}
	case commas:
		for url := range strings.SplitSeq(value, ",") {
			s.add(url, tag, r.attr, rel)
		}
	case srcset:
		for url := range candidates(value) {
			s.add(url, tag, r.attr, rel)
		}
	case none:
	}
}

// add keeps one URL unless it leads nowhere, is known or is one too many.
func (s *scanner) add(url, tag, attr, rel string) {
	url = clean(url)
	if !fetchable(url) || s.seen[url] {
		return
	}
	if s.max > 0 && len(s.page.Links) >= s.max {
		s.page.Cut = true
		return
	}
	s.seen[url] = true
	s.page.Links = append(s.page.Links, Link{URL: url, Tag: tag, Attr: attr, Rel: rel})
}

// base notes the first base element with an href.
func (s *scanner) base() {
	if s.sawBase || !s.has("href") {
		return
	}
	s.sawBase = true
	if url := clean(s.value("href")); len(url) <= maxURL && !deadSchemes[scheme(url)] {
		s.page.Base = url
	}
}

// meta notes what a meta element says to robots, and where it leads.
func (s *scanner) meta() {
	content := s.value("content")
	if strings.EqualFold(strings.TrimSpace(s.value("name")), "robots") && len(content) <= maxURL {
		if s.page.Robots != "" {
			content = s.page.Robots + "," + content
		}
		if len(content) <= maxURL {
			s.page.Robots = strings.ToLower(content)
		}
	}
	if !strings.EqualFold(strings.TrimSpace(s.value("http-equiv")), "refresh") {
		return
	}
	url, delay := refresh(content)
	if url = clean(url); !fetchable(url) {
		return
	}
	if s.page.Refresh == nil {
		s.page.Refresh = &Refresh{URL: url, Delay: delay}
	}
	s.add(url, "meta", "content", "")
}

// endText adds the URL that was the text of an XML element.
func (s *scanner) endText() {
	if s.textOf == "" {
		return
	}
	s.add(string(s.text), s.textOf, "", "")
	s.textOf = ""
}

// endTitle keeps the title read.
func (s *scanner) endTitle() {
	s.inTitle = false
	if s.hasTitle {
		return
	}
	s.page.Title = cut(strings.Join(strings.Fields(strings.ToValidUTF8(string(s.title), "")), " "), maxTitle)
	s.hasTitle = s.page.Title != ""
	s.title = s.title[:0]
}

// cut shortens text to at most max bytes without splitting a rune.
func cut(text string, max int) string {
	if len(text) <= max {
		return text
	}
	return strings.ToValidUTF8(text[:max], "")
}

// clean removes the white space and control characters around a URL, as the
// URL standard does.
func clean(url string) string {
	return strings.TrimFunc(url, func(r rune) bool { return r <= ' ' })
}

// hasWord reports whether word is among the words of list.
func hasWord(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}

// first returns the first text that is not empty.
func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
