// Package realtimeresponse builds the answer for the items of a real-time batch, and
// grades their results.
//
//	answer := realtimeresponse.Response(batch.ID, item) // without contents
//	mask := realtimeresponse.Mask(item, site)           // the contents to add
//	grade, err := realtimeresponse.Judge(item, site, content)
//	if realtimeresponse.NeedsBrowser(item, site, grade, true) {
//		retry = append(retry, realtimeresponse.ForBrowser(item))
//	}
//
// The last task of a batch, package process, calls it. The daemon then retries items in a
// browser and answers with the better result. Source: docs/spec/crawling.md 6.3,
// docs/spec/objects.md 3.6.
package realtimeresponse
