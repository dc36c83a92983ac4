package extractor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/process/article"
	"hce/dc/internal/wire/result"
)

// Extractor finds tags in a page. It does not change the tree of the page, fetches nothing,
// and may be used for many pages, one at a time.
type Extractor interface {
	// Name is the name in lists and results.
	Name() string

	// Extract returns what it finds. It may return both a usable result and an error.
	Extract(ctx context.Context, page *article.Page) (Found, error)
}

// Found is what an extractor found in a page.
type Found struct {
	Tags   []result.Tag
	Closed []string // tags that no later extractor may fill
}

// Names of the extractors.
const (
	Scrapy    = "ScrapyExtractor"
	Goose     = "GooseExtractor"
	Newspaper = "NewspaperExtractor"
	ML        = "MLExtractor"
	PlainText = "PlainTextExtractor"
)

// Options are what a site says about its extractors. The zero value is valid.
type Options struct {
	Rules     *Rules    // of ScrapyExtractor; nil: the general ones
	Hosts     []string  // host names or URLs to look rules up for, in order; the page's URL if empty
	Validator Validator // values to drop
}

// newExtractor returns an extractor by its name, or nil.
func newExtractor(name string, o Options) Extractor {
	switch name {
	case Scrapy:
		return newRuleExtractor(o)
	case Goose:
		return engine{Goose, article.Precision}
	case Newspaper:
		return engine{Newspaper, article.Default}
	case ML:
		return engine{ML, article.Recall}
	case PlainText:
		return engine{PlainText, article.Visible}
	}
	return nil
}

// All returns the names of all extractors.
func All() []string { return []string{Scrapy, Goose, Newspaper, ML, PlainText} }

// isKnownEngine reports whether there is an extractor of this name.
func isKnownEngine(name string) bool { return slices.Contains(All(), name) }

// unknownEngines returns an error that lists names without an extractor.
func unknownEngines(names []string) error {
	return fmt.Errorf("unknown extractors %s; there are %s", quoteNames(names), strings.Join(All(), ", "))
}

func quoteNames(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%.60q", name)
	}
	return strings.Join(quoted, ", ")
}
