package crawl

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"mime"
	"net/http"
	"runtime/debug"
	"sort"
	"strings"
	"time"

	"hce/dc/internal/canon"
	"hce/dc/internal/dc"
	"hce/dc/internal/extract/charset"
	"hce/dc/internal/fetch"
)

// page is a response on its way from the fetch to the save stage.
type page struct {
	*item
	response *fetch.Response
}

// read turns a response into what is stored of it. A page that makes a parser
// panic fails alone, with bit 12.
func (r *batchRun) read(ctx context.Context, p page) (out *outcome) {
	defer func() {
		if reason := recover(); reason != nil {
			r.log.Error("the page panicked", "site", p.SiteID, "url", p.url.URL, "reason", reason, "stack", string(debug.Stack()))
			out = p.item.failed(dc.ErrHTMLParse, 0, dc.DateOf(r.Now()))
		}
	}()
	kind, declared := mediaType(p.response)
	p.url.ContentType, p.url.HTTPMethod = clipTo(kind, 32), "get"
	p.url.CrawlingTime = p.response.Total.Milliseconds()
	bits := codeBits(p.response.Code)
	switch {
	case bits != 0:
	case len(p.response.Body) == 0:
		bits = dc.ErrEmpty
	case !allowedType(kind, p.settings.contentTypes):
		bits = dc.ErrMIME
	}
	if bits != 0 {
		return r.refused(p, bits)
	}
	return r.taken(ctx, p, kind, declared)
}

// refused is the outcome of a response that is not wanted: what was said is
// kept, not the body (seed, crawler steps 15, 16).
func (r *batchRun) refused(p page, bits dc.ErrorMask) *outcome {
	out := p.item.failed(bits, p.response.Code, dc.DateOf(r.Now()))
	out.result.At = p.response.Started
	out.result.Set["ContentType"], out.result.Set["HTTPMethod"] = p.url.ContentType, p.url.HTTPMethod
	out.took(p.url.CrawlingTime)
	r.addExchange(out, p)
	return out
}

// taken is the outcome of a page (seed, crawler steps 13 to 22; crawling 2.3
// steps 24 to 40).
func (r *batchRun) taken(ctx context.Context, p page, kind, declared string) *outcome {
	now := r.Now()
	date := dc.DateOf(now)
	resp := p.response
	u := &p.item.url
	sum := md5.Sum(resp.Body)
	bodyMd5 := hex.EncodeToString(sum[:])
	out := &outcome{item: p.item, result: dc.Fetched{
		URLMd5: p.URLID, Crawled: true, At: resp.Started,
		Same:     p.row.Crawled > 0 && p.row.RawContentMd5 == bodyMd5,
		SiteBits: p.site.bits | p.settings.bits,
	}}
	var bits dc.ErrorMask
	body := resp.Body
	u.Charset = ""
	if isText(kind) {
		text, name, err := charset.Decode(body, declared)
		if err != nil {
			// The text is there, some of it as replacement characters: a mark,
			// not a failure.
			bits |= dc.ErrBadEncoding
		}
		body, u.Charset = text, clipTo(name, 32)
	}
	p.item.baseURL = resp.FinalURL
	if base, err := canon.Canonical(resp.FinalURL); err == nil {
		p.item.baseURL = base
	}
	u.LinksI, u.LinksE = 0, 0
	if collects(p.item) && (isText(kind) || isXML(kind)) {
		out.result.Links = r.collect(ctx, p, body, kind, now)
	}
	out.result.Files = append(out.result.Files, dc.File{Type: dc.ContentRaw, Data: body})
	r.addExchange(out, p)

	u.Status, u.State, u.HTTPCode, u.ErrorMask = dc.StatusCrawled, dc.URLEnabled, int64(resp.Code), bits
	u.Size, u.TotalTime = int64(len(resp.Body)), (resp.Total + r.Now().Sub(now)).Milliseconds()
	u.RawContentMd5, u.ETag = bodyMd5, clipTo(etag(resp.Header), 128)
	u.LastModified = lastModified(resp.Header, now)
	u.MRate = (p.row.MRate*float64(p.row.MRateCounter) + 1) / float64(p.row.MRateCounter+1)
	u.MRateCounter = p.row.MRateCounter + 1
	u.UDate, u.TcDate, u.Crawled = date, date, p.row.Crawled+1
	u.ContentMask = 1
	out.result.Set = dc.Patch{
		"Status": u.Status, "State": u.State, "HTTPCode": u.HTTPCode, "HTTPMethod": u.HTTPMethod,
		"ErrorMask": int64(u.ErrorMask), "ContentType": u.ContentType, "Charset": u.Charset,
		"CrawlingTime": u.CrawlingTime, "TotalTime": u.TotalTime, "Size": u.Size, "RawContentMd5": u.RawContentMd5,
		"ETag": u.ETag, "LastModified": string(u.LastModified), "MRate": u.MRate, "MRateCounter": u.MRateCounter,
		"LinksI": u.LinksI, "LinksE": u.LinksE, "UDate": string(date), "TcDate": string(date),
	}
	return out
}

