// Package merge makes one answer of the answers of several data nodes. It is a
// pure function of the answers and of the request (docs/spec/objects.md 6.4, 3.1 to 3.3).
//
//	m := merge.For(wire.URLFetch, request) // keeps of the request only how to sort
//	response = m.Merge(response)
//
// With the answers of two nodes to a URL_NEW
//
//	{"errorCode": 0, "host": "a", ..., "itemObject": {"errorCode": 0, "errorMessage": "", "statuses": [0]}}
//	{"errorCode": 0, "host": "b", ..., "itemObject": {"errorCode": 0, "errorMessage": "", "statuses": [2]}}
//
// the response has one item:
//
//	{"errorCode": "0;0", "host": "a;b", ..., "itemObject":
//	    {"errorCode": "0;0", "errorMessage": ";", "host": "a", "statuses": [0, 2]}}
//
// What becomes of the nodes' objects:
//
//   - SITE_NEW, SITE_UPDATE, SITE_DELETE, SITE_CLEANUP, URL_NEW, URL_UPDATE,
//     URL_DELETE, URL_CLEANUP: one GeneralResponse with all statuses.
//   - SITE_STATUS: one Site; counters and limits are sums. A node that does not
//     know the site (state 9) says nothing about it while another node knows it.
//   - SITE_FIND: each site once, merged as by SITE_STATUS.
//   - URL_FETCH, URL_STATUS: each urlMd5 once, the row that went furthest.
//   - URL_CONTENT: each page once, the newest with contents.
//   - BATCH: the lists one after the other.
//   - Every other operation: one item per node, as it came.
//
// No error is lost: the first item is the merged one, and the items of nodes that
// failed, or whose object has another form than the operation's, follow as they
// came. With fewer than two objects to merge the response stays as it is. An
// element of a list that cannot be read keeps its place, unmerged. Numbers stay
// whole to 64 bits, and keys that this package does not know survive.
//
// A Merger may be shared by goroutines. Neighbours: dc below; clients uses it.
package merge
