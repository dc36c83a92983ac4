package browser

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	cdpio "github.com/chromedp/cdproto/io"
	"github.com/chromedp/cdproto/network"

	"hce/dc/canonical"
	"hce/dc/internal/wire/prop"
)

// maxWaiting limits the queued requests of a page. Requests above it get no answer.
const maxWaiting = 10000

// handleDocument handles a request for the page itself, or its response.
func (v *visit) handleDocument(ev *fetch.EventRequestPaused) {
	if isResponse(ev) {
		v.checkResponse(ev)
	} else {
		v.checkRequest(ev)
	}
}

// isResponse reports whether a paused request has a response or has failed.
func isResponse(ev *fetch.EventRequestPaused) bool {
	return ev.ResponseStatusCode != 0 || ev.ResponseErrorReason != ""
}

// refuseRequest fails a request, and ends the page with f unless f is nil.
func (v *visit) refuseRequest(ev *fetch.EventRequestPaused, f *Fault) {
	if f != nil {
		v.failPage(f)
	}
	cdp.Call(v.time, v.session, fetch.FailRequest, fetch.FailRequestParams{RequestID: ev.RequestID, ErrorReason: network.ErrorReasonBlockedByClient})
}

// checkRequest continues a request for the page itself if it is allowed.
func (v *visit) checkRequest(ev *fetch.EventRequestPaused) {
	target := ev.Request.URL + ev.Request.URLFragment
	u, err := canonical.Net(target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		v.refuseRequest(ev, v.faultOf(BadRedirect, fmt.Errorf("redirect to unsupported URL %q", prop.Clip(target))))
		return
	}
	first, tooMany := false, false
	v.changeState(func() {
		first = v.count == 0
		if !first {
			tooMany = len(v.redirects) >= v.req.MaxRedirects
			if !tooMany {
				hop := Hop{URL: v.url, Code: v.code}
				if v.phase == requested { // no answer was a page
					hop.Header, hop.RequestHeader, hop.Status = v.header, v.sent, v.status
				}
				v.redirects = append(v.redirects, hop)
			}
		}
		if !tooMany {
			v.count++
			v.url, v.code, v.header, v.phase = target, 0, nil, requested
			v.loads, v.loadsCut = nil, false
		}
	})
	if tooMany {
		v.refuseRequest(ev, v.faultOf(TooManyRedirects, fmt.Errorf("limit %d reached before %q", v.req.MaxRedirects, prop.Clip(target))))
		return
	}
	if err := v.allowRequest(u, first); err != nil {
		v.refuseRequest(ev, &Fault{Kind: Refused, URL: target, Err: err})
		return
	}
	header := v.requestFields(ev.Request, u)
	params := fetch.ContinueRequestParams{RequestID: ev.RequestID}
	v.changeState(func() {
		v.sent = http.Header{}
		for _, h := range header {
			v.sent.Add(h.Name, h.Value)
			params.Headers = append(params.Headers, &fetch.HeaderEntry{Name: h.Name, Value: h.Value})
		}
	})
	if first && v.req.Method == http.MethodPost {
		params.Method, params.PostData = http.MethodPost, v.req.PostData
	}
	if _, err := cdp.Call(v.time, v.session, fetch.ContinueRequest, params); err != nil && v.time.Err() == nil {
		v.failPage(v.faultOf(Driver, fmt.Errorf("continue request: %w", err)))
	}
}

// allowRequest calls Allow for a request, while the time stands still. A page that goes to another URL lends
// its tab meanwhile.
func (v *visit) allowRequest(u *url.URL, first bool) error {
	ask := func() error { return v.req.Allow(v.time, u) }
	switch {
	case v.req.Allow == nil:
		return nil
	case first:
		return v.time.callUntimed(ask)
	}
	return v.time.callUntimed(func() error { return v.tab.lendTab(v.time, ask) })
}

// ownFields are the request fields that the browser sets.
var ownFields = map[string]bool{
	"Accept-Encoding": true, "Connection": true, "Content-Length": true, "Cookie": true, "Host": true,
	"Keep-Alive": true, "Proxy-Authorization": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true, "User-Agent": true,
}

