package links

import (
	"iter"
	"strings"
)

// kind is how an attribute value contains URLs.
type kind uint8

const (
	single   kind = iota // one URL
	spaces               // several, separated by white space
	commas               // several, separated by commas
	srcset               // image candidates (HTML standard, 4.8.4.2.2)
	document             // an HTML document
	noURL                // no URL, but part of a form or a parameter
)

// rule is one attribute with URLs.
type rule struct {
	attr string
	kind kind
}

// attributes lists, by element, the attributes with URLs in HTML 4, the living standard,
// SVG and old browsers. The href of base is not a link, nor is ping: browsers ask it by POST only.
var attributes = map[string][]rule{
	"a":          {{"href", single}, {"xlink:href", single}},
	"applet":     {{"codebase", single}, {"code", single}, {"archive", commas}},
	"area":       {{"href", single}},
	"audio":      {{"src", single}},
	"bgsound":    {{"src", single}},
	"blockquote": {{"cite", single}},
	"body":       {{"background", single}},
	"button":     {{"formaction", single}, {"formmethod", noURL}, {"type", noURL}, {"value", noURL}, {"disabled", noURL}},
	"command":    {{"icon", single}},
	"del":        {{"cite", single}},
	"embed":      {{"src", single}},
	"feimage":    {{"href", single}, {"xlink:href", single}},
	"form":       {{"action", single}, {"method", noURL}},
	"frame":      {{"src", single}, {"longdesc", single}},
	"head":       {{"profile", spaces}},
	"html":       {{"manifest", single}},
	"iframe":     {{"src", single}, {"longdesc", single}, {"srcdoc", document}},
	"image":      {{"href", single}, {"xlink:href", single}, {"src", single}},
	"img":        {{"src", single}, {"srcset", srcset}, {"longdesc", single}, {"usemap", single}, {"lowsrc", single}, {"dynsrc", single}},
	"input":      {{"src", single}, {"formaction", single}, {"formmethod", noURL}, {"usemap", single}, {"type", noURL}, {"value", noURL}, {"checked", noURL}, {"disabled", noURL}},
	"ins":        {{"cite", single}},
	"link":       {{"href", single}, {"imagesrcset", srcset}},
	"menuitem":   {{"icon", single}},
	"object":     {{"data", single}, {"classid", single}, {"codebase", single}, {"archive", spaces}, {"usemap", single}},
	"option":     {{"value", noURL}, {"selected", noURL}, {"disabled", noURL}},
	"param":      {{"value", noURL}, {"valuetype", noURL}},
	"portal":     {{"src", single}},
	"q":          {{"cite", single}},
	"script":     {{"src", single}, {"href", single}, {"xlink:href", single}},
	"select":     {{"disabled", noURL}},
	"source":     {{"src", single}, {"srcset", srcset}},
	"table":      {{"background", single}},
	"tbody":      {{"background", single}},
	"td":         {{"background", single}},
	"textarea":   {{"disabled", noURL}},
	"tfoot":      {{"background", single}},
	"th":         {{"background", single}},
	"thead":      {{"background", single}},
	"tr":         {{"background", single}},
	"track":      {{"src", single}},
	"use":        {{"href", single}, {"xlink:href", single}},
	"video":      {{"src", single}, {"poster", single}},
}

// dataAttributes lists the attributes in which scripts that load images, frames and pages later
// keep their URLs, on any element. The standard gives them no meaning.
var dataAttributes = map[string]kind{
	"data-background": single, "data-background-image": single, "data-bg": single, "data-cfsrc": single,
	"data-download-url": single, "data-flickity-lazyload": single, "data-full": single, "data-full-src": single,
	"data-hi-res-src": single, "data-high-res-src": single, "data-href": single, "data-iframe-src": single,
	"data-image": single, "data-image-src": single, "data-img": single, "data-img-src": single, "data-large": single,
	"data-large-file": single, "data-large-src": single, "data-large_image": single, "data-lazy": single,
	"data-lazy-background": single, "data-lazy-src": single, "data-lazyload": single, "data-link": single,
	"data-medium-file": single, "data-mp4": single, "data-orig-file": single, "data-original": single,
	"data-original-src": single, "data-pagespeed-lazy-src": single, "data-permalink": single, "data-poster": single,
	"data-retina": single, "data-src": single, "data-src-retina": single, "data-src2x": single, "data-thumb": single,
	"data-thumbnail": single, "data-url": single, "data-video": single, "data-video-src": single, "data-webm": single,
	"data-zoom-image": single, "data-zoom-src": single,
	"data-bgset": srcset, "data-lazy-srcset": srcset, "data-original-set": srcset, "data-srcset": srcset,
}

// maybeURL reports whether the value of a data attribute may be a URL: many hold numbers, words
// or JSON.
func maybeURL(value string) bool {
	value = cleanURL(value)
	return strings.ContainsAny(value, "./") && !strings.ContainsAny(value, space+"<>{}\"|^`")
}

// parameters are the names of param elements whose values are URLs.
var parameters = map[string]bool{
	"archive": true, "code": true, "codebase": true, "data": true, "file": true, "filename": true, "href": true,
	"image": true, "movie": true, "poster": true, "source": true, "src": true, "url": true,
}

