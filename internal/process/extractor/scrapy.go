package extractor

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/html"

	"hce/dc/internal/process/article"
	"hce/dc/internal/process/author"
	"hce/dc/internal/web/xpath"
	"hce/dc/internal/wire/result"
)

// generalRules fit most pages. No rules for single hosts are built in.
//
//go:embed rules.json
var generalText string

var generalRules = sync.OnceValue(func() *Rules {
	r, err := ParseRules(generalText)
	if err != nil {
		panic("rules.json " + err.Error())
	}
	return r
})

// ruleExtractor is ScrapyExtractor: the rules of the site, then the metadata of the page in
// JSON-LD, OpenGraph and Dublin Core, then the general rules.
type ruleExtractor struct{ options Options }

func newRuleExtractor(o Options) ruleExtractor { return ruleExtractor{o} }

func (ruleExtractor) Name() string { return Scrapy }

// ruleTags are the tags of the general rules, in the order of the result.
var ruleTags = []string{"title", "author", "pubdate", "description", "dc_date", "media", "link", "content_encoded", "keywords", "html_lang"}

// maxMatches bounds the matches of one expression.
const maxMatches = 2000

func (x ruleExtractor) Extract(ctx context.Context, page *article.Page) (f Found, err error) {
	values := metadataTags(page)
	var own, general tagRules
	if x.options.Rules != nil {
		hosts := x.options.Hosts
		if len(hosts) == 0 {
			hosts = []string{page.URL}
		}
		own = x.options.Rules.forHosts(hosts)
	} else {
		general = generalRules().forHosts(nil)
	}
	doc, treeErr := page.Tree()
	e := evaluation{ctx: ctx, doc: xpath.Of(doc)}
	var failed []error
	for _, name := range tagNames(own) {
		var tag result.Tag
		var end stop
		if rule := own[name]; rule != nil && treeErr == nil {
			tag, end, err = e.evaluateTag(name, rule)
			failed = append(failed, err)
		}
		if end == stopAll {
			f.Closed = append(f.Closed, name)
		}
		if len(tag.Data) == 0 && end == goOn {
			tag = result.Tag{Name: name, Data: values[name], Extractor: Scrapy}
		}
		if rule := general[name]; len(tag.Data) == 0 && rule != nil && treeErr == nil {
			tag, _, err = e.evaluateTag(name, rule)
			failed = append(failed, err)
			if name == "author" {
				tag.Data = []string{author.Names(tag.Data)}
			}
		}
		if tag.First() != "" {
			f.Tags = append(f.Tags, tag)
		}
	}
	if own != nil {
		failed = append(failed, treeErr)
	}
	return f, errors.Join(failed...)
}

// tagNames returns the standard tags and those of the rules.
func tagNames(rules tagRules) []string {
	names := slices.Clone(ruleTags)
	var more []string
	for name := range rules {
		if !slices.Contains(names, name) {
			more = append(more, name)
		}
	}
	slices.Sort(more)
	return append(names, more...)
}

// metadataTags returns the values of the metadata of a page by tag.
func metadataTags(page *article.Page) map[string][]string {
	values, m := map[string][]string{}, page.Metadata()
	set := func(name, value string) {
		if strings.TrimSpace(value) != "" {
			values[name] = []string{value}
		}
	}
	set("title", m.Title)
	set("author", m.Author)
	set("description", m.Description)
	set("dc_date", m.DublinDate)
	set("media", m.Image)
	set("link", m.Canonical)
	set("html_lang", m.Language)
	set("content_encoded", page.Body())
	set("keywords", strings.Join(m.Keywords, ","))
	set("pubdate", m.DateText)
	return values
}

// evaluation evaluates rules on one page.
type evaluation struct {
	ctx context.Context
	doc *xpath.Document
}

// evaluateTag returns the value of the first expression that finds one, and what ended the list.
func (e evaluation) evaluateTag(name string, rule *tagRule) (result.Tag, stop, error) {
	var failed []error
	for _, s := range rule.steps {
		if s.stop != goOn {
			return result.Tag{}, s.stop, errors.Join(failed...)
		}
		matches, err := s.target.Matches(e.ctx, e.doc, maxMatches)
		if err != nil {
			failed = append(failed, fmt.Errorf("tag %.60q: %w", name, err))
		}
		if data := rule.tagValues(name, matches); len(data) > 0 {
			return result.Tag{Name: name, Data: data, XPath: s.text, Extractor: Scrapy}, goOn, errors.Join(failed...)
		}
	}
	return result.Tag{}, goOn, errors.Join(failed...)
}

// tagValues returns the values of a tag: a list of URLs, or one text.
func (r *tagRule) tagValues(name string, matches []xpath.Match) []string {
	var texts []string
	for _, m := range matches {
		if text := r.matchText(m, slices.Contains(addresses, name)); text != "" && (len(texts) == 0 || texts[len(texts)-1] != text) {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 || slices.Contains(addresses, name) {
		return texts
	}
	delimiter := " "
	switch name {
	case "content_encoded":
		delimiter = "\n"
	case "keywords", "tags":
		delimiter = ","
	case "author":
		delimiter = "; "
	}
	return []string{strings.Join(texts, delimiter)}
}

// matchText returns the text of a match after exclude and replace.
func (r *tagRule) matchText(m xpath.Match, address bool) string {
	text := m.Text
	if m.Node != nil && m.Attr == "" && m.Node.Type == html.ElementNode {
		if address {
			text = addressOf(m.Node)
		} else if visible := article.VisibleText(m.Node, r.isExcluded); visible != "" {
			text = visible
		} else if len(r.exclude) > 0 {
			text = ""
		}
	}
	for _, p := range r.replace {
		text, _ = p.re.Replace(text, p.by, maxValue)
	}
	return strings.TrimSpace(text)
}

// addressOf returns the address of a link or an image.
func addressOf(n *html.Node) string {
	for _, key := range []string{"src", "href", "content"} {
		for _, a := range n.Attr {
			if a.Key == key && strings.TrimSpace(a.Val) != "" {
				return a.Val
			}
		}
	}
	return ""
}

// isExcluded reports whether the rule excludes an element.
func (r *tagRule) isExcluded(n *html.Node) bool {
	for _, x := range r.exclude {
		if x.name != n.Data && x.name != "*" {
			continue
		}
		if x.attr == "" {
			return true
		}
		for _, a := range n.Attr {
			if a.Key == x.attr && (x.re == nil && a.Val == x.value || x.re != nil && x.re.MatchString(a.Val)) {
				return true
			}
		}
	}
	return false
}
