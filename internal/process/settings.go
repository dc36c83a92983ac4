package process

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"hce/dc/internal/process/linkresolve"
	"hce/dc/internal/process/scraper"
	"hce/dc/internal/process/template"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/property"
)

// noProcessor is the PROCESSOR_NAME that the job uses; package scraper has the others
// (docs/spec/processing.md 1.4).
const noProcessor = "NONE" // the item is not processed

// settings are the properties of a site, overridden by those of an item, that decide whether
// and how an item is processed. docs/properties.md describes them.
type settings struct {
	name        string // PROCESSOR_NAME in upper case
	replaced    []replacedName
	types       []string // PROCESS_CTYPES in lower case; empty: all
	typeMap     content.TypeMap
	reprocess   bool // false: keep the stored content
	tidy        bool // use the repaired copy of a page
	filters     *filter.Set
	expressions []wire.FieldExpression
	rules       *scraper.Source // for the extraction
	site        *wire.Site
	needs       scraper.Needs
	sources     []template.Source  // of templates
	links       *linkresolve.Rules // nil: links are not resolved
	insecureTLS bool               // requests for sources and links do not check certificates
	robots      bool               // requests for links obey robots.txt
	bits        errormask.Mask     // of properties that cannot be read
}

// replacedName is an element of PROCESSOR_NAME_REPLACE: pages of these types have another
// processor.
type replacedName struct {
	name  string
	types []string
}

// readSettings reads the settings of an item. Each error names a property or filter that is left
// out.
func readSettings(site *wire.Site, over map[string]string) (*settings, []error) {
	p := property.Of(site, over)
	s := &settings{site: site, types: processedTypes(site, over)}
	s.name = strings.ToUpper(p.Text("PROCESSOR_NAME"))
	if _, given := over["PROCESSOR_NAME"]; !given && over["processorName"] != "" {
		s.name = strings.ToUpper(strings.TrimSpace(over["processorName"]))
	}
	s.replaced = property.Parsed(p, "PROCESSOR_NAME_REPLACE", parseReplacedNames)
	s.typeMap = property.Parsed(p, "CONTENT_TYPE_MAP", content.ParseTypeMap)
	s.reprocess = p.On("reprocess", true)
	s.tidy = p.Within("HTML_RECOVER", 0, 0, 2) > 0
	s.expressions = property.ParsedInPart(p, wire.ProcessorExpressions, wire.ReadFieldExpressions)
	s.insecureTLS, s.robots = p.Int("TLSVerify", 1) == 0, p.On("ROBOTS_MODE", true)
	s.rules = &scraper.Source{ID: ruleIDs.Add(1), Properties: p.Texts, Filters: filter.Rules(site.Filters)}
	s.filters, _ = filter.Compile(s.rules.Filters) // Compile of the rules reports the problems
	problems := p.Errs
	if len(problems) > 0 {
		s.bits = errormask.BatchItem
	}
	compiled, broken := scraper.Compile(s.rules)
	s.needs, s.sources, s.links = compiled.Needs, compiled.Sources, compiled.Links
	for _, b := range broken {
		s.bits |= b.Bits
		problems = append(problems, errors.New(b.Text))
	}
	return s, problems
}

// ruleIDs is the last ID of rules in this process.
var ruleIDs atomic.Uint64

// processorFor returns the name of the processor for a content type.
func (s *settings) processorFor(kind string) string {
	for _, r := range s.replaced {
		if slices.Contains(r.types, strings.ToLower(kind)) {
			return r.name
		}
	}
	return s.name
}

// allowsType reports whether a content type is processed.
func (s *settings) allowsType(kind string) bool {
	if len(s.types) == 0 {
		return true
	}
	kind = strings.ToLower(kind)
	return slices.ContainsFunc(s.types, func(t string) bool {
		return t == kind || t == "*" || t == "*/*" || s.typeMap[t] == kind && kind != ""
	})
}

// namesType reports whether PROCESS_CTYPES has a content type by its name. text/html is in it by default,
// so it says nothing.
func (s *settings) namesType(kind string) bool {
	kind = strings.ToLower(kind)
	return slices.Contains(s.types, kind) && !content.IsHTML(kind)
}

// processedTypes returns the values of PROCESS_CTYPES. Each is a list of types separated by
// commas, and a site may have several (docs/spec/processing.md 1.5).
func processedTypes(site *wire.Site, over map[string]string) (types []string) {
	var lists []string
	if v, ok := over["PROCESS_CTYPES"]; ok {
		lists = []string{v}
	} else {
		for _, p := range site.Properties {
			if p.Name == "PROCESS_CTYPES" {
				lists = append(lists, p.Value)
			}
		}
	}
	for t := range strings.SplitSeq(strings.ToLower(strings.Join(lists, ",")), ",") {
		if t = strings.TrimSpace(t); t != "" {
			types = append(types, t)
		}
	}
	return types
}

// parseReplacedNames reads {"processor": ["content type", …]}.
func parseReplacedNames(text string) ([]replacedName, error) {
	var members prop.Members
	if err := prop.Decode(text, &members); err != nil {
		return nil, err
	}
	list := make([]replacedName, 0, len(members))
	for _, m := range members {
		var types prop.Texts
		if err := prop.Decode(string(m.Value), &types); err != nil {
			return nil, fmt.Errorf("at %q: %w", prop.Clip(m.Name), err)
		}
		for i := range types {
			types[i] = strings.ToLower(strings.TrimSpace(types[i]))
		}
		list = append(list, replacedName{strings.ToUpper(strings.TrimSpace(m.Name)), types})
	}
	return list, nil
}
