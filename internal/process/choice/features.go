package choice

import (
	"math"
	"strings"

	"hce/dc/internal/process/metadata"
	"hce/dc/internal/process/outline"
	"hce/dc/internal/web/htmltree"
)

// maxFeatures is the most features of a line: their numbers are bytes.
const maxFeatures = 256

// view is an outline whose lines are weighed.
type view struct{ *outline.Outline }

// vector collects features.
type vector struct {
	f     []float32
	names *[]string
}

func (v *vector) addFeature(name string, x float32) {
	if v.names != nil {
		*v.names = append(*v.names, name)
	}
	v.f = append(v.f, x)
}

func (v *vector) addBit(name string, x bool) {
	if x {
		v.addFeature(name, 1)
	} else {
		v.addFeature(name, 0)
	}
}

func (v *vector) addJoined(a, b string, x float32) {
	if v.names != nil {
		*v.names = append(*v.names, a+b)
	}
	v.f = append(v.f, x)
}

func (v *vector) addJoinedBit(a, b string, x bool) {
	if x {
		v.addJoined(a, b, 1)
	} else {
		v.addJoined(a, b, 0)
	}
}

func ratioOf(a, b int32) float32 {
	if b <= 0 {
		return 0
	}
	return float32(a) / float32(b)
}

// logs[x] is log2(x+1), for speed.
var logs [4096]float32

func init() {
	for i := range logs {
		logs[i] = float32(math.Log2(float64(i + 1)))
	}
}

func log2Of(x int32) float32 {
	if x < 0 {
		return 0
	}
	if int(x) < len(logs) {
		return logs[x]
	}
	return float32(math.Log2(float64(x + 1)))
}

// pageStats are sums over a page.
type pageStats struct {
	text, linked, prose, pprose int32
	hinted                      [outline.HintCount]int32 // prose below a hint
	articles                    int32
	words                       int32
	core                        int32 // the smallest box with most of the prose
	dense                       int32 // the box with the best score
	cumulative                  []int32
	ins                         [19]int32 // prose in elements
	money                       int32     // blocks with a price
	images                      int32
	headings                    int32
	short                       int32 // blocks of less than 40 bytes
	run                         int32 // most prose in a row without a link list between
	sigmost                     int32 // text of the most frequent signature
	h1                          int32
	types                       [pageKinds]float32 // what the page may be
	article                     int32              // the article element with most prose; 0: none
	denseStart, denseEnd        int32
}

// Types of pages, for which there are small models.
const pageKinds = 6

// findCores finds the cores of the page.
func (o view) findCores() (s pageStats) {
	s.cumulative = append(o.Sums[:0], 0)
	run := int32(0)
	for i := range o.Lines {
		b := &o.Lines[i]
		o.countLine(&s, b)
		if b.IsLinked() {
			if run > s.run {
				s.run = run
			}
			run = 0
		}
		if !b.IsProse() {
			continue
		}
		run += b.Size
		o.countProse(&s, b)
		o.scoreBoxes(b)
	}
	o.Sums = s.cumulative
	s.run = max(s.run, run)
	for _, st := range o.Kins {
		if st.Blocks > 3 && st.Text > s.sigmost {
			s.sigmost = st.Text
		}
	}
	o.chooseBoxes(&s)
	return s
}

// countLine adds a line to the sums of the page.
func (o view) countLine(s *pageStats, b *outline.Line) {
	s.text += b.Size
	s.linked += b.Linked
	s.words += b.Words
	s.cumulative = append(s.cumulative, s.text)
	if b.Size < 40 {
		s.short++
	}
	if b.Kind == outline.KindHeading {
		s.headings++
		if o.Boxes[b.Box].Tag == htmltree.TagH1 {
			s.h1++
		}
	}
	if b.Digits > 0 && b.Size < 40 && b.Money {
		s.money++
	}
}

