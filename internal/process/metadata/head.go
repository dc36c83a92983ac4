package metadata

import (
	"bytes"
	"strings"
	"time"
	"unicode"

	"hce/dc/internal/process/outline"
	"hce/dc/internal/web/htmltree"
)

// head is what a page says about itself. All values are parts of the page.
type Head struct {
	Title, OGTitle, MetaTitle   []byte
	Description                 []byte
	Canonical, Base, Image      []byte
	Lang, Locale                []byte
	HTMLLang                    []byte
	site                        []byte
	Keywords                    [][]byte
	Authors                     [][]byte
	Dates                       [][]byte // of publication
	modified                    [][]byte
	Times                       [][]byte
	ldTitle, LDDate, ldModified []byte
	LDBody, LDDescr, LDImage    []byte
	LDLang, LDKeywords          []byte
	LDAuthors                   [][]byte
	dublin                      []byte
	LDTypes                     uint32
	OGType                      float32 // 0: none, 1 website, 2 article, 3 product, 4 another
}

// read reads the metadata in one pass over the nodes.
func (h *Head) Read(d *htmltree.Doc) {
	nodes := d.Nodes
	if len(nodes) > 1 {
		h.HTMLLang = d.Attr(&nodes[1], htmltree.KeyLang)
	}
	for i := 1; i < len(nodes); i++ {
		n := &nodes[i]
		switch n.Tag {
		case htmltree.TagTitle:
			if len(h.Title) == 0 && int(n.End) > i+1 && (nodes[n.Parent].Tag == htmltree.TagHead || nodes[n.Parent].Tag == htmltree.TagHTML || nodes[n.Parent].Tag == htmltree.TagBody) {
				h.Title = d.Text(&nodes[i+1])
			}
		case htmltree.TagMeta:
			h.meta(d, n)
		case htmltree.TagBase:
			keep(&h.Base, d.Attr(n, htmltree.KeyHref))
		case htmltree.TagLink:
			rel := d.Attr(n, htmltree.KeyRel)
			if len(rel) == 9 && bytes.EqualFold(rel, []byte("canonical")) {
				keep(&h.Canonical, d.Attr(n, htmltree.KeyHref))
			}
		case htmltree.TagTime:
			if len(h.Times) < 20 {
				if v := d.Attr(n, htmltree.KeyDatetime); len(v) > 0 {
					if string(d.Attr(n, htmltree.KeyItemprop)) == "datePublished" || d.Has(n, htmltree.KeyPubdate) {
						h.Dates = append(h.Dates, v)
					} else if string(d.Attr(n, htmltree.KeyItemprop)) == "dateModified" {
						h.modified = append(h.modified, v)
					} else {
						h.Times = append(h.Times, v)
					}
				}
			}
		case htmltree.TagScript:
			if int(n.End) > i+1 && bytes.Contains(d.Attr(n, htmltree.KeyType), []byte("ld+json")) {
				h.scanLD(d.Text(&nodes[i+1]))
			}
		default:
			if n.Tag > htmltree.TagOther && n.A < n.B {
				for k := n.A; k < n.B; k++ {
					if a := &d.Attrs[k]; a.Key == htmltree.KeyItemprop && string(d.Value(a)) == "datePublished" && len(h.Dates) < 20 {
						if v := d.Attr(n, htmltree.KeyContent); len(v) > 0 {
							h.Dates = append(h.Dates, v)
						} else if v := d.Attr(n, htmltree.KeyDatetime); len(v) > 0 {
							h.Dates = append(h.Dates, v)
						} else if int(n.End) > i+1 && nodes[i+1].Tag == htmltree.TagText {
							h.Dates = append(h.Dates, d.Text(&nodes[i+1]))
						}
					}
				}
			}
		}
	}
}

func lowerString(b []byte, buf *[48]byte) string {
	if len(b) > len(buf) {
		return ""
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		buf[i] = c
	}
	return htmltree.String(buf[:len(b)])
}

