// Package events is the log of what happens to the pages and sites of a service, and sends it to webhooks.
//
//	e, err := events.Open(events.Config{Dir: folder, Service: daemon, Log: log})
//	err = e.Begin() // from now on, and after each start
//	list, err := e.After(ctx, position, 100)
//	defer e.Close()
//
// # From the change stream to events
//
// Each crawl and each processing of a URL sets UDate of its row. A reader asks for the rows of a site in the order of UDate and key, from
// Overlap before its watermark, because UDate has whole seconds and is set before the row is stored. For each page the log has the
// version that was told last: the first usable version is page.new, another one page.changed, an answer 404 or 410 page.gone. A page that
// is back is page.new again. Several changes between two looks are one event. An HTML page is told after its processing, others after
// their fetch.
//
// A deleted URL leaves no row. So when the counters of a site have changed, a sweep through its keys finds versions without a row, which
// are page.gone, and rows that were stored later than Overlap after their UDate. Sweeps of a site that changes take at most a twentieth of the time.
//
// Events, versions and the position of the reader are in one transaction of one SQLite file: a kill loses nothing and doubles nothing.
//
// # The first time
//
// The pages that are there when the log begins are recorded without events. Sites that appear later are told from their first page on.
// A log that has not begun asks nothing, and one of an idle service writes nothing.
//
// # Order
//
// The numbers of events rise by one. Events of a site are in the order in which the reader saw the states: those of a page have the order
// of its versions, and site.finished follows the events of the pages that were stored before it.
package events
