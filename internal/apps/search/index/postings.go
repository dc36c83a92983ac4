package index

import (
	"context"
	"math"
	"slices"

	api "github.com/blevesearch/bleve_index_api"
)

// noMore is the document of a cursor at its end.
const noMore = math.MaxUint64

// spot is where a word is in a field: its position, and its bytes in the text.
type spot struct {
	position   int
	start, end int
}

// cursor walks through the documents that have something, in the order of the index.
type cursor interface {
	currentDoc() uint64             // the present document; noMore at the end
	seek(doc uint64) error          // goes to doc or the next one behind it; never backwards
	count() int                     // documents, at most
	frequency() float64             // in the present document
	length() float64                // terms of the field in the present document
	appendSpots(list []spot) []spot // appends the places in the present document; only with positions
}

// opener opens cursors of one reader of the library and closes them together.
type opener struct {
	ctx    context.Context
	reader api.IndexReader
	opened []api.TermFieldReader
	ends   []func() error
}

func (o *opener) close() {
	for _, end := range o.ends {
		_ = end()
	}
	for _, r := range o.opened {
		_ = r.Close() // it returns memory
	}
	o.opened = nil
}

// postings are the documents of one term in one field.
type postings struct {
	reader api.TermFieldReader
	doc    uint64
	found  api.TermFieldDoc
	target api.IndexInternalID
}

// openTerm returns nil for a term that no document has.
func (o *opener) openTerm(field, term string, positions bool) (cursor, error) {
	r, err := o.reader.TermFieldReader(o.ctx, []byte(term), field, true, true, positions)
	if err != nil {
		return nil, err
	}
	o.opened = append(o.opened, r)
	p := &postings{reader: r}
	if r.Count() == 0 {
		return nil, nil
	}
	return p, p.next()
}

func (p *postings) next() error {
	found, err := p.reader.Next(p.found.Reset())
	return p.setDoc(found, err)
}

func (p *postings) setDoc(found *api.TermFieldDoc, err error) error {
	if p.doc = noMore; found != nil && err == nil {
		p.doc = found.ID.Value()
	}
	return err
}

func (p *postings) currentDoc() uint64 { return p.doc }

func (p *postings) seek(doc uint64) error {
	switch {
	case p.doc >= doc:
		return nil
	case p.doc+1 == doc:
		return p.next()
	case doc == noMore:
		p.doc = noMore
		return nil
	}
	p.target = api.NewIndexInternalID(p.target, doc)
	found, err := p.reader.Advance(p.target, p.found.Reset())
	return p.setDoc(found, err)
}

func (p *postings) count() int         { return int(p.reader.Count()) }
func (p *postings) frequency() float64 { return float64(p.found.Freq) }
func (p *postings) length() float64    { return 1 / (p.found.Norm * p.found.Norm) }

func (p *postings) appendSpots(list []spot) []spot {
	for _, v := range p.found.Vectors {
		list = append(list, spot{int(v.Pos), int(v.Start), int(v.End)})
	}
	return list
}

// union are the documents of any of several cursors. Weights count for the frequency.
type union struct {
	list    []cursor
	weights []float64
	doc     uint64
}

// unionOf returns nil without cursors.
func unionOf(list []cursor, weights []float64) *union {
	if len(list) == 0 {
		return nil
	}
	u := &union{list: list, weights: weights}
	u.moveToLowest()
	return u
}

func (u *union) moveToLowest() {
	u.doc = noMore
	for _, c := range u.list {
		u.doc = min(u.doc, c.currentDoc())
	}
}

func (u *union) currentDoc() uint64 { return u.doc }

func (u *union) seek(doc uint64) error {
	if u.doc >= doc {
		return nil
	}
	for _, c := range u.list {
		if err := c.seek(doc); err != nil {
			return err
		}
	}
	u.moveToLowest()
	return nil
}

func (u *union) count() (n int) {
	for _, c := range u.list {
		n += c.count()
	}
	return n
}

func (u *union) frequency() (n float64) {
	for i, c := range u.list {
		if c.currentDoc() == u.doc {
			n += u.weights[i] * c.frequency()
		}
	}
	return n
}

