// Package finalize turns the items of a processed batch in real time into what a
// client gets for them, and judges whether a result is good enough (crawling 6.3,
// objects 3.6).
//
//	answer := finalize.Response(batch.ID, item) // without contents
//	mask := finalize.Mask(item, site)           // of the contents to add
//	grade, err := finalize.Judge(item, site, content)
//	if finalize.Repeats(item, site, grade) {
//		again = append(again, finalize.Again(item)) // by a browser
//	}
//
// Neighbours: process reads the contents and calls it in the batch's last stage;
// realtime picks the better of two results.
package finalize
