package scraper

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/process/author"
	"hce/dc/internal/process/chain"
	"hce/dc/internal/process/contenthash"
	"hce/dc/internal/process/extractor"
	"hce/dc/internal/process/language"
	"hce/dc/internal/process/linkresolve"
	"hce/dc/internal/process/media"
	"hce/dc/internal/process/pubdate"
	"hce/dc/internal/process/ranking"
	"hce/dc/internal/process/redirectlink"
	"hce/dc/internal/process/render"
	"hce/dc/internal/process/template"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/property"
	"hce/dc/internal/wire/result"
)

// Values of PROCESSOR_NAME that change how a page is read (docs/spec/processing.md 1.4). Any
// other name is that of the ordinary scraper.
const (
	multiItems = "SCRAPER_MULTI_ITEMS"
	customJSON = "SCRAPER_CUSTOM"
	storeRaw   = "STORE"
)

// rawData is the algorithm_name that stores the raw content instead of extracting it.
const rawData = "raw-data"

// Problem is a rule that cannot be followed.
type Problem struct {
	Bits errormask.Mask
	Text string // names the property, what is wrong and what is left out
}

// Source is what Compile reads. A worker gets it once, before the first page of a site.
type Source struct {
	ID         uint64 // of the settings in this process
	Properties map[string]string
	Filters    []filter.Rule
}

// Rules are the properties and filters of a site that the extraction follows, compiled. They
// serve one page at a time.
type Rules struct {
	Needs   Needs
	Sources []template.Source  // of TEMPLATE_SOURCE; Page.Templates has their texts
	Links   *linkresolve.Rules // of LINK_RESOLVE; nil: no link is resolved

	// Evaluate returns the value of an SQL expression without columns; "" for NULL. nil:
	// expressions of dates cannot be followed.
	Evaluate func(expression string) (string, error)

	filters   *filter.Set
	algorithm string
	dynamic   *extractor.Set
	templates *template.Set
	formats   map[*template.Template]*render.Format
	text      *template.Text
	reduces   bool // the site asks to shorten the texts of extractors too
	metrics   []string
	best      string // DEFAULT_METRIC
	hash      *contenthash.Rule
	mapping   map[string]int64 // TAGS_MAPPING; nil: the bits of the table
	dates     pubdate.Rules
	dateAsked bool // the site names the sources of dates
	redirect  redirectlink.Mode
	chain     *chain.Rule
	languages *language.Rules // nil: no detection
	authors   *author.Rules   // nil: names are not changed
	media     media.Rules

	mediaFilters bool           // a filter is for media
	mask         canonical.Mask // of extracted links
}

// Needs are fields of Page that cost a read of the stores or an encoding.
type Needs struct{ Header, Fields, Row, Chain bool }

// options are keys of PROCESSOR_PROPERTIES (docs/spec/processing.md 1.5).
type options struct {
	raw  string
	keys map[string]json.RawMessage
}

// optionNames are all keys of PROCESSOR_PROPERTIES. Some had an effect in the original only.
var optionNames = []string{
	"algorithm", "modules", "metrics", "tagsValidator", "SCRAPER_TEXT_MARKUP", "SCRAPER_KEEP_ATTRIBUTES", "CLOSE_VOID", "SCRAPER_TEXT_REDUCER",
	"SCRAPER_TEXT_REDUCER_MASK", "SCRAPER_TAG_ITEMS_DELIMITER", "SCRAPER_TAG_ITEMS_INNER_DELIMITER", "SCRAPER_LANG_DETECT",
	"PDATE_SOURCES_EXPRESSION", "URL_NORMALIZE_MASK_PROCESSOR", "SCRAPER_DOWNLOAD_IMAGES", "IMAGE_RATION", "EXTRACTOR_USER_AGENT",
	"EXTRACTOR_NEWSPAPER_MAX_EXECUTION", "EXTRACTOR_GOOSE_MAX_EXECUTION", "EXTRACTOR_CUSTOM_MAX_EXECUTION", "parentMd5", "rank", "html5",
}

// compiling collects the problems of Compile.
type compiling struct {
	*Rules
	p        *property.Values
	options  options
	problems []Problem
}