// countProse adds a line of prose to the sums of prose.
func (o view) countProse(s *pageStats, b *outline.Line) {
	x := &o.Boxes[b.Box]
	for k, in := 0, x.In; in != 0; k, in = k+1, in>>1 {
		if in&1 != 0 {
			s.ins[k] += b.Size
		}
	}
	s.prose += b.Size
	if b.Kind == outline.KindParagraph {
		s.pprose += b.Size
	}
	for k := range x.Near {
		if x.Near[k] != 255 {
			s.hinted[k] += b.Size
		}
	}
}

// scoreBoxes raises the scores of the boxes around a line of prose: as its text grows, and with its commas.
func (o view) scoreBoxes(b *outline.Line) {
	w := 1 + float32(b.Commas) + min(float32(b.Chars)/100, 5)
	up := o.Boxes[b.Box].Parent
	if b.Kind == outline.KindPlain {
		up = b.Box
	}
	for k, part := 0, float32(1); k < 4 && up >= 0; k++ {
		o.Boxes[up].Score += w * part
		part /= 2
		up = o.Boxes[up].Parent
	}
}

// chooseBoxes finds the article with most prose, the core and the densest box.
func (o view) chooseBoxes(s *pageStats) {
	whole := s.prose
	best := float32(0)
	for i := range o.Boxes {
		x := &o.Boxes[i]
		if x.Tag == htmltree.TagArticle {
			s.articles++
			if s.article == 0 || x.Prose > o.Boxes[s.article].Prose {
				s.article = int32(i)
			}
		}
		if x.Parent == s.core && i > 0 && 10*x.Prose >= 7*whole && x.End-x.Start >= 2 {
			s.core = int32(i)
		}
		if score := x.Score * (1 - ratioOf(x.Linked, x.Text)); score > best && i > 0 {
			best, s.dense = score, int32(i)
		}
	}
	s.denseStart, s.denseEnd = o.Boxes[s.dense].Start, o.Boxes[s.dense].End
}

// boxDistance returns the boxes up from x to the nearest one around both, and whether x is inside of y.
func (o view) boxDistance(x, y int32) (up int32, inside bool) {
	for x != y && x > 0 {
		if x > y {
			x = o.Boxes[x].Parent
			up++
		} else {
			for y > x {
				y = o.Boxes[y].Parent
			}
			if x == y {
				return up, false
			}
		}
	}
	return up, x == y
}

// nearHints are the hints whose distance tells something about a line.
var nearHints = func() (list []int) {
	for k := range int(outline.HintCount) {
		switch k {
		case outline.HintShare, outline.HintAd, outline.HintForum, outline.HintDate: // did not help
		default:
			list = append(list, k)
		}
	}
	return list
}()

// levels are names of a box and its parents.
var levels = [...]string{"0", "1", "2", "3"}

// around are the elements around a line that tell something.
var around = [...]struct {
	name string
	bit  uint32
}{{"article", outline.InArticle}, {"main", outline.InMain}, {"section", outline.InSection}, {"header", outline.InHeader}, {"footer", outline.InFooter}, {"nav", outline.InNav}, {"aside", outline.InAside},
	{"form", outline.InForm}, {"figure", outline.InFigure}, {"table", outline.InTable}, {"list", outline.InList},
	{"details", outline.InDetails}, {"bodyprop", outline.InBodyProp}, {"ariahidden", outline.InAriaHidden}}

// addFeatures appends the features of block i.
func (o view) addFeatures(v *vector, i int, s *pageStats) {
	b := &o.Lines[i]
	o.addCounts(v, b, s)
	o.addPlace(v, i, s)
	o.addSurroundings(v, b)
	o.addBoxes(v, b, s)
	o.addCores(v, i, s)
	// neighbours
	o.addNeighbour(v, i, i-1, "-1")
	o.addNeighbour(v, i, i+1, "+1")
	o.addHeading(v, i)
	o.addRepetition(v, b, s)
	o.addPage(v, s)
}

