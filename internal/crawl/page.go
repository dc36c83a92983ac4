package crawl

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"mime"
	"net/http"
	"sort"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"hce/dc/internal/canon"
	"hce/dc/internal/dc"
	"hce/dc/internal/extract/charset"
	"hce/dc/internal/extract/links"
	"hce/dc/internal/fetch"
	"hce/dc/internal/filter"
)

// page is a response on its way from the fetch to the save stage.
type page struct {
	*item
	settings settings
	response *fetch.Response
	siteBits dc.ErrorMask
}

// read turns a response into what is stored of it (seed, crawler steps 13 to
// 22; crawling 2.3 steps 24 to 40).
func (r *batchRun) read(p page) *outcome {
	now := r.Now()
	date := dc.DateOf(now)
	resp := p.response
	u := &p.item.url
	kind, declared := mediaType(resp)
	u.ContentType, u.HTTPMethod = kind, "get"
	u.CrawlingTime = resp.Total.Milliseconds()

	bits := codeBits(resp.Code)
	switch {
	case bits != 0:
	case len(resp.Body) == 0:
		bits = dc.ErrEmpty
	case !allowedType(kind, p.settings.contentTypes):
		bits = dc.ErrMIME
	}
	if bits != 0 {
		out := p.item.failed(bits, resp.Code, date)
		out.result.At = resp.Started
		out.result.SiteBits |= p.siteBits | p.site.bits
		out.result.Set["ContentType"] = clipTo(kind, 32)
		out.result.Set["CrawlingTime"], out.result.Set["TotalTime"] = u.CrawlingTime, u.CrawlingTime
		r.addExchange(out, p)
		return out
	}

	sum := md5.Sum(resp.Body)
	bodyMd5 := hex.EncodeToString(sum[:])
	out := &outcome{item: p.item, result: dc.Fetched{
		URLMd5: p.URLID, Crawled: true, At: resp.Started,
		Same:     p.row.Crawled > 0 && p.row.RawContentMd5 == bodyMd5,
		SiteBits: p.siteBits | p.site.bits,
	}}
	body := resp.Body
	if isText(kind) {
		text, name, err := charset.Decode(body, declared)
		if err != nil {
			// The text is there, some of it as replacement characters: a mark,
			// not a failure.
			bits |= dc.ErrBadEncoding
		}
		body, u.Charset = text, name
	}
	p.item.baseURL = resp.FinalURL
	if collects(u.Type) && (isText(kind) || strings.Contains(kind, "xml")) {
		r.collect(p, body, kind, out, now)
	}
	out.result.Files = append(out.result.Files, dc.File{Type: dc.ContentRaw, Data: body})
	r.addExchange(out, p)

	total := resp.Total + r.Now().Sub(now)
	u.Status, u.State, u.HTTPCode, u.ErrorMask = dc.StatusCrawled, dc.URLEnabled, int64(resp.Code), bits
	u.Size, u.TotalTime = int64(len(resp.Body)), total.Milliseconds()
	u.RawContentMd5, u.ETag = bodyMd5, etag(resp.Header)
	u.LastModified = lastModified(resp.Header, now)
	u.MRate = (p.row.MRate*float64(p.row.MRateCounter) + 1) / float64(p.row.MRateCounter+1)
	u.MRateCounter = p.row.MRateCounter + 1
	u.UDate, u.TcDate, u.Crawled = date, date, p.row.Crawled+1
	u.ContentMask = 1
	out.result.Set = dc.Patch{
		"Status": u.Status, "State": u.State, "HTTPCode": u.HTTPCode, "HTTPMethod": u.HTTPMethod,
		"ErrorMask": int64(u.ErrorMask), "ContentType": clipTo(u.ContentType, 32), "Charset": clipTo(u.Charset, 32),
		"CrawlingTime": u.CrawlingTime, "TotalTime": u.TotalTime, "Size": u.Size, "RawContentMd5": u.RawContentMd5,
		"ETag": clipTo(u.ETag, 128), "LastModified": string(u.LastModified), "MRate": u.MRate, "MRateCounter": u.MRateCounter,
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
		out.result.Files = append(out.result.Files, dc.File{Type: dc.ContentCookies, Data: []byte(strings.Join(set, "\r\n") + "\r\n")})
	}
	for _, f := range out.result.Files {
		out.bytes += len(f.Data)
	}
}

