package wire

import (
	"cmp"
	"encoding/json"
	"strings"

	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
)

// URLNewRequest is one element of URL_NEW (docs/spec/objects.md 2.7).
type URLNewRequest struct {
	Row        schema.Patch // columns that the request sets, and URLMd5
	SiteSelect int64
	Attributes []Attribute
	Update     *URLUpdateRequest // applied if the URL is already known; nil: no update
	Put        json.RawMessage   // a URL_PUT to do afterwards; nil: no content
}

// ReadURLNew reads the list of URL_NEW.
func ReadURLNew(raw json.RawMessage, n *lenient.Notes) ([]URLNewRequest, error) {
	return lenient.ReadList("URLNew", raw, n, func(o *lenient.Object) URLNewRequest {
		r := URLNewRequest{Row: o.ReadColumns(URLColumns), SiteSelect: o.ReadInt("siteSelect", SelectNone)}
		o.AcceptUnused("contentMask", "chainId", "errorNames", "host")
		text := r.Row.Text("URL")
		if text == "" {
			o.RefuseField("url", "is missing")
		}
		r.Row["URLMd5"] = urlkey.Choose(r.Row.Text("URLMd5"), text)
		r.Attributes = readAttributes(o)
		if o.IsObject("urlUpdate") {
			u := lenient.ReadObject(o.Reading, o.Name+".urlUpdate", o.Fields["urlUpdate"], readURLUpdate)
			r.Update = &u
		}
		r.Put = o.ReadRaw("urlPut")
		return r
	})
}

// readAttributes reads items of the form {name: value} and skips other items
// (docs/spec/objects.md 2.7).
func readAttributes(o *lenient.Object) []Attribute {
	var list []Attribute
	for _, raw := range o.ReadList("attributes") {
		var pair map[string]json.RawMessage
		if json.Unmarshal(raw, &pair) != nil || len(pair) != 1 {
			continue
		}
		for name, value := range pair {
			if schema.IsNull(value) {
				continue
			}
			text, ok := schema.ReadText(value)
			switch reason := schema.AttributeName.TextReason(name); {
			case reason != "" || strings.ContainsRune(name, 0):
				o.RefuseField("attributes", "has a name that is not 1 to 255 characters other than NUL")
			case ok:
				list = append(list, Attribute{Name: name, Value: text})
			case value[0] == '"':
				o.RefuseField("attributes", schema.KindText.RefusalReason(value))
			}
		}
	}
	return list
}

// Check refuses invalid site ids and md5 keys. object is the name in errors.
func (r URLNewRequest) Check(object string) error {
	return cmp.Or(checkGiven(CheckSiteID, object, "siteId", r.Row.Text("Site_Id")),
		checkGiven(CheckMd5, object, "parentMd5", r.Row.Text("ParentMd5")), CheckMd5(object, "urlMd5", r.Row.Text("URLMd5")))
}

// URLUpdateRequest is one element of URL_UPDATE (docs/spec/objects.md 2.8). SiteID and URLMd5
// select the row and are not part of Set.
type URLUpdateRequest struct {
	SiteID     string // GeneralSite by default
	URLMd5     string // "": Criterion selects the rows
	Set        schema.Patch
	Criterion  Criterion
	Attributes []Attribute
	Put        json.RawMessage // a URL_PUT to do afterwards; nil: no content
}

// ReadURLUpdate reads the list of URL_UPDATE.
func ReadURLUpdate(raw json.RawMessage, n *lenient.Notes) ([]URLUpdateRequest, error) {
	return lenient.ReadList("URLUpdate", raw, n, readURLUpdate)
}

func readURLUpdate(o *lenient.Object) URLUpdateRequest {
	r := URLUpdateRequest{Set: o.ReadColumns(URLColumns)}
	r.SiteID = cmp.Or(r.Set.Text("Site_Id"), GeneralSite)
	r.URLMd5 = r.Set.Text("URLMd5")
	if text := r.Set.Text("URL"); text != "" {
		r.URLMd5 = urlkey.Choose(r.URLMd5, text)
	}
	delete(r.Set, "URL")
	delete(r.Set, "URLMd5")
	delete(r.Set, "Site_Id")
	r.Criterion = readCriterion(o, "criterions", Criterion{Limit: "1"})
	r.Attributes = readAttributes(o)
	r.Put = o.ReadRaw("urlPut")
	o.AcceptUnused("siteSelect", "contentMask", "chainId", "urlUpdate", "errorNames", "host")
	return r
}

// Check refuses invalid site ids and md5 keys. object is the name in errors.
func (r URLUpdateRequest) Check(object string) error {
	return cmp.Or(CheckSiteID(object, "siteId", r.SiteID), checkGiven(CheckMd5, object, "urlMd5", r.URLMd5))
}

// URLStatusRequest is one element of URL_STATUS (docs/spec/objects.md 2.9).
type URLStatusRequest struct {
	SiteID string
	URLMd5 string
}

// ReadURLStatus reads the list of URL_STATUS. It converts a URL to its key.
func ReadURLStatus(raw json.RawMessage, n *lenient.Notes) ([]URLStatusRequest, error) {
	return lenient.ReadList("URLStatus", raw, n, func(o *lenient.Object) URLStatusRequest {
		r := URLStatusRequest{SiteID: readSiteID(o)}
		text, _, md5 := readURLOrKey(o)
		if text == nil || *text == "" {
			o.RefuseField("url", "is missing")
		}
		r.URLMd5 = keyToFind(md5)
		return r
	})
}

// Check refuses invalid site ids. object is the name in errors.
func (r URLStatusRequest) Check(object string) error {
	return CheckSiteID(object, "siteId", r.SiteID)
}
