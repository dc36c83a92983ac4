// Package linkresolve reads LINK_RESOLVE and applies it to the tag link: the links that lead
// through redirects are replaced by where they lead. It sends no requests.
//
//	rules, err := linkresolve.Parse(`{"method":{"^https?://t\\.example/":"GET"}}`)
//	value = linkresolve.Replace(value, base, func(link string) string { return found[link] })
//
// Source: docs/spec/processing.md 4.5.
package linkresolve

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"hce/dc/canonical"
	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire/prop"
)

// Methods of a request for a link.
const (
	Head = "HEAD"
	Get  = "GET" // the body may name the target, see Marked
)

// maxMethods bounds the expressions of the property.
const maxMethods = 100

// Rules say how links are requested. Nil resolves no link.
type Rules struct{ methods []method }

type method struct {
	match *pyregexp.Regexp
	name  string
}

// Parse reads LINK_RESOLVE: {"method": {"<regular expression of URLs>": "GET"}}, which may be
// empty.
func Parse(text string) (*Rules, error) {
	var keys struct {
		Method prop.Members `json:"method"`
	}
	if err := prop.Decode(text, &keys); err != nil {
		return nil, err
	}
	if len(keys.Method) > maxMethods {
		return nil, fmt.Errorf(`has %d expressions at "method"; the limit is %d`, len(keys.Method), maxMethods)
	}
	r := &Rules{}
	for _, m := range keys.Method {
		match, err := pyregexp.Compile(m.Name)
		if err != nil {
			return nil, fmt.Errorf(`has the invalid expression %q at "method": %w`, prop.Clip(m.Name), err)
		}
		name, err := prop.Text(m.Value)
		name = strings.ToUpper(strings.TrimSpace(name))
		if err != nil || name != Head && name != Get {
			return nil, fmt.Errorf(`has method %s for %q; expected HEAD or GET`, prop.Clip(string(m.Value)), prop.Clip(m.Name))
		}
		r.methods = append(r.methods, method{match, name})
	}
	return r, nil
}

// Method returns the method for a link: that of the first expression that finds something in
// it, else HEAD.
func (r *Rules) Method(link string) string {
	for _, m := range r.methods {
		if m.match.MatchString(link) {
			return m.name
		}
	}
	return Head
}

// Replace returns the value of a tag with each link replaced. Links are separated by commas; a
// comma that no scheme and no slash follows belongs to its link. replace gets absolute URLs of http and https,
// and returns "" to keep the link. Other links, such as mailto, stay.
func Replace(value, base string, replace func(link string) string) string {
	links := splitLinks(value)
	for i, text := range links {
		text = strings.TrimSpace(text)
		link, err := canonical.Web.Resolve(base, text)
		if text == "" || err != nil {
			continue
		}
		if found := replace(link); found != "" {
			links[i] = found
		}
	}
	return strings.Join(links, ",")
}

// aLink finds the begin of an absolute link, or of one without a host.
var aLink = regexp.MustCompile(`^\s*(?:/|[A-Za-z][A-Za-z0-9+.-]*:)`)

// splitLinks cuts a value at the commas that a link follows.
func splitLinks(value string) []string {
	var links []string
	for part := range strings.SplitSeq(value, ",") {
		if len(links) > 0 && !aLink.MatchString(part) {
			links[len(links)-1] += "," + part
			continue
		}
		links = append(links, part)
	}
	return links
}

// maxTokens bounds the tags of a body that are read.
const maxTokens = 100_000

// Marked returns the target of the first anchor of an HTML body with redirect_url as the value or
// the name of an attribute; "" without one. page is the URL of the body.
func Marked(body []byte, page string) string {
	if !bytes.Contains(body, []byte("redirect_url")) {
		return ""
	}
	tokens := html.NewTokenizer(bytes.NewReader(body))
	for range maxTokens {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			return ""
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		t := tokens.Token()
		if t.Data != "a" || !slices.ContainsFunc(t.Attr, isMark) {
			continue
		}
		for _, a := range t.Attr {
			if target, err := canonical.Web.Resolve(page, a.Val); a.Key == "href" && err == nil {
				return target
			}
		}
	}
	return ""
}

func isMark(a html.Attribute) bool {
	return a.Key == "redirect_url" || a.Key != "href" && slices.Contains(strings.Fields(a.Val), "redirect_url")
}