// addCounts appends features of the line alone, and of the lines of its kin.
func (o view) addCounts(v *vector, b *outline.Line, s *pageStats) {
	x := &o.Boxes[b.Box]
	v.addFeature("size", log2Of(b.Chars))
	v.addFeature("words", log2Of(b.Words))
	v.addFeature("linkdensity", ratioOf(b.Linked, b.Size))
	v.addFeature("links", log2Of(b.Links))
	v.addFeature("kind", float32(b.Kind))
	v.addBit("heading", b.Kind == outline.KindHeading)
	v.addBit("sentence", b.IsSentence())
	v.addFeature("commas", ratioOf(b.Commas*100, b.Chars))
	v.addFeature("stops", ratioOf(b.Stops*100, b.Chars))
	v.addFeature("wordlength", ratioOf(b.Chars, b.Words))
	v.addFeature("digits", ratioOf(b.Digits, b.Chars))
	v.addFeature("uppers", ratioOf(b.Uppers, b.Chars))
	v.addFeature("symbols", ratioOf(b.Symbols, b.Chars))
	v.addFeature("bold", ratioOf(b.Bold, b.Size))
	v.addFeature("dups", log2Of(o.Dups[b.Hash]-1))
	st := o.Kins[x.Kin]
	v.addFeature("sigblocks", log2Of(st.Blocks))
	v.addFeature("sigtext", ratioOf(st.Text, s.text))
	v.addFeature("sigmean", log2Of(st.Text/max(1, st.Blocks)))
	v.addFeature("depth", float32(x.Depth))
}

// addPlace appends where line i is on the page.
func (o view) addPlace(v *vector, i int, s *pageStats) {
	v.addFeature("place", float32(i)/float32(len(o.Lines)))
	v.addFeature("textplace", ratioOf(s.cumulative[i], s.text))
	v.addFeature("behindtitle", float32(max(-50, min(50, int32(i)-o.Title))))
	v.addBit("hastitle", o.Title >= 0)
}

// addSurroundings appends the elements and hints around a line.
func (o view) addSurroundings(v *vector, b *outline.Line) {
	x := &o.Boxes[b.Box]
	for k := range around {
		e := &around[k]
		v.addJoinedBit("in-", e.name, x.In&e.bit != 0)
	}
	for _, k := range nearHints {
		v.addJoined("near-", hintNames[k], float32(min(30, x.Near[k])))
	}
	v.addFeature("inline-bad", hintFeature(b.Inline&(1<<outline.HintNav|1<<outline.HintShare|1<<outline.HintRelated|1<<outline.HintAd|1<<outline.HintForm|1<<outline.HintHidden|1<<outline.HintFooter)))
	v.addFeature("inline-meta", hintFeature(b.Inline&(1<<outline.HintMeta|1<<outline.HintAuthor|1<<outline.HintDate|1<<outline.HintCaption)))
}

// addBoxes appends features of the box of a line and of its parents.
func (o view) addBoxes(v *vector, b *outline.Line, s *pageStats) {
	y := &o.Boxes[b.Box]
	for level := range 4 {
		name := levels[level]
		v.addJoined("text", name, log2Of(y.Text))
		v.addJoined("links", name, ratioOf(y.Linked, y.Text))
		v.addJoined("blocks", name, log2Of(y.End-y.Start))
		v.addJoined("proseshare", name, ratioOf(y.Prose, y.Text))
		v.addJoined("prosepart", name, ratioOf(y.Prose, s.prose))
		if level > 0 {
			v.addJoined("children", name, log2Of(y.Children))
			if level > 1 {
				v.addJoined("pshare", name, ratioOf(y.Pprose, y.Text))
			}
		}
		if y.Parent >= 0 {
			y = &o.Boxes[y.Parent]
		}
	}
}

// addCores appends how far line i is from the core and from the densest box, and features of the page that belong to them.
func (o view) addCores(v *vector, i int, s *pageStats) {
	b := &o.Lines[i]
	up, in := o.boxDistance(b.Box, s.core)
	v.addBit("incore", in)
	v.addFeature("upcore", float32(up))
	up, in = o.boxDistance(b.Box, s.dense)
	v.addBit("indense", in)
	v.addFeature("updense", float32(up))
	v.addFeature("behinddense", float32(max(-60, min(60, int32(i)-s.denseEnd))))
	v.addFeature("beforedense", float32(max(-60, min(60, s.denseStart-int32(i)))))
	v.addFeature("densepart", ratioOf(o.Boxes[s.dense].Prose, s.prose))
	for k := range s.types {
		v.addJoined("type-", KindNames[k], s.types[k])
	}
	v.addFeature("corelinks", ratioOf(o.Boxes[s.core].Linked, o.Boxes[s.core].Text))
}

