package merge

import (
	"bytes"
	"encoding/json"
)

// contents collects lists of URLContentResponses with contents or damage, each page once. Two
// responses of a site are the same page if one of contentFields is equal.
type contents struct {
	elements
	byKey map[contentKey]int // index in the list, for each key of a response
}

type contentKey struct{ site, field, md5 string }

// contentFields identify a page by its URL, its raw or its processed content.
var contentFields = [...]string{"urlMd5", "rawContentMd5", "contentURLMd5"}

func newContents(by order) *contents {
	c := &contents{elements: elements{order: by, rank: by.ofContent}, byKey: map[contentKey]int{}}
	c.take = c.merge
	return c
}

func (c *contents) merge(o object) {
	if isEmpty(o["rawContents"]) && isEmpty(o["processedContents"]) && isNull(o["errorMessage"]) {
		return
	}
	place, ok := c.find(o)
	if !ok {
		c.enter(o, c.keep(o))
	} else if earlier := c.list[place].object; supersedes(o, earlier) {
		for _, key := range contentKeys(earlier) {
			if c.byKey[key] == place {
				delete(c.byKey, key)
			}
		}
		c.list[place].object = o
		c.enter(o, place)
	}
}

// find returns the first collected response of the same page as o.
func (c *contents) find(o object) (place int, ok bool) {
	for _, key := range contentKeys(o) {
		if p, known := c.byKey[key]; known && (!ok || p < place) {
			place, ok = p, true
		}
	}
	return place, ok
}

func (c *contents) enter(o object, place int) {
	for _, key := range contentKeys(o) {
		if _, taken := c.byKey[key]; !taken {
			c.byKey[key] = place
		}
	}
}

func contentKeys(o object) []contentKey {
	keys := make([]contentKey, 0, len(contentFields))
	for _, field := range contentFields {
		if md5 := o.word(field); md5 != "" && md5 != `""` {
			keys = append(keys, contentKey{o.word("siteId"), field, md5})
		}
	}
	return keys
}

// supersedes reports whether a later response of a page replaces the earlier one. It
// compares dbFields; an absent or invalid column counts as 0 (docs/spec/objects.md 6.4).
func supersedes(later, earlier object) bool {
	now, was := columns(later), columns(earlier)
	return was.int("Batch_Id") == 0 && now.int("Batch_Id") != 0 ||
		now.int("Status") > was.int("Status") ||
		now.newer(was, "UDate")
}

// columns returns dbFields, or nil if that is not an object.
func columns(o object) object {
	fields, _ := readObject(o["dbFields"])
	return fields
}

// isEmpty reports whether a value is an empty list, null or absent. It does not decode the
// contents, which are large.
func isEmpty(raw json.RawMessage) bool {
	return isNull(raw) || raw[0] == '[' && len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0
}