// xmlAttributes lists those of feeds and sitemaps, by local name, in addition.
var xmlAttributes = map[string][]rule{
	"category":  {{"domain", single}},
	"content":   {{"src", single}, {"url", single}},
	"enclosure": {{"url", single}},
	"player":    {{"url", single}},
	"thumbnail": {{"url", single}},
}

// xmlTexts lists the XML elements, by local name, whose text is a URL.
var xmlTexts = map[string]bool{"link": true, "guid": true, "loc": true}

// deadSchemes cannot be fetched by any crawler. The caller filters other schemes.
var deadSchemes = map[string]bool{
	"about": true, "android-app": true, "blob": true, "callto": true, "chrome": true,
	"cid": true, "clsid": true, "data": true, "fax": true, "geo": true, "intent": true,
	"ios-app": true, "java": true, "javascript": true, "mailto": true, "market": true,
	"mid": true, "resource": true, "skype": true, "sms": true, "smsto": true, "tel": true,
	"urn": true, "vbscript": true, "view-source": true, "webcal": true, "whatsapp": true,
	"xmpp": true,
}

// isFetchable reports whether url, trimmed, may lead to another document: it is not empty,
// not a fragment ("#!x" is an address of old script applications), and not of a dead
// scheme.
func isFetchable(url string) bool {
	if url == "" || len(url) > maxURL || url[0] == '#' && !strings.HasPrefix(url, "#!") {
		return false
	}
	return !deadSchemes[schemeOf(url)]
}

// schemeOf returns the scheme of url in lower case, "" for a relative URL. Like browsers it
// ignores tabs and newlines, so that they cannot hide a "java script".
func schemeOf(url string) string {
	const maxScheme = 16
	var name strings.Builder
	for i := range len(url) {
		switch c := url[i]; {
		case c == ':':
			return strings.ToLower(name.String())
		case c == '\t' || c == '\n' || c == '\r':
		case name.Len() < maxScheme && ('a' <= c|0x20 && c|0x20 <= 'z' || name.Len() > 0 && strings.IndexByte("-+.0123456789", c) >= 0):
			name.WriteByte(c)
		default:
			return ""
		}
	}
	return ""
}

const space = " \t\r\n\f"

// srcsetURLs yields the URLs of a srcset value as the HTML standard parses it (4.8.4.2.2):
// a URL ends at white space or at a trailing comma, and its descriptors may have commas in
// parentheses.
func srcsetURLs(value string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for rest := value; ; {
			rest = strings.TrimLeft(rest, space+",")
			if rest == "" {
				return
			}
			end := strings.IndexAny(rest, space)
			if end < 0 {
				end = len(rest)
			}
			url := rest[:end]
			rest = rest[end:]
			if bare := strings.TrimRight(url, ","); len(bare) < len(url) {
				url = bare
			} else {
				rest = rest[descriptorsLength(rest):]
			}
			if !yield(url) {
				return
			}
		}
	}
}

// descriptorsLength returns the length of the descriptors at the start of text, up to the comma
// that ends them.
func descriptorsLength(text string) int {
	inside := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '(':
			inside = true
		case c == ')':
			inside = false
		case c == ',' && !inside:
			return i
		}
	}
	return len(text)
}

// refreshURL returns the URL in the content of a meta refresh such as `5; url='next.html'` by
// the HTML standard (4.2.5.3). It returns "" if the page only reloads itself or the value is
// invalid.
func refreshURL(content string) string {
	_, url := refreshOf(content)
	return url
}

// maxDelay bounds the delay of a meta refresh, in seconds.
const maxDelay = 999

// refreshOf is refresh with the delay in whole seconds, at most maxDelay.
func refreshOf(content string) (seconds int, target string) {
	delay := strings.TrimLeft(content, " \t\r\n\f")
	rest := strings.TrimLeft(delay, "0123456789.")
	if rest == delay {
		return 0, ""
	}
	for _, digit := range delay[:len(delay)-len(rest)] {
		if digit == '.' {
			break
		}
		seconds = min(10*seconds+int(digit-'0'), maxDelay)
	}
	trimmed := strings.TrimLeft(rest, " \t\r\n\f")
	if trimmed != "" && trimmed[0] != ';' && trimmed[0] != ',' && len(trimmed) == len(rest) {
		return 0, ""
	}
	if trimmed != "" && (trimmed[0] == ';' || trimmed[0] == ',') {
		trimmed = strings.TrimLeft(trimmed[1:], " \t\r\n\f")
	}

	url := trimmed
	if len(url) >= 3 && strings.EqualFold(url[:3], "url") {
		value, ok := strings.CutPrefix(strings.TrimLeft(url[3:], " \t\r\n\f"), "=")
		if ok {
			url = strings.TrimLeft(value, " \t\r\n\f")
		}
	}
	if url != "" && (url[0] == '"' || url[0] == '\'') {
		url, _, _ = strings.Cut(url[1:], url[:1])
	}
	return seconds, url
}
