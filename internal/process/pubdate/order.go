package pubdate

import (
	"slices"
	"strings"

	"hce/dc/internal/web/datetext"
)

// Languages that write the month before the day if there are two numbers, and countries
// that write English with the day first.
var (
	monthLanguages = []string{"", "en", "ja", "ko", "zh"}
	dayCountries   = []string{"gb", "uk", "ie", "au", "nz", "in", "za"}
)

// orderOf returns the order of day and month on a page: by the first rule of
// PDATE_DAY_MONTH_ORDER for its URL, else by its language.
func (rules *Rules) orderOf(s *Sources) datetext.Order {
	for _, o := range rules.orders {
		if o.pattern.MatchString(s.URL) {
			return o.order
		}
	}
	return OrderOf(s.Language)
}

// OrderOf returns the order of day and month in a language tag such as en-GB; "" counts as English.
func OrderOf(tag string) datetext.Order {
	language, country, _ := strings.Cut(strings.ToLower(tag), "-")
	if !slices.Contains(monthLanguages, language) || language == "en" && slices.Contains(dayCountries, country) {
		return datetext.DayFirst
	}
	return datetext.Usual
}
