package crawler

import (
	"context"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"hce/dc/canonical"
	"hce/dc/internal/apps/webserver/packet"
	"hce/dc/internal/web/charset"
	"hce/dc/internal/web/links"
	"hce/dc/internal/web/xpath"
)

const (
	// headSize is how much of a page is searched for meta elements.
	headSize = 256 << 10
	// maxLinks bounds the links of a page.
	maxLinks = 5000
)

// fileURL returns the URL of a file of the folder.
func fileURL(base, name string) (string, error) {
	return canonical.Canonical(base + (&url.URL{Path: name}).EscapedPath())
}

// analysePage reads an HTML document: its title, description and keywords, its code, and the hosts to
// which its links and images lead. ok is false if it is too large for a packet of this kind. Unless whole,
// only the hosts are read.
func analysePage(d packet.Document, body []byte, whole bool) (_ packet.Document, hosts []string, ok bool) {
	text, _, _ := charset.Decode(body, "text/html") // an error is a warning
	if len(text) > packet.MaxHTML {
		return d, nil, false
	}
	page := links.HTML(text, maxLinks)
	if !whole {
		return d, linkedHosts(d.URL, page), true
	}
	d.Kind, d.HTML = packet.Page, string(text)
	d.Title = packet.Cut(page.Title, packet.MaxTitle)
	description, keywords := readMetas(text[:min(len(text), headSize)])
	d.Description = packet.Cut(strings.Join(strings.Fields(description), " "), packet.MaxDescription)
	d.Words = splitWords(keywords, false)
	return d, linkedHosts(d.URL, page), true
}

var metaElements = mustCompile(xpath.Compile(`//meta[@name]`))

func mustCompile(e *xpath.Expr, err error) *xpath.Expr {
	if err != nil {
		panic(err)
	}
	return e
}

// readMetas returns the contents of the first meta elements description and keywords.
func readMetas(head []byte) (description, keywords string) {
	doc, err := xpath.HTML(head)
	if err != nil {
		return "", "" // too costly: hostile
	}
	found, _ := metaElements.Find(context.Background(), doc, xpath.Limits{Matches: 200})
	for _, m := range found {
		var name, content string
		for _, a := range m.Node.Attr {
			switch a.Key {
			case "name":
				name = strings.ToLower(strings.TrimSpace(a.Val))
			case "content":
				content = a.Val
			}
		}
		if name == "description" && description == "" {
			description = content
		}
		if name == "keywords" && keywords == "" {
			keywords = content
		}
	}
	return description, keywords
}

// linkedHosts returns the hosts of <a href> and <img src>, each once, with their ports.
func linkedHosts(pageURL string, page links.Page) (hosts []string) {
	base := pageURL
	if b, err := canonical.Web.Resolve(pageURL, page.Base); err == nil && page.Base != "" {
		base = b
	}
	for _, l := range page.Links {
		if (l.Tag != "a" || l.Attr != "href") && (l.Tag != "img" || l.Attr != "src") {
			continue
		}
		u, err := canonical.Web.Resolve(base, l.URL)
		if err != nil {
			continue
		}
		if h := canonical.Host(u); h != "" && !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// analyseFile reads the name of a file that is no HTML document: the words between underscores.
func analyseFile(d packet.Document, name string) packet.Document {
	base, extension := path.Base(name), path.Ext(name)
	if extension == base { // ".x" is hidden, so this is a name without a dot before
		extension = ""
	}
	d.Kind, d.Words = packet.File, splitWords(strings.TrimSuffix(base, extension), true)
	d.Extension = packet.Cut(strings.ToLower(strings.TrimPrefix(extension, ".")), packet.MaxExtension)
	return d
}

// splitWords returns the words of a text, in lower case, each once. In a name the underscore separates words,
// as all other characters that are neither letters nor digits.
func splitWords(text string, name bool) (list []string) {
	seen := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToValidUTF8(text, " "), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) && (name || c != '_' && c != '-')
	}) {
		w = packet.Cut(strings.ToLower(w), packet.MaxWord)
		if w == "" || seen[w] {
			continue
		}
		if len(list) == packet.MaxWords {
			break
		}
		seen[w] = true
		list = append(list, w)
	}
	return list
}
