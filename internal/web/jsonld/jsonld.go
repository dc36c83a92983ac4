// Package jsonld reads the schema.org data that pages have in JSON-LD scripts.
//
//	for _, object := range jsonld.Objects(script) {
//		if object.Is("NewsArticle", "Article") {
//			title, authors := object.Text("headline"), object.Names("author")
//		}
//	}
//
// Such scripts are often invalid JSON: comments, trailing commas, line breaks in texts, HTML
// comments around them. What can be repaired is read. Source: docs/spec/processing.md 5.1.
package jsonld

import (
	"encoding/json"
	"html"
	"strconv"
	"strings"
)

const (
	// MaxText bounds a script, in bytes.
	MaxText = 1 << 20

	maxObjects = 200
	maxDepth   = 16
	maxTexts   = 100
)

// Object is one object of a script.
type Object map[string]any

// Objects returns the objects of a script, outer ones first, at most 200. It returns nil for
// a script that cannot be read.
func Objects(script string) []Object {
	if len(script) > MaxText {
		return nil
	}
	var value any
	if json.Unmarshal([]byte(script), &value) != nil && json.Unmarshal([]byte(repair(script)), &value) != nil {
		return nil
	}
	var all []Object
	level := []any{value}
	for depth := 0; depth < maxDepth && len(level) > 0; depth++ {
		level = collect(level, &all)
	}
	return all
}

// collect appends the objects of a level to all, and returns the values inside of them.
func collect(level []any, all *[]Object) (next []any) {
	for _, v := range level {
		switch v := v.(type) {
		case []any:
			next = append(next, v...)
		case map[string]any:
			if len(*all) == maxObjects {
				return nil
			}
			*all = append(*all, v)
			for _, key := range nested {
				if inner, ok := v[key]; ok {
					next = append(next, inner)
				}
			}
		}
	}
	return next
}

// nested are the keys that lead to other objects of a page, in the order of their weight.
var nested = []string{"@graph", "mainEntity", "mainEntityOfPage", "hasPart", "itemListElement", "item", "acceptedAnswer", "suggestedAnswer"}

// Is reports whether the object has one of the types.
func (o Object) Is(types ...string) bool {
	for _, have := range texts(o["@type"], 0) {
		have = have[strings.LastIndexByte(have, '/')+1:]
		for _, want := range types {
			if strings.EqualFold(have, want) {
				return true
			}
		}
	}
	return false
}

// Text returns the first text of a key that is not blank, without HTML escapes, or "".
func (o Object) Text(key string) string {
	for _, t := range o.Texts(key) {
		return t
	}
	return ""
}

// Texts returns the texts of a key: a text, a number, a list of them, or the @value of objects.
func (o Object) Texts(key string) []string { return clean(texts(o[key], 0)) }

// Names returns the names of the persons or things of a key: a text, or the name of an object.
func (o Object) Names(key string) []string { return clean(members(o[key], 0, "name", "alternateName")) }

// URLs returns the addresses of a key: a text, or the url, contentUrl or @id of an object.
func (o Object) URLs(key string) []string {
	return clean(members(o[key], 0, "url", "contentUrl", "@id"))
}

// texts returns the texts of a value.
func texts(value any, depth int) []string { return members(value, depth, "@value") }

// members returns the texts of a value. Of an object it takes the first of keys that has one.
func members(value any, depth int, keys ...string) (list []string) {
	if depth > 3 {
		return nil
	}
	switch v := value.(type) {
	case string:
		return []string{v}
	case float64:
		return []string{strconv.FormatFloat(v, 'f', -1, 64)}
	case []any:
		for _, one := range v {
			if list = append(list, members(one, depth+1, keys...)...); len(list) >= maxTexts {
				return list[:maxTexts]
			}
		}
	case map[string]any:
		for _, key := range keys {
			if found := members(v[key], depth+1, keys...); len(found) > 0 {
				return found
			}
		}
	}
	return list
}

// clean returns texts without HTML escapes and blank ones.
func clean(list []string) []string {
	var out []string
	for _, t := range list {
		if t = strings.TrimSpace(html.UnescapeString(t)); t != "" {
			out = append(out, t)
		}
	}
	return out
}
