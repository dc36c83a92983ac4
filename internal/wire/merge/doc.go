// Package merge merges the answers of several data nodes into one answer.
//
//	m := merge.For(wire.URLFetch, request) // keeps only the sort order of the request
//	response = m.Merge(response)
//
// For example, two nodes answer a URL_NEW:
//
//	{"errorCode": 0, "host": "a", ..., "itemObject": {"errorCode": 0, "errorMessage": "", "statuses": [0]}}
//	{"errorCode": 0, "host": "b", ..., "itemObject": {"errorCode": 0, "errorMessage": "", "statuses": [2]}}
//
// The merged response has one item:
//
//	{"errorCode": "0;0", "host": "a;b", ..., "itemObject":
//	    {"errorCode": "0;0", "errorMessage": ";", "host": "a", "statuses": [0, 2]}}
//
// The operation decides how objects are merged:
//
//   - SITE_NEW, SITE_UPDATE, SITE_DELETE, SITE_CLEANUP, URL_NEW, URL_UPDATE,
//     URL_DELETE, URL_CLEANUP: one GeneralResponse with all statuses.
//   - SITE_STATUS: one Site; counters and limits are sums. The object of a node that
//     does not know the site (state 9) is ignored if another node knows it.
//   - SITE_FIND: each site once, merged as for SITE_STATUS.
//   - URL_FETCH, URL_STATUS: each urlMd5 once, the row with the most progress.
//   - URL_CONTENT: each page once, the newest with contents.
//   - BATCH: the concatenated lists.
//   - Other operations: one item for each node, unchanged.
//
// The merged item is the first. Items of failed nodes and items with an object of
// another type follow unchanged, so that no error is lost. A response with fewer than two
// objects to merge does not change. An invalid list element keeps its place. Numbers of
// 64 bits stay exact, and unknown keys are kept.
//
// Nodes of a cluster that each store the URLs of their own hosts answer parts of what one machine
// would answer: see Hosts and Fetch.
//
// Source: docs/spec/objects.md 6.4, 3.1 to 3.3.
package merge
