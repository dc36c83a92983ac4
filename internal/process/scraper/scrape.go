package scraper

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/process/article"
	"hce/dc/internal/process/document"
	"hce/dc/internal/process/entry"
	"hce/dc/internal/process/extractor"
	"hce/dc/internal/process/fallback"
	"hce/dc/internal/process/linkresolve"
	"hce/dc/internal/process/media"
	"hce/dc/internal/process/multiitem"
	"hce/dc/internal/process/pubdate"
	"hce/dc/internal/process/ranking"
	"hce/dc/internal/process/render"
	"hce/dc/internal/process/template"
	"hce/dc/internal/web/charset"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/web/pdate"
	"hce/dc/internal/web/xpath"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
	"hce/dc/internal/wire/schema"
)

// scrape is the extraction of one page.
type scrape struct {
	*Page
	rules *Rules
	start time.Time
	out   Output
	page  *article.Page         // nil: not HTML
	sizes map[string]media.Size // see imageSizes
}

// part is what is stored for the page, or for one of its items: its results, the default first.
type part struct {
	results  []result.Result
	template *template.Template // nil: none
	found    pubdate.Resolved
	escaped  bool                   // the values are escaped for the output format
	from     map[*result.Tag]string // see resultOrigins
}

// Scrape extracts a page (docs/spec/steps.md 2 #9, #10; docs/spec/processing.md 1.2 #13 to
// #18, 2.2).
func Scrape(p *Page, rules *Rules) Output {
	s := &scrape{Page: p, rules: rules, start: time.Now()}
	if p.Explain {
		s.out.Explained = &Explanation{Algorithm: rules.algorithm, Metric: rules.best, Problems: []ExplainedProblem{}}
	}
	if len(p.Templates) > 0 {
		s.addTemplates()
	}
	if len(p.Chain) > 0 && rules.chain != nil {
		s.storeFolded()
		return s.out
	}
	parts := s.extractParts()
	if s.page != nil {
		defer s.page.Release()
	}
	if len(parts) == 0 {
		return s.out
	}
	for i := range parts {
		s.completePart(&parts[i])
	}
	s.explainPart(&parts[0])
	s.storeParts(parts)
	return s.out
}

// addTemplates adds the templates of TEMPLATE_SOURCE to those of the site, for this page.
func (s *scrape) addTemplates() {
	rules := *s.rules
	rules.templates, rules.formats = rules.templates.Clone(), maps.Clone(rules.formats)
	for _, source := range s.Templates {
		if err := rules.templates.Merge(source.Name, source.Text); err != nil {
			s.addFault(errormask.TemplateSource, "property TEMPLATE_SOURCE, %s: the template %v", source.Source, err)
		}
	}
	for _, t := range rules.templates.Templates {
		if slices.Contains(s.rules.templates.Templates, t) {
			continue
		}
		f, err := render.Parse(t.OutputFormat)
		if err != nil {
			s.addFault(errormask.TemplateSource, "property TEMPLATE_SOURCE, %s: %v", t.Label(), err)
		}
		if f != nil {
			rules.formats[t] = f
		}
	}
	s.rules = &rules
}

// storeFolded stores the joined results of the parts of a page (docs/spec/processing.md 1.7).
func (s *scrape) storeFolded() {
	results := make([]result.Result, len(s.Chain))
	for i, content := range s.Chain {
		results[i] = result.Decode(content).Default
	}
	r := s.rules.chain.Fold(results)
	ranking.Again(&r)
	published, _ := time.Parse(time.DateTime, r.First("pubdate"))
	s.putPageItem(&part{results: []result.Result{r}, template: s.firstTemplate(), found: pubdate.Resolved{Date: schema.DateOf(published)}, escaped: true})
}

// addFault adds error bits and their reason.
func (s *scrape) addFault(bits errormask.Mask, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	s.out.Fail(bits, errors.New(message))
	if x := s.out.Explained; x != nil {
		x.Problems = append(x.Problems, ExplainedProblem{bits.Names(), message})
	}
}

