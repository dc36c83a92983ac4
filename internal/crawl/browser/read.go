package browser

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"
)

// reading writes down the document. It runs in a world of its own, where scripts of
// the page cannot change what is built in; and names of elements hide properties
// of the document in all worlds, so these are taken from the prototype.
const reading = `(() => {
	const get = name => Object.getOwnPropertyDescriptor(Document.prototype, name).get.call(document);
	const type = get("doctype"), root = get("documentElement");
	let text = type ? new XMLSerializer().serializeToString(type) + "\n" : "";
	if (root) text += root.outerHTML ?? new XMLSerializer().serializeToString(root);
	if (text.length > %d) return {large: true};
	return {text: text.toWellFormed(), type: get("contentType"), charset: get("characterSet")};
})()`

// read returns the page as it is now.
func (v *visit) read(ctx context.Context) (*Page, error) {
	v.mu.Lock()
	p := &Page{FinalURL: v.url, Redirects: v.redirects, Code: v.code, Header: v.header, RequestHeader: v.sent,
		Started: v.began, Cut: v.cut || v.proxy.full.Load()}
	isTaken, body := v.phase == taken, v.body
	v.mu.Unlock()
	p.Charset = charsetOf(p.Header.Get("Content-Type"))
	if isTaken {
		p.Body = body
		p.ContentType = cmp.Or(mediaType(p.Header.Get("Content-Type")), mediaType(http.DetectContentType(body)))
		return p, nil
	}
	world, err := cdp.Call(ctx, v.session, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: v.frame, WorldName: "dc"})
	if err != nil {
		return nil, err
	}
	value, err := v.evaluate(ctx, fmt.Sprintf(reading, v.req.MaxBytes), world.ExecutionContextID)
	if err != nil {
		return nil, err
	}
	var document struct {
		Large               bool
		Text, Type, Charset string
	}
	if err := json.Unmarshal(value, &document); err != nil {
		return nil, err
	}
	if document.Large || int64(len(document.Text)) > v.req.MaxBytes {
		return nil, v.faultOf(TooLarge, fmt.Errorf("the rendered page has more than %d bytes", v.req.MaxBytes))
	}
	p.Body, p.Rendered = []byte(document.Text), true
	p.ContentType = strings.ToLower(document.Type)
	p.Charset = strings.ToLower(document.Charset)
	return p, nil
}

// cookies completes a page: the cookies of its context, and the time that it took.
func (v *visit) cookies(ctx context.Context, p *Page) {
	found, err := cdp.Call(ctx, v.chromium.driver, storage.GetCookies, storage.GetCookiesParams{BrowserContextID: chromedp.FromContext(v.context).BrowserContextID})
	if err != nil {
		v.cfg.Log.Warn("the cookies of a page are not read", "url", p.FinalURL, "error", err)
	}
	for _, c := range found.Cookies {
		if len(p.Cookies) == maxCookies {
			p.Cut = true
			break
		}
		line := http.Cookie{Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, Secure: c.Secure, HttpOnly: c.HTTPOnly}
		if !c.Session && c.Expires > 0 && c.Expires < math.MaxUint32 {
			line.Expires = time.Unix(int64(c.Expires), 0)
		}
		if text := line.String(); text != "" {
			p.Cookies = append(p.Cookies, text)
		}
	}
	p.Total = v.cfg.Now().Sub(v.began) - v.time.stood()
}
