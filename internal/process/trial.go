package process

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/process/document"
	"hce/dc/internal/process/render"
	"hce/dc/internal/process/scraper"
	"hce/dc/internal/process/template"
	"hce/dc/internal/web/charset"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/xpath"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/result"
	"hce/dc/internal/wire/urlkey"
)

// Trial is the templates of a site on one page, for a person who writes them.
type Trial struct {
	Template   string // the property template
	Properties string // the property PROCESSOR_PROPERTIES
	Items      bool   // PROCESSOR_NAME is SCRAPER_MULTI_ITEMS
	URL        string // of the page
	Base       string // of its links; "": URL
	Type       string // value of Content-Type
	Page       []byte
	Now        time.Time
}

// TrialReport says what each template found, and which result would be stored.
type TrialReport struct {
	URL        string          `json:"url"`
	Select     string          `json:"select"`
	Chosen     int             `json:"chosen"` // index in templates; -1: none
	Templates  []TriedTemplate `json:"templates"`
	Problems   []string        `json:"problems"`
	Unknown    []string        `json:"unknownKeys"`
	ErrorNames []string        `json:"errorNames"`
}

// TriedTemplate is one template of a TrialReport.
type TriedTemplate struct {
	Name      string              `json:"name"`
	Applied   bool                `json:"applied"`
	Reason    string              `json:"reason,omitempty"` // why it was not applied
	TagsCount int64               `json:"tagsCount"`
	Results   []map[string]string `json:"results"` // tags to values: of the page, or of each item
	Trace     *template.Trace     `json:"trace,omitempty"`
}

// NewTrial reads the file of a trial: the JSON of the property template, or the object of
// SITE_NEW with this property.
func NewTrial(file []byte) (*Trial, error) {
	file = bytes.TrimPrefix(file, []byte("\xef\xbb\xbf")) // as editors of Windows write it
	t := &Trial{Template: string(file), Type: "text/html"}
	var members prop.Members
	if prop.Decode(t.Template, &members) == nil && hasSite(members) {
		site, err := wire.ReadSiteNew(file, &lenient.Notes{})
		if err != nil {
			return nil, err
		}
		properties := map[string]string{}
		for _, p := range site.Properties {
			properties[p.Text("Name")] = p.Text("Value")
		}
		t.Template = properties["template"]
		if t.Template == "" {
			t.Template = properties["TEMPLATE"]
		}
		if t.Template == "" {
			return nil, errors.New("the site has no property template")
		}
		t.Properties = properties["PROCESSOR_PROPERTIES"]
		t.Items = strings.EqualFold(strings.TrimSpace(properties["PROCESSOR_NAME"]), "SCRAPER_MULTI_ITEMS")
	}
	if _, err := template.Parse(t.Template); err != nil {
		return nil, fmt.Errorf("property template: %w", err)
	}
	if _, err := template.ParseText(t.Properties); err != nil {
		return nil, fmt.Errorf("property PROCESSOR_PROPERTIES: %w", err)
	}
	return t, nil
}

// hasSite reports whether an object is a site: its properties are not the rules of a tag.
func hasSite(members prop.Members) bool {
	for _, m := range members {
		if m.Name == "properties" {
			var rules []struct {
				Target any `json:"target"`
			}
			return json.Unmarshal(m.Value, &rules) != nil || len(rules) == 0 || rules[0].Target == nil
		}
	}
	return false
}

// Try applies the templates of a trial in a worker. The error says that the page exceeds the
// budget, or that no worker can be started.
func (w *Workers) Try(t *Trial) (TrialReport, error) {
	var report TrialReport
	out, err := w.runRequest(func(*worker) request { return request{Trial: t} }, watch{over: func() bool { return false }, slow: func() {}})
	if err != nil {
		return report, err
	}
	if out.Item.Content == nil {
		return report, errors.New(out.Message)
	}
	return report, json.Unmarshal(out.Item.Content, &report)
}

// reportOutput is the report as the output of a worker.
func (t *Trial) reportOutput() scraper.Output {
	report, err := t.buildReport()
	if err != nil {
		return scraper.Output{Message: err.Error()}
	}
	text, err := json.Marshal(report)
	if err != nil {
		return scraper.Output{Message: err.Error()}
	}
	return scraper.Output{Item: scraper.Item{Content: text}}
}

