package main

import "strings"

// special maps names of locales to tags where the first part alone does not say it.
var special = map[string]string{
	"zh-cn": "zh", "zh-sg": "zh", "zh-hans": "zh", "zh-tw": "zh-Hant", "zh-hk": "zh-Hant", "zh-hant": "zh-Hant", "zh": "zh",
	"sr-latin": "sr-Latn", "sr-latn": "sr-Latn", "sr-el": "sr-Latn", "sr-ijekavianlatin": "sr-Latn", "sr-ijekavian": "sr",
	"sr-cyrl": "sr", "sr-ec": "sr", "no": "nb", "kmr": "ku", "ku-latn": "ku", "ku-arab": "ckb", "iw": "he", "in": "id", "in-id": "id", "ji": "yi",
	"uz-cyrl": "uz-Cyrl", "uz-cyrillic": "uz-Cyrl", "tg-cyrl": "tg", "kk-cyrl": "kk", "tt-cyrl": "tt", "ug-arab": "ug",
	"fil": "tl", "cmn": "zh", "gsw": "", "ca-valencia": "ca", "ca-valencian": "ca", "kk-arab": "", "kk-latn": "", "tt-latn": "", "tg-latn": "", "ug-latn": "", "be-latin": "",
	"ja-mac": "ja", "en-shaw": "", "en-piglatin": "", "nds-nl": "", "crh-latn": "crh", "be-tarask": "", "de-ch": "", "sh": "", "simple": "", "tutor": "", "c": "en",
}

// tagOf returns the tag of a language of the model for the name of a locale, such as
// "de_DE.UTF-8" or "sr@latin". It returns "" for a language that the model does not have.
func tagOf(locale string) string {
	locale, _, _ = strings.Cut(strings.ToLower(locale), ".")
	locale = strings.NewReplacer("_", "-", "@", "-").Replace(locale)
	tag, ok := special[locale]
	if !ok {
		tag, _, _ = strings.Cut(locale, "-")
		if t, ok := special[tag]; ok {
			tag = t
		}
	}
	if _, ok := groupOf[tag]; !ok {
		return ""
	}
	return tag
}

// groupOf maps the languages of the model to their scripts.
var groupOf = func() map[string]string {
	all := map[string]string{}
	for script, tags := range scripts {
		for _, tag := range strings.Fields(tags) {
			all[tag] = script
		}
	}
	return all
}()

var scripts = map[string]string{
	"Latin":      "en de fr es it pt nl sv da nb nn is fo fi et lv lt pl cs sk sl hr bs sr-Latn sq hu ro tr az uz tk crh ca gl eu oc ast br cy ga gd lb fy af mt eo la id ms jv su tl vi sw ha yo zu xh so rw mg ku ht",
	"Cyrillic":   "ru uk be bg sr mk kk ky mn tg tt ba uz-Cyrl ce os sah cv",
	"Arabic":     "ar fa ur ps ckb ug sd",
	"Hebrew":     "he yi",
	"Devanagari": "hi mr ne sa mai bho",
	"Bengali":    "bn as",
	"Ethiopic":   "am ti",
	"Han":        "zh zh-Hant ja",
	"Tibetan":    "bo dz",
	"Other":      "el ko th lo km my ka hy pa gu or ta te kn ml si dv",
}
