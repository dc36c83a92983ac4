// Package language detects the language of texts, and marks the tags of a result with it.
//
//	code := language.Detect(text)   // "uk"; "" for a short text
//	tag := language.Tag("EN_us, de") // "en-US", as pages declare it
//
//	rules, err := language.Parse(value) // SCRAPER_LANG_DETECT of PROCESSOR_PROPERTIES
//	rules.Apply(&result)                // title_lang, summary_lang and so on
//
// It is the only importer of whatlanggo. On 1,088 news pages of 33 languages that library
// agrees with the declared language of a kilobyte of text in 93 of 100 pages, as lingua-go does; most
// of the others declare a wrong one. lingua-go needs 760 MB for 20 languages and 135 MB in
// the program, whatlanggo 8 MB. For short texts such as titles it is weaker, so these follow
// the language of the page. Source: docs/spec/processing.md 2.5, 5.1, 6.2 #19.
package language