// addError is fail for an error, which may have bits of its own.
func (s *scrape) addError(err error) {
	switch {
	case err == nil:
	case errors.Is(err, document.ErrType):
		s.addFault(errormask.UnsupportedType, "%v", err)
	case errors.Is(err, document.ErrDamaged):
		s.addFault(errormask.RawDecoding, "%v", err)
	default:
		s.addFault(cmp.Or(errormask.Of(err), errormask.Scraper), "%v", err)
	}
}

// addProblems adds the problems of a template.
func (s *scrape) addProblems(list []template.Problem) {
	for _, p := range list {
		s.addFault(p.Bits, "%s", p)
	}
}

// extractParts extracts the page: the first part belongs to it, the others are further items. It is
// empty if there is nothing to store.
func (s *scrape) extractParts() []part {
	switch {
	case s.Entry:
		s.readBy("feed entry")
		r, published, err := entry.Feed(s.ID, s.Text)
		if s.addError(err); err != nil {
			return nil
		}
		s.describeEntry(&r)
		return []part{{results: []result.Result{r}, template: s.firstTemplate(), found: pubdate.Resolved{Date: published}}}
	case s.rules.algorithm == rawData, s.Processor == storeRaw:
		return s.storeRaw()
	case s.Processor == customJSON:
		s.readBy("custom JSON")
		list, err := entry.Custom(s.ID, s.URL, s.Text)
		s.addError(err)
		return splitResults(list, s.firstTemplate())
	}
	if !s.Asked && (document.IsListing(s.Text) || !s.Root && document.IsResource(s.Type, s.URL, s.Text)) {
		s.readBy("none: it is a resource, such as a script, a style sheet, JSON or XML")
		s.out.Resource = true
		return nil
	}
	if document.FormatOf(s.Type, s.Text) != document.HTML {
		if !s.passesFilters(s.Text) {
			return nil
		}
		return s.extractDocument()
	}
	text, err := document.Decode(s.Type, s.Text)
	if s.addError(err); err != nil || !s.passesFilters(text) {
		return nil
	}
	return s.runTemplates(text)
}

// extractDocument reads a content that is no HTML. Templates give it an output format only.
func (s *scrape) extractDocument() []part {
	s.readBy("document")
	a, err := document.Read(s.Type, s.Text, s.URL)
	if s.addError(err); a == nil {
		return nil
	}
	return []part{{results: []result.Result{{Tags: extractor.ArticleTags(*a, extractor.Newspaper, nil)}}, template: s.firstTemplate()}}
}

// splitResults makes a part of each result.
func splitResults(list []result.Result, t *template.Template) []part {
	parts := make([]part, len(list))
	for i := range list {
		parts[i] = part{results: list[i : i+1 : i+1], template: t}
	}
	return parts
}

// storeRaw stores the raw content as base64, as the custom text of a result without tags.
func (s *scrape) storeRaw() []part {
	s.readBy("raw content")
	r := result.Result{ID: s.ID}
	r.Add(result.Tag{Name: "source_url", Data: []string{s.URL}, Extractor: result.Service})
	content, err := result.EncodeRaw(r, s.Text)
	if s.addError(err); err == nil {
		s.out.Item = Item{Content: content, TagsCount: r.Count(), TagsMask: r.Mask(nil)}
	}
	return nil
}

// passesFilters reports whether the filters of stages 7 and 2 let the raw content pass
// (docs/spec/processing.md 1.2 #15).
func (s *scrape) passesFilters(text []byte) bool {
	env := filter.Env{Now: s.Now, Depth: s.Depth}
	for _, stage := range []int{filter.StageBeforeProcessor, filter.StagePrepared} {
		if !s.rules.filters.Has(stage) {
			continue
		}
		if x := s.out.Explained; x != nil {
			verdicts, accepted := s.rules.filters.ExplainSubject(stage, filter.RawContent, string(text), env)
			x.Filters = append(x.Filters, Verdict(stage, "raw content", verdicts, accepted))
		}
		if !s.rules.filters.AcceptSubject(stage, filter.RawContent, string(text), env) {
			s.out.Refused = true
			s.addFault(errormask.ProcessorFilters, "a filter of stage %d refuses the raw content", stage)
			return false
		}
	}
	return true
}