// addHeading appends what line i says, and features of the heading above it.
func (o view) addHeading(v *vector, i int) {
	b := &o.Lines[i]
	for _, k := range [...]int{outline.SaysMore, outline.SaysBy} {
		v.addJoinedBit("says-", outline.SaysNames[k], b.Says&(1<<k) != 0)
	}
	said := uint32(0)
	if b.Above >= 0 {
		h := &o.Lines[b.Above]
		said = h.Says
		v.addFeature("toheading", float32(min(60, int32(i)-b.Above)))
		v.addFeature("headinglevel", float32(o.Boxes[h.Box].Tag-htmltree.TagH1))
		hup, _ := o.boxDistance(h.Box, b.Box)
		v.addFeature("headingup", float32(min(20, hup)))
		v.addFeature("headinglinks", ratioOf(h.Linked, h.Size))
	} else {
		v.addFeature("toheading", -1)
		v.addFeature("headinglevel", -1)
		v.addFeature("headingup", -1)
		v.addFeature("headinglinks", -1)
	}
	for _, k := range [...]int{outline.SaysMore, outline.SaysComment, outline.SaysShop} {
		v.addJoinedBit("said-", outline.SaysNames[k], said&(1<<k) != 0)
	}
}

// addRepetition appends features of the elements like those around the line that the page repeats.
func (o view) addRepetition(v *vector, b *outline.Line, s *pageStats) {
	kin, rise := o.repeatedSignature(b.Box)
	most := outline.Kin{}
	if rise >= 0 {
		most = o.Kins[kin]
	}
	v.addFeature("kin", log2Of(most.Boxes))
	v.addFeature("kinmean", log2Of(most.Size/max(1, most.Boxes)))
	v.addFeature("kinlinks", ratioOf(most.Linked, most.Size))
	v.addFeature("kinheads", ratioOf(most.Heads, most.Boxes))
	v.addFeature("kintext", ratioOf(most.Size, s.text))
	v.addFeature("bestarticle", ratioOf(o.Boxes[s.article].Prose, s.prose))
}

// addPage appends features that all lines of the page have.
func (o view) addPage(v *vector, s *pageStats) {
	v.addFeature("pageprose", log2Of(s.prose))
	v.addFeature("pageblocks", log2Of(int32(len(o.Lines))))
	v.addFeature("pagelinks", ratioOf(s.linked, s.text))
	v.addFeature("pageproseshare", ratioOf(s.prose, s.text))
	v.addFeature("pagep", ratioOf(s.pprose, s.prose))
	v.addFeature("articles", float32(min(s.articles, 10)))
	v.addFeature("commentshare", ratioOf(s.hinted[outline.HintComment], s.prose))
	v.addFeature("relatedshare", ratioOf(s.hinted[outline.HintRelated], s.prose))
	v.addFeature("forumshare", ratioOf(s.hinted[outline.HintForum], s.prose))
	v.addFeature("bodyshare", ratioOf(s.hinted[outline.HintBody], s.prose))
	v.addFeature("sideshare", ratioOf(s.hinted[outline.HintSide], s.prose))
}

// addNeighbour appends features of line k, which is next to line i.
func (o view) addNeighbour(v *vector, i, k int, name string) {
	if k < 0 || k >= len(o.Lines) {
		v.addJoined("size", name, -1)
		v.addJoined("link", name, -1)
		v.addJoined("kind", name, -1)
		v.addJoined("box", name, -1)
		return
	}
	b, c := &o.Lines[i], &o.Lines[k]
	v.addJoined("size", name, log2Of(c.Chars))
	v.addJoined("link", name, ratioOf(c.Linked, c.Size))
	v.addJoined("kind", name, float32(c.Kind))
	same := float32(0)
	if c.Box == b.Box {
		same = 2
	} else if o.Boxes[c.Box].Parent == o.Boxes[b.Box].Parent {
		same = 1
	}
	v.addJoined("box", name, same)
}

