package extractor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/process/article"
	"hce/dc/internal/wire/result"
)

// Set is a list of extractors. It may be used for many pages, one at a time.
type Set struct {
	list      []Extractor
	validator Validator
}

// New returns the extractors of the names, in this order. The error lists unknown names.
func New(names []string, o Options) (*Set, error) {
	s := &Set{validator: o.Validator}
	var wrong []string
	for _, name := range names {
		if x := newExtractor(name, o); x != nil {
			s.list = append(s.list, x)
		} else {
			wrong = append(wrong, name)
		}
	}
	switch {
	case len(wrong) > 0:
		return nil, unknownEngines(wrong)
	case len(s.list) == 0:
		return nil, errors.New("the list of extractors is empty")
	}
	return s, nil
}

// Names returns the names of the extractors, in their order.
func (s *Set) Names() []string {
	names := make([]string, len(s.list))
	for i, x := range s.list {
		names[i] = x.Name()
	}
	return names
}

// Dynamic runs the extractors on a page. The first result is merged: of each tag it has the
// first value that is not blank, in the order of the list. One result for each extractor
// follows. URLs in tags are absolute. The results are usable even with an error, which names
// the extractors that failed. Source: docs/spec/processing.md 2.3.
func (s *Set) Dynamic(ctx context.Context, page *article.Page) ([]result.Result, error) {
	start := time.Now()
	merged := result.Result{}
	results := make([]result.Result, 1, len(s.list)+1)
	closed := map[string]bool{}
	var failed []error
	for _, x := range s.list {
		begin := time.Now()
		found, err := x.Extract(ctx, page)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", x.Name(), err))
		}
		var own result.Result
		for _, tag := range found.Tags {
			resolveTag(&tag, page)
			s.validator.validateTag(&tag)
			own.Add(tag)
		}
		own.Time = time.Since(begin)
		for _, tag := range own.Tags {
			if merged.Tag(tag.Name) == nil && !closed[tag.Name] {
				tag.Data = slices.Clone(tag.Data)
				merged.Add(tag)
			}
		}
		for _, name := range found.Closed {
			closed[name] = true
		}
		results = append(results, own)
	}
	if merged.Tag("description") == nil && !closed["description"] {
		merged.Add(result.Tag{Name: "description", Data: []string{page.Metadata().Description}, Extractor: result.Service})
	}
	merged.Time = time.Since(start)
	results[0] = merged
	return results, errors.Join(failed...)
}

// addresses are the tags whose values are URLs.
var addresses = []string{"media", "link", "media_content", "links", "href"}

// resolveTag makes the URLs of a tag absolute. Values may have several URLs, separated by
// spaces; they become separated by commas.
func resolveTag(tag *result.Tag, page *article.Page) {
	if !slices.Contains(addresses, tag.Name) {
		return
	}
	values := make([]string, len(tag.Data))
	for i, value := range tag.Data {
		parts := strings.Fields(value)
		if strings.Contains(value, "<") {
			parts = []string{value} // markup
		}
		for k, part := range parts {
			parts[k] = absoluteURL(part, page.Base())
		}
		values[i] = strings.Join(parts, ",")
	}
	tag.Data = values
}

// absoluteURL returns the absolute form of a URL, or the text itself if it has none.
func absoluteURL(text, base string) string {
	if strings.HasPrefix(text, "data:") || strings.Contains(text, "<") {
		return text
	}
	if u, err := canonical.Web.Resolve(base, text); err == nil {
		return u
	}
	return text
}
