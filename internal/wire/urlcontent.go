package wire

import (
	"cmp"
	"encoding/json"

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
func ReadURLContent(raw json.RawMessage, n *Notes) ([]URLContentRequest, error) {
	return readNullable("URLContentObject", raw, n, URLContentRequest{Null: true}, func(o *object) URLContentRequest {
		r := URLContentRequest{
			SiteID:         o.readText("siteId"),
			URL:            o.readText("url"),
			URLMd5:         o.readMD5("urlMd5"),
			Mask:           o.readInt("contentTypeMask", MaskProcessed|MaskRawLast),
			AttributeNames: o.readTexts("attributeNames", []string{"*"}),
			DBFields:       DBFields,
			Tags:           o.readTexts("tagNames", nil),
		}
		if o.hasField("dbFieldsList") && o.fields["dbFieldsList"][0] == '[' {
			r.DBFields = o.readTexts("dbFieldsList", nil)
		}
		if o.hasField("urlFetch") {
			f := readObject(o.reading, o.name+".urlFetch", o.fields["urlFetch"], readURLFetch)
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
