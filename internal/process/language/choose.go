package language

import (
	"slices"
	"strings"

	"hce/dc/internal/process/language/langmodel"
)

// How much a declaration says, in nats: what a text has to say against it. Declarations
// come with the template of a site, and "en" with the template of the software.
const (
	firstWeight   = 2.5
	nextWeight    = 1.5
	englishWeight = 1.0
	partWeight    = 3.0
)

// Choose returns the language of a page: a tag such as "pt-BR" as the page declares it, or
// what Detect returns for the text. declared are tags, or lists of them, that the page
// declares, the most reliable first; "" declares nothing. A declared language wins if the
// text may be in it or says too little, and gives way to the language that the text is
// clearly in. "" means that neither says anything.
func Choose(declared []string, text string) string {
	var buffer [8]string
	tags := buffer[:0]
	for _, list := range declared {
		for part := range strings.SplitSeq(list, ",") {
			if tag := Tag(part); tag != "" && tag != "und" && len(tags) < cap(tags) {
				tags = append(tags, tag)
			}
		}
	}
	r := model().Score(text)
	if len(tags) == 0 {
		return decideLanguage(&r)
	}
	if !isEnough(&r) {
		return tags[0]
	}
	if unknown := tags[0]; !isKnown(unknown) && !isClear(&r) {
		return unknown
	}
	for i, tag := range tags {
		favourTag(&r, tag, weightOf(tag, i))
	}
	best, _ := r.Best()
	for _, tag := range tags {
		if matchesLanguage(tag, r.Languages[best]) {
			return tag
		}
	}
	return r.Languages[best]
}

func weightOf(tag string, i int) float64 {
	switch {
	case primaryLanguage(tag) == "en":
		return englishWeight
	case i == 0:
		return firstWeight
	}
	return nextWeight
}

// isClear reports whether a text fits one language far better than all others.
func isClear(r *langmodel.Result) bool {
	best, second := r.Best()
	return float64(r.Known) >= clearKnown*float64(r.Total) && (second < 0 || r.Margin(best, second) > 2*firstWeight)
}

// favourTag adds to the scores of the languages of a tag.
func favourTag(r *langmodel.Result, tag string, nats float64) {
	for i, l := range r.Languages {
		if matchesLanguage(tag, l) {
			r.Add(i, nats)
		}
	}
}

func indexOf(r *langmodel.Result, tag string) int {
	return slices.IndexFunc(r.Languages, func(l string) bool { return matchesLanguage(tag, l) })
}

// isKnown reports whether the model has a language for a tag.
func isKnown(tag string) bool {
	return model().Has(func(language string) bool { return matchesLanguage(tag, language) })
}

// members are the languages of the model that a code means, where the model has another code.
var members = map[string][]string{
	"no": {"nb", "nn"}, "sh": {"hr", "bs", "sr-Latn", "sr"}, "fil": {"tl"}, "cmn": {"zh", "zh-Hant"}, "yue": {"zh-Hant"},
	"ku": {"ku", "ckb"}, "kmr": {"ku"}, "prs": {"fa"}, "arz": {"ar"}, "ary": {"ar"}, "cnr": {"sr-Latn", "sr"}, "hbs": {"hr", "bs", "sr-Latn", "sr"}, "zsm": {"ms"},
}

// matchesLanguage reports whether a declared tag may mean a language of the model: "zh-TW" means
// "zh-Hant", "zh" that or "zh".
func matchesLanguage(tag, language string) bool {
	code := primaryLanguage(tag)
	if others, ok := members[code]; ok {
		return slices.Contains(others, language)
	}
	if code != primaryLanguage(language) {
		return false
	}
	if code != "zh" {
		return true
	}
	traditional := containsPart(tag, "Hant", "TW", "HK", "MO")
	simplified := containsPart(tag, "Hans", "CN", "SG")
	return traditional == simplified || traditional == (language == "zh-Hant")
}

func containsPart(tag string, parts ...string) bool {
	for part := range strings.SplitSeq(tag, "-") {
		if slices.Contains(parts, part) {
			return true
		}
	}
	return false
}
