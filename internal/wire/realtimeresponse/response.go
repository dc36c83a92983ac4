package realtimeresponse

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// Answer is the answer of the last task of a real-time batch.
type Answer struct {
	Contents []wire.URLContentResponse `json:"contents"`
	Grades   []Grade                   `json:"grades"` // one for each of Contents
	// Retry holds the items to fetch again in a browser; nil: no item.
	Retry *wire.Batch `json:"again"`
}

// Response returns the answer for one item, without contents. Its status is always
// Processed; dbFields have the real one (docs/spec/objects.md 3.6).
func Response(batch int64, item wire.BatchItem) wire.URLContentResponse {
	u := item.URL
	r := wire.NewURLContentResponse(u.URL)
	md5 := item.URLID
	r.URLMd5, r.SiteID, r.Status = &md5, item.SiteID, wire.StatusProcessed
	r.RawContentMd5, r.ContentURLMd5 = u.RawContentMd5, u.ContentURLMd5
	r.DBFields = newDBFields(batch, &u)
	r.ItemProperties = itemProperties(item)
	if u.Attributes != nil {
		r.Attributes = u.Attributes
	}
	return r
}

// newDBFields returns dbFields. HttpCode and BatchId differ from the names of the columns;
// errorNames lists the bits of ErrorMask (docs/spec/DECISIONS.md 1.8).
func newDBFields(batch int64, u *wire.URL) map[string]any {
	return map[string]any{
		"Status": u.Status, "Crawled": u.Crawled, "Processed": u.Processed, "ContentType": u.ContentType, "Charset": u.Charset,
		"ErrorMask": u.ErrorMask, "errorNames": u.ErrorMask.Names(), "CrawlingTime": u.CrawlingTime, "ProcessingTime": u.ProcessingTime,
		"HttpCode": u.HTTPCode, "Size": u.Size, "LinksI": u.LinksI, "LinksE": u.LinksE, "RawContentMd5": u.RawContentMd5,
		"LastModified": u.LastModified, "CDate": u.CDate, "UDate": u.UDate, "TagsMask": u.TagsMask, "TagsCount": u.TagsCount,
		"PDate": u.PDate, "ContentURLMd5": u.ContentURLMd5, "BatchId": batch,
	}
}

// itemProperties returns the properties of urlPut, or those of the item, or nil.
func itemProperties(item wire.BatchItem) json.RawMessage {
	var put struct {
		PutDict struct {
			Properties json.RawMessage `json:"properties"`
		} `json:"putDict"`
	}
	if json.Unmarshal(item.URL.URLPut, &put) == nil && len(put.PutDict.Properties) > 0 && string(put.PutDict.Properties) != "null" {
		return put.PutDict.Properties
	}
	if len(item.Properties) == 0 {
		return nil
	}
	text, err := json.Marshal(item.Properties)
	if err != nil {
		return nil
	}
	return text
}

// Failed returns the answer for an item that its node did not return. It adds bits to the
// errors of the item.
func Failed(batch int64, item wire.BatchItem, bits errormask.Mask) wire.URLContentResponse {
	item.URL.ErrorMask |= bits
	return Response(batch, item)
}

// Mask returns the contents in the answer for an item, as bits of URL_CONTENT. They are
// contentMask of urlObj, by default the processed content, and the raw content if
// FETCH_RAW_CONTENT is 1. site may be nil.
func Mask(item wire.BatchItem, site *wire.Site) int64 {
	mask := item.URL.ContentMask
	if mask <= 0 {
		mask = wire.MaskProcessed
	}
	if strings.TrimSpace(findProperty(item, site, "FETCH_RAW_CONTENT")) == "1" && mask&versions == 0 {
		mask |= wire.MaskRawLast
	}
	return mask
}

const (
	versions   = wire.MaskRawLast | wire.MaskRawFirst | wire.MaskRawAll
	kinds      = wire.MaskTidy | wire.MaskDynamic | wire.MaskRaw | wire.MaskChain
	companions = wire.MaskHeaders | wire.MaskRequests | wire.MaskMeta | wire.MaskCookies
)

// FileMask returns the bits of mask that select files, for the repository. It adds a bit
// for the raw content where the repository needs it to find the other files; Trim removes
// that content from the answer.
func FileMask(mask int64) int64 {
	files := mask & (versions | kinds | companions)
	if files != 0 && files&versions == 0 {
		files |= wire.MaskRawLast
	}
	if files&companions != 0 && files&kinds != 0 {
		files |= wire.MaskRaw
	}
	return files
}

// Trim removes the raw contents that mask does not select.
func Trim(mask int64, r *wire.URLContentResponse) {
	r.RawContents = slices.DeleteFunc(r.RawContents, func(c wire.Content) bool {
		if mask&kinds != 0 {
			return c.TypeID == wire.ContentRaw && mask&wire.MaskRaw == 0
		}
		return mask&versions == 0
	})
}

// findProperty returns a property of the item, or of the site, or "".
func findProperty(item wire.BatchItem, site *wire.Site, name string) string {
	if value, own := item.Properties[name]; own {
		return value
	}
	if site == nil {
		return ""
	}
	value, _ := site.Property(name)
	return value
}

// Reserve returns the time that the last task of a batch has in addition to the limit of
// the earlier tasks: a quarter of limit, at least 1 and at most 10 seconds.
func Reserve(limit time.Duration) time.Duration {
	return min(max(limit/4, time.Second), 10*time.Second)
}
