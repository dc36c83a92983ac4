package office

import (
	"cmp"
	"strconv"

	"hce/dc/internal/process/markup"
	"hce/dc/internal/web/loosexml"
)

// odf reads content.xml of an OpenDocument file.
type odf struct {
	flow
	numbered map[string]bool // by style and level of a list: it is numbered
	style    string          // the list style that is defined
	within   []string        // styles of the open lists; inner ones inherit
}

func writeODF(text []byte, page *markup.Page) {
	o := odf{flow: flow{page: page}, numbered: map[string]bool{}}
	r := loosexml.NewReader(text)
	for t, ok := r.Next(); ok; t, ok = r.Next() {
		switch t.Kind {
		case loosexml.Text:
			o.words(t.Text)
		case loosexml.End:
			o.close(t.Local())
		case loosexml.Start:
			switch t.Local() {
			case "annotation", "tracked-changes", "note-citation", "forms", "desc", "title":
				skip(r, t)
			default:
				o.start(t)
			}
		}
	}
	o.finish()
}

func (o *odf) start(t loosexml.Token) {
	switch t.Local() {
	case "p", "h":
		p := o.begin()
		if t.Local() == "h" {
			p.heading, _ = strconv.Atoi(attr(t, "outline-level"))
			p.heading = max(p.heading, 1)
		} else if n := len(o.within); n > 0 {
			p.item, p.ordered = n, o.numbered[o.within[n-1]+" "+strconv.Itoa(n)]
		} else if attr(t, "style-name") == "Title" {
			p.heading = 1
		}
	case "s":
		o.words(" ")
	case "tab":
		o.words(" ")
	case "line-break":
		o.lineBreak()
	case "a":
		o.link(attr(t, "href"))
	case "list":
		style := attr(t, "style-name")
		if n := len(o.within); n > 0 {
			style = cmp.Or(style, o.within[n-1])
		}
		o.within = append(o.within, style)
	case "list-style":
		o.style = attr(t, "name")
	case "list-level-style-number":
		o.numbered[o.style+" "+attr(t, "level")] = attr(t, "num-format") != ""
	case "table":
		o.table()
	case "table-row":
		o.row()
	case "table-cell":
		o.cell()
	}
}

func (o *odf) close(name string) {
	switch name {
	case "p", "h":
		o.end()
	case "a":
		o.endLink()
	case "list":
		if len(o.within) > 0 {
			o.within = o.within[:len(o.within)-1]
		}
	case "table":
		o.endTable()
	case "table-row":
		o.endRow()
	case "table-cell":
		o.endCell()
	}
}
