package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"

	"hce/dc/internal/process/markup"
)

// ErrDamaged means that the file cannot be read.
var ErrDamaged = errors.New("damaged PDF")

// errPassword means that a password is needed.
var errPassword = fmt.Errorf("%w: it is encrypted with a password", ErrDamaged)

// ErrNoText means that the file has pages, but no text on them: they are pictures, or their fonts have no
// map to Unicode. The page has the metadata.
var ErrNoText = errors.New("the pages of the PDF have no text")

// ErrLostText means that letters of the pages are missing in the text: their fonts, such as Type 3 fonts of
// some programs, have no map to Unicode. The page has the other text.
var ErrLostText = errors.New("fonts of the PDF have no map to Unicode")

// Read reads a PDF. An error wraps ErrDamaged, ErrNoText or ErrLostText. Without an error the
// page may be cut.
func Read(body []byte) (page *markup.Page, err error) {
	defer func() {
		if r := recover(); r != nil {
			page, err = nil, fmt.Errorf("%w: panic: %v", ErrDamaged, r)
		}
	}()
	page, err = readPage(body)
	if errors.Is(err, ErrDamaged) && !errors.Is(err, errPassword) {
		// The library searches the objects of a file without cross-references, not of one with wrong ones.
		if again, e := readPage(bytes.ReplaceAll(body, []byte("startxref"), []byte("startless"))); !errors.Is(e, ErrDamaged) {
			return again, e
		}
	}
	return page, err
}

func readPage(body []byte) (*markup.Page, error) {
	f, err := openFile(body)
	if err != nil {
		return nil, err
	}
	root, err := f.table.Catalog()
	if err != nil || root == nil {
		return nil, fmt.Errorf("%w: it has no catalog", ErrDamaged)
	}
	d := document{file: f, page: &markup.Page{}, fonts: map[int]*font{}}
	d.readMeta(root)
	d.drawPages(root["Pages"])
	if d.drawn == 0 {
		return nil, fmt.Errorf("%w: it has no pages", ErrDamaged)
	}
	d.layout.endRow()
	newParagraphs(d.layout.rows).writeTo(d.page)
	d.page.Cut = d.page.Cut || f.cut
	if d.page.Len() == d.linkBytes {
		return d.page, ErrNoText
	}
	return d.page, d.lostText()
}

// document is the state of one Read.
type document struct {
	*file
	page      *markup.Page
	layout    layout
	fonts     map[int]*font // by number of the object
	drawn     int           // pages
	links     int
	linkBytes int
	tex       bool // TeX made the file
	all       []*font
}

const (
	// leastLost and lostShare are how many letters without a text are reported: symbols of formulas are
	// few. Of Type 3 fonts, which have letters in many files, each is.
	leastLost = 10
	lostShare = 200
)

// lostText returns an ErrLostText if letters of the pages have no text.
func (d *document) lostText() error {
	glyphs, lost, pictures := 0, 0, 0
	for _, f := range d.all {
		glyphs += f.glyphs
		lost += f.lost
		if f.pictures {
			pictures += f.lost
		}
	}
	if pictures == 0 && (lost < leastLost || lost*lostShare < glyphs) {
		return nil
	}
	return fmt.Errorf("%w: %d of %d letters", ErrLostText, lost, glyphs)
}

// drawPages draws all pages of a page tree, in their order.
func (d *document) drawPages(tree types.Object) {
	seen := map[int]bool{}
	var walk func(o types.Object, inherited types.Dict, depth int)
	walk = func(o types.Object, inherited types.Dict, depth int) {
		if ref, ok := o.(types.IndirectRef); ok {
			if seen[ref.ObjectNumber.Value()] {
				return
			}
			seen[ref.ObjectNumber.Value()] = true
		}
		node := d.resolveDict(o)
		if node == nil {
			return
		}
		if r := d.resolveDict(node["Resources"]); r != nil {
			inherited = r
		}
		kids := d.resolveArray(node["Kids"])
		if kids == nil || d.resolveName(node["Type"]) == "Page" {
			d.drawPage(node, inherited)
			return
		}
		for _, kid := range kids {
			if d.drawn >= maxPages || depth >= maxDepth || d.objects < 0 {
				d.cut = true
				return
			}
			walk(kid, inherited, depth+1)
		}
	}
	walk(tree, nil, 0)
}

// drawPage interprets the content of one page.
func (d *document) drawPage(page, resources types.Dict) {
	d.drawn++
	d.layout.newPage()
	var content []byte
	if parts := d.resolveArray(page["Contents"]); parts != nil {
		for _, part := range parts {
			content = append(append(content, d.decodeStream(part)...), '\n')
		}
	} else {
		content = d.decodeStream(page["Contents"])
	}
	in := interpreter{document: d, state: newState()}
	in.runContent(content, resources, 0)
	d.writeAnnotations(d.resolveArray(page["Annots"]))
}

// writeAnnotations writes the links of a page to the web.
func (d *document) writeAnnotations(list types.Array) {
	for _, o := range list {
		if d.links >= maxLinks {
			d.cut = true
			return
		}
		d.links++
		action := d.resolveDict(d.resolveDict(o)["A"])
		if d.resolveName(action["S"]) != "URI" {
			continue
		}
		if tag := markup.Anchor(d.resolveText(action["URI"])); tag != "" {
			d.page.Raw("<area" + strings.TrimPrefix(tag, "<a"))
			d.linkBytes = d.page.Len()
		}
	}
}