// KindNames are the types of pages.
var KindNames = [pageKinds]string{"article", "documentation", "forum", "service", "product", "list"}

// pageFeatures appends what tells the type of a page.
func (o view) pageFeatures(v *vector, s *pageStats, h *metadata.Head, pageURL string) {
	v.addFeature("prose", log2Of(s.prose))
	v.addFeature("blocks", log2Of(int32(len(o.Lines))))
	v.addFeature("links", ratioOf(s.linked, s.text))
	v.addFeature("proseshare", ratioOf(s.prose, s.text))
	v.addFeature("pshare", ratioOf(s.pprose, s.prose))
	v.addFeature("articles", float32(min(s.articles, 20)))
	for k := range s.hinted {
		v.addJoined("hint-", hintNames[k], ratioOf(s.hinted[k], s.prose))
	}
	for k := range s.ins {
		v.addJoined("in-", [...]string{"article", "main", "section", "header", "footer", "nav", "aside", "form", "figure", "table", "list", "quote", "button", "label", "address", "details",
			"bodyprop", "ariahidden", "dialog"}[k], ratioOf(s.ins[k], s.prose))
	}
	dense, core := &o.Boxes[s.dense], &o.Boxes[s.core]
	v.addFeature("densepart", ratioOf(dense.Prose, s.prose))
	v.addFeature("denselinks", ratioOf(dense.Linked, dense.Text))
	v.addFeature("coredepth", float32(core.Depth))
	v.addFeature("corelinks", ratioOf(core.Linked, core.Text))
	v.addFeature("corepart", ratioOf(core.Text, s.text))
	v.addFeature("run", log2Of(s.run))
	v.addFeature("runshare", ratioOf(s.run, s.prose))
	v.addFeature("money", log2Of(s.money))
	v.addFeature("moneyshare", ratioOf(s.money, int32(len(o.Lines))))
	v.addFeature("short", ratioOf(s.short, int32(len(o.Lines))))
	v.addFeature("headings", log2Of(s.headings))
	v.addFeature("headingshare", ratioOf(s.headings, int32(len(o.Lines))))
	v.addFeature("h1", float32(min(s.h1, 10)))
	v.addFeature("sigmost", ratioOf(s.sigmost, s.text))
	v.addBit("title", o.Title >= 0)
	v.addFeature("titleplace", ratioOf(o.Title+1, int32(len(o.Lines))))
	v.addFeature("images", log2Of(s.images))
	v.addFeature("times", log2Of(int32(h.Times)))
	v.addBit("date", h.StatesDate())
	v.addBit("author", h.HasAuthor())
	v.addBit("body", h.HasBody())
	v.addFeature("ogtype", float32(h.OGType))
	for k := range metadata.LDTypes {
		v.addJoinedBit("ld-", metadata.LDTypes[k], h.LDTypes&(1<<k) != 0)
	}
	urlFeatures(v, pageURL)
}

// urlFeatures appends what the address of a page says.
func urlFeatures(v *vector, pageURL string) {
	s := pageURL
	if i := indexOf(s, "://"); i >= 0 {
		s = s[i+3:]
	}
	path := ""
	if i := indexOf(s, "/"); i >= 0 {
		path = s[i:]
	}
	query := false
	if i := indexOf(path, "?"); i >= 0 {
		query, path = true, path[:i]
	}
	slashes, dashes, digits, last := 0, 0, 0, 0
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '/':
			if i+1 < len(path) {
				slashes++
				last, dashes = i, 0
			}
		case c == '-' || c == '_':
			dashes++
		case c >= '0' && c <= '9':
			digits++
		}
	}
	v.addFeature("urldepth", float32(min(slashes, 12)))
	v.addFeature("urldashes", float32(min(dashes, 15)))
	v.addFeature("urldigits", float32(min(digits, 15)))
	v.addFeature("urllast", float32(min(len(path)-last, 100)))
	v.addBit("urlquery", query)
	v.addBit("urlslash", len(path) > 0 && path[len(path)-1] == '/')
	for _, w := range [...]string{"blog", "news", "article", "/p/", "product", "shop", "forum", "thread", "question", "topic", "doc", "wiki", "guide", "categor", "tag", "collection", "search", "list", "service",
		"solution", "about", "review", "/20", "feature", "pricing", "api", "reference", "tutorial", "course"} {
		v.addJoinedBit("url-", w, indexOf(path, w) >= 0)
	}
}

