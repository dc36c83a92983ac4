package htmltree

// Tag is an element name. Names that mean nothing here are TagOther.
type Tag uint8

const (
	TagText Tag = iota // a text, not an element
	TagRoot
	TagEnd // not used any more
	TagOther
	TagHTML
	TagHead
	TagBody
	TagTitle
	TagMeta
	TagLink
	TagBase
	TagScript
	TagStyle
	TagNoscript
	TagTemplate
	TagIframe
	TagObject
	TagSVG
	TagMath
	TagNoembed
	TagNoframes
	TagFrameset
	TagFrame
	TagSelect
	TagOption
	TagOptgroup
	TagTextarea
	TagCanvas
	TagAudio
	TagVideo
	TagSource
	TagTrack
	TagEmbed
	TagParam
	TagA
	TagAbbr
	TagB
	TagBdi
	TagBdo
	TagBig
	TagCite
	TagCode
	TagData
	TagDel
	TagDfn
	TagEm
	TagFont
	TagI
	TagImg
	TagIns
	TagKbd
	TagLabel
	TagMark
	TagNobr
	TagQ
	TagS
	TagSamp
	TagSmall
	TagSpan
	TagStrike
	TagStrong
	TagSub
	TagSup
	TagTime
	TagTt
	TagU
	TagVar
	TagWbr
	TagButton
	TagInput
	TagRuby
	TagRt
	TagRp
	TagBr
	TagP
	TagH1
	TagH2
	TagH3
	TagH4
	TagH5
	TagH6
	TagUl
	TagOl
	TagLi
	TagDl
	TagDt
	TagDd
	TagTable
	TagThead
	TagTbody
	TagTfoot
	TagTr
	TagTd
	TagTh
	TagCaption
	TagColgroup
	TagCol
	TagPre
	TagListing
	TagXmp
	TagPlaintext
	TagBlockquote
	TagDiv
	TagSection
	TagArticle
	TagMain
	TagHeader
	TagFooter
	TagNav
	TagAside
	TagForm
	TagFieldset
	TagLegend
	TagFigure
	TagFigcaption
	TagDetails
	TagSummary
	TagDialog
	TagMenu
	TagAddress
	TagCenter
	TagHr
	TagHgroup
	TagDir
	TagArea
	TagMap
	TagPicture
	TagSearch
	TagImage
	TagProgress
	TagMeter
	TagOutput
	TagDatalist
	TagSlot
	TagApplet
	TagMarquee
	TagBasefont
	TagBgsound
	TagKeygen
	TagRb
	TagRtc
	TagAcronym
	TagCount
)

var TagNames = map[string]Tag{
	"html": TagHTML, "head": TagHead, "body": TagBody, "title": TagTitle, "meta": TagMeta, "link": TagLink, "base": TagBase,
	"script": TagScript, "style": TagStyle, "noscript": TagNoscript, "template": TagTemplate, "iframe": TagIframe, "object": TagObject,
	"svg": TagSVG, "math": TagMath, "noembed": TagNoembed, "noframes": TagNoframes, "frameset": TagFrameset, "frame": TagFrame,
	"select": TagSelect, "option": TagOption, "optgroup": TagOptgroup, "textarea": TagTextarea, "canvas": TagCanvas, "audio": TagAudio,
	"video": TagVideo, "source": TagSource, "track": TagTrack, "embed": TagEmbed, "param": TagParam, "a": TagA, "abbr": TagAbbr, "acronym": TagAcronym,
	"b": TagB, "bdi": TagBdi, "bdo": TagBdo, "big": TagBig, "cite": TagCite, "code": TagCode, "data": TagData, "del": TagDel, "dfn": TagDfn,
	"em": TagEm, "font": TagFont, "i": TagI, "img": TagImg, "image": TagImg, "ins": TagIns, "kbd": TagKbd, "label": TagLabel, "mark": TagMark, "nobr": TagNobr,
	"q": TagQ, "s": TagS, "samp": TagSamp, "small": TagSmall, "span": TagSpan, "strike": TagStrike, "strong": TagStrong, "sub": TagSub,
	"sup": TagSup, "time": TagTime, "tt": TagTt, "u": TagU, "var": TagVar, "wbr": TagWbr, "button": TagButton, "input": TagInput,
	"ruby": TagRuby, "rt": TagRt, "rp": TagRp, "br": TagBr, "p": TagP, "h1": TagH1, "h2": TagH2, "h3": TagH3, "h4": TagH4, "h5": TagH5,
	"h6": TagH6, "ul": TagUl, "ol": TagOl, "li": TagLi, "dl": TagDl, "dt": TagDt, "dd": TagDd, "table": TagTable, "thead": TagThead,
	"tbody": TagTbody, "tfoot": TagTfoot, "tr": TagTr, "td": TagTd, "th": TagTh, "caption": TagCaption, "colgroup": TagColgroup, "col": TagCol,
	"pre": TagPre, "listing": TagListing, "xmp": TagXmp, "plaintext": TagPlaintext, "blockquote": TagBlockquote, "div": TagDiv,
	"section": TagSection, "article": TagArticle, "main": TagMain, "header": TagHeader, "footer": TagFooter, "nav": TagNav, "aside": TagAside,
	"form": TagForm, "fieldset": TagFieldset, "legend": TagLegend, "figure": TagFigure, "figcaption": TagFigcaption, "details": TagDetails,
	"summary": TagSummary, "dialog": TagDialog, "menu": TagMenu, "address": TagAddress, "center": TagCenter, "hr": TagHr, "hgroup": TagHgroup,
	"dir": TagDir, "area": TagArea, "map": TagMap, "picture": TagPicture, "search": TagSearch, "progress": TagProgress,
	"meter": TagMeter, "output": TagOutput, "datalist": TagDatalist, "slot": TagSlot, "applet": TagApplet, "marquee": TagMarquee, "basefont": TagBasefont, "bgsound": TagBgsound, "keygen": TagKeygen, "rb": TagRb, "rtc": TagRtc,
}

