package merge

// newURLs collects lists of URLs, each urlMd5 once, as the row with the most progress.
func newURLs(by order) *elements {
	e, byMd5 := &elements{order: by, rank: by.ofURL}, map[string]int{} // index in the list
	e.take = func(o object) {
		md5 := o.textOrEmpty("urlMd5")
		place, ok := byMd5[md5]
		switch {
		case md5 == "":
			e.appendObject(o)
		case !ok:
			byMd5[md5] = e.appendObject(o)
		case replaces(o, e.list[place].object):
			e.list[place].object = o
		}
	}
	return e
}

// replaces reports whether a later row of a URL replaces the earlier one
// (docs/spec/objects.md 6.4). It does if it is crawled and processed in a batch and its
// status is not lower. With an equal status it does if only it is crawled, or is newer.
func replaces(later, earlier object) bool {
	status, was := later.intValue("status"), earlier.intValue("status")
	crawled, before := later.intValue("crawled"), earlier.intValue("crawled")
	switch {
	case status >= was && crawled > 0 && later.intValue("processed") > 0 && later.intValue("batchId") > 0:
		return true
	case status != was || crawled <= 0:
		return false
	case before == 0:
		return true
	}
	return before > 0 && later.isNewer(earlier, "UDate")
}