func (h *Head) meta(d *htmltree.Doc, n *htmltree.Node) {
	content := d.Attr(n, htmltree.KeyContent)
	if len(content) == 0 {
		return
	}
	var buf [48]byte
	name := d.Attr(n, htmltree.KeyProperty)
	if len(name) == 0 {
		name = d.Attr(n, htmltree.KeyName)
	}
	if len(name) == 0 {
		name = d.Attr(n, htmltree.KeyItemprop)
	}
	if len(name) == 0 {
		if v := d.Attr(n, htmltree.KeyHTTPEquiv); len(v) > 0 && lowerString(v, &buf) == "content-language" {
			keep(&h.Lang, content)
		}
		return
	}
	switch lowerString(name, &buf) {
	case "og:title":
		keep(&h.OGTitle, content)
	case "twitter:title", "title", "dc.title", "dcterms.title", "citation_title", "headline", "parsely-title", "sailthru.title":
		keep(&h.MetaTitle, content)
	case "description", "og:description", "twitter:description", "dc.description", "sailthru.description":
		keep(&h.Description, content)
	case "og:image", "twitter:image", "og:image:url", "og:image:secure_url", "twitter:image:src", "image":
		keep(&h.Image, content)
	case "og:type":
		switch {
		case h.OGType != 0:
		case bytes.Contains(content, []byte("article")) || bytes.Contains(content, []byte("blog")):
			h.OGType = 2
		case bytes.Contains(content, []byte("product")):
			h.OGType = 3
		case bytes.Contains(content, []byte("website")):
			h.OGType = 1
		default:
			h.OGType = 4
		}
	case "og:locale":
		keep(&h.Locale, content)
	case "language", "dc.language", "content-language", "inlanguage":
		keep(&h.Lang, content)
	case "og:site_name":
		keep(&h.site, content)
	case "keywords", "news_keywords", "article:tag", "citation_keywords", "parsely-tags", "dc.subject":
		if len(h.Keywords) < 200 {
			h.Keywords = append(h.Keywords, content)
		}
	case "author", "article:author", "dc.creator", "dcterms.creator", "citation_author", "parsely-author", "sailthru.author", "byl", "creator", "authors":
		if len(h.Authors) < 20 {
			h.Authors = append(h.Authors, content)
		}
	case "article:published_time", "datepublished", "date", "dc.date", "dcterms.date", "dc.date.issued", "dcterms.created", "dc.date.created", "pubdate", "publishdate", "publish_date", "publish-date",
		"parsely-pub-date", "sailthru.date", "citation_publication_date", "citation_date", "article.published", "og:published_time", "publication_date", "date.created",
		"cxenseparse:recs:publishtime", "article:published", "published_time", "originalpublicationdate", "timestamp", "displaydate", "ptime", "article_date_original", "bt:pubdate", "rnews:datepublished":
		if len(h.Dates) < 20 {
			h.Dates = append(h.Dates, content)
		}
		if name[0]|0x20 == 'd' && len(name) > 2 && name[1]|0x20 == 'c' {
			keep(&h.dublin, content)
		}
	case "article:modified_time", "datemodified", "og:updated_time", "last-modified", "dc.date.modified", "dcterms.modified", "revised":
		if len(h.modified) < 10 {
			h.modified = append(h.modified, content)
		}
	}
}

// oneLine collapses white space.
func OneLine(b []byte) string {
	dst, _ := outline.AppendWords(make([]byte, 0, len(b)), b, false, 0)
	return string(dst)
}

// StatedTitle returns the title that the page states for its article, without the name of the site.
func (h *Head) StatedTitle() string {
	if t := strings.Join(strings.Fields(TextOfJSON(h.ldTitle)), " "); t != "" {
		return t
	}
	for _, t := range [][]byte{h.OGTitle, h.MetaTitle, h.Title} {
		if s := OneLine(t); s != "" {
			return h.withoutSite(s)
		}
	}
	return ""
}

// StatedDescription returns the description in meta elements, else that in JSON-LD.
func (h *Head) StatedDescription() string {
	if s := OneLine(h.Description); s != "" {
		return s
	}
	return strings.Join(strings.Fields(TextOfJSON(h.LDDescr)), " ")
}

// StatedKeywords returns the keywords in meta elements, else those in JSON-LD, each once.
func (h *Head) StatedKeywords() (list []string) {
	split := func(s string) {
		for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ';' || r == '、' || r == '，' }) {
			list = append(list, strings.TrimSpace(w))
		}
	}
	for _, k := range h.Keywords {
		split(OneLine(k))
	}
	if len(list) == 0 {
		split(TextOfJSON(h.LDKeywords))
	}
	return Unique(list)
}

// pageTitle is the title of the article: the heading that is like a title of the page, else the title without the site.
func (h *Head) PageTitle(o *outline.Outline) string {
	if o.Title >= 0 {
		b := &o.Lines[o.Title]
		if b.Title || o.Boxes[b.Box].Tag == htmltree.TagH1 {
			return string(o.AppendText(nil, b))
		}
	}
	if t := h.StatedTitle(); t != "" {
		return t
	}
	for i := range o.Lines {
		if b := &o.Lines[i]; b.Kind == outline.KindHeading {
			return string(o.AppendText(nil, b))
		}
	}
	return ""
}

