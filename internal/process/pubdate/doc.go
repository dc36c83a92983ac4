// Package pubdate finds the publication date of a page from all its sources.
//
//	rules := pubdate.Read(properties)
//	found := pubdate.Resolve(pubdate.Sources{URL: url, Now: now, PubDate: "Вчера, 18:59"}, rules)
//	// found.Date is the time on the clock of the page, found.Zone its offset or ""
//	// found.Steps say which source won, and why
//
// [Apply] does the same for the tags of a result, and writes pubdate, pubdate_tz and the
// normalized forms of other dates. docs/dates.md describes the rules for users. Sources:
// docs/spec/processing.md 2.2, 2.4.
package pubdate