// requestFields returns the fields of a request for the page itself. Fields of Request.Header
// replace those of the browser.
func (v *visit) requestFields(r *network.Request, u *url.URL) []Header {
	home, err := canonical.Net(v.req.URL)
	atHome := err == nil && home.Scheme == u.Scheme && strings.EqualFold(home.Host, u.Host)
	given := map[string]bool{}
	var list []Header
	for _, h := range v.req.Header {
		name := http.CanonicalHeaderKey(strings.TrimSpace(h.Name))
		switch {
		case name == "", name[0] == '-', ownFields[name], strings.ContainsAny(name+h.Value, "\r\n\x00"):
		case name == "Authorization" && !atHome:
		case strings.HasPrefix(name, "Content-") && len(v.req.PostData) == 0:
		default:
			list = append(list, Header{name, h.Value})
			given[name] = true
		}
	}
	if len(v.req.PostData) > 0 && !given["Content-Type"] {
		list = append(list, Header{"Content-Type", "application/x-www-form-urlencoded"})
		given["Content-Type"] = true
	}
	for name, value := range r.Headers {
		if text, ok := value.(string); ok && !given[http.CanonicalHeaderKey(name)] {
			list = append(list, Header{name, text})
		}
	}
	return list
}

// checkResponse handles the header of a response for the page itself. It downloads content
// that is not HTML as served.
func (v *visit) checkResponse(ev *fetch.EventRequestPaused) {
	resume := func() {
		if _, err := cdp.Call(v.time, v.session, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: ev.RequestID}); err != nil && v.time.Err() == nil {
			v.failPage(v.faultOf(Driver, fmt.Errorf("continue response: %w", err)))
		}
	}
	if ev.ResponseErrorReason != "" {
		v.mu.Lock()
		first := v.count == 1
		v.mu.Unlock()
		if !first { // navigate reports that of the first request in more detail
			if f := v.netFault(reasonText(string(ev.ResponseErrorReason))); f != nil {
				v.failPage(f)
			}
		}
		resume()
		return
	}
	header := http.Header{}
	for _, h := range ev.ResponseHeaders {
		header.Add(h.Name, h.Value)
	}
	code := int(ev.ResponseStatusCode)
	redirect := code >= 300 && code < 400 && code != http.StatusNotModified && header.Get("Location") != ""
	v.changeState(func() {
		v.code, v.header = code, header
		v.status = strings.TrimSpace(fmt.Sprintf("%d %s", code, cmp.Or(ev.ResponseStatusText, http.StatusText(code)))) // HTTP/2 has no reason
		if !redirect {
			v.phase = answered
		}
	})
	if redirect {
		resume()
		return
	}
	if n, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64); err == nil && n > v.req.MaxBytes {
		v.refuseRequest(ev, v.faultOf(TooLarge, fmt.Errorf("the response has %d bytes; the limit is %d", n, v.req.MaxBytes)))
		return
	}
	kind := mediaType(header.Get("Content-Type"))
	disposition, _, _ := strings.Cut(header.Get("Content-Disposition"), ";")
	if isHTML(kind) && !strings.EqualFold(strings.TrimSpace(disposition), "attachment") || code == http.StatusNoContent {
		resume()
		return
	}
	v.takeFile(ev, kind)
}

// takeFile downloads a response that is not declared as HTML, and ends the page with it.
// It passes content without a declared type to the page if it looks like HTML.
func (v *visit) takeFile(ev *fetch.EventRequestPaused, kind string) {
	body, err := v.downloadBody(v.time, ev.RequestID)
	switch {
	case err != nil && v.time.Err() != nil:
		return
	case err != nil:
		var f *Fault
		if !errors.As(err, &f) {
			f = v.faultOf(Driver, fmt.Errorf("download body: %w", err))
		}
		v.refuseRequest(ev, f)
		return
	case kind == "" && isHTML(mediaType(http.DetectContentType(body))):
		entries := append(ev.ResponseHeaders, &fetch.HeaderEntry{Name: "Content-Type", Value: "text/html"})
		_, err := cdp.Call(v.time, v.session, fetch.FulfillRequest, fetch.FulfillRequestParams{
			RequestID: ev.RequestID, ResponseCode: ev.ResponseStatusCode, ResponseHeaders: entries, Body: body})
		if err != nil && v.time.Err() == nil {
			v.failPage(v.faultOf(Driver, fmt.Errorf("continue response: %w", err)))
		}
		return
	case len(body) == 0 && ev.ResponseStatusCode < 400:
		v.refuseRequest(ev, v.faultOf(Empty, nil))
		return
	}
	v.changeState(func() { v.phase, v.body = downloaded, body })
	v.refuseRequest(ev, nil)
}

