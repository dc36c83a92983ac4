package extractor

import (
	"context"
	"slices"
	"strings"

	"hce/dc/internal/process/article"
	"hce/dc/internal/wire/result"
)

// engine is an extractor that runs an engine of package article.
type engine struct {
	name   string
	engine article.Engine
}

func (e engine) Name() string { return e.name }

func (e engine) Extract(_ context.Context, page *article.Page) (Found, error) {
	a, err := page.Article(e.engine)
	return Found{Tags: ArticleTags(a, e.name, e.filledTags())}, err
}

// filledTags returns the tags that the extractor fills; nil: all (docs/spec/processing.md 2.3).
func (e engine) filledTags() []string {
	switch e.name {
	case Goose:
		return []string{"title", "link", "pubdate", "dc_date", "content_encoded", "content_markdown", "keywords", "media"}
	case ML, PlainText:
		return []string{"content_encoded", "content_markdown"}
	}
	return nil
}

// ArticleTags returns the tags of an article as found by the extractor of this name. only
// lists the tags to return; nil: all. pubdate is a date as the page writes it.
func ArticleTags(a article.Article, name string, only []string) []result.Tag {
	var r result.Result
	add := func(tag string, values ...string) {
		if only != nil && !slices.Contains(only, tag) {
			return
		}
		t := result.Tag{Name: tag, Data: values, Extractor: name}
		if a.Language != "" {
			t.Lang, t.LangSuffix = a.Language, languageSuffix
		}
		r.Add(t)
	}
	add("title", a.Title)
	add("content_encoded", a.Text)
	add("content_markdown", a.Markdown)
	add("description", a.Description)
	add("author", a.Author)
	add("pubdate", a.DateText)
	add("dc_date", a.DublinDate)
	add("keywords", strings.Join(a.Keywords, ","))
	add("html_lang", a.Language)
	add("link", a.Canonical)
	add("media", a.Media...)
	add("links", a.Links...)
	if a.Comments != "" {
		add("comments", a.Comments)
	}
	return r.Tags
}

const languageSuffix = "_language"
