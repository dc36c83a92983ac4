package article

import (
	"bytes"
	"fmt"
	"path"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"

	"hce/dc/canonical"
	"hce/dc/internal/process/choice"
	"hce/dc/internal/process/language"
	"hce/dc/internal/process/metadata"
	"hce/dc/internal/process/outline"
	"hce/dc/internal/process/pubdate"
	"hce/dc/internal/process/writer"
	"hce/dc/internal/web/dates"
	"hce/dc/internal/web/htmltree"
	"hce/dc/internal/web/xpath"
)

// Page is a page that several engines and extractors read. It is parsed once. Not safe for
// concurrent use. Call Release when it is no longer needed.
type Page struct {
	URL     string    // absolute
	Text    []byte    // UTF-8; it must not change before Release
	Charset string    // that the page had, for the queries of its links; "": UTF-8
	Fetched time.Time // nothing later is a date of the page; zero: no limit

	baseURL string
	base    *writer.Base
	state   *state
	sure    float32 // how sure the last choice was, 0 to 1
	chosen  bool    // the state has a choice of lines
	whole   bool    // the last choice is the whole page
	stated  string  // the last text, if it comes from JSON-LD
	dated   *pubdate.Chosen
	tree    *html.Node
	treeErr error

	datedByChoice bool // dated knows the lines of the article
}

// state is the memory of one page. It is used for one page after the other.
type state struct {
	doc     htmltree.Doc
	frames  htmltree.Doc // the content of noframes
	outline outline.Outline
	head    metadata.Head
	chooser choice.Chooser
	writer  writer.Writer
	text    []byte
}

// states are kept for the next pages. They are no sync.Pool: each collection of garbage would empty it, and growing them
// again is a fifth of the time of a page.
var states = make(chan *state, runtime.GOMAXPROCS(0))

// keptText is the longest text of a page whose state is kept: some thirty times as much memory.
const keptText = 1 << 20

// takeState returns a state of an earlier page, or a new one.
func takeState() *state {
	select {
	case s := <-states:
		return s
	default:
		return &state{}
	}
}

// NewPage returns a page without parsing it. Bytes that are not UTF-8 are replaced. baseURL is the
// base of its links; "": pageURL. A base element of the page has precedence.
func NewPage(text []byte, pageURL, baseURL string) *Page {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return &Page{URL: pageURL, Text: openConditions(text), baseURL: firstNonBlank(baseURL, pageURL)}
}

// openConditions removes the begins of conditional comments, such as <!--[if gt IE 8]>, that never end or have the head of the
// page in them: a program that removed comments has left them of <!--[if gt IE 8]><!--> ... <!--<![endif]-->, and a
// comment would hide the page.
func openConditions(text []byte) []byte {
	var shown []byte
	kept, end, head, headWith := 0, 0, 0, 0
	for at := 0; ; {
		if i := bytes.Index(text[at:], []byte("<!--[if")); i >= 0 {
			at += i
		} else {
			break
		}
		end, head, headWith = nextPlace(text, "-->", at, end), nextPlace(text, "<head>", at, head), nextPlace(text, "<head ", at, headWith)
		condition := bytes.IndexByte(text[at:min(len(text), at+maxCondition)], '>')
		switch {
		case condition < 0 || at+condition > end:
			at += len("<!--[if")
		case end == len(text) || min(head, headWith) < end:
			shown = append(shown, text[kept:at]...)
			at += condition + 1
			kept = at
		default:
			at = end
		}
	}
	if kept == 0 {
		return text
	}
	return append(shown, text[kept:]...)
}

// maxCondition is the longest begin of a conditional comment.
const maxCondition = 200

// nextPlace returns the first place of a part at or behind at; known is that of an earlier place. The end of the text means that no part follows.
func nextPlace(text []byte, part string, at, known int) int {
	if known >= at && at > 0 {
		return known
	}
	if i := bytes.Index(text[at:], []byte(part)); i >= 0 {
		return at + i
	}
	return len(text)
}

// parsePage parses the page, once.
func (p *Page) parsePage() *state {
	if p.state != nil {
		return p.state
	}
	s := takeState()
	s.doc.Parse(p.Text)
	s.head = metadata.Head{}
	s.head.Read(&s.doc, p.URL)
	s.outline.Read(&s.doc)
	if content := s.outline.Noframes(); content != nil {
		s.frames.Parse(content)
		s.outline.Read(&s.frames)
	}
	s.head.FindTitle(&s.outline)
	p.state, p.base = s, writer.NewBase(p.baseURL, s.head.Base, p.Charset)
	return s
}

// Release gives the memory of the page back. An Article stays valid.
func (p *Page) Release() {
	if p.state != nil && len(p.Text) <= keptText {
		select {
		case states <- p.state:
		default: // enough are kept
		}
	}
	p.state = nil
}

// Base returns the base URL of the links of the page.
func (p *Page) Base() string {
	p.parsePage()
	return p.base.URL()
}