// Properties of tags for the readers of the tree; those for its builder are in builder.go.
const (
	isInline  = 1 << iota // part of the line around it
	isSilent              // without visible text
	isHeading             // h1 to h6
)

var props [TagCount]uint16

func setProperty(bit uint16, tags ...Tag) {
	for _, t := range tags {
		props[t] |= bit
	}
}

// inline reports whether an element is part of the line around it.
func (t Tag) IsInline() bool { return props[t]&isInline != 0 }

// silent reports whether an element has no visible text.
func (t Tag) IsSilent() bool { return props[t]&isSilent != 0 }

// heading reports whether a tag is h1 to h6.
func (t Tag) IsHeading() bool { return props[t]&isHeading != 0 }

// tagTable finds a tag by a perfect-enough hash of its name.
var tagTable [1024][]struct {
	name string
	tag  Tag
}

func nameHash(b []byte) uint32 {
	h := uint32(len(b)) * 131
	for _, c := range b {
		h = h*31 + uint32(c|0x20)
	}
	return h & 1023
}

func init() {
	for n, t := range TagNames {
		h := nameHash([]byte(n))
		tagTable[h] = append(tagTable[h], struct {
			name string
			tag  Tag
		}{n, t})
	}
	setProperty(isInline, TagA, TagAbbr, TagB, TagBdi, TagBdo, TagBig, TagCite, TagCode, TagData, TagDel, TagDfn, TagEm, TagFont, TagI, TagImg, TagIns, TagKbd,
		TagLabel, TagMark, TagNobr, TagQ, TagS, TagSamp, TagSmall, TagSpan, TagStrike, TagStrong, TagSub, TagSup, TagTime, TagTt, TagU, TagVar, TagWbr,
		TagButton, TagInput, TagRuby, TagRt, TagRp, TagPicture, TagMap, TagArea, TagSlot, TagOutput, TagMeter, TagProgress, TagAcronym, TagRb, TagRtc, TagBasefont, TagBgsound, TagKeygen)
	setProperty(isSilent, TagScript, TagStyle, TagHead, TagTitle, TagTemplate, TagIframe, TagObject, TagSVG, TagMath, TagNoembed, TagSelect, TagTextarea,
		TagCanvas, TagAudio, TagVideo, TagNoscript, TagNoframes, TagDatalist, TagRp)
	setProperty(isHeading, TagH1, TagH2, TagH3, TagH4, TagH5, TagH6)
}

func lookupTag(name []byte) Tag {
	for _, e := range tagTable[nameHash(name)] {
		if len(e.name) == len(name) && equalFold(name, e.name) {
			return e.tag
		}
	}
	return TagOther
}

// equalFold compares ASCII; lower is in lower case.
func equalFold(b []byte, lower string) bool {
	for i := range b {
		c := b[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