// buildReport applies the templates.
func (t *Trial) buildReport() (*TrialReport, error) {
	set, err := template.Parse(t.Template)
	if err != nil {
		return nil, err
	}
	text, err := template.ParseText(t.Properties)
	if err != nil {
		return nil, err
	}
	if document.FormatOf(t.Type, t.Page) != document.HTML {
		return nil, fmt.Errorf("the page is no HTML (Content-Type %q); templates have rules for HTML only", prop.Clip(t.Type))
	}
	page, _, err := charset.Decode(t.Page, t.Type)
	if page == nil {
		return nil, fmt.Errorf("the page is not a text: %w", err)
	}
	doc, err := xpath.HTML(text.Prepare(page))
	if err != nil {
		return nil, err
	}
	report := &TrialReport{URL: t.URL, Select: set.Select, Unknown: set.Unknown}
	list, problems := set.For(t.fieldValue)
	var results []result.Result
	for _, one := range list {
		o := template.Options{URL: t.URL, Base: t.baseURL(doc), Now: t.Now, Text: text, Trace: &template.Trace{}}
		tried := TriedTemplate{Name: one.Label(), Applied: true, Trace: o.Trace}
		first, found := t.applyTemplate(one, doc, o, &tried)
		results, problems = append(results, first), append(problems, found...)
		report.Templates = append(report.Templates, tried)
	}
	chosen, found := set.Choose(list, results)
	problems = append(append(problems, found...), formatProblems(list)...)
	report.Chosen, report.ErrorNames = chosen, template.Bits(problems).Names()
	report.leftOut(set, list)
	for _, p := range problems {
		report.Problems = append(report.Problems, p.String())
	}
	return report, nil
}

// formatProblems returns what is wrong with the output formats of templates.
func formatProblems(list []*template.Template) (problems []template.Problem) {
	for _, one := range list {
		if _, err := render.Parse(one.OutputFormat); err != nil {
			problems = append(problems, template.Problem{Bits: errormask.TemplateSource, Template: one.Label(), Message: err.Error()})
		}
	}
	return problems
}

// applyTemplate applies one template and returns its result, or that of the first item.
func (t *Trial) applyTemplate(one *template.Template, doc *xpath.Document, o template.Options, tried *TriedTemplate) (result.Result, []template.Problem) {
	var list []result.Result
	var problems []template.Problem
	if t.Items {
		list, problems = one.Items(context.Background(), doc, o)
	} else {
		list = make([]result.Result, 1)
		list[0], problems = one.Apply(context.Background(), doc, o)
	}
	for _, r := range list {
		tags := map[string]string{}
		for _, tag := range r.Tags {
			tags[tag.Name] = strings.Join(tag.Data, " ")
		}
		tried.Results = append(tried.Results, tags)
	}
	tried.TagsCount = list[0].Count()
	return list[0], problems
}

// anyBase finds the base element of a page.
var anyBase, _ = xpath.Compile("//base/@href")

// baseURL returns the URL against which the links of the page are resolved.
func (t *Trial) baseURL(doc *xpath.Document) string {
	url := cmp.Or(t.Base, t.URL)
	if found, _ := anyBase.Texts(context.Background(), doc, 1); len(found) > 0 {
		if base, err := canonical.Web.Resolve(url, found[0]); err == nil {
			return base
		}
	}
	return url
}

// leftOut adds the templates that were not applied.
func (r *TrialReport) leftOut(set *template.Set, applied []*template.Template) {
	used := map[*template.Template]bool{}
	for _, one := range applied {
		used[one] = true
	}
	for _, one := range set.Templates {
		if !used[one] {
			r.Templates = append(r.Templates, TriedTemplate{Name: one.Label(), Reason: one.WhyNot()})
		}
	}
}

// fieldValue returns a field of the URL of the trial: that of a new root URL.
func (t *Trial) fieldValue(name string) (string, bool) {
	value, known := map[string]string{
		"url": t.URL, "contentType": content.Normal(t.Type), "parentMd5": "", "depth": "0", "urlMd5": urlkey.Of(t.URL), "httpCode": "200",
		"siteId": "", "charset": "", "type": "0", "httpMethod": "get",
	}[name]
	return value, known
}