// addExchange adds the response headers, the request and the cookies as files,
// as the site wants them (seed, crawler steps 19, 20).
func (r *batchRun) addExchange(out *outcome, p page) {
	resp := p.response
	if p.settings.storeHeaders {
		head := headerText(resp.Header, "")
		if p.item.baseURL != "" {
			head = append(head, "X-base_url: "+p.item.baseURL+"\r\n"...)
		}
		out.result.Files = append(out.result.Files, dc.File{Type: dc.ContentHeaders, Data: head})
	}
	if p.settings.storeRequest {
		out.result.Files = append(out.result.Files, dc.File{Type: dc.ContentRequests, Data: headerText(resp.RequestHeader, resp.RequestLine)})
	}
	if set := resp.Header.Values("Set-Cookie"); p.settings.storeCookies && len(set) > 0 {
		text := strings.ToValidUTF8(strings.Join(set, "\r\n")+"\r\n", "\uFFFD")
		out.result.Files = append(out.result.Files, dc.File{Type: dc.ContentCookies, Data: []byte(text)})
	}
	for _, f := range out.result.Files {
		out.bytes += len(f.Data)
	}
}

// mediaType is the content type without parameters, lower case, and the header
// as it came. Without a header the body decides.
func mediaType(resp *fetch.Response) (kind, declared string) {
	declared = resp.Header.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(declared)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		kind = declared
		if i := strings.IndexAny(kind, ";,"); i >= 0 { // also two types in one
			kind = kind[:i]
		}
		kind = strings.ToLower(strings.TrimSpace(kind))
	}
	if kind == "" {
		kind, _, _ = strings.Cut(http.DetectContentType(resp.Body), ";")
	}
	return kind, declared
}

func isText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || kind == "application/xhtml+xml"
}

func isXML(kind string) bool { return strings.Contains(kind, "xml") }

func allowedType(kind string, allowed []string) bool {
	if len(allowed) == 0 {
		return true
	}
	for _, a := range allowed {
		if a == kind || a == "*" || a == "*/*" || (strings.HasSuffix(a, "/*") && strings.HasPrefix(kind, strings.TrimSuffix(a, "*"))) {
			return true
		}
	}
	return false
}

func etag(h http.Header) string {
	first, _, _ := strings.Cut(h.Get("ETag"), ",")
	return strings.Trim(strings.TrimPrefix(strings.TrimSpace(first), "W/"), `"`)
}

// lastModified is the date of the header, else that of the response, else now
// (crawling 2.3).
func lastModified(h http.Header, now time.Time) dc.Date {
	for _, name := range []string{"Last-Modified", "Date"} {
		if t, err := http.ParseTime(h.Get(name)); err == nil && t.Year() > 1970 && t.Year() < 10000 {
			return dc.DateOf(t)
		}
	}
	return dc.DateOf(now)
}

// headerText is a header block of "Name: value" lines, names sorted.
func headerText(h http.Header, first string) []byte {
	var b bytes.Buffer
	if first != "" {
		b.WriteString(first + "\r\n")
	}
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		for _, value := range h[name] {
			b.WriteString(strings.ToValidUTF8(name+": "+value, "\uFFFD"))
			b.WriteString("\r\n")
		}
	}
	return b.Bytes()
}

// clipTo makes a text of a server fit for a column of most bytes.
func clipTo(s string, most int) string {
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}
