// Package realtimeresponse turns the items of a processed batch in real time into what a
// client gets for them, and judges whether a result is good enough (docs/spec/crawling.md 6.3,
// docs/spec/objects.md 3.6).
//
//	answer := realtimeresponse.Response(batch.ID, item) // without contents
//	mask := realtimeresponse.Mask(item, site)           // of the contents to add
//	grade, err := realtimeresponse.Judge(item, site, content)
//	if realtimeresponse.Repeats(item, site, grade) {
//		again = append(again, realtimeresponse.Again(item)) // by a browser
//	}
//
// Neighbours: process reads the contents and calls it in the batch's last stage;
// realtime picks the better of two results.
package realtimeresponse