func indexOf(s, sub string) int { return strings.Index(s, sub) }

var hintNames = [outline.HintCount]string{"nav", "share", "related", "ad", "comment", "footer", "header", "side", "meta", "caption", "form", "content", "body", "hidden", "list",
	"product", "title", "code", "forum", "author", "date"}

func hintFeature(h outline.Hints) float32 {
	if h != 0 {
		return 1
	}
	return 0
}

// addContext appends features from the probabilities that the first model gave: those of the neighbours, and of the boxes around.
func (o view) addContext(v *vector, i int, c *contextSums) {
	p, n := c.p, len(o.Lines)
	at := func(k int) float32 {
		if k < 0 || k >= n {
			return -0.1
		}
		return p[k]
	}
	v.addFeature("p", p[i])
	v.addFeature("p-1", at(i-1))
	v.addFeature("p+1", at(i+1))
	v.addFeature("p-2", at(i-2))
	v.addFeature("p+2", at(i+2))
	v.addFeature("p-3", at(i-3))
	v.addFeature("p+3", at(i+3))
	mean := func(a, b int) float32 {
		a, b = max(0, a), min(n, b)
		w := c.size[b] - c.size[a]
		if w <= 0 {
			return -0.1
		}
		return (c.mass[b] - c.mass[a]) / w
	}
	v.addFeature("mean-5", mean(i-5, i))
	v.addFeature("mean+5", mean(i+1, i+6))
	v.addFeature("mean+15", mean(i+1, i+16))
	b := &o.Lines[i]
	y := &o.Boxes[b.Box]
	for level := range 4 {
		v.addJoined("box", levels[level], mean(int(y.Start), int(y.End)))
		v.addJoined("part", levels[level], (c.mass[y.End]-c.mass[y.Start])/max(1, c.mass[n]))
		if y.Parent >= 0 {
			y = &o.Boxes[y.Parent]
		}
	}
	v.addFeature("before", c.mass[i]/max(1, c.mass[n]))
	v.addFeature("after", (c.mass[n]-c.mass[i+1])/max(1, c.mass[n]))
	v.addFeature("page", mean(0, n))
	v.addFeature("mass", log2Of(int32(c.mass[n])))
	v.addFeature("tofirst", float32(max(-40, min(40, i-c.first))))
	v.addFeature("tolast", float32(max(-40, min(40, c.last-i))))
	up, in := o.boxDistance(b.Box, c.core)
	v.addBit("inpcore", in)
	v.addFeature("uppcore", float32(up))
	v.addFeature("sigp", c.sigs[o.Boxes[b.Box].Kin])
	kin, _ := o.repeatedSignature(b.Box)
	v.addFeature("kinp", c.kins[kin])
	v.addFeature("pabove", at(int(b.Above)))
}

// contextFeatures is the number of features that context appends.
const contextFeatures = 29

// repeatedSignature returns the signature that most elements of the page share, of box and its next four parents, and how many
// levels up it is; 0 and -1 if none has lines.
func (o view) repeatedSignature(box int32) (kin int32, rise float32) {
	most, rise := int32(0), float32(-1)
	for level := range 5 {
		z := &o.Boxes[box]
		if st := &o.Kins[z.Kin]; st.Boxes > most && z.End-z.Start > 0 {
			kin, most, rise = z.Kin, st.Boxes, float32(level)
		}
		if z.Parent < 0 {
			break
		}
		box = z.Parent
	}
	return kin, rise
}

