package language

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/result"
)

// Rules are SCRAPER_LANG_DETECT. Goroutines may share them. nil: no detection.
type Rules struct {
	prefix, suffix string
	tags           []string
	size           int // bytes of a text that are examined
	maps           []mapping
}

// mapping replaces codes by another one.
type mapping struct {
	target string
	codes  []string
}

// Special names of tags.
const (
	all    = "*" // each text tag
	joined = "&" // one language for all text tags together
)

const (
	otherwise   = "*" // a code of maps: all that no other list has
	summaryTag  = "summary_lang"
	summaryElse = "en" // the value of summaryTag if nothing is detected
	mostSize    = 64 << 10
)

// defaultMaps are the maps of the original service (docs/spec/processing.md 2.5).
var defaultMaps = []mapping{
	{"en", []string{"fr", "nl", "ro", "af", "ca", "it", "da", "tl", "et", "cy", "sv", "id", "es"}},
	{"ja", []string{"ja", "zh", "za"}},
	{"ru", []string{"ru", "uk"}},
	{"pl", []string{"pl"}},
	{"de", []string{"de"}},
}

// Parse parses the property: an object, or its JSON text in quotes. An empty text gives
// nil. Errors name the key.
func Parse(text string) (*Rules, error) {
	if text = strings.TrimSpace(text); text == "" || text == "null" {
		return nil, nil
	}
	if text[0] == '"' {
		var inner string
		if err := prop.Decode(text, &inner); err != nil {
			return nil, err
		}
		text = inner
	}
	v := struct {
		Prefix string        `json:"prefix"`
		Suffix string        `json:"suffix"`
		Tags   prop.Texts    `json:"tags"`
		Maps   *prop.Members `json:"maps"`
		Size   prop.Int      `json:"size"`
	}{Suffix: "_lang", Tags: prop.Texts{all}, Size: enoughText}
	if err := prop.Decode(text, &v); err != nil {
		return nil, err
	}
	if v.Size < 1 || v.Size > mostSize {
		return nil, fmt.Errorf("has size %d; expected 1 to %d", v.Size, mostSize)
	}
	if v.Prefix == "" && v.Suffix == "" {
		return nil, errors.New("has neither prefix nor suffix; the tags would replace those that they describe")
	}
	r := &Rules{prefix: v.Prefix, suffix: v.Suffix, tags: v.Tags, size: int(v.Size), maps: defaultMaps}
	if v.Maps != nil {
		var err error
		if r.maps, err = parseMaps(*v.Maps); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func parseMaps(members prop.Members) ([]mapping, error) {
	maps := []mapping{}
	for _, m := range members {
		var codes prop.Texts
		if err := json.Unmarshal(m.Value, &codes); err != nil {
			return nil, fmt.Errorf("has maps %q with %s; expected a list of codes", prop.Clip(m.Name), prop.Clip(string(m.Value)))
		}
		maps = append(maps, mapping{m.Name, codes})
	}
	return maps, nil
}

// mapCode returns the code to store for a detected language.
func (r *Rules) mapCode(tag string) string {
	if tag == "" {
		return ""
	}
	code := primaryLanguage(tag)
	for _, wanted := range []string{code, otherwise} {
		for _, m := range r.maps {
			if slices.Contains(m.codes, wanted) {
				return m.target
			}
		}
	}
	return code
}

// detectLanguage returns the mapped language of a text in a page of a language.
func (r *Rules) detectLanguage(text, page string) string {
	return r.mapCode(detectPart(textStart(text, r.size), page))
}

// notTexts are tags whose values are not in a language.
var notTexts = []string{"media", "media_content", "media_thumbnail", "enclosure", "link", "links", "href", "guid", "pubdate", "dc_date",
	"html_lang", "author", "source_url", "order_number", "content_markdown"}

func isText(t result.Tag) bool {
	return t.Extractor != result.Service && t.Type != "datetime" && !slices.Contains(notTexts, t.Name)
}

// Apply detects the languages of the tags. A tag gets its language and the suffix, and
// the result a tag PREFIXnameSUFFIX; summary_lang is the language of all texts together,
// or "en". A tag whose language is not detected stays as it is.
func (r *Rules) Apply(res *result.Result) {
	if r == nil {
		return
	}
	summary := ""
	for _, text := range r.detectionTexts(res) {
		if summary = Detect(text); summary != "" {
			break
		}
	}
	for i, n := 0, len(res.Tags); i < n; i++ {
		t := &res.Tags[i]
		code := ""
		switch {
		case slices.Contains(r.tags, t.Name), slices.Contains(r.tags, all) && isText(*t):
			code = r.detectLanguage(t.Text(), summary)
		case slices.Contains(r.tags, joined) && isText(*t):
			code = r.mapCode(summary)
		}
		if code != "" {
			t.Lang, t.LangSuffix = code, r.suffix
			res.Add(serviceTag(r.prefix+t.Name+r.suffix, code)) // may move t
		}
	}
	if summary = r.mapCode(summary); summary == "" {
		summary = summaryElse
	}
	res.Add(serviceTag(summaryTag, summary))
}

// detectionTexts returns the texts that tell the language of the page: all of them together, then
// the longest alone.
func (r *Rules) detectionTexts(res *result.Result) []string {
	var parts []string
	longest := ""
	for _, t := range res.Tags {
		if !isText(t) {
			continue
		}
		text := t.Text()
		parts = append(parts, textStart(text, r.size))
		if len(text) > len(longest) {
			longest = text
		}
	}
	return []string{textStart(strings.Join(parts, " "), r.size), textStart(longest, r.size)}
}

func serviceTag(name, value string) result.Tag {
	return result.Tag{Name: name, Data: []string{value}, Extractor: result.Service}
}
