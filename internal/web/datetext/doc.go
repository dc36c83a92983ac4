// Package datetext parses the dates that people write: with words of several languages,
// numbers in any order, and times relative to now.
//
//	o := datetext.Options{Now: now, CurrentYear: true}
//	t, ok := datetext.Parse("17 вересня, 2015", o)         // 2015-09-17 00:00
//	t, ok = datetext.Parse("2015年 04月 22日 10:41 JST", o) // 2015-04-22 10:41 +0900
//	t, ok = datetext.Parse("Вчера, 18:59", o)              // yesterday, at 18:59
//
// It splits a text into numbers, words and symbols once, and then looks for a clock time, a
// relative time and a day, so the cost is linear. Words are English, German, French,
// Spanish, Italian, Portuguese, Dutch, Polish, Czech, Russian, Ukrainian, Turkish, the
// Nordic languages, Japanese, Chinese and Korean. Dates of protocols are the task of
// package dates. Source: docs/spec/processing.md 2.4.
package datetext
