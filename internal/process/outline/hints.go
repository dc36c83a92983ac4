package outline

import (
	"strings"

	"hce/dc/internal/web/htmltree"
)

// Hints are what the words of a class, id or role say about an element.
type Hints uint32

const (
	HintNav = iota
	HintShare
	HintRelated
	HintAd
	HintComment
	HintFooter
	hintHeader
	HintSide
	HintMeta
	HintCaption
	HintForm
	hintContent // weak: content, main, text
	HintBody    // strong: article body
	HintHidden
	hintList
	hintProduct
	hintTitle
	hintCode
	HintForum
	HintAuthor
	HintDate
	HintCount
)

var hintLists = [HintCount]string{
	HintNav:     "nav navbar navigation menu submenu breadcrumb breadcrumbs crumbs pagination pager paging paginate toolbar tabs tab navi navlist navheader navfooter sitenav topnav mainnav subnav megamenu dropdown hamburger pagenav skip",
	HintShare:   "share sharing shares sharebar sharedaddy social socials addthis facebook twitter whatsapp pinterest linkedin follow tools",
	HintRelated: "related recommended recommendation recommendations recirc recirculation popular trending mostread teaser teasers promo promoted more readmore morelinks outbrain taboola latest suggested similar also upnext card cards news headlines stories",
	HintAd:      "ad ads advert adverts advertisement advertising adsense sponsor sponsored banner promotion dfp gpt affiliate",
	HintComment: "comment comments disqus respond replies reply commentlist discussion",
	HintFooter:  "footer foot bottom copyright legal disclaimer colophon imprint impressum footnotes",
	hintHeader:  "header head masthead top topbar banner branding logo site hero",
	HintSide:    "sidebar side aside rail widget widgets secondary column right left complementary sticky",
	HintMeta:    "meta byline dateline info infos credit credits tags tag taglist category categories cat bio about detail details metadata published posted submitted kicker label labels source",
	HintCaption: "caption captions wpcaption figcaption figure image img photo picture gallery slideshow carousel slider video player media thumb thumbnail credit",
	HintForm:    "newsletter subscribe subscription subscriptions signup signin login register registration optin form search cookie cookies consent gdpr ccpa popup modal overlay paywall dialog cta donate contact notice alert message button buttons btn",
	hintContent: "content contents main text article post entry story page primary body blog document doc docs markdown wiki maincontent pagecontent container prose rich wysiwyg",
	HintBody:    "articlebody storybody entrycontent postcontent articlecontent postbody storycontent bodytext articletext blogcontent textbody richtext fulltext copy maintext hentry",
	HintHidden:  "hidden print noprint donotprint hide invisible offscreen tooltip collapsed",
	hintList:    "list items listing grid toc index results archive feed row rows table directory catalog",
	hintProduct: "product products price prices pricing rating ratings review reviews spec specs specification specifications description desc summary features feature variant buy cart stock sku shipping",
	hintTitle:   "title headline heading subtitle subheading subhead lead lede summary standfirst intro introduction excerpt abstract deck dek teasertext",
	hintCode:    "code highlight syntax example source listing snippet programlisting screen synopsis sourcecode literal",
	HintForum:   "forum thread topic question answer answers post posts message messages reply replies board topics threads userpost postbit",
	HintAuthor:  "author authors byline writer reporter autor auteur autore autora verfasser firma signature contributor vcard avatar profile user username",
	HintDate:    "date dates time timestamp published posted datetime pubdate updated modified datum fecha",
}

// hintPairs are two words in a row.
var hintPairs = map[string]int{
	"article body": HintBody, "entry content": HintBody, "post content": HintBody, "article content": HintBody, "post body": HintBody,
	"story body": HintBody, "story content": HintBody, "body text": HintBody, "article text": HintBody, "blog content": HintBody, "body content": HintBody,
	"content body": HintBody, "main content": HintBody, "page content": HintBody, "article copy": HintBody, "rich text": HintBody, "single content": HintBody,
	"entry body": HintBody, "blog post": HintBody, "text content": HintBody, "content text": HintBody, "mw content": HintBody, "e content": HintBody,
	"author box": HintAuthor, "author bio": HintAuthor, "read more": HintRelated, "read next": HintRelated, "up next": HintRelated, "see also": HintRelated,
	"most read": HintRelated, "most popular": HintRelated, "most viewed": HintRelated, "also like": HintRelated, "tag list": HintMeta, "post tags": HintMeta,
	"post meta": HintMeta, "entry meta": HintMeta, "article meta": HintMeta, "entry footer": HintFooter, "post footer": HintFooter, "article footer": HintFooter,
	"post navigation": HintNav, "skip link": HintNav, "table contents": hintList, "sr only": HintHidden, "screen reader": HintHidden, "visually hidden": HintHidden,
}

var hintWords = func() map[string]Hints {
	m := map[string]Hints{}
	for k, list := range hintLists {
		for _, w := range strings.Fields(list) {
			m[w] |= 1 << k
		}
	}
	return m
}()