// firstTemplate returns the first template whose condition holds, for its output format.
func (s *scrape) firstTemplate() *template.Template {
	if list := s.selectTemplates(); len(list) > 0 {
		return list[0]
	}
	return nil
}

// selectTemplates returns the templates whose condition holds.
func (s *scrape) selectTemplates() []*template.Template {
	list, problems := s.rules.templates.For(func(name string) (string, bool) {
		value, known := s.Fields[name]
		return value, known
	})
	s.addProblems(problems)
	return list
}

// runTemplates runs the templates and keeps the results of one of them.
func (s *scrape) runTemplates(text []byte) []part {
	s.page = article.NewPage(s.rules.text.Prepare(text), s.URL, s.Base)
	s.page.Charset = s.Charset
	s.page.Fetched = cmp.Or(s.Fetched, s.Now)
	list := s.selectTemplates()
	candidates := make([][]part, len(list))
	firsts := make([]result.Result, len(list))
	for i, t := range list {
		candidates[i] = s.byTemplate(t)
		firsts[i] = candidates[i][0].results[0]
	}
	s.readBy("extractors")
	if len(list) == 0 { // all are disabled, or no condition holds
		s.explainTemplates(nil, nil, -1)
		return []part{{results: s.runExtractors(nil)}}
	}
	chosen, problems := s.rules.templates.Choose(list, firsts)
	s.addProblems(problems)
	s.explainTemplates(list, firsts, max(chosen, 0))
	return candidates[max(chosen, 0)]
}

// byRules reports whether the rules of a template give the results. Otherwise the extractors do.
func (s *scrape) byRules(t *template.Template) bool {
	return t != nil && t.HasTags() && (s.rules.algorithm == extractor.DefaultAlgorithm || s.Processor == multiItems)
}

// byTemplate returns the parts that a template gives, at least one.
func (s *scrape) byTemplate(t *template.Template) []part {
	switch {
	case !s.byRules(t):
		return []part{{results: s.runExtractors(t), template: t}}
	case s.Processor == multiItems:
		items, problems := t.Items(context.Background(), s.pageTree(), s.templateOptions())
		s.addProblems(problems)
		return splitResults(items, t)
	}
	r, problems := t.Apply(context.Background(), s.pageTree(), s.templateOptions())
	s.addProblems(problems)
	return []part{{results: []result.Result{r}, template: t}}
}

// pageTree returns the tree of the page. A page without one is empty.
func (s *scrape) pageTree() *xpath.Document {
	root, err := s.page.Tree()
	if err != nil {
		s.addFault(errormask.Scraper, "templates see an empty page: %v", err)
		empty, _ := xpath.HTML(nil)
		return empty
	}
	return xpath.Of(root)
}

func (s *scrape) templateOptions() template.Options {
	return template.Options{
		URL: s.URL, Base: s.page.Base(), Now: s.Now, Text: s.rules.text,
		Resolve: func(base, ref string) string {
			u, err := canonical.Web.Resolve(base, charset.EncodeQuery(ref, s.Charset))
			if err != nil {
				return ""
			}
			u, err = canonical.Web.Normalize(u, s.rules.mask)
			if err != nil {
				return ""
			}
			return u
		},
	}
}

// runExtractors runs the extractors. A single one needs no result of its own besides the merged one.
func (s *scrape) runExtractors(t *template.Template) []result.Result {
	results, err := s.rules.dynamic.Dynamic(context.Background(), s.page)
	s.addError(err)
	if len(results) == 2 {
		results = results[:1]
	}
	for i := range results {
		if t != nil && t.HasTags() {
			s.addProblems(t.PostProcess(&results[i], s.templateOptions()))
		}
	}
	return results
}

