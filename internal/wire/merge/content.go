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
	c.take = c.mergeResponse
	return c
}

func (c *contents) mergeResponse(o object) {
	if isEmpty(o["rawContents"]) && isEmpty(o["processedContents"]) && isNull(o["errorMessage"]) {
		return
	}
	place, ok := c.findSamePage(o)
	if !ok {
		c.enterKeys(o, c.appendObject(o))
	} else if earlier := c.list[place].object; supersedes(o, earlier) {
		for _, key := range contentKeys(earlier) {
			if c.byKey[key] == place {
				delete(c.byKey, key)
			}
		}
		c.list[place].object = o
		c.enterKeys(o, place)
	}
}

// findSamePage returns the first collected response of the same page as o.
func (c *contents) findSamePage(o object) (place int, ok bool) {
	for _, key := range contentKeys(o) {
		if p, known := c.byKey[key]; known && (!ok || p < place) {
			place, ok = p, true
		}
	}
	return place, ok
}

func (c *contents) enterKeys(o object, place int) {
	for _, key := range contentKeys(o) {
		if _, taken := c.byKey[key]; !taken {
			c.byKey[key] = place
		}
	}
}

func contentKeys(o object) []contentKey {
	keys := make([]contentKey, 0, len(contentFields))
	for _, field := range contentFields {
		if md5 := o.textOrEmpty(field); md5 != "" && md5 != `""` {
			keys = append(keys, contentKey{o.textOrEmpty("siteId"), field, md5})
		}
	}
	return keys
}

// supersedes reports whether a later response of a page replaces the earlier one. It
// compares dbFields; an absent or invalid column counts as 0 (docs/spec/objects.md 6.4).
func supersedes(later, earlier object) bool {
	now, was := dbFieldsOf(later), dbFieldsOf(earlier)
	return was.intValue("Batch_Id") == 0 && now.intValue("Batch_Id") != 0 ||
		now.intValue("Status") > was.intValue("Status") ||
		now.isNewer(was, "UDate")
}

// dbFieldsOf returns dbFields, or nil if that is not an object.
func dbFieldsOf(o object) object {
	fields, _ := readObject(o["dbFields"])
	return fields
}

// isEmpty reports whether a value is an empty list, null or absent. It does not decode the
// contents, which are large.
func isEmpty(raw json.RawMessage) bool {
	return isNull(raw) || raw[0] == '[' && len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0
}
