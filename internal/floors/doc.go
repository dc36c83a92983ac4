// Package floors holds the drawing of the house and the test that keeps it: a
// package imports from floors below its own, never from above, and from its own
// floor only where an arrow is drawn (a <- b: b imports a).
//
//	6  cmd examples bench                     programs: flags, ini, signals, one call
//	5  taskmain  top                          what the mains of the tasks share; a live screen
//	4  daemon  client                         what exists, its order; one request and its reply
//	3  manager <- admin clients sites batches realtime   status
//	                                          one goroutine each: its sockets, its state
//	2  task <- crawl process dbtask           one request in, one answer out
//	1  config keys bus rawcache fetch hostgate kv   cli <- manual   load <- env   db <- store original
//	   statefile <- cookies rotation freq proxies
//	                                          one outside thing each
//	0  dc prop pyre canon robots expr polite filter extract merge
//	   content modified linkrules urlschema finalize   extract <- loosexml <- feed sitemap
//	                                          words and rules: no I/O, clock, goroutine
//
// Managers never see stores, fetchers or extractors; jobs never see sockets or
// managers; dbtask alone sees store, rawcache, kv and original.
package floors