// withoutSite cuts the name of the site off a title.
func (h *Head) withoutSite(s string) string {
	site := OneLine(h.site)
	for _, sep := range []string{" | ", " - ", " – ", " — ", " · ", " :: ", " » ", " « "} {
		if i := strings.LastIndex(s, sep); i > 0 {
			rest := s[i+len(sep):]
			if site != "" && strings.EqualFold(rest, site) || len(strings.Fields(rest)) <= 4 && len(strings.Fields(s[:i])) >= 3 {
				return s[:i]
			}
		}
	}
	return s
}

// parseDate reads a date in mark-up.
func parseDate(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	if len(s) < 8 || len(s) > 60 {
		return time.Time{}, false
	}
	// 2024-03-05, then a time perhaps
	y, rest, ok := number(s, 4)
	if ok && y >= 1990 && y < 2100 && len(rest) > 0 {
		sep := rest[0]
		if sep == '-' || sep == '/' || sep == '.' {
			m, rest2, ok := numberMost(rest[1:])
			if ok && m >= 1 && m <= 12 && len(rest2) > 1 && rest2[0] == sep {
				day, rest3, ok := numberMost(rest2[1:])
				if ok && day >= 1 && day <= 31 {
					return timeOf(y, m, day, rest3)
				}
			}
		} else if len(s) >= 8 && sep >= '0' && sep <= '9' {
			m, r2, ok1 := number(rest, 2)
			day, r3, ok2 := number(r2, 2)
			if ok1 && ok2 && m >= 1 && m <= 12 && day >= 1 && day <= 31 {
				return timeOf(y, m, day, r3)
			}
		}
	}
	for _, f := range []string{time.RFC1123Z, time.RFC1123, time.RFC850, time.ANSIC, "Mon Jan 02 15:04:05 MST 2006", "02 Jan 2006 15:04:05 MST"} {
		if t, err := time.Parse(f, s); err == nil {
			return t, true
		}
	}
	return dateIn([]byte(s))
}

func number(s string, n int) (v int, rest string, ok bool) {
	if len(s) < n {
		return 0, s, false
	}
	for i := range n {
		if s[i] < '0' || s[i] > '9' {
			return 0, s, false
		}
		v = v*10 + int(s[i]-'0')
	}
	return v, s[n:], true
}

func numberMost(s string) (v int, rest string, ok bool) {
	i := 0
	for i < len(s) && i < 2 && s[i] >= '0' && s[i] <= '9' {
		v = v*10 + int(s[i]-'0')
		i++
	}
	return v, s[i:], i > 0
}

// timeOf adds the time of a day behind a date.
func timeOf(y, m, d int, rest string) (time.Time, bool) {
	day := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	if day.Day() != d {
		return time.Time{}, false
	}
	rest = strings.TrimLeft(rest, "T ")
	h, r, ok1 := number(rest, 2)
	if !ok1 || len(r) < 3 || r[0] != ':' || h > 23 {
		return day, true
	}
	min, r, ok2 := number(r[1:], 2)
	if !ok2 || min > 59 {
		return day, true
	}
	sec := 0
	if len(r) >= 3 && r[0] == ':' {
		sec, r, _ = number(r[1:], 2)
	}
	if len(r) > 0 && r[0] == '.' {
		r = strings.TrimLeft(r[1:], "0123456789")
	}
	r = strings.TrimSpace(r)
	loc := time.UTC
	if len(r) >= 3 && (r[0] == '+' || r[0] == '-') {
		zh, r2, ok := number(r[1:], 2)
		zm := 0
		if ok && len(r2) > 0 && r2[0] == ':' {
			zm, _, _ = number(r2[1:], 2)
		} else if ok {
			zm, _, _ = number(r2, 2)
		}
		if ok && zh < 15 {
			off := zh*3600 + zm*60
			if r[0] == '-' {
				off = -off
			}
			if off != 0 {
				loc = time.FixedZone("", off)
			}
		}
	}
	return time.Date(y, time.Month(m), d, h, min, sec, 0, loc), true
}

// months are the first letters of the names of months, in some languages.
var months = map[string]int{}

func init() {
	for _, list := range []string{
		"january february march april may june july august september october november december",
		"jan feb mar apr may jun jul aug sep oct nov dec", "jan feb mar apr may jun jul aug sept oct nov dec",
		"januar februar märz april mai juni juli august september oktober november dezember",
		"jänner feber märz april mai juni juli aug sep okt nov dez",
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"janv févr mars avr mai juin juil août sept oct nov déc",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"ene feb mar abr may jun jul ago sep oct nov dic",
		"gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
		"gen feb mar apr mag giu lug ago set ott nov dic",
		"janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
		"jan fev mar abr mai jun jul ago set out nov dez",
		"januari februari maart april mei juni juli augustus september oktober november december",
		"januari februari mars april maj juni juli augusti september oktober november december",
		"stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
		"января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
		"янв фев мар апр мая июн июл авг сен окт ноя дек",
		"января лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня",
	} {
		for i, m := range strings.Fields(list) {
			if _, known := months[m]; !known {
				months[m] = i + 1
			}
		}
	}
}