var hintRoles = map[string]int{
	"navigation": HintNav, "complementary": HintSide, "contentinfo": HintFooter, "search": HintForm, "dialog": HintForm, "alertdialog": HintForm,
	"alert": HintForm, "menu": HintNav, "menubar": HintNav, "toolbar": HintNav, "tablist": HintNav, "main": hintContent, "article": hintContent, "banner": hintHeader,
	"form": HintForm,
}

// unseenClasses are classes of texts that no reader sees, and of marks that lead to a heading.
var unseenClasses = map[string]bool{"headerlink": true, "anchorlink": true, "anchor-link": true, "heading-anchor": true, "mw-editsection": true, "sr-only": true,
	"visually-hidden": true, "visuallyhidden": true, "screen-reader-text": true, "screen-reader-only": true}

// IsUnseenClass reports whether a class marks a text that no reader sees.
func IsUnseenClass(name string) bool { return unseenClasses[name] }

const (
	unseen        Hints = 1 << 31
	markPara      Hints = 1 << 30 // a paragraph that is no p, as DocBook writes it
	markGutter    Hints = 1 << 29 // numbers of lines of code
	markPanel     Hints = 1 << 28 // opens at a click
	markListing   Hints = 1 << 27 // code without pre
	markKatex     Hints = 1 << 26 // a formula as MathML
	markKatexHTML Hints = 1 << 25 // the same formula for the eye
	markMathJax   Hints = 1 << 24 // a formula for the eye, next to its TeX
	markLabel     Hints = 1 << 23 // the title of an admonition
	markLine      Hints = 1 << 22 // a line of code

	marks = markPara | markGutter | markPanel | markListing | markKatex | markKatexHTML | markMathJax | markLabel | markLine
)

var markLists = map[Hints]string{
	markPara: "para simpara formalpara paragraph",
	markGutter: "ln lnt lntd linenos linenodiv lineno linenumber linenumbers line-number line-numbers line-numbers-rows lineNumbers rouge-gutter gutter blob-num " +
		"hljs-ln-numbers hljs-ln-n LineNr lnum crayon-nums crayon-num src-line-numbers line_num line-num code-line-number diff-line-num",
	markPanel: "tab-pane tabpanel tab-panel tabs-panel tab-content tabs-content tabcontent tabbed-content accordion-content accordion-body accordion-panel accordion-collapse " +
		"panel-collapse faq-answer spoiler spoiler-content toggle-content collapsible collapsible-content expandable-content",
	markListing:   "fragment js-file-line-container",
	markKatex:     "katex-mathml",
	markKatexHTML: "katex-html",
	markMathJax:   "MathJax MathJax_Display MathJax_Preview MathJax_SVG MathJax_SVG_Display MathJax_CHTML mjx-chtml",
	markLabel:     "admonition-title alert-title markdown-alert-title callout-title topic-title",
	markLine:      "line token-line code-line highlight-line CodeMirror-line view-line cl",
}

var markWords = func() map[string]Hints {
	m := map[string]Hints{}
	for mark, list := range markLists {
		for _, name := range strings.Fields(list) {
			m[name] |= mark
		}
	}
	return m
}()

// switches begin or end a name that describes the page around an element, such as has-sidebar or comments-open.
var switches = map[string]bool{"has": true, "no": true, "with": true, "without": true, "is": true, "not": true, "js": true, "single": true}
var switched = map[string]bool{"open": true, "closed": true, "enabled": true, "disabled": true, "free": true}

// hintsOf reads a class or id. scratch is used for words.
func hintsOf(value []byte, scratch *[64]byte) (h Hints) {
	for i := 0; i < len(value); {
		for i < len(value) && htmltree.IsSpace(value[i]) {
			i++
		}
		j := i
		for j < len(value) && !htmltree.IsSpace(value[j]) {
			j++
		}
		if j > i && j-i <= 80 {
			h |= hintsOfName(value[i:j], scratch)
		}
		i = j
	}
	return h
}

func hintsOfName(name []byte, scratch *[64]byte) (h Hints) {
	if unseenClasses[string(name)] {
		return unseen
	}
	mark := markWords[string(name)]
	if mark == markPara {
		return mark
	}
	n, words := 0, 0
	var pair [64]byte
	pairLen := 0
	lower := false
	flush := func() bool {
		if n == 0 {
			return true
		}
		w := scratch[:n]
		if words == 0 && switches[string(w)] {
			h = 0
			return false
		}
		if words == 1 && switched[string(w)] {
			h = 0
			return false
		}
		h |= hintWords[string(w)]
		if words > 0 && pairLen+1+n <= len(pair) {
			pair[pairLen] = ' '
			copy(pair[pairLen+1:], w)
			if k, ok := hintPairs[string(pair[:pairLen+1+n])]; ok {
				h |= 1 << k
			}
		}
		pairLen = copy(pair[:], w)
		words++
		n = 0
		return true
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		up := c >= 'A' && c <= 'Z'
		letter := up || c >= 'a' && c <= 'z' || c >= 0x80
		if !letter && !(c >= '0' && c <= '9' && n > 0) || up && lower {
			if !flush() {
				return mark
			}
		}
		lower = !up
		if letter && n < len(scratch) {
			scratch[n] = c
			if up {
				scratch[n] = c | 0x20
			}
			n++
		}
	}
	if !flush() {
		return mark
	}
	return h | mark
}
