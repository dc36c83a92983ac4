package outline

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"hce/dc/internal/web/htmltree"
)

const maxTitle = 400 // bytes of the longest title that is looked for

// lowerWords appends the text in lower case, with single spaces.
func lowerWords(dst, s []byte) []byte {
	space := false
	for i := 0; i < len(s); {
		c := s[i]
		if c < 0x80 {
			i++
			if c <= ' ' {
				space = true
				continue
			}
			if space && len(dst) > 0 {
				dst = append(dst, ' ')
			}
			space = false
			if c >= 'A' && c <= 'Z' {
				c |= 0x20
			}
			dst = append(dst, c)
			continue
		}
		if w := BlankAt(s, i); c >= 0xC2 && w > 0 {
			space = true
			i += w
			continue
		}
		r, w := utf8.DecodeRune(s[i:])
		i += w
		if space && len(dst) > 0 {
			dst = append(dst, ' ')
		}
		space = false
		dst = utf8.AppendRune(dst, unicode.ToLower(r))
	}
	return dst
}

// appendBlock appends the text of a block in lower case.
func (o *Outline) appendBlock(dst []byte, b *Line) []byte {
	space := false
	for i := b.First; i <= b.Last; {
		n := &o.Doc.Nodes[i]
		if n.Tag != htmltree.TagText {
			if n.Tag.IsSilent() {
				i = n.End
				continue
			}
			i++
			continue
		}
		s := o.Doc.Text(n)
		if len(s) > 0 && space {
			dst = append(dst, ' ')
		}
		before := len(dst)
		if len(s) > 0 && htmltree.IsSpace(s[0]) && before > 0 && dst[before-1] != ' ' {
			dst = append(dst, ' ')
		}
		part := lowerWords(o.loweredScratch(), s)
		dst = append(dst, part...)
		space = len(s) > 0 && htmltree.IsSpace(s[len(s)-1])
		i++
	}
	return bytes.TrimSpace(dst)
}

func (o *Outline) loweredScratch() []byte {
	if cap(o.lowered) < 512 {
		o.lowered = make([]byte, 0, 4096)
	}
	return o.lowered[:0]
}

// FindTitle sets Title to the line that is the title of the page, and marks all lines that are like it.
// titles are what the page states as its title. isOther reports whether a line with this text in lower case
// is not the title, such as the name of the site. Without a heading that is like a title the only h1 is it.
func (o *Outline) FindTitle(titles [][]byte, isOther func(line *Line, text []byte) bool) {
	f := titleFinder{o: o, only: -1, isOther: isOther}
	for _, t := range titles {
		if len(t) > 0 && len(t) <= 2*maxTitle {
			f.titles = append(f.titles, lowerWords(nil, t))
		}
	}
	for i := range o.Lines {
		if b := &o.Lines[i]; b.Size <= maxTitle && b.Size >= 2 && (i == 0 || !o.goesOn(i-1)) {
			f.rankLine(i)
		}
	}
	switch {
	case f.best < headingBonus && f.h1 == 1 && (f.best < wholeTitle || f.shares):
		o.Title = f.only // other lines that are like a title are often links to a section of the site
	case f.best == h1Bonus:
		o.Title = -1 // several h1, none is the title
	}
}

// titleFinder is the state of FindTitle.
type titleFinder struct {
	o       *Outline
	titles  [][]byte // in lower case
	isOther func(line *Line, text []byte) bool
	best    int   // rank of Outline.Title
	h1      int   // different h1
	only    int32 // the first h1
	shares  bool  // it has a word of a title
	buf     [maxTitle + 64]byte
}

// Ranks of lines that may be the title: a sum.
const (
	h1Bonus      = 1
	endOfTitle   = 2
	startOfTitle = 4
	wholeTitle   = 5
	headingBonus = 6
)

