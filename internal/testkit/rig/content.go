package rig

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Content is one processed page of a URL_CONTENT answer.
type Content struct {
	MD5   string
	Title string // "" for a page without title
	Text  string
}

// Contents returns the processed contents of pages of a site, in any order. It skips pages
// without one.
func (r *Rig) Contents(ctx context.Context, id string, rows []Row) ([]Content, error) {
	const processed = 1 // contentTypeMask: the best processed content
	requests := make([]any, len(rows))
	for i, row := range rows {
		requests[i] = map[string]any{
			"siteId": id, "url": row.URL, "urlMd5": row.MD5, "contentTypeMask": processed,
			"attributeNames": []string{}, "dbFieldsList": []string{"Status"},
		}
	}
	var answers []struct {
		MD5       string `json:"urlMd5"`
		Processed []struct {
			Buffer string `json:"buffer"`
		} `json:"processedContents"`
	}
	if err := r.Ask(ctx, "URL_CONTENT", requests, &answers); err != nil {
		return nil, err
	}
	var contents []Content
	for _, answer := range answers {
		if len(answer.Processed) == 0 {
			continue
		}
		text, err := base64.StdEncoding.DecodeString(answer.Processed[0].Buffer)
		if err != nil {
			return nil, fmt.Errorf("decode content of %s: %w", answer.MD5, err)
		}
		var tree any
		if err := json.Unmarshal(text, &tree); err != nil {
			return nil, fmt.Errorf("decode content of %s: %w", answer.MD5, err)
		}
		contents = append(contents, Content{
			MD5: answer.MD5, Title: tagValue(tree, "title"), Text: tagValue(tree, "content_encoded"),
		})
	}
	return contents, nil
}

// tagValue returns the value of a tag in a processed content. A site's template may put it in a
// field ({"title": "x"}) or a tag list ({"name": "title", "data": ["x"]}), at any depth.
// The first one counts; "" if it is missing.
func tagValue(tree any, name string) string {
	switch node := tree.(type) {
	case []any:
		for _, child := range node {
			if found := tagValue(child, name); found != "" {
				return found
			}
		}
	case map[string]any:
		if node["name"] == name {
			return joinWords(node["data"])
		}
		if value, ok := node[name]; ok {
			if found := joinWords(value); found != "" {
				return found
			}
		}
		for _, key := range slices.Sorted(maps.Keys(node)) { // sorted, to be deterministic
			if found := tagValue(node[key], name); found != "" {
				return found
			}
		}
	}
	return ""
}

// joinWords joins a text or a list of texts.
func joinWords(value any) string {
	switch v := value.(type) {
	case string:
		return strings.TrimSpace(v)
	case []any:
		var all []string
		for _, one := range v {
			if text := joinWords(one); text != "" {
				all = append(all, text)
			}
		}
		return strings.Join(all, " ")
	}
	return ""
}
