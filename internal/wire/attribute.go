package wire

import "encoding/json"

// Attribute is a free named value of a URL, or of a site when URLMd5 is ""
// (docs/spec/objects.md 2.13, docs/spec/storage.md 1.8). A name is there once for each URL.
type Attribute struct {
	SiteID string `json:"siteId"`
	Name   string `json:"name"`
	URLMd5 string `json:"urlMd5"`
	Value  string `json:"value"`
	CDate  Date   `json:"cDate"`
}

// MarshalJSON writes the date with a T between day and time (docs/spec/objects.md 4.3).
func (a Attribute) MarshalJSON() ([]byte, error) {
	type plain Attribute
	return json.Marshal(struct {
		plain
		CDate isoDate `json:"cDate"`
	}{plain(a), isoDate(a.CDate)})
}

// AttributeRequest is one element of ATTRIBUTE_SET, ATTRIBUTE_UPDATE,
// ATTRIBUTE_DELETE and ATTRIBUTE_FETCH (docs/spec/objects.md 2.13). What the request does not
// give is nil; Criterion is for those that delete and fetch.
type AttributeRequest struct {
	SiteID    string
	Name      *string
	URLMd5    *string
	Value     *string
	Criterion Criterion
}

// ReadAttributes reads the list of ATTRIBUTE_SET or ATTRIBUTE_UPDATE, whose
// elements errors call object[i]. The name is mandatory.
func ReadAttributes(object string, raw json.RawMessage, n *Notes) ([]AttributeRequest, error) {
	return readList(object, raw, func(name string, raw json.RawMessage) (AttributeRequest, error) {
		o := readObject(name, raw)
		r := AttributeRequest{SiteID: o.text("siteId", ""), Name: o.textOrNil("name"), URLMd5: o.textOrNil("urlMd5"), Value: o.textOrNil("value")}
		o.accept("cDate")
		if r.Name == nil || *r.Name == "" {
			o.fail("name", "is missing")
		} else if reason := AttributeName.text(*r.Name); reason != "" {
			o.fail("name", reason)
		}
		return r, o.end(n)
	})
}

// ReadAttributeSelections reads the list of ATTRIBUTE_DELETE or ATTRIBUTE_FETCH,
// whose elements errors call object[i].
func ReadAttributeSelections(object string, raw json.RawMessage, n *Notes) ([]AttributeRequest, error) {
	return readList(object, raw, func(name string, raw json.RawMessage) (AttributeRequest, error) {
		o := readObject(name, raw)
		r := AttributeRequest{SiteID: o.text("siteId", ""), Name: o.textOrNil("name"), URLMd5: o.textOrNil("urlMd5"), Criterion: o.criterion("criterions", Criterion{})}
		return r, o.end(n)
	})
}

// Check refuses ids and keys that cannot be stored.
func (r AttributeRequest) Check(object string) error {
	if err := CheckSiteID(object, "siteId", r.SiteID); err != nil {
		return err
	}
	if r.URLMd5 == nil || *r.URLMd5 == "" {
		return nil
	}
	return CheckMd5(object, "urlMd5", *r.URLMd5)
}
