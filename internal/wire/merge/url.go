package merge

import "encoding/json"

// urls collects lists of URLs, each urlMd5 once, as the row with the most progress.
type urls struct {
	elements
	byMd5 map[string]int // index in the list
}

func newURLs(by order) *urls {
	return &urls{elements: elements{order: by, rank: by.ofURL}, byMd5: map[string]int{}}
}

func (u *urls) add(host string, raw json.RawMessage) bool {
	return u.each(host, raw, func(o object) {
		md5 := o.word("urlMd5")
		place, ok := u.byMd5[md5]
		switch {
		case md5 == "":
			u.keep(o)
		case !ok:
			u.byMd5[md5] = u.keep(o)
		case replaces(o, u.list[place].object):
			u.list[place].object = o
		}
	})
}

// replaces reports whether a later row of a URL replaces the earlier one
// (docs/spec/objects.md 6.4). It does if it is crawled and processed in a batch and its
// status is not lower. With an equal status it does if only it is crawled, or is newer.
func replaces(later, earlier object) bool {
	status, was := later.int("status"), earlier.int("status")
	crawled, before := later.int("crawled"), earlier.int("crawled")
	switch {
	case status >= was && crawled > 0 && later.int("processed") > 0 && later.int("batchId") > 0:
		return true
	case status != was || crawled <= 0:
		return false
	case before == 0:
		return true
	}
	return before > 0 && later.newer(earlier, "UDate")
}
