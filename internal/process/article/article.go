package article

import (
	"errors"
	"html"
	"strings"

	"hce/dc/internal/process/choice"
	"hce/dc/internal/process/language"
	"hce/dc/internal/web/dates"
)

// ErrParser means that the page could not be read. The returned Article has its title only.
var ErrParser = errors.New("cannot parse the page")

// Article is what a page says. Texts are UTF-8; a field that was not found is empty.
type Article struct {
	Title       string // one line
	Text        string // plain text, one line of the page a line
	Markdown    string // CommonMark with tables, absolute links
	Comments    string // comments of readers, one line of the page a line; they are not in Text
	Author      string // several authors are separated by "; "
	Description string

	// Language is a language tag such as "en" or "pt-BR", declared by the page or detected
	// in its text.
	Language string

	// Date is when the page says that it was published, Modified when it says that it was changed.
	// Zero: it does not say so.
	Date, Modified dates.Value

	DateText   string // the text that gave Date
	DublinDate string // the date in Dublin Core, as written

	Canonical string   // absolute URL
	Keywords  []string // keywords, tags and categories, each once
	Links     []string // absolute http and https URLs of a and area elements
	Media     []string // absolute URLs of images, sounds, videos; the main image first

	// Whole means that no article was found: Text is the visible text of the whole page.
	Whole bool
}

// Engine is a way to choose the lines of the article. All of them read one outline of the page.
type Engine int

const (
	Default   Engine = iota // the best expected F1
	Precision               // only lines that belong to the article without a doubt
	Recall                  // doubtful lines too
	Visible                 // the visible text of the whole page
)

// modes are the ways to choose of package choice.
var modes = map[Engine]choice.Mode{Default: choice.Balanced, Precision: choice.Precise, Recall: choice.Complete}

const (
	// fewBytes is the shortest credible article. With less, the page's marked article is taken, then its text in
	// JSON-LD, then the whole page.
	fewBytes = 60

	// maxAlternative is the most bytes of alt texts of images, for pages without a text.
	maxAlternative = 4 << 10
)

// Extract reads an HTML page with the Default engine. See Page.Article.
func Extract(text []byte, pageURL string) (Article, error) {
	p := NewPage(text, pageURL, "")
	defer p.Release()
	return p.Article(Default)
}

// Article finds the article of the page.
//
// Title and Text are empty only if the page and its URL are. An error wraps ErrParser; the
// Article is still usable.
func (p *Page) Article(e Engine) (a Article, err error) {
	defer func() {
		if r := recover(); r != nil {
			p.state = nil // it may be damaged
			a, err = Article{}, panicError(r)
			a.Title = titleOfURL(p.URL)
			a.Text, a.Markdown = a.Title, a.Title
		}
	}()
	s := p.parsePage()
	p.chooseLines(e, &a)
	p.stated = ""
	if a.Whole && len(s.head.LDBody) > 0 {
		if body := p.Body(); len(body) > max(fewBytes, s.chosenBytes()) {
			p.stated = body
		}
	}
	if p.stated != "" {
		a.Text, a.Markdown, a.Whole = p.stated, p.stated, false
	} else {
		s.writer.Begin(&s.outline, p.base, s.chooser.Chosen)
		a.Text = s.writeText(a.Whole)
		a.Markdown = s.writeMarkdown()
		a.Comments = s.writeComments()
	}
	p.describeArticle(&a)
	return a, nil
}

// chooseLines chooses the lines.
func (p *Page) chooseLines(e Engine, a *Article) {
	s := p.state
	mode, chooses := modes[e]
	if chooses {
		p.sure = s.chooser.Choose(&s.outline, &s.head, p.URL, mode)
		a.Whole = s.chosenBytes() < fewBytes && !s.chooser.ChooseMarked()
	}
	if !chooses || a.Whole {
		a.Whole = true
		s.chooser.ChooseAll(&s.outline)
	}
	p.chosen, p.whole = true, a.Whole
}

