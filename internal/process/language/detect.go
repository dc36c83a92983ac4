package language

import (
	"strings"
	"unicode/utf8"

	"github.com/RadhiFadlillah/whatlanggo"
)

const (
	enoughText = 1 << 10 // bytes that are enough to detect a language
	leastText  = 40      // bytes; the language of a shorter text is not detected
)

// Detect returns the ISO 639-1 code of the language of the first kilobyte of text. It
// returns "" for a short text and for an unreliable result.
func Detect(text string) string { return detect(start(text, enoughText)) }

func detect(text string) string {
	if len(text) < leastText {
		return ""
	}
	if code := eastSlavic(text); code != "" {
		return code
	}
	info := whatlanggo.Detect(text)
	if !info.IsReliable() {
		return ""
	}
	return info.Lang.Iso6391()
}

// detectPart is detect for a part of a page in a known language, such as its title: if the
// text alone says too little, it has that language, unless its script is another.
func detectPart(text, page string) string {
	inHan := func(code string) bool { return code == "zh" && page == "ja" } // Japanese without kana
	if code := detect(text); code != "" && !inHan(code) {
		return code
	}
	known, ok := byCode[page]
	if !ok {
		return ""
	}
	options := whatlanggo.Options{Whitelist: map[whatlanggo.Lang]bool{known: true}}
	if code := whatlanggo.DetectLangWithOptions(text, options).Iso6391(); code == page || inHan(code) {
		return page
	}
	return ""
}

// byCode maps the ISO 639-1 codes of the languages that can be detected.
var byCode = func() map[string]whatlanggo.Lang {
	codes := map[string]whatlanggo.Lang{}
	for lang := range whatlanggo.Langs {
		if code := lang.Iso6391(); code != "" {
			codes[code] = lang
		}
	}
	return codes
}()

// start returns at most size bytes of the start of text, as valid UTF-8.
func start(text string, size int) string {
	if len(text) > size {
		for size > 0 && !utf8.RuneStart(text[size]) {
			size--
		}
		text = text[:size]
	}
	return strings.ToValidUTF8(text, "")
}
