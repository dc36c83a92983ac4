// Package chain joins the parts of a page that continues in other pages to one result
// (URL_CHAIN, docs/spec/processing.md 1.7).
//
//	rule, err := chain.Parse(`{"url_pattern":"page=","tags_name":["content_encoded"],"delimiter":" "}`)
//	ids := chain.Parts(file) // of the .chain file of the first page
//	page := rule.Fold(results)
package chain

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/result"
)

// Rule is a value of URL_CHAIN.
type Rule struct {
	Tags      []string // that are joined; nil: all but service tags
	Delimiter string   // between texts; not empty
}

// Parse reads URL_CHAIN. It returns nil if the property is off. The crawler reads its url_pattern
// (linkrules.ParseChain).
func Parse(text string) (*Rule, error) {
	var v *struct {
		Pattern   *string    `json:"url_pattern"`
		Tags      prop.Texts `json:"tags_name"`
		Delimiter string     `json:"delimiter"`
	}
	if err := prop.Decode(text, &v); err != nil || v == nil || v.Pattern == nil {
		return nil, err
	}
	if *v.Pattern == "" {
		return nil, errors.New(`has no expression at "url_pattern"`)
	}
	return &Rule{Tags: v.Tags, Delimiter: cmp.Or(v.Delimiter, " ")}, nil
}

// Parts returns the keys of a .chain file, one for each line, in order, each once. It skips other
// lines.
func Parts(file []byte) []string {
	var keys []string
	met := map[string]bool{}
	for line := range bytes.Lines(file) {
		key := string(bytes.TrimSpace(line))
		if wire.CheckMd5("chain", "urlMd5", key) == nil && !met[key] {
			met[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// Fold returns the first part with the tags of the others: the first value of each is appended
// to the first value of the same tag, and its extractor if it is another one; missing tags are
// copied. Defaults of rules are not appended, and give way to values. The time is that of all
// parts. The parts are not changed. Without parts the result is empty. Metrics are those of the
// first part: see ranking.Again.
func (c *Rule) Fold(parts []result.Result) result.Result {
	if len(parts) == 0 {
		return result.Result{}
	}
	page := parts[0]
	page.Tags = slices.Clone(page.Tags)
	for i := range page.Tags {
		page.Tags[i].Data = slices.Clone(page.Tags[i].Data)
	}
	joined := map[string]*strings.Builder{} // appending to a text would copy it for each part
	for _, part := range parts[1:] {
		page.Time += part.Time
		for _, t := range part.Tags {
			if c.joinsTag(&t) {
				c.joinTag(&page, t, joined)
			}
		}
	}
	for name, text := range joined {
		page.Tag(name).Data[0] = text.String()
	}
	return page
}

func (c *Rule) joinsTag(t *result.Tag) bool {
	if c.Tags == nil {
		return t.Extractor != result.Service
	}
	return slices.Contains(c.Tags, t.Name)
}

// joinLists appends a list of objects to another one. A list and a text stay apart: the first stays.
func joinLists(old, more *result.Tag) {
	if old.Type == more.Type {
		old.Data[0] = strings.TrimSuffix(old.Data[0], "]") + "," + strings.TrimPrefix(more.First(), "[")
	}
}

func (c *Rule) joinTag(page *result.Result, t result.Tag, joined map[string]*strings.Builder) {
	old, value := page.Tag(t.Name), t.First()
	switch {
	case value == "":
		return
	case old == nil || len(old.Data) == 0 || old.Default && !t.Default:
		page.Add(t)
		return
	case t.Default:
		return
	case old.Type == result.TypeRecords || t.Type == result.TypeRecords:
		joinLists(old, &t)
		return
	}
	text := joined[t.Name]
	if text == nil {
		text = &strings.Builder{}
		text.WriteString(old.Data[0])
		joined[t.Name] = text
	}
	text.WriteString(c.Delimiter)
	text.WriteString(value)
	if !slices.Contains(strings.Fields(old.Extractor), t.Extractor) {
		old.Extractor = strings.TrimSpace(old.Extractor + " " + t.Extractor)
	}
}
