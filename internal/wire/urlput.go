package wire

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// URLPutRequest is one element of URL_PUT (docs/spec/objects.md 2.9, docs/spec/storage.md 4.16).
type URLPutRequest struct {
	SiteID      string
	URLMd5      string // "": Criterion selects the URLs
	Criterion   Criterion
	ContentType int64
	PutDict     PutDict
	Suffix      string // of file names; "": the time
}

// PutDict is the content of a URLPutRequest.
type PutDict struct {
	ID    string  // key of a processed content; "": the key of the URL
	Data  *string // nil if missing
	CDate Date    // of a processed content; "": now
}

var suffixPattern = regexp.MustCompile(`^[0-9A-Za-z_-]{0,64}$`)

// ReadURLPut reads the list of URL_PUT. It accepts an element without data: the answer
// reports that.
func ReadURLPut(raw json.RawMessage, n *Notes) ([]URLPutRequest, error) {
	return readList("URLPutObj", raw, func(name string, raw json.RawMessage) (URLPutRequest, error) {
		return readObject(name, raw).urlPut(n)
	})
}

// ReadURLPutObject reads and checks the urlPut of another operation. siteID and urlMd5
// are the defaults of its keys; data is mandatory.
func ReadURLPutObject(name string, raw json.RawMessage, siteID, urlMd5 string) (URLPutRequest, error) {
	o := readObject(name, raw)
	r, err := o.urlPut(nil)
	if err != nil {
		return r, err
	}
	if !o.has("siteId") {
		r.SiteID = siteID
	}
	if r.URLMd5 == "" {
		r.URLMd5 = urlMd5
	}
	if r.PutDict.Data == nil {
		return r, &FieldError{Object: name + ".putDict", Field: "data", Reason: "is missing"}
	}
	if err := CheckMd5(name, "urlMd5", r.URLMd5); err != nil {
		return r, err
	}
	return r, r.Check(name)
}

func (o *object) urlPut(n *Notes) (URLPutRequest, error) {
	r := URLPutRequest{
		SiteID: o.siteID(), URLMd5: o.text("urlMd5", ""), Criterion: o.criterion("criterions", Criterion{}),
		ContentType: o.int("contentType", ContentRaw), Suffix: o.text("fileStorageSuffix", ""),
	}
	if !o.has("putDict") {
		o.fail("putDict", "is missing")
		return r, o.err
	}
	d := readObject(o.name+".putDict", o.raw("putDict"))
	r.PutDict = PutDict{ID: d.text("id", ""), Data: d.bytesOrNil("data"), CDate: d.moment("CDate")}
	d.accept("cDate", "properties")
	if err := d.end(n); err != nil {
		return r, err
	}
	return r, o.end(n)
}

// moment reads a date. It returns "" for an absent date and for an expression.
func (o *object) moment(field string) Date {
	if !o.has(field) {
		return ""
	}
	value, _, ok := readDate(o.fields[field])
	if !ok {
		o.fail(field, KindDate.reason(o.fields[field]))
	}
	text, _ := value.(string)
	return Date(text)
}

// Check refuses invalid site ids, md5 keys, file suffixes and content types. object is
// the name in errors.
func (r URLPutRequest) Check(object string) error {
	if err := checkSiteAndMd5(object, r.SiteID, "urlMd5", r.URLMd5); err != nil {
		return err
	}
	if !suffixPattern.MatchString(r.Suffix) {
		return &FieldError{Object: object, Field: "fileStorageSuffix", Value: clip(quoteJSON(r.Suffix)), Reason: "is not of letters, digits, - or _"}
	}
	switch r.ContentType {
	case ContentProcessed:
		if r.PutDict.ID != "" {
			return CheckMd5(object+".putDict", "id", r.PutDict.ID)
		}
	case ContentRaw, ContentTidy, ContentHeaders, ContentRequests, ContentMeta, ContentCookies, ContentDynamic, ContentChain:
	default:
		return &FieldError{Object: object, Field: "contentType", Value: fmt.Sprint(r.ContentType), Reason: "is not a type of content"}
	}
	return nil
}
