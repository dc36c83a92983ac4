package template

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"

	"hce/dc/canonical"
	"hce/dc/internal/web/dates"
	"hce/dc/internal/web/datetext"
	"hce/dc/internal/web/xpath"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
)

// extractor is the name of the extractor in tags of templates (docs/spec/processing.md 2.8).
const extractor = "ScrapyExtractor"

const (
	// maxSteps bounds the steps of all rules of a template on a page.
	maxSteps = 64 << 20
	// maxMatches bounds the matches of one rule.
	maxMatches = 50_000
	// maxValues bounds the values of all tags of a page, in bytes.
	maxValues = 32 << 20
	// maxProblems bounds the problems of a page that are reported.
	maxProblems = 100
)

// Options are what a template needs besides the page. The zero value has useful defaults.
type Options struct {
	URL  string    // of the page
	Base string    // URL against which links are resolved; "": URL
	Now  time.Time // for defaults of type datetime

	// Resolve returns the absolute and normalized form of a link, "" for a text that is no
	// URL. nil: canonical.Web.Resolve.
	Resolve func(base, ref string) string

	// Date parses the text of a date; zoned says whether it states its zone. nil: package
	// datetext with Now.
	Date func(text string) (t time.Time, zoned, ok bool)

	Text  *Text  // nil: Text{}
	Trace *Trace // to fill; nil: none
}

// run is one application of a template to a page.
type run struct {
	ctx      context.Context
	doc      *xpath.Document
	t        *Template
	o        Options
	asItems  bool
	inside   string // names of the tags around the rules, each with a dot
	steps    int
	room     int // bytes left for values
	problems []Problem
	slow     int  // searches that timed out
	ended    bool // the context ended, or the steps are used up
}

func newRun(ctx context.Context, doc *xpath.Document, t *Template, o Options) *run {
	if o.Base == "" {
		o.Base = o.URL
	}
	if o.Text == nil {
		o.Text = &Text{}
	}
	if o.Date == nil {
		o.Date = func(text string) (t time.Time, zoned, ok bool) {
			t, ok = datetext.Parse(text, datetext.Options{Now: o.Now, CurrentYear: true})
			return t, datetext.Zone(t) != "", ok
		}
	}
	if o.Resolve == nil {
		o.Resolve = func(base, ref string) string {
			u, err := canonical.Web.Resolve(base, ref)
			if err != nil {
				return ""
			}
			return u
		}
	}
	if o.Trace != nil {
		*o.Trace = Trace{Template: t.label}
	}
	return &run{ctx: ctx, doc: doc, t: t, o: o, steps: maxSteps, room: maxValues}
}

func (x *run) addProblem(bits errormask.Mask, tag string, rule int, format string, args ...any) {
	if len(x.problems) < maxProblems {
		if tag != "" {
			tag = x.inside + tag
		}
		x.problems = append(x.problems, Problem{bits, x.t.label, tag, rule, fmt.Sprintf(format, args...)})
	}
}

// Apply returns what the rules find in a page: the tags that have a value, in the order of the
// template. Values of a default have Tag.Default. It sets only Tags of the result. If ctx ends,
// the tags so far are returned with a problem. Goroutines may share t and doc.
func (t *Template) Apply(ctx context.Context, doc *xpath.Document, o Options) (result.Result, []Problem) {
	x := newRun(ctx, doc, t, o)
	x.problems = append(x.problems, t.problems...)
	var r result.Result
	for i := range t.tags {
		g := &t.tags[i]
		list := x.newFindings(g)
		tag := x.joinTag(g, list)
		if tag != nil {
			r.Add(*tag)
		}
		if o.Trace != nil {
			o.Trace.Tags = append(o.Trace.Tags, traceOf(g, list, tag))
		}
	}
	if o.Trace != nil {
		o.Trace.Problems = x.problems
	}
	return r, x.problems
}

// finding is what one rule found.
type finding struct {
	*rule
	number  int
	done    bool // the rule was evaluated
	count   int  // matches in the page
	parts   []part
	value   string
	raw     string // the value before postProcessing
	posted  bool   // postProcessing was applied
	matched bool
	reason  string // why there is no value, or a remark
	outcome string // for the trace
	fields  []TagTrace
}

// part is the values of one match.
type part struct {
	match  xpath.Match
	in     int // the element in which a relative XPath found it; -1: that of its node, or all
	values []string
}

func (x *run) newFindings(g *tag) []finding {
	list := make([]finding, len(g.rules))
	for i, r := range g.rules {
		list[i] = finding{rule: r, number: i + 1}
	}
	return list
}

// evaluateRule evaluates a rule, once.
func (x *run) evaluateRule(tag string, f *finding) {
	if f.done {
		return
	}
	f.done = true
	x.collectValues(tag, f, nil)
	f.finishValue(x, tag, f.matchedValues())
}

// matchedValues are the values of all matches.
func (f *finding) matchedValues() (values []string) {
	for _, p := range f.parts {
		values = append(values, p.values...)
	}
	return values
}

