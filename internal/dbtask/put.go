package dbtask

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"hce/dc/internal/dc"
	"hce/dc/internal/kv"
	"hce/dc/internal/rawcache"
)

// isPut tells a URL_PUT from none, and from the placeholders of old samples.
func isPut(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// readPut reads a URL_PUT that another operation carries (storage 4.16). Null
// site and key are those of the URL.
func readPut(name string, raw json.RawMessage, site, md5 string) (dc.URLPutRequest, error) {
	r, err := dc.ReadURLPutObject(name, raw, site, md5)
	if err != nil {
		return r, err
	}
	kind := rawcache.Kind(r.ContentType)
	switch {
	case r.ContentType == dc.ContentProcessed:
		err = dc.CheckMd5(name+".putDict", "id", r.PutDict.ID)
	case !kind.Valid():
		err = &dc.FieldError{Object: name, Field: "contentType", Value: fmt.Sprint(r.ContentType), Reason: "is not a type of content"}
	}
	return r, err
}

// checkPut refuses a URL_PUT that cannot be done, before anything is touched.
// The URL's site may not be known yet.
func checkPut(name string, raw json.RawMessage, md5 string) error {
	if !isPut(raw) {
		return nil
	}
	_, err := readPut(name, raw, dc.GeneralSite, md5)
	return err
}

// put stores the content of a URL_PUT that another operation carries.
func (o *Owner) put(ctx context.Context, name string, raw json.RawMessage, site, md5 string) error {
	if !isPut(raw) {
		return nil
	}
	r, err := readPut(name, raw, site, md5)
	if err != nil {
		return err
	}
	if r.ContentType == dc.ContentProcessed {
		_, err := o.Contents.PutAll(ctx, r.SiteID, []kv.Entry{{ID: r.PutDict.ID, Data: []byte(*r.PutDict.Data)}})
		return err
	}
	kind := rawcache.Kind(r.ContentType)
	data := decoded(*r.PutDict.Data)
	stage := o.Raw.Stage()
	defer stage.Abort()
	if r.Suffix != "" {
		err = stage.PutLabelled(r.SiteID, r.URLMd5, r.Suffix, kind, data)
	} else {
		err = stage.Put(r.SiteID, r.URLMd5, o.Now(), kind, data)
	}
	if err != nil {
		return err
	}
	return stage.Commit()
}

// decoded is the base64 text decoded, or the text itself when it is none.
func decoded(text string) []byte {
	if data, err := base64.StdEncoding.DecodeString(text); err == nil {
		return data
	}
	return []byte(text)
}
