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

// FeatureNames are for the trainer. They are filled by the first call of features.
var FeatureNames []string

// vector collects features.
type vector struct {
	f     []float32
	names *[]string
}

func (v *vector) add(name string, x float32) {
	if v.names != nil {
		*v.names = append(*v.names, name)
	}
	v.f = append(v.f, x)
}

func (v *vector) bit(name string, x bool) {
	if x {
		v.add(name, 1)
	} else {
		v.add(name, 0)
	}
}

func (v *vector) add2(a, b string, x float32) {
	if v.names != nil {
		*v.names = append(*v.names, a+b)
	}
	v.f = append(v.f, x)
}

func (v *vector) bit2(a, b string, x bool) {
	if x {
		v.add2(a, b, 1)
	} else {
		v.add2(a, b, 0)
	}
}

func ratio(a, b int32) float32 {
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

func lg(x int32) float32 {
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

// weigh finds the cores of the page.
func (o view) weigh() (s pageStats) {
	s.cumulative = append(o.Sums[:0], 0)
	run := int32(0)
	for i := range o.Lines {
		b := &o.Lines[i]
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
		for k, in := 0, o.Boxes[b.Box].In; in != 0; k, in = k+1, in>>1 {
			if in&1 != 0 {
				s.ins[k] += b.Size
			}
		}
		s.prose += b.Size
		if b.Kind == outline.KindParagraph {
			s.pprose += b.Size
		}
		x := &o.Boxes[b.Box]
		for k := range x.Near {
			if x.Near[k] != 255 {
				s.hinted[k] += b.Size
			}
		}
		// score: as a text grows, and with its commas
		w := 1 + float32(b.Commas) + min(float32(b.Chars)/100, 5)
		up := x.Parent
		if b.Kind == outline.KindPlain {
			up = b.Box
		}
		for k, part := 0, float32(1); k < 4 && up >= 0; k++ {
			o.Boxes[up].Score += w * part
			part /= 2
			up = o.Boxes[up].Parent
		}
	}
	o.Sums = s.cumulative
	s.run = max(s.run, run)
	for _, st := range o.Kins {
		if st.Blocks > 3 && st.Text > s.sigmost {
			s.sigmost = st.Text
		}
	}
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
		if score := x.Score * (1 - ratio(x.Linked, x.Text)); score > best && i > 0 {
			best, s.dense = score, int32(i)
		}
	}
	s.denseStart, s.denseEnd = o.Boxes[s.dense].Start, o.Boxes[s.dense].End
	return s
}

// distance returns the boxes up from x to the nearest one around both, and whether x is inside of y.
func (o view) distance(x, y int32) (up int32, inside bool) {
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

// features appends the features of block i.
func (o view) features(v *vector, i int, s *pageStats) {
	b := &o.Lines[i]
	x := &o.Boxes[b.Box]
	v.add("size", lg(b.Chars))
	v.add("words", lg(b.Words))
	v.add("linkdensity", ratio(b.Linked, b.Size))
	v.add("links", lg(b.Links))
	v.add("kind", float32(b.Kind))
	v.bit("heading", b.Kind == outline.KindHeading)
	v.bit("sentence", b.IsSentence())
	v.add("commas", ratio(b.Commas*100, b.Chars))
	v.add("stops", ratio(b.Stops*100, b.Chars))
	v.add("wordlength", ratio(b.Chars, b.Words))
	v.add("digits", ratio(b.Digits, b.Chars))
	v.add("uppers", ratio(b.Uppers, b.Chars))
	v.add("symbols", ratio(b.Symbols, b.Chars))
	v.add("bold", ratio(b.Bold, b.Size))
	v.add("dups", lg(o.Dups[b.Hash]-1))
	st := o.Kins[x.Kin]
	v.add("sigblocks", lg(st.Blocks))
	v.add("sigtext", ratio(st.Text, s.text))
	v.add("sigmean", lg(st.Text/max(1, st.Blocks)))
	v.add("depth", float32(x.Depth))
	// place
	v.add("place", float32(i)/float32(len(o.Lines)))
	v.add("textplace", ratio(s.cumulative[i], s.text))
	v.add("behindtitle", float32(max(-50, min(50, int32(i)-o.Title))))
	v.bit("hastitle", o.Title >= 0)
	// around
	for k := range around {
		e := &around[k]
		v.bit2("in-", e.name, x.In&e.bit != 0)
	}
	for _, k := range nearHints {
		v.add2("near-", hintNames[k], float32(min(30, x.Near[k])))
	}
	v.add("inline-bad", bits(b.Inline&(1<<outline.HintNav|1<<outline.HintShare|1<<outline.HintRelated|1<<outline.HintAd|1<<outline.HintForm|1<<outline.HintHidden|1<<outline.HintFooter)))
	v.add("inline-meta", bits(b.Inline&(1<<outline.HintMeta|1<<outline.HintAuthor|1<<outline.HintDate|1<<outline.HintCaption)))
	// boxes
	y := x
	for level := range 4 {
		name := levels[level]
		v.add2("text", name, lg(y.Text))
		v.add2("links", name, ratio(y.Linked, y.Text))
		v.add2("blocks", name, lg(y.End-y.Start))
		v.add2("proseshare", name, ratio(y.Prose, y.Text))
		v.add2("prosepart", name, ratio(y.Prose, s.prose))
		if level > 0 {
			v.add2("children", name, lg(y.Children))
			if level > 1 {
				v.add2("pshare", name, ratio(y.Pprose, y.Text))
			}
		}
		if y.Parent >= 0 {
			y = &o.Boxes[y.Parent]
		}
	}
	up, in := o.distance(b.Box, s.core)
	v.bit("incore", in)
	v.add("upcore", float32(up))
	up, in = o.distance(b.Box, s.dense)
	v.bit("indense", in)
	v.add("updense", float32(up))
	v.add("behinddense", float32(max(-60, min(60, int32(i)-s.denseEnd))))
	v.add("beforedense", float32(max(-60, min(60, s.denseStart-int32(i)))))
	v.add("densepart", ratio(o.Boxes[s.dense].Prose, s.prose))
	for k := range s.types {
		v.add2("type-", KindNames[k], s.types[k])
	}
	v.add("corelinks", ratio(o.Boxes[s.core].Linked, o.Boxes[s.core].Text))
	// neighbours
	o.neighbour(v, i, i-1, "-1")
	o.neighbour(v, i, i+1, "+1")
	// words
	for _, k := range [...]int{outline.SaysMore, outline.SaysBy} {
		v.bit2("says-", outline.SaysNames[k], b.Says&(1<<k) != 0)
	}
	said := uint32(0)
	if b.Above >= 0 {
		h := &o.Lines[b.Above]
		said = h.Says
		v.add("toheading", float32(min(60, int32(i)-b.Above)))
		v.add("headinglevel", float32(o.Boxes[h.Box].Tag-htmltree.TagH1))
		hup, _ := o.distance(h.Box, b.Box)
		v.add("headingup", float32(min(20, hup)))
		v.add("headinglinks", ratio(h.Linked, h.Size))
	} else {
		v.add("toheading", -1)
		v.add("headinglevel", -1)
		v.add("headingup", -1)
		v.add("headinglinks", -1)
	}
	for _, k := range [...]int{outline.SaysMore, outline.SaysComment, outline.SaysShop} {
		v.bit2("said-", outline.SaysNames[k], said&(1<<k) != 0)
	}
	// things that stand on the page again and again
	kin, rise := o.repeated(b.Box)
	most := outline.Kin{}
	if rise >= 0 {
		most = o.Kins[kin]
	}
	v.add("kin", lg(most.Boxes))
	v.add("kinmean", lg(most.Size/max(1, most.Boxes)))
	v.add("kinlinks", ratio(most.Linked, most.Size))
	v.add("kinheads", ratio(most.Heads, most.Boxes))
	v.add("kintext", ratio(most.Size, s.text))
	v.add("bestarticle", ratio(o.Boxes[s.article].Prose, s.prose))
	// page
	v.add("pageprose", lg(s.prose))
	v.add("pageblocks", lg(int32(len(o.Lines))))
	v.add("pagelinks", ratio(s.linked, s.text))
	v.add("pageproseshare", ratio(s.prose, s.text))
	v.add("pagep", ratio(s.pprose, s.prose))
	v.add("articles", float32(min(s.articles, 10)))
	v.add("commentshare", ratio(s.hinted[outline.HintComment], s.prose))
	v.add("relatedshare", ratio(s.hinted[outline.HintRelated], s.prose))
	v.add("forumshare", ratio(s.hinted[outline.HintForum], s.prose))
	v.add("bodyshare", ratio(s.hinted[outline.HintBody], s.prose))
	v.add("sideshare", ratio(s.hinted[outline.HintSide], s.prose))
}

// neighbour appends features of line k, which is next to line i.
func (o view) neighbour(v *vector, i, k int, name string) {
	if k < 0 || k >= len(o.Lines) {
		v.add2("size", name, -1)
		v.add2("link", name, -1)
		v.add2("kind", name, -1)
		v.add2("box", name, -1)
		return
	}
	b, c := &o.Lines[i], &o.Lines[k]
	v.add2("size", name, lg(c.Chars))
	v.add2("link", name, ratio(c.Linked, c.Size))
	v.add2("kind", name, float32(c.Kind))
	same := float32(0)
	if c.Box == b.Box {
		same = 2
	} else if o.Boxes[c.Box].Parent == o.Boxes[b.Box].Parent {
		same = 1
	}
	v.add2("box", name, same)
}

// KindNames are the types of pages.
var KindNames = [pageKinds]string{"article", "documentation", "forum", "service", "product", "list"}

// pageFeatures appends what tells the type of a page.
func (o view) pageFeatures(v *vector, s *pageStats, h *metadata.Head, pageURL string) {
	v.add("prose", lg(s.prose))
	v.add("blocks", lg(int32(len(o.Lines))))
	v.add("links", ratio(s.linked, s.text))
	v.add("proseshare", ratio(s.prose, s.text))
	v.add("pshare", ratio(s.pprose, s.prose))
	v.add("articles", float32(min(s.articles, 20)))
	for k := range s.hinted {
		v.add2("hint-", hintNames[k], ratio(s.hinted[k], s.prose))
	}
	for k := range s.ins {
		v.add2("in-", [...]string{"article", "main", "section", "header", "footer", "nav", "aside", "form", "figure", "table", "list", "quote", "button", "label", "address", "details",
			"bodyprop", "ariahidden", "dialog"}[k], ratio(s.ins[k], s.prose))
	}
	dense, core := &o.Boxes[s.dense], &o.Boxes[s.core]
	v.add("densepart", ratio(dense.Prose, s.prose))
	v.add("denselinks", ratio(dense.Linked, dense.Text))
	v.add("coredepth", float32(core.Depth))
	v.add("corelinks", ratio(core.Linked, core.Text))
	v.add("corepart", ratio(core.Text, s.text))
	v.add("run", lg(s.run))
	v.add("runshare", ratio(s.run, s.prose))
	v.add("money", lg(s.money))
	v.add("moneyshare", ratio(s.money, int32(len(o.Lines))))
	v.add("short", ratio(s.short, int32(len(o.Lines))))
	v.add("headings", lg(s.headings))
	v.add("headingshare", ratio(s.headings, int32(len(o.Lines))))
	v.add("h1", float32(min(s.h1, 10)))
	v.add("sigmost", ratio(s.sigmost, s.text))
	v.bit("title", o.Title >= 0)
	v.add("titleplace", ratio(o.Title+1, int32(len(o.Lines))))
	v.add("images", lg(s.images))
	v.add("times", lg(int32(h.Times)))
	v.bit("date", h.StatesDate())
	v.bit("author", h.HasAuthor())
	v.bit("body", h.HasBody())
	v.add("ogtype", float32(h.OGType))
	for k := range metadata.LDTypes {
		v.bit2("ld-", metadata.LDTypes[k], h.LDTypes&(1<<k) != 0)
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
	v.add("urldepth", float32(min(slashes, 12)))
	v.add("urldashes", float32(min(dashes, 15)))
	v.add("urldigits", float32(min(digits, 15)))
	v.add("urllast", float32(min(len(path)-last, 100)))
	v.bit("urlquery", query)
	v.bit("urlslash", len(path) > 0 && path[len(path)-1] == '/')
	for _, w := range [...]string{"blog", "news", "article", "/p/", "product", "shop", "forum", "thread", "question", "topic", "doc", "wiki", "guide", "categor", "tag", "collection", "search", "list", "service",
		"solution", "about", "review", "/20", "feature", "pricing", "api", "reference", "tutorial", "course"} {
		v.bit2("url-", w, indexOf(path, w) >= 0)
	}
}

func indexOf(s, sub string) int { return strings.Index(s, sub) }

var hintNames = [outline.HintCount]string{"nav", "share", "related", "ad", "comment", "footer", "header", "side", "meta", "caption", "form", "content", "body", "hidden", "list",
	"product", "title", "code", "forum", "author", "date"}

func bits(h outline.Hints) float32 {
	if h != 0 {
		return 1
	}
	return 0
}

// context appends features from the probabilities that the first model gave: those of the neighbours, and of the boxes around.
func (o view) context(v *vector, i int, c *contextSums) {
	p, n := c.p, len(o.Lines)
	at := func(k int) float32 {
		if k < 0 || k >= n {
			return -0.1
		}
		return p[k]
	}
	v.add("p", p[i])
	v.add("p-1", at(i-1))
	v.add("p+1", at(i+1))
	v.add("p-2", at(i-2))
	v.add("p+2", at(i+2))
	v.add("p-3", at(i-3))
	v.add("p+3", at(i+3))
	mean := func(a, b int) float32 {
		a, b = max(0, a), min(n, b)
		w := c.size[b] - c.size[a]
		if w <= 0 {
			return -0.1
		}
		return (c.mass[b] - c.mass[a]) / w
	}
	v.add("mean-5", mean(i-5, i))
	v.add("mean+5", mean(i+1, i+6))
	v.add("mean+15", mean(i+1, i+16))
	b := &o.Lines[i]
	y := &o.Boxes[b.Box]
	for level := range 4 {
		v.add2("box", levels[level], mean(int(y.Start), int(y.End)))
		v.add2("part", levels[level], (c.mass[y.End]-c.mass[y.Start])/max(1, c.mass[n]))
		if y.Parent >= 0 {
			y = &o.Boxes[y.Parent]
		}
	}
	v.add("before", c.mass[i]/max(1, c.mass[n]))
	v.add("after", (c.mass[n]-c.mass[i+1])/max(1, c.mass[n]))
	v.add("page", mean(0, n))
	v.add("mass", lg(int32(c.mass[n])))
	v.add("tofirst", float32(max(-40, min(40, i-c.first))))
	v.add("tolast", float32(max(-40, min(40, c.last-i))))
	up, in := o.distance(b.Box, c.core)
	v.bit("inpcore", in)
	v.add("uppcore", float32(up))
	v.add("sigp", c.sigs[o.Boxes[b.Box].Kin])
	kin, _ := o.repeated(b.Box)
	v.add("kinp", c.kins[kin])
	v.add("pabove", at(int(b.Above)))
}

// contextFeatures is the number of features that context appends.
const contextFeatures = 29

// repeated returns the signature that most elements of the page share, of box and its next four parents, and how many
// levels up it is; 0 and -1 if none has lines.
func (o view) repeated(box int32) (kin int32, rise float32) {
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

// sum prepares the second model.
func (o view) sum(c *contextSums) {
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