// Compile reads the rules of a site. The problems name each part that is left out.
func Compile(s *Source) (*Rules, []Problem) {
	c := &compiling{Rules: &Rules{}, p: &property.Values{Texts: s.Properties}}
	set, broken := filter.Compile(s.Filters)
	c.filters = set
	for _, err := range broken {
		c.addProblem(errormask.BatchItem, err)
	}
	c.mediaFilters = slices.ContainsFunc(s.Filters, func(f filter.Rule) bool { return f.Mode == 1 && f.State != 0 })
	c.options = property.Parsed(c.p, "PROCESSOR_PROPERTIES", parseOptions)
	for _, name := range slices.Sorted(maps.Keys(c.options.keys)) {
		if !slices.Contains(optionNames, name) {
			c.addProblem(0, fmt.Errorf("property PROCESSOR_PROPERTIES has unknown key %q; it has no effect", prop.Clip(name)))
		}
	}
	c.readExtractors()
	c.readTemplates()
	c.readResults()
	processor := strings.ToUpper(c.p.Text("PROCESSOR_NAME"))
	c.Needs.Header = c.redirect != redirectlink.Off || processor == "RSS"
	c.Needs.Row = processor == multiItems || processor == customJSON || c.p.Text("PDATE_TIME") != "" || c.dates.Expression != ""
	c.Needs.Chain = c.chain != nil
	c.readSources()
	c.Links = property.Parsed(c.p, "LINK_RESOLVE", linkresolve.Parse)
	if c.Links != nil && (c.p.Text("USER_PROXY") != "" || c.p.Text("HTTP_PROXY_HOST") != "") {
		c.p.Fail("LINK_RESOLVE", "would request links past the proxy of the site; remove one of them")
		c.Links = nil
	}
	for _, err := range c.p.Errs {
		c.addProblem(errormask.BatchItem, err)
	}
	return c.Rules, c.problems
}

// addProblem adds a problem. An error may have bits of its own.
func (c *compiling) addProblem(bits errormask.Mask, err error) {
	if err == nil {
		return
	}
	c.problems = append(c.problems, Problem{cmp.Or(errormask.Of(err), bits), err.Error()})
}

func parseOptions(text string) (options, error) {
	o := options{raw: text, keys: map[string]json.RawMessage{}}
	var members prop.Members
	if err := prop.Decode(text, &members); err != nil {
		return options{}, err
	}
	for _, m := range members {
		o.keys[m.Name] = m.Value
	}
	return o, nil
}

// keyText returns a key as a text: an object or list is its JSON.
func (o options) keyText(name string) string {
	raw := o.keys[name]
	if text, err := prop.Text(raw); err == nil {
		return strings.TrimSpace(text)
	}
	return string(raw)
}

// propertyOrKey returns a property, or the key of PROCESSOR_PROPERTIES of the other name.
func (c *compiling) propertyOrKey(name, key string) string {
	return cmp.Or(c.p.Text(name), c.options.keyText(key))
}

// readExtractors reads the algorithm and its list of extractors.
func (c *compiling) readExtractors() {
	var algorithm struct {
		Name string `json:"algorithm_name"`
	}
	if raw, given := c.options.keys["algorithm"]; given {
		if err := prop.Decode(string(raw), &algorithm); err != nil {
			c.addProblem(errormask.Scraper, fmt.Errorf("property PROCESSOR_PROPERTIES has algorithm %s: %w", prop.Clip(string(raw)), err))
		}
	}
	c.algorithm = cmp.Or(strings.TrimSpace(algorithm.Name), c.p.Text("PROCESSOR_ALGORITHM"), extractor.DefaultAlgorithm)
	var o extractor.Options
	var err error
	if text := c.propertyOrKey("SCRAPER_SCRAPY_PRECONFIGURED", "SCRAPER_SCRAPY_PRECONFIGURED"); text != "" {
		if o.Rules, err = extractor.ParsePreconfigured(text); err != nil {
			c.addProblem(errormask.Scraper, fmt.Errorf("property SCRAPER_SCRAPY_PRECONFIGURED %w", err))
		}
	}
	if text := c.options.keyText("tagsValidator"); text != "" {
		if o.Validator, err = extractor.ParseValidator(text); err != nil {
			c.addProblem(errormask.Scraper, fmt.Errorf("property PROCESSOR_PROPERTIES has tagsValidator that %w", err))
		}
	}
	if c.algorithm == rawData {
		return
	}
	if c.dynamic, err = parseExtractors(c.options.keyText("modules"), c.algorithm, o); err != nil {
		c.addProblem(errormask.Scraper, fmt.Errorf("property PROCESSOR_PROPERTIES: %w; the default extractors are used", err))
		c.algorithm = extractor.DefaultAlgorithm
		c.dynamic, err = parseExtractors("", c.algorithm, o)
		c.addProblem(errormask.Scraper, err)
	}
}

func parseExtractors(modules, algorithm string, o extractor.Options) (*extractor.Set, error) {
	lists, err := extractor.ParseLists(modules)
	if err != nil {
		return nil, err
	}
	if algorithm == extractor.DefaultAlgorithm && modules == "" {
		return extractor.New([]string{extractor.Newspaper}, o) // it compares engines by itself
	}
	names, err := lists.Names(algorithm)
	if err != nil {
		return nil, err
	}
	return extractor.New(names, o)
}

