package crawl

import (
	"encoding/base64"
	"net/http"
	"strings"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/wire"
)

// given returns the content that the client supplied with the item, or nil
// (docs/spec/crawling.md 1.3, 4.9 "URL put"). No request is sent.
func (it *item) given() (*answer, error) {
	if len(it.put) == 0 || it.put[0] != '{' {
		return nil, nil
	}
	r, err := wire.ReadURLPutObject("urlPut", it.put, it.SiteID, it.URLID)
	if err != nil {
		return nil, err
	}
	body := plainOrBase64(*r.PutDict.Data)
	return &answer{supplied: true, Response: &fetch.Response{
		FinalURL: it.url.URL, Code: http.StatusOK, Header: http.Header{}, RequestHeader: http.Header{},
		Body: body,
	}}, nil
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
