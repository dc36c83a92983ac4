// Package reading says what one page says, without a site and its rules: title, text, Markdown, links, and the fields that a person names.
//
//	q := reading.Question{URL: "https://shop.example/cup", ContentType: "text/html", Fields: json.RawMessage(`{"price":{"css":".price"}}`)}
//	text, err := q.Answer(body) // the JSON of an Answer
package reading

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"hce/dc/extract"
	"hce/dc/internal/process/document"
	"hce/dc/internal/process/fields"
	"hce/dc/internal/web/charset"
)

// Question is what is asked about a page.
type Question struct {
	URL         string // absolute
	ContentType string // header of the answer; "": found in the page
	Mode        extract.Mode
	HTML        bool            // the article as HTML too
	Parts       []string        // wanted ones of text, markdown, links and media; nil: all
	Fields      json.RawMessage // names to fields (package fields); nil: none
	Schema      json.RawMessage // JSON schema instead of Fields; nil: none
}

// Answer is what a page says.
type Answer struct {
	extract.Page
	Fields   map[string]any `json:"fields,omitempty"`
	Problems []string       `json:"problems,omitempty"` // what could not be read
}

// fieldsTime bounds the reading of fields; the steps of expressions are bounded too.
const fieldsTime = 5 * time.Second

// Compile returns the fields of a question, nil without any. Its error says what is wrong with the fields.
func (q *Question) Compile() (*fields.Set, error) {
	switch {
	case q.Fields != nil && q.Schema != nil:
		return nil, errors.New("give fields or a schema, not both")
	case q.Fields != nil:
		return fields.Parse(q.Fields)
	case q.Schema != nil:
		return fields.FromSchema(q.Schema)
	}
	return nil, nil
}

// Answer reads the page and returns the JSON of an Answer. The error says that nothing reads the content, or that the fields are wrong.
func (q *Question) Answer(body []byte) (json.RawMessage, error) {
	set, err := q.Compile()
	if err != nil {
		return nil, err
	}
	page, err := extract.Read(body, extract.Options{URL: q.URL, ContentType: q.ContentType, Mode: q.Mode, HTML: q.HTML})
	a := Answer{Page: page}
	if err != nil && !extract.IsPartial(err) {
		return nil, err
	}
	if err != nil {
		a.Problems = append(a.Problems, err.Error())
	}
	if set != nil {
		a.readFields(set, body, q)
	}
	a.keepParts(q.Parts)
	return json.Marshal(a)
}

// keepParts leaves out parts that are not wanted: they would be written, read and dropped.
func (a *Answer) keepParts(wanted []string) {
	if wanted == nil {
		return
	}
	if !slices.Contains(wanted, "text") {
		a.Text = ""
	}
	if !slices.Contains(wanted, "markdown") {
		a.Markdown = ""
	}
	if !slices.Contains(wanted, "links") {
		a.Links = nil
	}
	if !slices.Contains(wanted, "media") {
		a.Media = nil
	}
}

// readFields reads the fields of an HTML page.
func (a *Answer) readFields(set *fields.Set, body []byte, q *Question) {
	if document.FormatOf(q.ContentType, body) != document.HTML {
		a.Problems = append(a.Problems, fmt.Sprintf("fields are read from HTML only; the content is %q", q.ContentType))
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), fieldsTime)
	defer cancel()
	text, _, _ := charset.Decode(body, q.ContentType) // the error says that some bytes were replaced
	values, problems := set.Read(ctx, text, q.URL)
	if q.Schema != nil {
		set.Missing(values, a.member)
	}
	a.Fields, a.Problems = values, append(a.Problems, problems...)
}

// member returns what the engine reads of each page, by the name that people use for it.
func (a *Answer) member(name string) string {
	return map[string]string{
		"url": a.URL, "title": a.Title, "headline": a.Title, "name": a.Title, "author": a.Author, "date": a.Date, "datePublished": a.Date, "dateModified": a.Modified,
		"language": a.Language, "description": a.Description, "text": a.Text, "articleBody": a.Text, "markdown": a.Markdown,
	}[name]
}
