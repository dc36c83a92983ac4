package wire

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
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
	ID    string      // key of a processed content; "": the key of the URL
	Data  *string     // nil if missing
	CDate schema.Date // of a processed content; "": now
}

var suffixPattern = regexp.MustCompile(`^[0-9A-Za-z_.-]{0,64}$`)

// ReadURLPut reads the list of URL_PUT. It accepts an element without data: the answer
// reports that.
func ReadURLPut(raw json.RawMessage, n *lenient.Notes) ([]URLPutRequest, error) {
	return lenient.ReadList("URLPutObj", raw, n, readURLPut)
}

// ReadURLPutObject reads and checks the urlPut of another operation. siteID and urlMd5
// are the defaults of its keys; data is mandatory.
func ReadURLPutObject(name string, raw json.RawMessage, siteID, urlMd5 string) (URLPutRequest, error) {
	r, err := lenient.ReadOne(name, raw, nil, func(o *lenient.Object) URLPutRequest {
		r := readURLPut(o)
		if !o.HasField("siteId") {
			r.SiteID = siteID
		}
		r.URLMd5 = cmp.Or(r.URLMd5, urlMd5)
		if r.PutDict.Data == nil {
			o.KeepFirstError(&lenient.FieldError{Object: name + ".putDict", Field: "data", Reason: "is missing"})
		}
		return r
	})
	return r, cmp.Or(err, CheckMd5(name, "urlMd5", r.URLMd5), r.Check(name))
}

// SuppliedContent returns the content in urlPut of a batch item: plain, or base64 as a whole. It
// returns nil if put is no object.
func SuppliedContent(put json.RawMessage, siteID, urlMd5 string) ([]byte, error) {
	if len(put) == 0 || put[0] != '{' {
		return nil, nil
	}
	r, err := ReadURLPutObject("urlPut", put, siteID, urlMd5)
	if err != nil {
		return nil, err
	}
	return plainOrBase64(*r.PutDict.Data), nil
}

// HasData reports whether put, the urlPut of a batch item, holds a content.
func HasData(put json.RawMessage) bool {
	var content struct {
		PutDict struct {
			Data *string `json:"data"`
		} `json:"putDict"`
	}
	return json.Unmarshal(put, &content) == nil && content.PutDict.Data != nil
}

// plainOrBase64 decodes a text that is base64 as a whole, ignoring line ends. Any other text,
// and any text with markup, is returned as it is.
func plainOrBase64(text string) []byte {
	if strings.IndexByte(text, '<') >= 0 {
		return []byte(text)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) == 0 {
		return []byte(text)
	}
	return data
}

func readURLPut(o *lenient.Object) URLPutRequest {
	r := URLPutRequest{
		SiteID: readSiteID(o), URLMd5: o.ReadMD5("urlMd5"), Criterion: readCriterion(o, "criterions", Criterion{}),
		ContentType: o.ReadInt("contentType", ContentRaw), Suffix: o.ReadText("fileStorageSuffix"),
	}
	if !o.HasField("putDict") {
		o.RefuseField("putDict", "is missing")
		return r
	}
	r.PutDict = lenient.ReadObject(o.Reading, o.Name+".putDict", o.Fields["putDict"], func(o *lenient.Object) PutDict {
		o.AcceptUnused("cDate", "properties")
		return PutDict{ID: o.ReadMD5("id"), Data: o.BytesOrNil("data"), CDate: readDateField(o, "CDate")}
	})
	return r
}

// readDateField reads a date. It returns "" for an absent date and for an expression.
func readDateField(o *lenient.Object, field string) schema.Date {
	if !o.HasField(field) {
		return ""
	}
	value, _, ok := schema.ReadDate(o.Fields[field])
	if !ok {
		o.RefuseField(field, schema.KindDate.RefusalReason(o.Fields[field]))
	}
	text, _ := value.(string)
	return schema.Date(text)
}

// Check refuses invalid site ids, md5 keys, file suffixes and content types. object is
// the name in errors.
func (r URLPutRequest) Check(object string) error {
	err := cmp.Or(CheckSiteID(object, "siteId", r.SiteID), checkGiven(CheckMd5, object, "urlMd5", r.URLMd5),
		checkPattern(suffixPattern, object, "fileStorageSuffix", r.Suffix, "is not of letters, digits, -, _ or ."))
	switch r.ContentType {
	case ContentProcessed:
		err = cmp.Or(err, checkGiven(CheckMd5, object+".putDict", "id", r.PutDict.ID))
	case ContentRaw, ContentTidy, ContentHeaders, ContentRequests, ContentMeta, ContentCookies, ContentDynamic, ContentChain, ContentHops:
	default:
		wrong := &lenient.FieldError{Object: object, Field: "contentType", Value: fmt.Sprint(r.ContentType), Reason: "is not a type of content"}
		err = cmp.Or(err, error(wrong))
	}
	return err
}
