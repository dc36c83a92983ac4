package realtimeresponse

import (
	"encoding/json"
	"slices"
	"strings"

	"hce/dc/internal/wire"
)

// Answer is what the last stage of a batch in real time says.
type Answer struct {
	Contents []wire.URLContentResponse `json:"contents"`
	Grades   []Grade                   `json:"grades"` // of Contents, in their order
	// Again holds the items that a browser may do better; nil for none.
	Again *wire.Batch `json:"again"`
}

// Response is the answer for one item, without its contents. Its status is
// Processed, whatever became of the item: dbFields tell that (docs/spec/objects.md 3.6).
func Response(batch int64, item wire.BatchItem) wire.URLContentResponse {
	u := item.URL
	r := wire.NewURLContentResponse(u.URL)
	md5 := item.URLID
	r.URLMd5, r.SiteID, r.Status = &md5, item.SiteID, wire.StatusProcessed
	r.RawContentMd5, r.ContentURLMd5 = u.RawContentMd5, u.ContentURLMd5
	r.DBFields = fields(batch, &u)
	r.ItemProperties = properties(item)
	if u.Attributes != nil {
		r.Attributes = u.Attributes
	}
	return r
}

// fields are the dbFields of an answer. Two of them are not named as the columns
// are; errorNames lists the bits of ErrorMask (docs/spec/DECISIONS.md 1.8).
func fields(batch int64, u *wire.URL) map[string]any {
	return map[string]any{
		"Status": u.Status, "Crawled": u.Crawled, "Processed": u.Processed, "ContentType": u.ContentType, "Charset": u.Charset,
		"ErrorMask": u.ErrorMask, "errorNames": u.ErrorMask.Names(), "CrawlingTime": u.CrawlingTime, "ProcessingTime": u.ProcessingTime,
		"HttpCode": u.HTTPCode, "Size": u.Size, "LinksI": u.LinksI, "LinksE": u.LinksE, "RawContentMd5": u.RawContentMd5,
		"LastModified": u.LastModified, "CDate": u.CDate, "UDate": u.UDate, "TagsMask": u.TagsMask, "TagsCount": u.TagsCount,
		"PDate": u.PDate, "ContentURLMd5": u.ContentURLMd5, "BatchId": batch,
	}
}

// properties are those that came with a content of the client's own, else the
// item's; null when it has none.
func properties(item wire.BatchItem) json.RawMessage {
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

// Failed is the answer for an item that never came back from its node.
func Failed(batch int64, item wire.BatchItem, bits wire.ErrorMask) wire.URLContentResponse {
	item.URL.ErrorMask |= bits
	return Response(batch, item)
}

// Mask is which contents an item's answer holds, in bits of URL_CONTENT: those of
// contentMask in its urlObj, the processed content where that says nothing, and the
// raw content when FETCH_RAW_CONTENT is 1.
func Mask(item wire.BatchItem, site *wire.Site) int64 {
	mask := item.URL.ContentMask
	if mask <= 0 {
		mask = wire.MaskProcessed
	}
	if strings.TrimSpace(property(item, site, "FETCH_RAW_CONTENT")) == "1" && mask&versions == 0 {
		mask |= wire.MaskRawLast
	}
	return mask
}

const (
	versions   = wire.MaskRawLast | wire.MaskRawFirst | wire.MaskRawAll
	kinds      = wire.MaskTidy | wire.MaskDynamic | wire.MaskRaw | wire.MaskChain
	companions = wire.MaskHeaders | wire.MaskRequests | wire.MaskMeta | wire.MaskCookies
)

// FileMask is the part of a mask that is about files, as a store takes it. A batch has
// one version of a page, which need not be asked for by a bit of its own, and what
// goes with a page is found beside it: Trim takes away what was read only for that.
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

// Trim takes out of an answer the raw contents that mask does not ask for.
func Trim(mask int64, r *wire.URLContentResponse) {
	r.RawContents = slices.DeleteFunc(r.RawContents, func(c wire.Content) bool {
		if mask&kinds != 0 {
			return c.TypeID == wire.ContentRaw && mask&wire.MaskRaw == 0
		}
		return mask&versions == 0
	})
}

// property is the item's property of the name, else the site's.
func property(item wire.BatchItem, site *wire.Site, name string) string {
	if value, own := item.Properties[name]; own {
		return value
	}
	if site == nil {
		return ""
	}
	value, _ := site.Property(name)
	return value
}
