package crawl

import (
	"encoding/base64"
	"net/http"
	"strings"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/wire"
)

// given is the content that the client put into an item in place of the one on
// the web, nil when there is none (docs/spec/crawling.md 1.3, 4.9 "URL put"). It needs no host:
// nothing is asked, and nobody waits.
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
		Body: body, WireBytes: int64(len(body)),
	}}, nil
}

// plainOrBase64 decodes a text that is base64 from its first to its last
// character, line ends aside, and takes any other as it is. Mark-up never is.
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
