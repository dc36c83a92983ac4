package merge

import "encoding/json"

// urls piles up lists of URLs; each urlMd5 is there once, where it came first,
// as the row that went furthest.
type urls struct {
	elements
	byMd5 map[string]int // place in the list
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
			u.keep(o) // what has no key is like no other
		case !ok:
			u.byMd5[md5] = u.keep(o)
		case replaces(o, u.list[place].object):
			u.list[place].object = o
		}
	})
}

// replaces reports whether a later row of a URL is shown instead of the earlier:
// it was crawled and processed in a batch and is no less far, or it is as far and
// was crawled when the earlier was not, or later (docs/spec/objects.md 6.4).
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