// bestWeight is the largest weight of a form that the present document has.
func (u *union) bestWeight() (w float64) {
	for i, c := range u.list {
		if c.currentDoc() == u.doc {
			w = max(w, u.weights[i])
		}
	}
	return w
}

func (u *union) length() float64 {
	for _, c := range u.list {
		if c.currentDoc() == u.doc {
			return c.length()
		}
	}
	return 1
}

func (u *union) appendSpots(list []spot) []spot {
	for _, c := range u.list {
		if c.currentDoc() == u.doc {
			list = c.appendSpots(list)
		}
	}
	return list
}

// phrase are the documents that have terms at fixed distances.
type phrase struct {
	list      []cursor
	distances []int
	doc       uint64
	found     []spot
}

func (p *phrase) seek(doc uint64) error {
	if p.doc >= doc && p.doc != 0 {
		return nil
	}
	for {
		next, err := seekCommonDoc(p.list, doc)
		if p.doc = next; err != nil || next == noMore {
			return err
		}
		if p.matchPlaces(); len(p.found) > 0 {
			return nil
		}
		doc = next + 1
	}
}

// seekCommonDoc returns the first document from doc on that all cursors have.
func seekCommonDoc(list []cursor, doc uint64) (uint64, error) {
	for agreed := 0; agreed < len(list); {
		agreed = 0
		for _, c := range list {
			if err := c.seek(doc); err != nil {
				return noMore, err
			}
			if c.currentDoc() == doc {
				agreed++
			}
			doc = c.currentDoc()
		}
		if doc == noMore {
			return noMore, nil
		}
	}
	return doc, nil
}

// matchPlaces keeps the places of the first term that have the others at their distances.
func (p *phrase) matchPlaces() {
	p.found = p.list[0].appendSpots(p.found[:0])
	var others []spot
	for i, c := range p.list[1:] {
		others = c.appendSpots(others[:0])
		slices.SortFunc(others, func(a, b spot) int { return a.position - b.position })
		p.found = slices.DeleteFunc(p.found, func(s spot) bool {
			_, has := slices.BinarySearchFunc(others, s.position+p.distances[i+1]-p.distances[0], func(o spot, at int) int { return o.position - at })
			return !has
		})
	}
	if last := len(p.list) - 1; last > 0 && len(p.found) > 0 { // the end of the phrase
		ends := map[int]int{}
		for _, o := range p.list[last].appendSpots(others[:0]) {
			ends[o.position] = o.end
		}
		for i := range p.found {
			p.found[i].end = ends[p.found[i].position+p.distances[last]-p.distances[0]]
		}
	}
}

func (p *phrase) currentDoc() uint64 { return p.doc }
func (p *phrase) frequency() float64 { return float64(len(p.found)) }
func (p *phrase) length() float64    { return p.list[0].length() }

func (p *phrase) count() int {
	n := p.list[0].count()
	for _, c := range p.list {
		n = min(n, c.count())
	}
	return n
}

func (p *phrase) appendSpots(list []spot) []spot { return append(list, p.found...) }

// openForm opens a form in a field; nil if no document has it.
func (o *opener) openForm(field string, f form, positions bool) (cursor, error) {
	if len(f.places) == 1 {
		return o.openPlace(field, f.places[0], positions)
	}
	p := &phrase{}
	for _, one := range f.places {
		c, err := o.openPlace(field, one, true)
		if err != nil || c == nil {
			return nil, err
		}
		p.list, p.distances = append(p.list, c), append(p.distances, one.distance)
	}
	return p, p.seek(0)
}

func (o *opener) openPlace(field string, one place, positions bool) (cursor, error) {
	var list []cursor
	var weights []float64
	for _, term := range one.terms {
		c, err := o.openTerm(field, term, positions)
		if err != nil {
			return nil, err
		}
		if c != nil {
			list, weights = append(list, c), append(weights, 1)
		}
	}
	switch len(list) {
	case 0:
		return nil, nil
	case 1:
		return list[0], nil
	}
	return unionOf(list, weights), nil
}
