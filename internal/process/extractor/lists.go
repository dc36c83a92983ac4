package extractor

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"hce/dc/internal/wire/prop"
)

// Lists are lists of extractor names by algorithm_name.
type Lists map[string][]string

// builtin are the lists of docs/spec/processing.md 1.4.
var builtin = Lists{
	"regular":     {Scrapy, Goose, Newspaper, ML},
	"concurrency": {Newspaper, Scrapy, Goose},
	"SCRAPY":      {Scrapy},
	"GOOSE":       {Goose},
	"NEWSPAPER":   {Newspaper},
	"ML":          {ML},
	"prediction":  {ML},
	"training":    {Scrapy},
}

// DefaultAlgorithm is the algorithm_name of sites that name none.
const DefaultAlgorithm = "regular"

// ParseLists returns the built-in lists and those of PROCESSOR_PROPERTIES.modules, which is JSON
// {"<algorithm_name>":["ScrapyExtractor",…]}. Names may lack the suffix Extractor. modules may
// be empty.
func ParseLists(modules string) (Lists, error) {
	lists := maps.Clone(builtin)
	if strings.TrimSpace(modules) == "" {
		return lists, nil
	}
	var own map[string]prop.Texts
	if err := prop.Decode(modules, &own); err != nil {
		return nil, err
	}
	var wrong []string
	for algorithm, names := range own {
		list := make([]string, 0, len(names))
		for _, name := range names {
			if name = fullName(name); !isKnownEngine(name) {
				wrong = append(wrong, name)
			}
			list = append(list, name)
		}
		lists[algorithm] = list
	}
	if len(wrong) > 0 {
		return nil, unknownEngines(wrong)
	}
	return lists, nil
}

// fullName returns a name with the suffix of class names.
func fullName(name string) string {
	const suffix = "Extractor"
	if name = strings.TrimSpace(name); strings.HasSuffix(name, suffix) {
		return name
	}
	return name + suffix
}

// Names returns the extractors of an algorithm_name; "" means regular.
func (l Lists) Names(algorithm string) ([]string, error) {
	if algorithm == "" {
		algorithm = DefaultAlgorithm
	}
	if names, ok := l[algorithm]; ok && len(names) > 0 {
		return names, nil
	}
	for name, names := range l {
		if strings.EqualFold(name, algorithm) && len(names) > 0 {
			return names, nil
		}
	}
	return nil, fmt.Errorf("algorithm_name %.60q has no list of extractors; name them in modules", algorithm)
}

// rawText returns the text of a JSON value: a text without its quotes, anything else as it is.
func rawText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