// dateIn finds a date in a text: 5 March 2024, March 5, 2024, 05.03.2024, 2024-03-05, 2024年3月5日.
func dateIn(s []byte) (time.Time, bool) {
	for i := 0; i+4 <= len(s); i++ {
		// each year of four digits is looked at
		if !(s[i] == '2' && s[i+1] == '0' || s[i] == '1' && s[i+1] == '9') || i > 0 && outline.IsDigit(s[i-1]) {
			continue
		}
		y := 0
		if !outline.IsDigit(s[i+2]) || !outline.IsDigit(s[i+3]) || i+4 < len(s) && outline.IsDigit(s[i+4]) {
			continue
		}
		for k := range 4 {
			y = y*10 + int(s[i+k]-'0')
		}
		if y < 1990 || y > 2099 {
			continue
		}
		if t, ok := after(s[i+4:], y); ok {
			return t, true
		}
		if t, ok := before(s[:i], y); ok {
			return t, true
		}
	}
	return time.Time{}, false
}

func after(s []byte, y int) (time.Time, bool) {
	sep := []byte(nil)
	for _, x := range []string{"-", "/", ".", "年"} {
		if htmltree.HasPrefix(s, x) {
			sep = []byte(x)
		}
	}
	if sep == nil {
		return time.Time{}, false
	}
	m, rest, ok := numberMost(strings.TrimLeft(string(s[len(sep):min(len(s), len(sep)+24)]), " "))
	if !ok || m < 1 || m > 12 {
		return time.Time{}, false
	}
	close := string(sep)
	if close == "年" {
		close = "月"
	}
	rest, found := strings.CutPrefix(rest, close)
	if !found {
		return time.Time{}, false
	}
	d, rest, ok := numberMost(strings.TrimLeft(rest, " "))
	if !ok || d < 1 || d > 31 || len(rest) > 0 && outline.IsDigit(rest[0]) {
		return time.Time{}, false
	}
	return timeOf(y, m, d, "")
}

func before(s []byte, y int) (time.Time, bool) {
	if len(s) > 40 {
		s = s[len(s)-40:]
	}
	if len(s) > 0 && (s[len(s)-1] == '.' || s[len(s)-1] == '/' || s[len(s)-1] == '-') {
		// 05.03.2024
		sep := s[len(s)-1]
		b, s, ok := lastNumber(s[:len(s)-1])
		if ok && len(s) > 0 && s[len(s)-1] == sep {
			a, _, ok := lastNumber(s[:len(s)-1])
			if ok {
				d, m := a, b
				if sep == '/' && b > 12 || m > 12 {
					d, m = b, a
				} else if sep == '/' && a <= 12 {
					d, m = b, a // American; the language of the page says more
				}
				if m >= 1 && m <= 12 && d >= 1 && d <= 31 {
					return timeOf(y, m, d, "")
				}
			}
		}
		if sep != '.' {
			return time.Time{}, false
		}
	}
	words := strings.FieldsFunc(strings.ToLower(string(s)), func(r rune) bool { return unicode.IsSpace(r) || r == ',' || r == '.' || r == ' ' })
	n := len(words)
	for n > 0 && (words[n-1] == "de" || words[n-1] == "del" || words[n-1] == "of") {
		n--
	}
	if n < 1 {
		return time.Time{}, false
	}
	last := words[n-1]
	if m := months[last]; m > 0 { // 5 March
		k := n - 2
		for k >= 0 && (words[k] == "de" || words[k] == "of") {
			k--
		}
		if k < 0 {
			return time.Time{}, false
		}
		if d := day(words[k]); d > 0 {
			return timeOf(y, m, d, "")
		}
		return time.Time{}, false
	}
	if d := day(last); d > 0 && n >= 2 { // March 5
		if m := months[words[n-2]]; m > 0 {
			return timeOf(y, m, d, "")
		}
	}
	return time.Time{}, false
}

func lastNumber(s []byte) (v int, rest []byte, ok bool) {
	i := len(s)
	for i > 0 && len(s)-i < 3 && outline.IsDigit(s[i-1]) {
		i--
	}
	for _, c := range s[i:] {
		v = v*10 + int(c-'0')
	}
	return v, s[:i], len(s)-i >= 1 && len(s)-i <= 2
}

func day(w string) int {
	v, rest, ok := numberMost(w)
	if !ok || v < 1 || v > 31 {
		return 0
	}
	switch rest {
	case "", "st", "nd", "rd", "th", "er", "º", "º.", "-го":
		return v
	}
	return 0
}
