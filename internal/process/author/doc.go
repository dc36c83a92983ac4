// Package author finds the name of the author in a text such as "Posted by Ann Bell on
// March 5, 2021".
//
//	name := author.Name(text)      // "Ann Bell"; "" for months, roles, addresses and dates
//	ok := author.Plausible("Admin") // false
//
//	rules, err := author.Parse(value) // TAGS_TYPES
//	rules.Apply(&result)              // the tag author has a short name, or is removed
//
// Source: docs/spec/processing.md 2.5.
package author
