package wire

import (
	"cmp"
	"encoding/json"

	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
)

// Attribute is a named value of a URL, or of a site if URLMd5 is "" (docs/spec/objects.md
// 2.13, docs/spec/storage.md 1.8). Names are unique for each URL.
type Attribute struct {
	SiteID string      `json:"siteId"`
	Name   string      `json:"name"`
	URLMd5 string      `json:"urlMd5"`
	Value  string      `json:"value"`
	CDate  schema.Date `json:"cDate"`
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
// ATTRIBUTE_DELETE and ATTRIBUTE_FETCH (docs/spec/objects.md 2.13). Absent keys are nil. Only
// ATTRIBUTE_DELETE and ATTRIBUTE_FETCH have a Criterion.
type AttributeRequest struct {
	SiteID    string
	Name      *string
	URLMd5    *string
	Value     *string
	Criterion Criterion
}

// ReadAttributes reads the list of ATTRIBUTE_SET or ATTRIBUTE_UPDATE. Errors name an
// element name[i]. The attribute's name is mandatory.
func ReadAttributes(name string, raw json.RawMessage, n *lenient.Notes) ([]AttributeRequest, error) {
	return lenient.ReadList(name, raw, n, func(o *lenient.Object) AttributeRequest {
		r := AttributeRequest{SiteID: o.ReadText("siteId"), Name: o.TextOrNil("name"), URLMd5: o.MD5OrNil("urlMd5"), Value: o.TextOrNil("value")}
		o.AcceptUnused("cDate")
		if r.Name == nil || *r.Name == "" {
			o.RefuseField("name", "is missing")
		} else if reason := schema.AttributeName.TextReason(*r.Name); reason != "" {
			o.RefuseField("name", reason)
		}
		return r
	})
}

// ReadAttributeSelections reads the list of ATTRIBUTE_DELETE or ATTRIBUTE_FETCH. Errors
// name an element name[i].
func ReadAttributeSelections(name string, raw json.RawMessage, n *lenient.Notes) ([]AttributeRequest, error) {
	return lenient.ReadList(name, raw, n, func(o *lenient.Object) AttributeRequest {
		r := AttributeRequest{
			SiteID: o.ReadText("siteId"), Name: o.TextOrNil("name"), URLMd5: o.MD5OrNil("urlMd5"),
			Criterion: readCriterion(o, "criterions", Criterion{}),
		}
		if r.URLMd5 != nil {
			*r.URLMd5 = keyToFind(*r.URLMd5)
		}
		return r
	})
}

// Check refuses invalid site ids and md5 keys. object is the name in errors.
func (r AttributeRequest) Check(object string) error {
	err := CheckSiteID(object, "siteId", r.SiteID)
	if r.URLMd5 != nil {
		err = cmp.Or(err, checkGiven(CheckMd5, object, "urlMd5", *r.URLMd5))
	}
	return err
}
