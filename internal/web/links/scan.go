package links

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// HTML returns at most maxLinks links of an HTML page (0 = all). text is UTF-8; invalid
// markup is tokenised as in the HTML standard. Comments and scripts have no links.
// noscript, noframes, style elements and style attributes do, and so do documents in srcdoc and
// the data attributes of scripts that load content later. Time is linear in the text.
func HTML(text []byte, maxLinks int) Page { return scanPage(text, maxLinks, false) }

// XML returns the links of a feed, a sitemap or any other XML document: the text of link,
// guid and loc elements, and the attributes with URLs of feeds (including Atom's link) and
// of HTML. It ignores prefixes, and a guid with isPermaLink="false".
func XML(text []byte, maxLinks int) Page { return scanPage(text, maxLinks, true) }

// Anchors is HTML with the links of a and area elements only: what a person can follow. Page.Dead has
// those that lead to no document.
func Anchors(text []byte) Page {
	s := scanner{anchors: true, seen: make(map[string]bool)}
	s.runScan(text)
	return s.page
}

// Named is HTML, or XML, with the texts of the links. It takes more time.
func Named(text []byte, xml bool) Page {
	s := scanner{named: true, xml: xml, seen: make(map[string]bool), at: make(map[string]int)}
	s.runScan(text)
	for i := range s.page.Links {
		l := &s.page.Links[i]
		l.Text = strings.Join(strings.Fields(strings.ToValidUTF8(l.Text, "")), " ")
	}
	return s.page
}

// maxLinkText bounds the text of a link in bytes.
const maxLinkText = 200

// scanner is one pass over one page.
type scanner struct {
	page    Page
	anchors bool
	named   bool
	inLink  int // 1 + the index of the link of the open a element; 0: none
	xml     bool
	max     int
	seen    map[string]bool
	at      map[string]int // of Named: index of a link by its URL
	attrs   []attribute    // of the current tag; reused

	title    []byte
	inTitle  bool
	hasTitle bool

	text    []byte // of the XML element textOf, whose text is a URL
	textOf  string
	inStyle bool
	inert   int // open noscript, noframes and template elements
	sawRoot bool
	sawBase bool

	form openForm
	deep int // documents in srcdoc attributes around this one
}

// maxDeep bounds documents inside documents.
const maxDeep = 3

type attribute struct{ key, value string }

func scanPage(text []byte, maxLinks int, xml bool) Page {
	s := scanner{xml: xml, max: maxLinks, seen: make(map[string]bool)}
	s.runScan(text)
	return s.page
}

// runScan scans a page.
func (s *scanner) runScan(text []byte) {
	z := &tokenizer{page: text, cdata: s.xml}
	for {
		switch z.Next() {
		case html.ErrorToken:
			s.endText()
			s.endTitle()
			s.endForm()
			return
		case html.TextToken:
			s.takeText(z)
		case html.StartTagToken:
			s.endText()
			s.handleStartTag(z)
		case html.EndTagToken:
			s.endText()
			s.inStyle = false
			if s.inLink > 0 && string(z.Name()) == "a" {
				s.inLink = 0
			}
			if s.inert > 0 && inert[string(z.Name())] {
				s.inert--
			}
			if s.form.open {
				s.endOfForm(string(z.Name()))
			}
			if s.inTitle {
				s.endTitle()
			}
		}
	}
}

// addInnerLinks adds the links of a document in an attribute. Its base is that of the page: its own base
// element is ignored, as are its title and forms.
func (s *scanner) addInnerLinks(text string) {
	if s.deep == maxDeep {
		return
	}
	d := scanner{max: s.max, seen: s.seen, deep: s.deep + 1, page: Page{Links: s.page.Links, Cut: s.page.Cut}}
	d.runScan([]byte(text))
	s.page.Links, s.page.Cut = d.page.Links, d.page.Cut
}

// styleURL is in all style attributes that can have links.
var styleURL = []byte("url(")

// dataPrefix begins the names of data attributes.
var dataPrefix = []byte("data-")