// collect finds the page's outlinks and makes rows of those that belong to the
// site (seed, crawler steps 21, 22; crawling 5.3, 5.12).
func (r *batchRun) collect(p page, text []byte, kind string, out *outcome, now time.Time) {
	most := r.Config.MaxLinks
	scan := links.HTML
	if strings.Contains(kind, "xml") && !strings.Contains(kind, "html") {
		scan = links.XML
	}
	found := scan(text, most)
	base := p.response.FinalURL
	if found.Base != "" {
		if b, err := p.settings.schemes.Resolve(base, found.Base); err == nil {
			base = b
		}
	}
	p.item.baseURL = base
	u := &p.item.url
	limit := u.MaxURLsFromPage
	if limit <= 0 {
		limit = p.site.MaxURLsFromPage
	}
	env := filter.Env{Now: now, Depth: int(u.Depth)}
	home := siteOf(p.response.FinalURL)
	met := map[string]bool{u.URL: true}
	targets := found.Links
	if found.Refresh != nil {
		targets = append(targets, links.Link{URL: found.Refresh.URL, Tag: "meta", Attr: "content"})
	}
	var taken int64
	for _, l := range targets {
		target, err := p.settings.schemes.Resolve(base, l.URL)
		if err != nil {
			continue
		}
		if p.settings.mask != canon.Main {
			if target, err = p.settings.schemes.Normalize(target, p.settings.mask); err != nil {
				continue
			}
		}
		if met[target] {
			continue
		}
		met[target] = true
		if siteOf(target) == home {
			u.LinksI++
		} else {
			u.LinksE++
		}
		if limit > 0 && taken >= limit {
			continue
		}
		if !p.site.filters.Accept(filter.StageLinks, target, env) || !r.robotsAllow(p.settings, target, now) {
			continue
		}
		taken++
		out.result.NewURLs = append(out.result.NewURLs, r.discovered(p, target, now))
	}
}

// robotsAllow judges a link by rules that are known already: a link is no
// reason to ask a host for its robots.txt.
func (r *batchRun) robotsAllow(s settings, target string, now time.Time) bool {
	if !s.robots || !s.robotsLinks {
		return true
	}
	rules := r.robots.known(strings.TrimSuffix(canon.SiteURL(target), "/"), now)
	if rules == nil {
		return true
	}
	ok, _ := rules.Allowed(r.Config.RobotsAgent, pathOf(target))
	return ok
}

// discovered is the row of a new URL: type, delay and time-out from the site,
// depth and priority from the page (crawling 5.12, 7.1 #14).
func (r *batchRun) discovered(p page, target string, now time.Time) dc.URL {
	u := dc.NewURL(p.SiteID, target)
	date := dc.DateOf(now)
	u.Type, u.RequestDelay, u.HTTPTimeout = p.site.URLType, p.site.RequestDelay, p.site.HTTPTimeout
	u.ProcessingDelay, u.MaxURLsFromPage = p.site.ProcessingDelay, p.site.MaxURLsFromPage
	u.ParentMd5, u.Depth, u.Priority = p.URLID, p.item.url.Depth+1, p.item.url.Priority
	u.CDate, u.UDate, u.TcDate = date, date, date
	return u
}

// collects reports whether links are collected from a URL of the type.
func collects(urlType int64) bool {
	return urlType != dc.TypeSingle && urlType != dc.TypeChain
}

// mediaType is the content type without parameters, lower case, and the header
// as it came. Without a header the body decides.
func mediaType(resp *fetch.Response) (kind, declared string) {
	declared = resp.Header.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(declared)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		kind, _, _ = strings.Cut(declared, ";")
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

// siteOf is what links are called internal by: the registrable domain, or the
// host where there is none (crawling F48).
func siteOf(target string) string {
	host := canon.Host(target)
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host = host[:i]
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
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

func clipTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}