// rankLine ranks a line.
func (f *titleFinder) rankLine(i int) {
	o, b := f.o, &f.o.Lines[i]
	isH1, isHeading := o.Boxes[b.Box].Tag == htmltree.TagH1, b.Kind == KindHeading
	if !isHeading && f.best >= headingBonus || len(f.titles) == 0 && !isH1 {
		return
	}
	text := o.appendHeading(f.buf[:0], i)
	rank := likeTitle(text, f.titles, isH1)
	if rank == 0 && !isH1 || f.isOther(b, text) {
		return
	}
	b.Title = rank > 0
	if isHeading && b.Title {
		rank += headingBonus
	}
	if isH1 {
		rank += h1Bonus
		if f.only < 0 {
			f.only, f.shares = int32(i), sharesWord(text, f.titles)
		}
		if f.h1 == 0 || b.Hash != o.Lines[f.only].Hash {
			f.h1++
		}
	}
	if rank > f.best {
		f.best, o.Title = rank, int32(i)
	}
}

// sharesWord reports whether a text has a word of 4 bytes or more that is in one of the titles.
func sharesWord(text []byte, titles [][]byte) bool {
	for word := range bytes.FieldsSeq(text) {
		for _, t := range titles {
			if len(word) >= 4 && bytes.Contains(t, word) {
				return true
			}
		}
	}
	return false
}

// AppendHeading appends the text of a line, and of the lines behind it that are in the same heading.
func (o *Outline) AppendHeading(dst []byte, line int32) []byte {
	for i := line; ; i++ {
		dst = o.AppendText(dst, &o.Lines[i])
		if !o.goesOn(int(i)) || len(dst) > maxTitle {
			return dst
		}
		dst = append(dst, ' ')
	}
}

// appendHeading is AppendHeading in lower case.
func (o *Outline) appendHeading(dst []byte, line int) []byte {
	for i := line; ; i++ {
		dst = o.appendBlock(dst, &o.Lines[i])
		if !o.goesOn(i) || len(dst) > maxTitle {
			return dst
		}
		dst = append(dst, ' ')
	}
}

// goesOn reports whether the line behind a line of a heading is in the same heading.
func (o *Outline) goesOn(i int) bool {
	return o.Lines[i].Kind == KindHeading && i+1 < len(o.Lines) && o.Lines[i+1].Box == o.Lines[i].Box
}

var separators = []byte("|·•«»:_-–—｜")

// likeTitle returns wholeTitle for one of the titles, startOfTitle or endOfTitle for a title without the name of the
// site, else 0. An h1 may be the first words of a title.
func likeTitle(text []byte, titles [][]byte, isH1 bool) int {
	if len(text) == 0 {
		return 0
	}
	rank := 0
	for _, t := range titles {
		switch {
		case bytes.Equal(text, t):
			return wholeTitle
		case len(text) >= len(t) || len(text) < 8:
		case isStart(text, t, isH1):
			rank = startOfTitle
		case isEnd(text, t):
			rank = max(rank, endOfTitle)
		}
	}
	return rank
}

// isStart reports whether a title begins with a text, up to a separator or with most of it.
func isStart(text, title []byte, anyPart bool) bool {
	if !bytes.HasPrefix(title, text) {
		return false
	}
	rest := title[len(text):]
	r, _ := utf8.DecodeRune(bytes.TrimLeft(rest, " "))
	return isMost(text, title) || bytes.ContainsRune(separators, r) || anyPart && rest[0] == ' '
}

// isEnd reports whether a title ends with a text, behind a separator or with most of it.
func isEnd(text, title []byte) bool {
	if !bytes.HasSuffix(title, text) {
		return false
	}
	r, _ := utf8.DecodeLastRune(bytes.TrimRight(title[:len(title)-len(text)], " "))
	return isMost(text, title) || bytes.ContainsRune(separators, r)
}

func isMost(text, title []byte) bool { return 2*len(text) > len(title) && len(text) >= 12 }