// headerLine returns a line of the response header, or "".
func (s *scrape) headerLine(name string) string {
	for line := range bytes.Lines(s.Header) {
		key, value, ok := strings.Cut(string(line), ":")
		if ok && textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(key)) == textproto.CanonicalMIMEHeaderKey(name) {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// completePart adds what every result has: dates, service tags, metrics (docs/spec/processing.md
// 2.2 #3), and puts the best one first.
func (s *scrape) completePart(p *part) {
	for i := range p.results {
		r := &p.results[i]
		r.ID = s.ID
		s.cleanTags(r, p.template)
		found := s.setDates(r, p)
		if i == 0 {
			p.found = found
		}
		if feed := s.headerLine("X-feed_url"); feed != "" {
			r.Add(result.Tag{Name: "feed_url", Data: []string{feed}, Extractor: result.Service})
		}
		if s.rules.languages != nil {
			s.rules.languages.Apply(r)
		}
		if t := r.Tag("content_encoded"); t != nil && s.rules.reduces {
			for i := range t.Data {
				t.Data[i] = s.rules.text.Reduce(t.Data[i])
			}
		}
		s.rules.redirect.Apply(r, s.URL, s.headerLine("Location"))
		s.resolveLinkTag(r)
		r.Time = cmp.Or(r.Time, time.Since(s.start))
	}
	p.from = s.resultOrigins(p)
	ranking.Measure(p.results, s.rules.metrics)
	if s.rules.best != "" && len(p.results) > 1 {
		s.addError(ranking.Sort(p.results, s.rules.best))
	}
}

// resolveLinkTag replaces the links of the tag link by where they lead, or asks for that. A feed entry
// has its links escaped.
func (s *scrape) resolveLinkTag(r *result.Result) {
	t := r.Tag("link")
	if s.rules.Links == nil || t == nil {
		return
	}
	base := cmp.Or(s.Base, s.URL)
	if s.page != nil {
		base = s.page.Base()
	}
	data := slices.Clone(t.Data)
	for i, value := range data {
		data[i] = linkresolve.Replace(value, base, func(link string) string {
			if s.Entry {
				link = strings.ReplaceAll(link, "&amp;", "&")
			}
			if s.Resolved == nil && !slices.Contains(s.out.Links, link) {
				s.out.Links = append(s.out.Links, link)
			}
			found := s.Resolved[link]
			if s.Entry {
				found = strings.ReplaceAll(found, "&", "&amp;")
			}
			return found
		})
	}
	t.Data = data
}

// cleanTags completes and cleans the tags title, author and media (docs/spec/processing.md 2.2, 2.5).
func (s *scrape) cleanTags(r *result.Result, t *template.Template) {
	r.Add(result.Tag{Name: "source_url", Data: []string{s.URL}, Extractor: result.Service})
	if s.page == nil {
		return
	}
	if s.rules.algorithm != extractor.DefaultAlgorithm {
		fallback.Link(r, s.URL)
	}
	if t != nil && slices.Contains(t.Names(), "title") {
		asked := !s.byRules(t) // a page whose template finds no title has none
		fallback.Title(r, asked, s.page.Metadata().TitleElement)
	}
	if s.rules.authors != nil {
		s.rules.authors.Apply(r)
	}
	if s.rules.media.Limits == nil && !s.rules.mediaFilters {
		return
	}
	page := media.Page{Base: s.page.Base(), Env: filter.Env{Now: s.Now, Depth: s.Depth}}
	if s.rules.media.Limits != nil {
		page.Known = func(url string) (media.Size, bool) {
			size, known := s.imageSizes()[url]
			return size, known
		}
	}
	for _, reason := range s.rules.media.Apply(r, page) {
		s.out.Dropped = append(s.out.Dropped, reason.Error())
	}
}

// setDates sets pubdate and pubdate_tz of a result. An entry of a feed has its date already.
func (s *scrape) setDates(r *result.Result, p *part) pubdate.Resolved {
	if s.Entry {
		return p.found
	}
	sources := pubdate.Sources{URL: s.URL, Now: s.Now, Fetched: s.Fetched, Evaluate: s.sqlEvaluator()}
	if feed := s.headerLine("X-pubdateRssFeed"); feed != "" {
		sources.Feed, _ = time.Parse(time.DateTime, feed)
	}
	if s.page != nil {
		sources.Modified = s.page.Modified()
	}
	found := pubdate.Apply(r, sources, s.rules.dates)
	for _, err := range found.Errs {
		s.addFault(errormask.Scraper, "%v", err)
	}
	if found.Source == pdate.Now && !s.rules.dateAsked { // the page has no date
		r.Remove("pubdate")
		r.Remove("pubdate_tz")
		found.Date, found.Source, r.Assumed = "", 0, false
		found.Steps = append(found.Steps, "only the current time is left: no tag pubdate is stored, and PDate is the date of the last change")
	}
	return found
}

// sqlEvaluator returns the function that evaluates SQL expressions over the fields of the row.
func (s *scrape) sqlEvaluator() func(string) (string, error) {
	if s.rules.Evaluate == nil || s.Row == nil {
		return nil
	}
	macros := wire.FieldMacros(s.Row, wire.URLColumns)
	return func(expression string) (string, error) { return s.rules.Evaluate(macros.Replace(expression)) }
}

// storeParts renders and encodes the parts.
func (s *scrape) storeParts(parts []part) {
	s.putPageItem(&parts[0])
	if len(parts) < 2 || s.Row == nil || s.Limits == nil {
		return
	}
	list := make([]multiitem.Part, len(parts))
	for i := range parts {
		p, r := &parts[i], &parts[i].results[0]
		list[i] = multiitem.Part{
			TagsCount: r.Count(), TagsMask: r.Mask(s.rules.mapping), Published: p.found.Date, Hash: s.rules.hash.Sum(r, ""),
			Content: func(row *wire.URL) ([]byte, error) { return s.encodePart(p, row.URLMd5, row.ErrorMask) },
		}
	}
	items, bits := multiitem.Split(s.Row, s.Limits, list, multiitem.Options{Now: schema.DateOf(s.Now), Room: s.Room})
	s.out.Items = items
	if bits != 0 {
		s.addFault(bits, "not all of the %d items of the page are stored", len(parts))
	}
}

// putPageItem sets the item of the page.
func (s *scrape) putPageItem(p *part) {
	r := &p.results[0]
	item := Item{TagsCount: r.Count(), TagsMask: r.Mask(s.rules.mapping), Published: p.found.Date, Hash: s.rules.hash.Sum(r, "")}
	content, err := s.encodePart(p, s.ID, s.Mask|s.out.Bits)
	s.addError(err)
	item.Content = content
	s.out.Item = item
}

// encodePart renders the results of a part in the output format of its template, and encodes them.
func (s *scrape) encodePart(p *part, id string, mask errormask.Mask) ([]byte, error) {
	format := s.rules.formats[p.template]
	var custom []string
	for i := range p.results {
		p.results[i].ID = id
		if format == nil {
			continue
		}
		text, err := format.Render(&p.results[i], s.macroValues(p, mask))
		if err != nil {
			return nil, fmt.Errorf("render result %d: %w", i, err)
		}
		custom = append(custom, text)
	}
	if !p.escaped {
		format.Escape(p.results)
	}
	return result.Encode(p.results, custom)
}

// macroValues are the macros of an output format that no tag has.
func (s *scrape) macroValues(p *part, mask errormask.Mask) render.Values {
	return render.Values{CrawlingTime: s.CrawlingTime, Errors: mask, EachTag: p.template == nil || !p.template.HasTags(), Escaped: p.escaped}
}