// chosenBytes returns the bytes of the chosen lines, without the title.
func (s *state) chosenBytes() (n int) {
	for i := range s.outline.Lines {
		if s.chooser.Chosen[i] && int32(i) != s.outline.Title {
			n += int(s.outline.Lines[i].Size)
		}
	}
	return n
}

// writeText returns the chosen lines, without the title unless the whole page is chosen.
func (s *state) writeText(whole bool) string {
	skip := int(s.outline.Title)
	if whole {
		skip = -1
	}
	s.text = s.writer.AppendText(s.text[:0], skip)
	return string(s.text)
}

// writeMarkdown returns the chosen lines as Markdown, with the heading that is the title.
func (s *state) writeMarkdown() string {
	if o := &s.outline; o.Title >= 0 && o.Lines[o.Title].Title {
		s.chooser.Chosen[o.Title] = true
	}
	s.text = s.writer.AppendMarkdown(s.text[:0])
	return string(s.text)
}

// writeComments returns the comments of readers that the article does not have.
func (s *state) writeComments() string {
	s.text = s.writer.AppendComments(s.text[:0])
	return string(s.text)
}

// HTML returns the lines of the last Article as clean HTML; "" before the first one.
func (p *Page) HTML() string {
	if p.state == nil || !p.chosen {
		return ""
	}
	if p.stated != "" {
		return "<p>" + strings.ReplaceAll(html.EscapeString(p.stated), "\n", "</p>\n<p>") + "</p>"
	}
	p.state.text = p.state.writer.AppendHTML(p.state.text[:0])
	return string(p.state.text)
}

// describeArticle fills all fields but the texts.
func (p *Page) describeArticle(a *Article) {
	s, m := p.state, p.Metadata()
	a.Title = firstNonBlank(s.head.PageTitle(&s.outline), titleOfURL(p.URL))
	a.Description, a.Author, a.Canonical, a.Keywords, a.DublinDate = m.Description, m.Author, m.Canonical, m.Keywords, m.DublinDate
	a.Date, a.Modified, a.DateText = m.Date, m.Modified, m.DateText
	a.Links, a.Media = p.base.Links(&s.doc, firstBytes(s.head.Image, s.head.LDImage))
	if a.Text == "" {
		a.Text = firstNonBlank(p.imageTexts(), a.Description, a.Title)
	}
	if a.Markdown == "" {
		a.Markdown = a.Text
	}
	declared := s.head.Languages()
	a.Language = language.Choose(declared[:], a.Text)
}

// firstNonBlank returns the first text that is not blank.
func firstNonBlank(texts ...string) string {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			return t
		}
	}
	return ""
}

func firstBytes(texts ...[]byte) []byte {
	for _, t := range texts {
		if len(t) > 0 {
			return t
		}
	}
	return nil
}

// Explained says how the lines of the article were chosen.
type Explained struct {
	Kinds  map[string]float32 `json:"kinds"`  // how much the page is of each kind, 0 to 1
	Sure   float32            `json:"sure"`   // how sure the choice is, 0 to 1
	Lines  int                `json:"lines"`  // of the page
	Chosen int                `json:"chosen"` // of the lines
	Whole  bool               `json:"whole"`  // none is an article: the text is that of the whole page
}

// Explain returns how the lines of the last Article were chosen, or nil before the first one and after Release.
func (p *Page) Explain() *Explained {
	if p.state == nil || !p.chosen {
		return nil
	}
	c := &p.state.chooser
	x := &Explained{Kinds: map[string]float32{}, Sure: p.sure, Lines: len(c.Chosen), Whole: p.whole}
	for i, name := range choice.KindNames {
		x.Kinds[name] = c.Kinds[i]
	}
	for _, chosen := range c.Chosen {
		if chosen {
			x.Chosen++
		}
	}
	return x
}
