package crawl

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/revalidate"
	"hce/dc/internal/wire"
)

// static sends a plain HTTP request. A page that was crawled before is requested conditionally, as
// DETECT_MODIFIED says (docs/spec/crawling.md 4.11).
func (v *visit) static(ctx context.Context, target string) (*answer, error) {
	rule, row := v.settings.modified, &v.item.row
	r := v.pageRequest(target)
	if !rule.Applies(row) || r.Method != http.MethodGet {
		response, err := v.follow(ctx, r)
		return &answer{Response: response}, err
	}
	r.Method = rule.Method(row)
	for name, values := range rule.Headers(row) {
		r.Header[name] = values
	}
	response, err := v.follow(ctx, r)
	if err != nil {
		return nil, err
	}
	changed := rule.Verdict(row, summary(response, r.Method))
	if changed && (rule.Second(row) || r.Method == http.MethodHead) {
		if err := v.again(ctx, target); err != nil {
			return nil, err
		}
		if response, err = v.follow(ctx, v.pageRequest(target)); err != nil {
			return nil, err
		}
		changed = rule.Verdict(row, summary(response, http.MethodGet))
	}
	return &answer{Response: response, unchanged: !changed}, nil
}

// summary returns the parts of a response that the rule needs.
func summary(response *fetch.Response, method string) revalidate.Answer {
	a := revalidate.Answer{Code: response.Code, Length: -1}
	if date, ok := content.ParseDate(response.Header.Get("Last-Modified")); ok {
		a.Date = date
	}
	if method == http.MethodHead {
		if n, err := strconv.ParseInt(response.Header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
			a.Length = n
		}
		return a
	}
	if response.Code != http.StatusNotModified {
		a.Length, a.MD5 = int64(len(response.Body)), md5Of(response.Body)
	}
	return a
}

func md5Of(body []byte) string {
	sum := md5.Sum(body)
	return hex.EncodeToString(sum[:])
}

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
