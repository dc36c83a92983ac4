package wire

import (
	"cmp"
	"encoding/json"

	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/urlkey"
)

// DBFields are the columns in an answer to URL_CONTENT if the request has no
// dbFieldsList (docs/spec/objects.md 3.6).
var DBFields = []string{"Status", "Crawled", "Processed", "ContentType", "Charset", "ErrorMask", "CrawlingTime",
	"ProcessingTime", "HTTPCode", "Size", "LinksI", "LinksE", "RawContentMd5", "LastModified", "CDate", "UDate",
	"TagsMask", "TagsCount", "PDate", "ContentURLMd5", "Batch_Id"}

// URLContentRequest is one element of URL_CONTENT (docs/spec/objects.md 2.9,
// docs/spec/storage.md 4.13). Its JSON, with sorted keys, goes to the journal.
type URLContentRequest struct {
	Null           bool             `json:"-"` // the element is null; so is its answer
	Fetch          *URLFetchRequest `json:"-"` // selects the URLs; nil: URLMd5 does
	AttributeNames []string         `json:"attributeNames"`
	Mask           int64            `json:"contentTypeMask"`
	Tags           []string         `json:"tagNames,omitempty"` // of processed contents; empty: all
	DBFields       []string         `json:"dbFieldsList"`
	SiteID         string           `json:"siteId"`
	URL            string           `json:"url"`
	URLMd5         string           `json:"urlMd5"`
}

// ReadURLContent reads the list of URL_CONTENT.
func ReadURLContent(raw json.RawMessage, n *lenient.Notes) ([]URLContentRequest, error) {
	return lenient.ReadNullable("URLContentObject", raw, n, URLContentRequest{Null: true}, func(o *lenient.Object) URLContentRequest {
		r := URLContentRequest{
			SiteID:         o.ReadText("siteId"),
			URL:            o.ReadText("url"),
			URLMd5:         o.ReadMD5("urlMd5"),
			Mask:           o.ReadInt("contentTypeMask", MaskProcessed|MaskRawLast),
			AttributeNames: o.ReadTexts("attributeNames", []string{"*"}),
			DBFields:       DBFields,
			Tags:           o.ReadTexts("tagNames", nil),
		}
		if o.HasField("dbFieldsList") && o.Fields["dbFieldsList"][0] == '[' {
			r.DBFields = o.ReadTexts("dbFieldsList", nil)
		}
		if o.HasField("urlFetch") {
			f := lenient.ReadObject(o.Reading, o.Name+".urlFetch", o.Fields["urlFetch"], readURLFetch)
			if f.SitesCriterion.Where == "" && r.SiteID != "" {
				f.Sites = append(f.Sites, r.SiteID)
			}
			r.Fetch = &f
		}
		r.SiteID, r.URLMd5 = cmp.Or(r.SiteID, GeneralSite), urlkey.Choose(keyToFind(r.URLMd5), r.URL)
		return r
	})
}

// Check refuses invalid site ids. object is the name in errors.
func (r URLContentRequest) Check(object string) error {
	if r.Null {
		return nil
	}
	if r.Fetch != nil {
		return r.Fetch.Check(object + ".urlFetch")
	}
	return CheckSiteID(object, "siteId", r.SiteID)
}
