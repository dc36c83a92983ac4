// Package language tells the languages of texts, chooses the language of a page among what
// the page declares and what its text says, and marks the tags of a result.
//
//	code := language.Detect(text)   // "uk", "zh-Hant"; "" for a short text
//	tag := language.Choose([]string{htmlLang, contentLanguage, ogLocale, inLanguage}, text) // "pt-BR"
//	tag := language.Tag("EN_us, de") // "en-US", as pages declare it
//
//	rules, err := language.Parse(value) // SCRAPER_LANG_DETECT of PROCESSOR_PROPERTIES
//	rules.Apply(&result)                // title_lang, summary_lang and so on
//
// The model is that of package langmodel, made by tools/trainlang; docs/language.md says of
// what, and how often it is right. Source: docs/spec/processing.md 2.5, 5.1, 6.2 #19.
package language