// readTemplates reads the templates with their output formats, and how texts are taken.
func (c *compiling) readTemplates() {
	text := cmp.Or(c.p.Text("template"), c.p.Text("TEMPLATE"))
	set, err := template.Parse(text)
	if err != nil {
		c.addProblem(errormask.TemplateSource, fmt.Errorf("property template %w; no template is used", err))
		set, _ = template.Parse("")
	}
	c.templates = set
	for _, p := range set.Problems() {
		c.addProblem(p.Bits, errors.New("property template: "+p.String()))
	}
	for _, name := range set.Unknown {
		c.addProblem(0, fmt.Errorf("property template has unknown key %s; it has no effect", name))
	}
	c.formats = map[*template.Template]*render.Format{}
	for _, t := range set.Templates {
		f, err := render.Parse(t.OutputFormat)
		if err != nil {
			c.addProblem(errormask.TemplateSource, fmt.Errorf("property template, %s: %w", t.Label(), err))
		}
		if f != nil {
			c.formats[t] = f
		}
	}
	if c.text, err = template.ParseText(c.options.raw); err != nil {
		c.addProblem(errormask.Scraper, fmt.Errorf("property PROCESSOR_PROPERTIES %w", err))
		c.text = &template.Text{}
	}
	c.reduces = c.options.keys["SCRAPER_TEXT_REDUCER"] != nil
	c.Needs.Fields = strings.Contains(text, `condition`)
}

// readSources reads where templates come from. One of them may have a condition.
func (c *compiling) readSources() {
	var err error
	if c.Sources, err = template.ParseSources(c.p.Text("TEMPLATE_SOURCE")); err != nil {
		c.addProblem(errormask.TemplateSource, fmt.Errorf("property TEMPLATE_SOURCE %w", err))
	}
	for i := range c.Sources {
		if !c.Sources[i].Scheduled() {
			c.addProblem(0, fmt.Errorf(`property TEMPLATE_SOURCE source %d has no "schedule"; it is never used`, i+1))
		}
	}
	c.Needs.Fields = c.Needs.Fields || len(c.Sources) > 0
}

// readResults reads what is done with results.
func (c *compiling) readResults() {
	var err error
	if text := c.propertyOrKey("SCRAPER_METRICS", "metrics"); text != "" {
		if c.metrics, err = ranking.ParseMetrics(text); err != nil {
			c.addProblem(errormask.Scraper, fmt.Errorf("property SCRAPER_METRICS %w", err))
		}
	}
	if c.best = c.p.Text("DEFAULT_METRIC"); c.best != "" {
		if c.best, err = ranking.CheckMetric(c.best); err != nil {
			c.addProblem(errormask.Scraper, fmt.Errorf("property DEFAULT_METRIC: %w", err))
		}
	}
	if text := c.options.keyText("SCRAPER_LANG_DETECT"); text != "" {
		if c.languages, err = language.Parse(text); err != nil {
			c.addProblem(errormask.Scraper, fmt.Errorf("property PROCESSOR_PROPERTIES has SCRAPER_LANG_DETECT that %w", err))
		}
	}
	if c.p.Text("TAGS_TYPES") != "" {
		rules := property.ParsedOr(c.p, "TAGS_TYPES", author.Default, author.Parse)
		c.authors = &rules
	}
	c.media = media.Rules{Filters: c.filters, Limits: property.Parsed(c.p, "MEDIA_LIMITS", media.Parse)}
	c.mapping = property.Parsed(c.p, "TAGS_MAPPING", result.ParseMapping)
	c.hash = property.Parsed(c.p, "CONTENT_HASH", contenthash.Parse)
	c.redirect = property.Parsed(c.p, "HTTP_REDIRECT_LINK", redirectlink.Parse)
	c.chain = property.Parsed(c.p, "URL_CHAIN", chain.Parse)
	c.dates = pubdate.Read(c.p, c.options.keyText("PDATE_SOURCES_EXPRESSION"))
	c.dateAsked = c.p.Text("PDATE_SOURCES_MASK") != ""
	mask := c.propertyOrKey("URL_NORMALIZE_MASK_PROCESSOR", "URL_NORMALIZE_MASK_PROCESSOR")
	var n prop.Int
	if mask != "" && prop.Decode(mask, &n) != nil {
		c.addProblem(errormask.BatchItem, fmt.Errorf("property URL_NORMALIZE_MASK_PROCESSOR has %q; expected a number", prop.Clip(mask)))
	}
	c.mask = canonical.Mask(n)
}