// downloadBody reads the body of a response in chunks, since it may have any size.
func (v *visit) downloadBody(ctx context.Context, id fetch.RequestID) ([]byte, error) {
	opened, err := cdp.Call(ctx, v.session, fetch.TakeResponseBodyAsStream, fetch.TakeResponseBodyAsStreamParams{RequestID: id})
	if err != nil {
		return nil, err
	}
	defer func() {
		cdp.Call(ctx, v.session, cdpio.Close, cdpio.CloseParams{Handle: opened.Stream})
	}()
	var body bytes.Buffer
	for {
		part, err := cdp.Call(ctx, v.session, cdpio.Read, cdpio.ReadParams{Handle: opened.Stream, Size: 256 << 10})
		if err != nil {
			if v.proxy.full.Load() {
				return nil, v.faultOf(TooLarge, errTraffic)
			}
			return nil, err
		}
		body.Write(part.Data)
		if int64(body.Len()) > v.req.MaxBytes {
			return nil, v.faultOf(TooLarge, fmt.Errorf("the response exceeds %d bytes", v.req.MaxBytes))
		}
		if part.EOF {
			return body.Bytes(), nil
		}
	}
}

// mediaType returns the type of a Content-Type field, in lower case, without parameters.
func mediaType(field string) string {
	kind, _, _ := strings.Cut(field, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

func isHTML(kind string) bool { return kind == "text/html" || kind == "application/xhtml+xml" }

// charsetOf returns the charset of a Content-Type field in lower case, or "".
func charsetOf(field string) string {
	_, params, err := mime.ParseMediaType(field)
	if err != nil {
		return ""
	}
	return strings.ToLower(params["charset"])
}

// media are the resource types that add nothing to the text of a page.
var media = map[network.ResourceType]bool{
	network.ResourceTypeImage: true, network.ResourceTypeMedia: true, network.ResourceTypeFont: true,
	network.ResourceTypePing: true, network.ResourceTypeCSPViolationReport: true, network.ResourceTypePrefetch: true,
}

// isMedia reports whether a request is for media or for the page's icon, which has no
// resource type of its own.
func isMedia(ev *fetch.EventRequestPaused) bool {
	accept, _ := ev.Request.Headers["Accept"].(string)
	return media[ev.ResourceType] || ev.ResourceType == network.ResourceTypeOther && strings.HasPrefix(accept, "image/")
}

// isInAdvance reports whether Chromium asks for what may be needed later, such as rel=prefetch. A page cannot set
// this field, and such a request has the resource type Fetch.
func isInAdvance(ev *fetch.EventRequestPaused) bool {
	_, is := ev.Request.Headers["Sec-Purpose"]
	return is
}

// continueRequests continues or refuses queued requests until the page ends.
func (v *visit) continueRequests() {
	for {
		select {
		case ev := <-v.waiting:
			if v.isUnwanted(ev) {
				v.refuseRequest(ev, nil)
				continue
			}
			// The call fails if the page has cancelled the request, which is not a fault.
			cdp.Call(v.time, v.session, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: ev.RequestID})
		case <-v.time.Done():
			return
		}
	}
}

// isUnwanted counts a request for content of the page and reports whether it must fail.
func (v *visit) isUnwanted(ev *fetch.EventRequestPaused) bool {
	if isResponse(ev) {
		return false
	}
	tooMany := v.requests.Add(1) > int64(v.cfg.MaxRequests)
	return tooMany || isInAdvance(ev) || !v.cfg.LoadMedia && isMedia(ev) || strings.HasPrefix(ev.Request.URL, "file:")
}
