package language

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"

	"hce/dc/internal/process/language/langmodel"
)

//go:embed model.bin
var modelBytes []byte

var model = sync.OnceValue(func() *langmodel.Model {
	m, err := langmodel.Read(modelBytes)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return m
})

const (
	enoughText   = 1 << 10 // bytes of a text that SCRAPER_LANG_DETECT examines by default
	leastLetters = 16      // of a text whose language is detected; a letter of Han or Hangul counts as leastScale
	leastScale   = 3
	leastKnown   = 0.33 // share of the features of a text in Latin letters that the model must know
	clearKnown   = 0.55 // and of a text that is clearly in a language
	leastMargin  = 0.4  // between the best language and the next one, in nats
)

// Detect returns the shortest tag of the language of a text by a sample of 1.4 kB: an
// ISO 639-1 code, or 639-3 where that has no code ("ckb"). Chinese in traditional letters is
// "zh-Hant", Serbian in Latin ones "sr-Latn". It returns "" for a text of less than about 16
// letters, and for one that fits no language or several. It skips invalid UTF-8.
func Detect(text string) string {
	r := model().Score(text)
	return decideLanguage(&r)
}

// decideLanguage returns the best language of a result, "" if it is not clear.
func decideLanguage(r *langmodel.Result) string {
	if !isEnough(r) {
		return ""
	}
	best, second := r.Best()
	if second >= 0 && r.Margin(best, second) < leastMargin {
		return ""
	}
	return r.Languages[best]
}

// isEnough reports whether a text has enough words of a known script.
func isEnough(r *langmodel.Result) bool {
	if len(r.Languages) == 0 {
		return false
	}
	letters := r.Letters
	if r.Script == langmodel.Han || r.Script == langmodel.Hangul {
		letters *= leastScale
	}
	return letters >= leastLetters && (r.Script != langmodel.Latin || float64(r.Known) >= leastKnown*float64(r.Total))
}

// detectPart is Detect for a part of a page in a known language, such as its title: if the
// text alone says too little, it has that language, unless its script is another.
func detectPart(text, page string) string {
	r := model().Score(text)
	favourTag(&r, page, partWeight)
	if isEnough(&r) {
		return decideLanguage(&r)
	}
	if r.Script != langmodel.None && indexOf(&r, page) >= 0 {
		return page
	}
	return ""
}

// primaryLanguage returns the language of a tag: "zh" for "zh-Hant".
func primaryLanguage(tag string) string {
	code, _, _ := strings.Cut(tag, "-")
	return code
}

// textStart returns at most size bytes of the start of text, as valid UTF-8.
func textStart(text string, size int) string {
	if len(text) > size {
		for size > 0 && !utf8.RuneStart(text[size]) {
			size--
		}
		text = text[:size]
	}
	return strings.ToValidUTF8(text, "")
}