// mayHaveData reports whether a tag may have data attributes.
func mayHaveData(tag []byte) bool {
	for at := 0; ; at++ {
		i := bytes.IndexByte(tag[at:], '-')
		if i < 0 {
			return false
		}
		if at += i; at >= 4 && bytes.EqualFold(tag[at-4:at], dataPrefix[:4]) {
			return true
		}
	}
}

// takeText appends the current text to the part that collects it.
func (s *scanner) takeText(z *tokenizer) {
	switch {
	case s.inStyle:
		s.addStyleLinks(z.Text())
	case s.inLink > 0 && !s.form.waiting:
		if l := &s.page.Links[s.inLink-1]; len(l.Text) < maxLinkText {
			text := z.Text()
			l.Text += string(text[:min(len(text), maxLinkText-len(l.Text))])
		}
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

// handleStartTag handles one start tag.
func (s *scanner) handleStartTag(z *tokenizer) {
	styled, data := bytes.Contains(z.Raw(), styleURL), !s.xml && mayHaveData(z.Raw())
	name := z.Name()
	if s.xml {
		z.IgnoreContent()
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
	case "noscript", "noframes", "template":
		z.IgnoreContent()
		s.inert++
		return
	case "style":
		s.inStyle = true
		return
	}
	root := !s.sawRoot && (s.xml || string(name) == "html")
	if len(rules) == 0 && !feed && !root && !styled && !data && string(name) != "base" && string(name) != "meta" {
		return
	}

	tag := string(name)
	s.readAttributes(z, rules)
	if root {
		s.sawRoot = true
		s.page.Lang = cutText(cmp.Or(s.attributeValue("lang"), s.attributeValue("xml:lang")), maxLang)
	}
	switch tag {
	case "base":
		s.handleBase()
		return
	case "meta":
		s.handleMeta()
		return
	}
	if !s.xml && (s.form.open || tag == "form") {
		s.startOfForm(tag)
	}
	rel := strings.ToLower(strings.TrimSpace(s.attributeValue("rel")))
	if tag == "link" && s.page.Canonical == "" && slices.Contains(strings.Fields(rel), "canonical") {
		s.page.Canonical = cleanURL(s.attributeValue("href"))
	}
	before := len(s.page.Links)
	for _, r := range rules {
		if v := s.attributeValue(r.attr); v != "" && !s.submitsForm(tag, r.attr) {
			s.addAll(v, r, tag, rel)
		}
	}
	if s.named && tag == "a" {
		s.nameLink(before)
	}
	if data {
		s.addData(tag, rel)
	}
	if tag == "param" && (strings.EqualFold(s.attributeValue("valuetype"), "ref") || parameters[strings.ToLower(s.attributeValue("name"))]) {
		s.addURL(s.attributeValue("value"), tag, "value", rel)
	}
	if styled {
		s.addStyleLinks([]byte(s.attributeValue("style")))
	}
	if feed && s.attributeValue("href") == "" && !strings.EqualFold(s.attributeValue("ispermalink"), "false") {
		s.textOf, s.text = tag, s.text[:0]
	}
}

// nameLink lets the text of the current a element be that of its link: the last one that it has added to before
// links, or the same one on the page above, if that has no text (a picture).
func (s *scanner) nameLink(before int) {
	for i := before; i < len(s.page.Links); i++ {
		s.at[s.page.Links[i].URL] = i
	}
	at, known := s.at[cleanURL(s.attributeValue("href"))]
	if s.inLink = 0; known && (at >= before || strings.TrimSpace(s.page.Links[at].Text) == "") {
		s.inLink = at + 1
	}
}

// readAttributes collects the attributes of the current tag that the scanner uses. The first of equal
// names counts. Values above maxList count as empty.
func (s *scanner) readAttributes(z *tokenizer, rules []rule) {
	s.attrs = s.attrs[:0]
	for key, value, ok := z.Attr(); ok; key, value, ok = z.Attr() {
		name := usedName(key, rules)
		if name == "" || s.hasAttribute(name) {
			continue
		}
		if len(value) > maxList && name != "srcdoc" {
			value = nil
		}
		s.attrs = append(s.attrs, attribute{name, string(value)})
	}
}

// usedName returns the name of an attribute that the scanner uses, else "". The names are
// constants, so that tags need no allocation for them.
func usedName(key []byte, rules []rule) string {
	for _, r := range rules {
		if string(key) == r.attr {
			return r.attr
		}
	}
	if bytes.HasPrefix(key, dataPrefix) {
		if _, ok := dataAttributes[string(key)]; ok {
			return string(key)
		}
		return ""
	}
	return globalAttributes[string(key)]
}

// submitsForm reports whether an attribute is the address of a form that is not sent by GET. Such an address
// is no link: a request by GET is an error, or an action without a user. Forms have it.
func (s *scanner) submitsForm(tag, attr string) bool {
	method := ""
	switch {
	case tag == "form" && attr == "action":
		method = s.attributeValue("method")
	case attr == "formaction":
		if method = s.attributeValue("formmethod"); !s.hasAttribute("formmethod") && s.form.open {
			method = s.form.Method
		}
	}
	method = strings.ToLower(strings.TrimSpace(method))
	return method == "post" || method == "dialog"
}

// addData adds the URLs of the data attributes of the current tag, in their order.
func (s *scanner) addData(tag, rel string) {
	for i := range s.attrs { // a document in another attribute has attributes of its own
		a := s.attrs[i]
		kind, ok := dataAttributes[a.key]
		switch {
		case !ok:
		case strings.HasPrefix(strings.TrimSpace(a.value), "url("):
			s.addStyleLinks([]byte("a{b:" + a.value + "}"))
		case kind == srcset || maybeURL(a.value):
			s.addAll(a.value, rule{a.key, kind}, tag, rel)
		}
	}
}

// globalAttributes are used on every element.
var globalAttributes = map[string]string{
	"rel": "rel", "href": "href", "name": "name", "content": "content", "http-equiv": "http-equiv",
	"lang": "lang", "xml:lang": "xml:lang", "ispermalink": "ispermalink", "style": "style",
}

// hasAttribute reports whether the current tag has the attribute.
func (s *scanner) hasAttribute(key string) bool {
	return slices.ContainsFunc(s.attrs, func(a attribute) bool { return a.key == key })
}

// attributeValue returns an attribute of the current tag, or "".
func (s *scanner) attributeValue(key string) string {
	for _, a := range s.attrs {
		if a.key == key {
			return a.value
		}
	}
	return ""
}

// addAll adds the URLs in one value.
func (s *scanner) addAll(value string, r rule, tag, rel string) {
	switch r.kind {
	case single:
		s.addURL(value, tag, r.attr, rel)
	case spaces:
		for url := range strings.FieldsSeq(value) {
			s.addURL(url, tag, r.attr, rel)
		}
	case commas:
		for url := range strings.SplitSeq(value, ",") {
			s.addURL(url, tag, r.attr, rel)
		}
	case srcset:
		for url := range srcsetURLs(value) {
			s.addURL(url, tag, r.attr, rel)
		}
	case document:
		s.addInnerLinks(value)
	case noURL:
	}
}

// addURL adds a URL, unless it is unfetchable, known or over the limit.
func (s *scanner) addURL(url, tag, attr, rel string) {
	url = cleanURL(url)
	if s.anchors {
		if attr != "href" || tag != "a" && tag != "area" {
			return
		}
		s.addDead(url)
	}
	if !isFetchable(url) || s.seen[url] {
		return
	}
	if s.max > 0 && len(s.page.Links) >= s.max {
		s.page.Cut = true
		return
	}
	s.seen[url] = true
	s.page.Links = append(s.page.Links, Link{URL: url, Tag: tag, Attr: attr, Rel: rel})
}

// addDead adds a URL that leads to no document; one in the page itself does.
func (s *scanner) addDead(url string) {
	if isFetchable(url) || s.seen[url] || url == "" || url[0] == '#' {
		return
	}
	s.seen[url] = true
	s.page.Dead = append(s.page.Dead, url[:min(len(url), maxURL)])
}

// handleBase handles a base element.
func (s *scanner) handleBase() {
	if s.sawBase || !s.hasAttribute("href") {
		return
	}
	s.sawBase = true
	if url := cleanURL(s.attributeValue("href")); len(url) <= maxURL && !deadSchemes[schemeOf(url)] {
		s.page.Base = url
	}
}

// handleMeta handles a meta element.
func (s *scanner) handleMeta() {
	content := s.attributeValue("content")
	if name := cleanURL(s.attributeValue("name")); name != "" && len(content) <= maxURL && len(s.page.Robots) < maxRobots {
		rule := RobotsRule{Agent: strings.ToLower(name), Content: strings.ToLower(content)}
		if rule.Agent == "robots" || asksRobots(rule.Content) {
			s.page.Robots = append(s.page.Robots, rule)
		}
	}
	if !strings.EqualFold(strings.TrimSpace(s.attributeValue("http-equiv")), "refresh") {
		return
	}
	delay, url := refreshOf(content)
	if url = cleanURL(url); !isFetchable(url) {
		return
	}
	if s.page.Refresh == "" || s.page.RefreshInert && s.inert == 0 {
		s.page.Refresh, s.page.RefreshDelay, s.page.RefreshInert = url, delay, s.inert > 0
	}
	s.addURL(url, "meta", "content", "")
}

// inert are the elements whose content a browser with scripts does not show.
var inert = map[string]bool{"noscript": true, "noframes": true, "template": true}

// leastText is the size of a text that makes a page more than a notice such as "Redirecting…".
const leastText = 20

// HasText reports whether a browser with scripts shows a text of at least 20 bytes on an HTML page, without
// spaces and punctuation, before scripts change it.
func HasText(text []byte) bool {
	z, hidden, size := &tokenizer{page: text}, 0, 0
	for {
		switch z.Next() {
		case html.ErrorToken:
			return false
		case html.StartTagToken:
			if inert[string(z.Name())] {
				z.IgnoreContent()
				hidden++
			}
		case html.EndTagToken:
			if hidden > 0 && inert[string(z.Name())] {
				hidden--
			}
		case html.TextToken:
			if hidden > 0 || z.element { // scripts, styles and the title too
				continue
			}
			for _, c := range z.Text() {
				if isAlphanumeric(c) || c >= 0x80 {
					size++
				}
			}
			if size >= leastText {
				return true
			}
		}
	}
}

// maxRobots bounds the meta elements for robots.
const maxRobots = 50

// asksRobots reports whether the content of a meta element begins with a directive that restricts robots.
func asksRobots(content string) bool {
	first, _, _ := strings.Cut(content, ",")
	first, _, _ = strings.Cut(first, ":")
	switch strings.TrimSpace(first) {
	case "none", "noindex", "nofollow", "noarchive", "nocache", "index", "follow", "all", "unavailable_after":
		return true
	}
	return false
}

// endText adds the URL in the text of an XML element.
func (s *scanner) endText() {
	if s.textOf == "" {
		return
	}
	s.addURL(string(s.text), s.textOf, "", "")
	s.textOf = ""
}

// endTitle sets the title.
func (s *scanner) endTitle() {
	s.inTitle = false
	if s.hasTitle {
		return
	}
	s.page.Title = cutText(strings.Join(strings.Fields(strings.ToValidUTF8(string(s.title), "")), " "), maxTitle)
	s.hasTitle = s.page.Title != ""
	s.title = s.title[:0]
}

// cutText shortens text to at most max bytes without splitting a rune.
func cutText(text string, max int) string {
	if len(text) <= max {
		return text
	}
	return strings.ToValidUTF8(text[:max], "")
}

// cleanURL removes white space and control characters around a URL, as the URL standard does.
func cleanURL(url string) string {
	return strings.TrimFunc(url, func(r rune) bool { return r <= ' ' })
}
