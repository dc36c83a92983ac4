package writer

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	render "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"hce/dc/internal/process/outline"
	"hce/dc/internal/web/htmltree"
)

// blocks are what a text consists of: a line for each block, with the numbers of the containers around it.
type blocks struct {
	lines []string
	path  []string
	count int
	text  strings.Builder
}

func (b *blocks) enter(kind string) {
	b.count++
	b.path = append(b.path, fmt.Sprint(kind, b.count))
}

func (b *blocks) leave() { b.path = b.path[:len(b.path)-1] }

// add adds a block. Blanks of a line are single; lines stay.
func (b *blocks) add(kind, text string) {
	b.lines = append(b.lines, strings.Join(b.path, "/")+" "+kind+" "+text)
}

func oneLine(text string) string {
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// recorder is a sink that records the blocks that the writer means.
type recorder struct {
	blocks
	cells []string
}

func (r *recorder) openContainer(c *container) {
	switch c.kind {
	case list:
		kind := "ul"
		if c.ordered {
			kind = fmt.Sprintf("ol=%d#", c.number)
		}
		r.enter(kind)
	case item:
		r.enter("li")
	default:
		r.enter("quote")
	}
}

func (r *recorder) closeContainer(*container) { r.leave() }
func (r *recorder) openBlock(block)           { r.text.Reset() }
func (r *recorder) lineBreak()                { r.text.WriteByte('\n') }
func (r *recorder) closeBlock(b block) {
	if b.level > 0 {
		r.add(fmt.Sprint("h", b.level), oneLine(r.text.String()))
		return
	}
	r.add("p", oneLine(r.text.String()))
}

func (r *recorder) writeListing(language, code []byte) {
	r.add("code", fmt.Sprintf("%s %q", language, code))
}
func (r *recorder) writeRule()         { r.add("hr", "") }
func (r *recorder) openTable(int)      { r.enter("table") }
func (r *recorder) closeTable()        { r.leave() }
func (r *recorder) openRow()           { r.cells = r.cells[:0] }
func (r *recorder) openCell(bool, int) { r.text.Reset() }
func (r *recorder) cellCode(s []byte)  { r.text.Write(s) }
func (r *recorder) closeCell(_ bool, span int) {
	r.cells = append(r.cells, oneLine(r.text.String()))
	for range span - 1 {
		r.cells = append(r.cells, "")
	}
}
func (r *recorder) closeRow()                          { r.add("row", fmt.Sprintf("%q", r.cells)) }
func (r *recorder) openSpan(*span, []byte)             {}
func (r *recorder) closeSpan(*span)                    {}
func (r *recorder) writeMark(s string)                 { r.text.WriteString(s) }
func (r *recorder) writeImage(src, alt []byte, _ bool) {}
func (r *recorder) writeWord(s []byte, _ byte, spaced bool) {
	if spaced {
		r.text.WriteByte(' ')
	}
	r.text.Write(s)
}
func (r *recorder) writeFormula(tex []byte, display, spaced bool) {
	dollars := "$"
	if display {
		dollars = "$$"
	}
	r.writeWord([]byte(dollars+string(tex)+dollars), 0, spaced)
}

// page is a page whose lines are all chosen.
func page(text string) *Writer {
	var doc htmltree.Doc
	var o outline.Outline
	doc.Parse([]byte(text))
	o.Read(&doc)
	chosen := make([]bool, len(o.Lines))
	for i := range chosen {
		chosen[i] = true
	}
	w := &Writer{}
	w.Begin(&o, NewBase("https://town.example/a/b.html", nil, ""), chosen)
	return w
}

var parser = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough), goldmark.WithRendererOptions(render.WithUnsafe()))

// parsed returns the blocks that a parser of CommonMark reads.
func parsed(t testing.TB, markdown []byte) []string {
	t.Helper()
	var page bytes.Buffer
	if err := parser.Convert(markdown, &page); err != nil {
		t.Fatal(err)
	}
	return blocksOf(t, page.Bytes())
}

// blocksOf returns the blocks of HTML.
func blocksOf(t testing.TB, text []byte) []string {
	t.Helper()
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	nodes, err := html.ParseFragment(bytes.NewReader(text), body)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		body.AppendChild(n)
	}
	var b blocks
	b.children(body)
	return b.lines
}

// children adds the blocks in an element. Text that is in no block is a paragraph, as in the items of tight lists.
func (b *blocks) children(n *html.Node) {
	var loose strings.Builder
	flush := func() {
		if text := oneLine(loose.String()); text != "" {
			b.add("p", text)
		}
		loose.Reset()
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || !isBlock(c.Data) {
			loose.WriteString(inlineText(c))
			continue
		}
		flush()
		b.element(c)
	}
	flush()
}

func isBlock(name string) bool {
	return strings.Contains(" h1 h2 h3 h4 h5 h6 p blockquote ul ol li pre table hr ", " "+name+" ")
}

func (b *blocks) element(n *html.Node) {
	switch n.Data {
	case "h1", "h2", "h3", "h4", "h5", "h6", "p":
		if text := oneLine(inlineText(n)); text != "" { // not an image alone
			b.add(n.Data, text)
		}
	case "hr":
		b.add("hr", "")
	case "pre":
		language := ""
		for _, a := range n.FirstChild.Attr {
			language = strings.TrimPrefix(a.Val, "language-")
		}
		b.add("code", fmt.Sprintf("%s %q", language, strings.TrimSuffix(rawText(n), "\n")))
	case "table":
		b.enter("table")
		b.rows(n)
		b.leave()
	default:
		kind := map[string]string{"blockquote": "quote", "ul": "ul", "ol": "ol=1#", "li": "li"}[n.Data]
		for _, a := range n.Attr {
			if a.Key == "start" {
				kind = "ol=" + a.Val + "#"
			}
		}
		b.enter(kind)
		b.children(n)
		b.leave()
	}
}

func (b *blocks) rows(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Data != "tr" {
			b.rows(c)
			continue
		}
		var cells []string
		for d := c.FirstChild; d != nil; d = d.NextSibling {
			if d.Type == html.ElementNode {
				cells = append(cells, oneLine(inlineText(d)))
				for _, a := range d.Attr {
					if a.Key == "colspan" {
						cells = append(cells, strings.Split(strings.Repeat(" ", int(a.Val[0]-'0')-2), " ")...)
					}
				}
			}
		}
		b.add("row", fmt.Sprintf("%q", cells))
	}
}

func rawText(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	text := ""
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		text += rawText(c)
	}
	return text
}

// inlineText returns the text of an element with a line break for br.
func inlineText(n *html.Node) string {
	if n.Type == html.TextNode {
		return strings.ReplaceAll(n.Data, "\n", " ")
	}
	if n.Data == "br" {
		return "\n"
	}
	text := ""
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		text += inlineText(c)
	}
	return text
}