// contextSums are what context needs.
type contextSums struct {
	p           []float32
	size, mass  []float32 // sums before each block
	first, last int
	core        int32
	sigs, sigw  []float32 // by box.kin, of the lines right in them
	kins, kinw  []float32 // by box.kin, of all lines in them
}

// sumContext prepares the second model.
func (o view) sumContext(c *contextSums) {
	n := len(o.Lines)
	c.size = append(c.size[:0], 0)
	c.mass = append(c.mass[:0], 0)
	c.sigs, c.sigw, c.kins, c.kinw = c.sigs[:0], c.sigw[:0], c.kins[:0], c.kinw[:0]
	for range o.Kins {
		c.sigs, c.sigw, c.kins, c.kinw = append(c.sigs, 0), append(c.sigw, 0), append(c.kins, 0), append(c.kinw, 0)
	}
	c.first, c.last = n, -1
	var size, mass float32
	for i := range o.Lines {
		b := &o.Lines[i]
		w := float32(b.Words) + 0.5
		size += w
		mass += w * c.p[i]
		c.size = append(c.size, size)
		c.mass = append(c.mass, mass)
		sig := o.Boxes[b.Box].Kin
		c.sigs[sig] += w * c.p[i]
		c.sigw[sig] += w
		if c.p[i] > 0.6 && b.Words >= 8 {
			if c.first == n {
				c.first = i
			}
			c.last = i
		}
	}
	for k, w := range c.sigw {
		if w > 0 {
			c.sigs[k] /= w
		}
	}
	c.core = 0
	for i := range o.Boxes {
		x := &o.Boxes[i]
		c.kins[x.Kin] += c.mass[x.End] - c.mass[x.Start]
		c.kinw[x.Kin] += c.size[x.End] - c.size[x.Start]
		if i > 0 && x.Parent == c.core && c.mass[x.End]-c.mass[x.Start] >= 0.85*mass && x.End-x.Start >= 2 {
			c.core = int32(i)
		}
	}
	for k, w := range c.kinw {
		if w > 0 {
			c.kins[k] /= w
		}
	}
}

// Gate returns how much a page is another thing than an article, 0 to 1: lists of links are noise on articles, and content
// on listings, in shops, in documentation.
func Gate(types []float32) float32 {
	sum := float32(1e-6)
	for _, t := range types {
		sum += t
	}
	return 1 - types[0]/sum
}

// experts is the number of models that choose lines: for articles, documentation, all other pages.
const experts = 3

// Shares returns the weights of the experts; their sum is 1. Doubtful pages ask two or three.
func Shares(types []float32) (share [experts]float32) {
	sum := float32(1e-6)
	for _, t := range types {
		sum += t
	}
	other := min(1, max(0, (Gate(types)-0.25)/0.5))
	documentation := min(1, max(0, (types[1]/sum-0.2)/0.4))
	return [experts]float32{1 - other, other * documentation, other * (1 - documentation)}
}

// LeastCut is the lowest cut.
var LeastCut = float32(0.15)

// Cut returns the probability from which on lines are chosen so that the expected F1 of the words is best: low on pages
// where all is doubtful, near one half where all is clear. limit is the highest, and that of articles.
func Cut(p []float32, words func(i int) float32, limit float32, types []float32) float32 {
	const bins = 64
	var size, mass [bins]float32
	whole := float32(0)
	for i, x := range p {
		w := words(i)
		k := min(bins-1, int(x*bins))
		size[k] += w
		mass[k] += w * x
		whole += w * x
	}
	best, cut := float32(0), limit
	var s, m float32
	for k := bins - 1; k >= 0; k-- {
		s += size[k]
		m += mass[k]
		if f := 2 * m / max(1e-6, s+whole); f > best*1.0005 {
			best, cut = f, float32(k)/bins
		}
	}
	sum := float32(1e-6)
	for _, t := range types {
		sum += t
	}
	article := min(1, max(0, (types[0]/sum-0.25)/0.3))
	return article*limit + (1-article)*min(limit, max(cut, LeastCut))
}