// Metadata is what a page says about itself in JSON-LD, OpenGraph, Dublin Core, other meta
// elements and time elements. Empty: it does not say so. Title is without the name of the site.
type Metadata struct {
	Title, Description, Language, Image, Canonical string
	TitleElement                                   string      // the title element, in one line
	Author                                         string      // plausible names, separated by "; "
	Date, Modified                                 dates.Value // see Article
	DateText                                       string      // Date as written
	DublinDate                                     string      // the date in Dublin Core, as written
	SiteName                                       string
	Robots                                         []RobotsRule // meta elements with rules for robots
	Keywords                                       []string
}

// RobotsRule is a meta element with rules for robots.
type RobotsRule struct {
	Agent   string // "robots", or the name of one robot, in lower case
	Content string // such as "noindex, nofollow"
}

// chooseDates chooses the dates of the page. Lines near the article count after a choice.
func (p *Page) chooseDates(language string) pubdate.Chosen {
	if p.dated != nil && p.datedByChoice == p.chosen {
		return *p.dated
	}
	s := p.state
	var chosen []bool
	list := false
	if p.chosen && !p.whole {
		chosen, list = s.chooser.Chosen, s.chooser.IsList()
	}
	found := pubdate.Choose(s.head.DateCandidates(&s.outline, chosen, p.URL), pubdate.Page{Now: p.Fetched, Language: language, List: list})
	found.Text = strings.Clone(found.Text) // a part of the page
	p.dated, p.datedByChoice = &found, p.chosen
	return found
}

// Modified returns when the page says that it was changed; zero if it does not say so.
func (p *Page) Modified() dates.Value {
	if p.dated == nil {
		return p.Metadata().Modified
	}
	return p.dated.Modified
}

// Metadata returns the metadata of the page.
func (p *Page) Metadata() Metadata {
	s := p.parsePage()
	h := &s.head
	m := Metadata{
		Title: h.DataTitle(), TitleElement: metadata.OneLine(h.Title), Description: h.StatedDescription(), Author: h.Author(&s.outline),
		Image: p.resolveLink(firstBytes(h.Image, h.LDImage)), Canonical: p.resolveLink(h.Canonical), Keywords: h.StatedKeywords(),
		SiteName: metadata.OneLine(h.SiteName),
	}
	for _, r := range h.Robots {
		m.Robots = append(m.Robots, RobotsRule{strings.ToLower(metadata.OneLine(r.Agent)), metadata.OneLine(r.Content)})
	}
	declared := h.Languages()
	m.Language = language.Choose(declared[:], "")
	m.DublinDate = h.DublinDate()
	found := p.chooseDates(m.Language)
	m.Date, m.Modified, m.DateText = found.Published, found.Modified, found.Text
	return m
}

// Body returns the text of the article that the page states in JSON-LD, or "".
func (p *Page) Body() string { return metadata.TextOfJSON(p.parsePage().head.LDBody) }

// Resolve returns the absolute http or https URL of a link without its fragment, or "".
func (p *Page) Resolve(ref string) string {
	p.parsePage()
	return p.resolveLink([]byte(ref))
}

// resolveLink returns the absolute http or https URL of a link without its fragment, or "".
func (p *Page) resolveLink(ref []byte) string {
	if u, ok := p.base.Append(nil, ref, false); ok {
		return string(u)
	}
	return ""
}

// imageTexts returns the alt texts of the images, for a page without a text.
func (p *Page) imageTexts() string {
	var b strings.Builder
	d := &p.state.doc
	for i := range d.Nodes {
		if n := &d.Nodes[i]; n.Tag == htmltree.TagImg {
			if alt := metadata.OneLine(d.Attr(n, htmltree.KeyAlt)); alt != "" && b.Len()+len(alt) < maxAlternative {
				if b.Len() > 0 {
					b.WriteByte('\n')
				}
				b.WriteString(alt)
			}
		}
	}
	return b.String()
}

// Tree returns the tree of the page for XPath, CSS and templates, with scripting off. It is built
// when it is first asked for. Callers must not change it. It is nil with an error for a page that
// is too large or cannot be parsed.
func (p *Page) Tree() (*html.Node, error) {
	if p.tree != nil || p.treeErr != nil {
		return p.tree, p.treeErr
	}
	doc, err := xpath.HTML(p.Text)
	if err != nil {
		p.treeErr = fmt.Errorf("%w: %w", ErrParser, err)
		return nil, p.treeErr
	}
	p.tree = doc.Root()
	return p.tree, nil
}

func panicError(reason any) error { return fmt.Errorf("%w: panic: %v", ErrParser, reason) }

// titleOfURL returns the last path segment of a URL, or its host.
func titleOfURL(pageURL string) string {
	u, err := canonical.Net(pageURL)
	if err != nil {
		return pageURL
	}
	if name := path.Base(strings.TrimRight(u.Path, "/")); name != "." && name != "/" {
		return name
	}
	return firstNonBlank(u.Host, pageURL)
}
