package document

import (
	"bytes"
	"encoding/json"
	"path"
	"regexp"
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/web/content"
)

// IsResource reports whether a content is for programs and no page: a script, a style sheet, JSON, or
// XML that is no XHTML, such as a feed, a sitemap or a manifest. The declared type decides, except
// that HTML may be declared for anything, and that plain or unknown text is such a file if both its
// name and its beginning say so. What a reader of documents knows is no resource, whatever it is
// declared as.
func IsResource(kind, url string, body []byte) bool {
	kind = content.Normal(kind)
	if f := FormatOf(kind, body); f != HTML && f != Text {
		return false
	}
	switch {
	case strings.Contains(kind, "html"):
		return isFeed(body) || content.IsBinary(content.Detect(body)) || isCode(body)
	case isScript(kind), isData(kind):
		return true
	case content.IsXML(kind):
		return !isXHTML(body)
	case kind == "", kind == "text/plain", strings.HasSuffix(kind, "/octet-stream"):
		return codeNames[strings.ToLower(path.Ext(pathOf(url)))] && isCode(body)
	}
	return false
}

// IsListing reports whether a content lists pages for programs: a sitemap or a feed. It is no page, even if it
// is where a site begins.
func IsListing(body []byte) bool {
	start := bytes.TrimSpace(bytes.TrimPrefix(body[:min(len(body), maxStart)], []byte("\xEF\xBB\xBF")))
	return listing.Match(start) || bytes.HasPrefix(start, []byte("{")) && bytes.Contains(start, []byte("jsonfeed.org/version/"))
}

// listing finds the root element of a sitemap or a feed.
var listing = regexp.MustCompile(`^(?:\s+|<\?[^>]*\?>|<!--(?:[^-]|-[^-])*-->|<!DOCTYPE[^>]*>)*<(?:[\w.-]+:)?(?:urlset|sitemapindex|rss|feed|RDF)[\s>]`)

// isScript reports whether a type is that of a script or a style sheet
// (https://mimesniff.spec.whatwg.org/#javascript-mime-type, with older names).
func isScript(kind string) bool {
	for _, name := range []string{"javascript", "ecmascript", "jscript", "livescript", "typescript"} {
		if strings.Contains(kind, name) {
			return true
		}
	}
	return kind == "text/css" || kind == "text/x-component" || kind == "text/xsl"
}

// isData reports whether a type is that of data or of a list of files for programs.
func isData(kind string) bool {
	_, sub, _ := strings.Cut(kind, "/")
	sub = strings.TrimPrefix(sub, "x-")
	return sub == "json" || sub == "ndjson" || sub == "source-map" || strings.HasSuffix(sub, "+json") || sub == "cache-manifest"
}

// isXHTML reports whether an XML document is a page.
func isXHTML(body []byte) bool {
	return content.IsHTML(content.Detect(body)) && bytes.Contains(bytes.ToLower(body[:min(len(body), maxStart)]), []byte("<html"))
}

// isFeed reports whether a body is a feed or a picture in XML.
func isFeed(body []byte) bool {
	found := content.Detect(body)
	return content.IsXML(found) && strings.HasSuffix(found, "+xml")
}

// pathOf returns the URL without its query.
func pathOf(url string) string {
	url, _, _ = strings.Cut(canonical.WithoutFragment(url), "?")
	return url
}

// codeNames are the ends of names of scripts, style sheets and data.
var codeNames = map[string]bool{".js": true, ".mjs": true, ".cjs": true, ".css": true, ".json": true, ".jsonld": true, ".map": true, ".webmanifest": true}

// maxStart bounds the beginning of a text that is looked at.
const maxStart = 4096

// isCode reports whether a text is a script, a style sheet or JSON. It returns false for a text
// that begins with a tag, or has the elements of a page.
func isCode(text []byte) bool {
	text = withoutComments(bytes.TrimPrefix(text, []byte("\xEF\xBB\xBF")))
	if len(text) == 0 || text[0] == '<' {
		return false
	}
	start := text[:min(len(text), maxStart)]
	if isPage.Match(start) {
		return false
	}
	return (text[0] == '{' || text[0] == '[') && json.Valid(text) || script.Match(start) || styles.Match(start)
}

var (
	isPage = regexp.MustCompile(`(?i)<(?:!doctype|html|head|body)\b`)

	// script finds statements with which scripts begin, and texts do not.
	script = regexp.MustCompile(`^(?:` +
		`["']use strict["']` +
		`|(?:var|let|const)\s+(?:[\w$]+\s*(?:=|;|,\s*[\w$])|[{\[][^;=]+=)` +
		`|(?:async\s+)?function\s*\*?\s*[\w$]*\s*\([^)]*\)\s*\{` +
		`|[!;+~-]?\(?(?:async\s+)?function\s*\(` +
		`|[!;]?\((?:\([\w\s,$]*\)|[\w$]+)\s*=>` +
		`|(?:import|export)\s[^;\n]*\bfrom\s*["']` +
		`|import\s*["']` +
		`|export\s+(?:default|const|let|var|function|class)\s` +
		`|class\s+[\w$]+\s*(?:extends\s+[\w$.]+\s*)?\{` +
		`|\(?(?:window|document|self|globalThis|module|exports|jQuery|\$)(?:\.[\w$]+|\[[^\]]+\])*\s*(?:=|\(|\|\|)` +
		`|(?:define|require|importScripts)\s*\(` +
		`|[\w$.]+\(\s*[{\[]["']?[\w$]+["']?\s*:)`)

	// styles finds the beginning of a style sheet.
	styles = regexp.MustCompile(`^(?:@(?:charset|import|namespace)\s[^;{]+;|@(?:media|font-face|supports|layer|keyframes|page)\b[^{;]*\{` +
		`|[^{}<>;]+\{\s*(?:/\*[^*]*\*/\s*)?(?:--)?[a-zA-Z-]+\s*:[^{}<>]+[;}])`)
)

// withoutComments returns a text behind the comments of a script at its start.
func withoutComments(text []byte) []byte {
	for {
		text = bytes.TrimLeft(text, " \t\r\n\f")
		end := "\n"
		switch {
		case bytes.HasPrefix(text, []byte("/*")):
			end = "*/"
		case !bytes.HasPrefix(text, []byte("//")):
			return text
		}
		_, rest, closed := bytes.Cut(text, []byte(end))
		if !closed {
			return nil
		}
		text = rest
	}
}
