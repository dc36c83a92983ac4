package scraper

import (
	"slices"
	"strings"
	"unicode/utf8"

	"hce/dc/internal/process/article"
	"hce/dc/internal/process/template"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire/result"
	"hce/dc/internal/wire/schema"
)

// Explanation says how a page was read, and what won. Page.Explain asks for it.
type Explanation struct {
	Reader    string              `json:"reader"`              // what reads the page, such as "extractors"
	Algorithm string              `json:"algorithm,omitempty"` // algorithm_name
	Filters   []FilterVerdict     `json:"filters,omitempty"`   // on the raw content
	Templates []ExplainedTemplate `json:"templates,omitempty"`
	Results   []ExplainedResult   `json:"results"`          // the first is the default
	Metric    string              `json:"metric,omitempty"` // DEFAULT_METRIC, by which results are sorted
	Engine    *article.Explained  `json:"engine,omitempty"` // the last choice of lines
	Date      *ExplainedDate      `json:"date"`
	Tags      []ExplainedTag      `json:"tags"` // of the default result
	Problems  []ExplainedProblem  `json:"problems"`
}

// FilterVerdict is the verdict of the filters of one stage on one value.
type FilterVerdict struct {
	Stage    int          `json:"stage"`
	On       string       `json:"on"` // "URL", "row" or "raw content"
	Accepted bool         `json:"accepted"`
	Rules    []FilterRule `json:"rules"`
}

// FilterRule is a filter that applies.
type FilterRule struct {
	Pattern   string `json:"pattern"`
	Subject   string `json:"subject"`
	Operation int    `json:"operationCode"`
	Group     int    `json:"groupId"`
	Effect    string `json:"effect"` // include, exclude, condition or broken
	Matches   bool   `json:"matches"`
}

// ExplainedTemplate is one template. Service tags and defaults do not count.
type ExplainedTemplate struct {
	Name       string `json:"name"`
	Chosen     bool   `json:"chosen"`
	Reason     string `json:"reason,omitempty"` // why it was not applied
	Tags       int    `json:"tags"`
	Characters int    `json:"characters"`
}

// ExplainedResult is the score of a result: that of an extractor, of a template, or merged of several
// extractors.
type ExplainedResult struct {
	From       string             `json:"from"`
	Tags       int64              `json:"tags"`
	Characters int                `json:"characters"`
	Metrics    map[string]float64 `json:"metrics,omitempty"`
}

// ExplainedDate is the publication date.
type ExplainedDate struct {
	Date   schema.Date `json:"date"` // "": none is stored
	Zone   string      `json:"zone"`
	Source string      `json:"source"`
	Steps  []string    `json:"steps"` // one decision each
}

// ExplainedTag is a tag, and what found it.
type ExplainedTag struct {
	Name      string `json:"name"`
	Extractor string `json:"extractor"`
	XPath     string `json:"xpath,omitempty"`
	Value     string `json:"value"` // its beginning
}

// ExplainedProblem is what cannot be followed, or was not found.
type ExplainedProblem struct {
	ErrorNames []string `json:"errorNames"`
	Message    string   `json:"message"`
}

// Verdict returns the verdict of the filters of a stage on a value.
func Verdict(stage int, on string, verdicts []filter.Verdict, accepted bool) FilterVerdict {
	f := FilterVerdict{Stage: stage, On: on, Accepted: accepted, Rules: []FilterRule{}}
	for _, v := range verdicts {
		if v.Applies {
			f.Rules = append(f.Rules, FilterRule{v.Rule.Pattern, v.Rule.Subject, v.Rule.OpCode, v.Rule.Group, v.Effect, v.Matches})
		}
	}
	return f
}

// maxShown bounds the value of an ExplainedTag, in characters.
const maxShown = 200

// readBy says what reads the page.
func (s *scrape) readBy(reader string) {
	if s.out.Explained != nil {
		s.out.Explained.Reader = reader
	}
}

// explainTemplates says what each template found. list are those that were applied, results their
// results.
func (s *scrape) explainTemplates(list []*template.Template, results []result.Result, chosen int) {
	x := s.out.Explained
	if x == nil || len(s.rules.templates.Templates) == 1 && len(list) == 1 && !list[0].HasTags() {
		return // no property template, or one that only has an output format
	}
	for i, t := range list {
		one := ExplainedTemplate{Name: t.Label(), Chosen: i == chosen}
		one.Tags, one.Characters = t.Score(&results[i])
		x.Templates = append(x.Templates, one)
	}
	for _, t := range s.rules.templates.Templates {
		if !slices.Contains(list, t) {
			x.Templates = append(x.Templates, ExplainedTemplate{Name: t.Label(), Reason: t.WhyNot()})
		}
	}
}

// resultOrigins returns what each result of a part comes from, by its first tag, which stays the same when
// the results are sorted.
func (s *scrape) resultOrigins(p *part) map[*result.Tag]string {
	x := s.out.Explained
	if x == nil {
		return nil
	}
	names := []string{x.Reader}
	switch {
	case s.page == nil:
	case s.byRules(p.template):
		x.Reader = "template"
		names[0] = "template " + p.template.Label()
	default:
		names = s.rules.dynamic.Names()
		if len(p.results) > 1 {
			names = append([]string{"merged"}, names...)
		}
	}
	from := map[*result.Tag]string{}
	for i := range p.results {
		from[&p.results[i].Tags[0]] = names[i]
	}
	return from
}

// explainPart describes the results of a part in their order, and the tags and the date of the first one.
func (s *scrape) explainPart(p *part) {
	x := s.out.Explained
	if x == nil {
		return
	}
	if s.page != nil {
		x.Engine = s.page.Explain()
	}
	x.Date = &ExplainedDate{Date: p.found.Date, Zone: p.found.Zone, Source: p.found.SourceName(), Steps: p.found.Steps}
	for i := range p.results {
		r := &p.results[i]
		one := ExplainedResult{From: p.from[&r.Tags[0]], Tags: r.Count(), Metrics: r.Metrics}
		for _, tag := range r.Tags {
			one.Characters += utf8.RuneCountInString(tag.Text())
		}
		x.Results = append(x.Results, one)
	}
	for _, tag := range p.results[0].Tags {
		value := []rune(strings.Join(strings.Fields(tag.Text()), " "))
		if len(value) > maxShown {
			value = append(value[:maxShown], '…')
		}
		x.Tags = append(x.Tags, ExplainedTag{tag.Name, tag.Extractor, tag.XPath, string(value)})
	}
}