// collectValues evaluates the target of a rule and takes its values. A relative XPath begins at each of
// the elements within; nil: at the document.
func (x *run) collectValues(tag string, f *finding, within []*html.Node) {
	for _, fault := range f.faults {
		x.addProblem(fault.bits, tag, f.number, "%s", fault.message)
	}
	if f.target == nil || x.ended {
		f.reason = "the target was not evaluated"
		return
	}
	found, implied, err := f.target.findIn(x.ctx, x.doc, within, xpath.Limits{Matches: maxMatches, Steps: &x.steps})
	f.count = len(found)
	switch {
	case err != nil:
		f.reason = err.Error()
		x.addProblem(errormask.Scraper, tag, f.number, "%v", err)
		x.ended = x.steps <= 0 || x.ctx.Err() != nil
		if x.ended {
			x.addProblem(errormask.Scraper, "", 0, "the other rules are not evaluated: %v", errors.Join(x.ctx.Err(), ifCostly(x.steps)))
		}
	case f.count >= maxMatches:
		found = found[:maxMatches]
		x.addProblem(errormask.Scraper, tag, f.number, "more than %d matches; the rest is ignored", maxMatches-1)
	case f.count == 0:
		f.reason = "the target matches nothing; it was read as " + f.target.languageName()
	case implied:
		f.reason = "found in a tbody that the target does not name"
	}
	if f.kind == typeRecords {
		x.takeObjects(tag, f, found)
		return
	}
	for _, p := range found {
		p.values = x.matchValues(f.rule, p.match)
		if !x.keepPart(tag, f, p) {
			break
		}
	}
}

// keepPart adds the values of a match, if there are some. It returns false if they do not fit.
func (x *run) keepPart(tag string, f *finding, p part) bool {
	for _, v := range p.values {
		x.room -= len(v)
	}
	if x.room <= 0 {
		x.addProblem(errormask.Scraper, tag, f.number, "the values of the page exceed %d bytes; the rest is ignored", maxValues)
		return false
	}
	if len(p.values) > 0 {
		f.parts = append(f.parts, p)
	}
	return true
}

func ifCostly(steps int) error {
	if steps > 0 {
		return nil
	}
	return fmt.Errorf("the template is %w for this page: more than %d steps", xpath.ErrCostly, maxSteps)
}

// finishValue makes one value of the values of a rule: it applies the format, joins them and applies
// postProcessing. A rule with a blank value does not match.
func (f *finding) finishValue(x *run, tag string, values []string) {
	if len(values) == 0 {
		if f.reason == "" && f.count > 0 {
			f.reason = fmt.Sprintf("%d matches without a value for type %s", f.count, f.kind)
		}
		return
	}
	if f.kind == typeRecords {
		f.value, f.matched = listJSON(values), true
		f.raw = f.value
		return
	}
	if f.kind == typeDatetime && !x.asItems {
		values = x.writeDates(f, values)
	}
	if f.kind == typeLink && f.format.most > 0 && len(values) > f.format.most && !x.asItems {
		values = values[:f.format.most]
	}
	f.value = strings.TrimSpace(strings.Join(values, x.ruleDelimiter(f.rule)))
	if (f.kind == typeText || f.kind == typeAttribute) && f.format.most > 0 && !x.asItems {
		f.value = cutText(f.value, f.format.most, f.kind == typeText && x.o.Text.KeepTags)
	}
	f.raw = f.value
	if f.post != nil {
		f.posted = true
		if f.value = x.postProcess(tag, f.number, f.rule, f.value); strings.TrimSpace(f.value) == "" {
			f.reason = "postProcessing found nothing in it"
		}
	}
	f.matched = strings.TrimSpace(f.value) != ""
}

// ruleDelimiter returns the text between the matches of a rule. It is never empty: an empty one in the
// template or the properties counts as an absent one.
func (x *run) ruleDelimiter(r *rule) string {
	byType := ","
	if r.kind == typeText || r.kind == typeHTML {
		byType = " "
	}
	return cmp.Or(r.delimiter, x.o.Text.Delimiter, byType)
}

// writeDates writes the dates of a rule: the first text that is a date, or all for the join concat.
// Without a date, best takes the first text with a digit.
func (x *run) writeDates(f *finding, values []string) []string {
	var written []string
	for _, v := range values {
		if date, ok := x.writeDate(f.rule, v); ok {
			if written = append(written, date); f.join != joinConcat {
				return written
			}
		}
	}
	if len(written) > 0 {
		return written
	}
	f.reason = "not a known form of a date; kept as text"
	if f.join == joinBest {
		for _, v := range values {
			if strings.ContainsAny(v, "0123456789") {
				return []string{v}
			}
		}
	}
	return values[:1]
}

// cutText shortens a text to a number of characters, not inside of a tag.
func cutText(text string, most int, tags bool) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	end := 0
	for range most {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	text = text[:end]
	if open := strings.LastIndexByte(text, '<'); tags && open > strings.LastIndexByte(text, '>') {
		text = text[:open]
	}
	return strings.TrimSpace(text)
}

// maxSlow is the most searches of a page that may time out, each after about a second.
const maxSlow = 3

// maxFound bounds the matches of postProcessing in one value.
const maxFound = 100_000

// postProcess returns the matches of the rule's regexp in a value, joined. A search that times
// out leaves the value as it is.
func (x *run) postProcess(tag string, number int, r *rule, value string) string {
	if x.slow >= maxSlow {
		x.addProblem(errormask.Regexp, tag, number, `"postProcessing" is not applied, because others took too much time; the value stays as it is`)
		return value
	}
	found, whole := r.post.FindAll(value, maxFound)
	if !whole && len(found) < maxFound {
		x.slow++
		x.addProblem(errormask.Regexp, tag, number, `"postProcessing" takes too much time; the value stays as it is`)
		return value
	}
	return strings.Join(found, x.ruleDelimiter(r))
}

// defaultOf returns the default of a rule. "@<strftime>" of type datetime is the current time.
func (x *run) defaultOf(r *rule) string {
	format, isTime := strings.CutPrefix(r.alternative, "@")
	if r.kind != typeDatetime || !isTime {
		return r.alternative
	}
	if format == "" {
		return x.o.Now.Format(isoDate)
	}
	written, err := dates.Format(format, x.o.Now)
	if err != nil {
		return ""
	}
	return written
}
