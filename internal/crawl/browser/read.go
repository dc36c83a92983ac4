package browser

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"
)

// readScript returns the document as text. It runs in an isolated world, where scripts of
// the page cannot change built-in objects. Elements can hide properties of the document by
// their names, in all worlds, so the getters come from the prototype. A cookie that a script sets is
// stored later, but before the page reads its cookies: so they are read here, before finish asks for them. A
// document without cookies refuses.
const readScript = `(() => {
	const get = name => Object.getOwnPropertyDescriptor(Document.prototype, name).get.call(document);
	try { get("cookie") } catch {}
	const type = get("doctype"), root = get("documentElement");
	let text = type ? new XMLSerializer().serializeToString(type) + "\n" : "";
	if (root) text += root.outerHTML ?? new XMLSerializer().serializeToString(root);
	if (text.length > %d) return {large: true};
	return {text: text.toWellFormed(), type: get("contentType"), charset: get("characterSet")};
})()`

// emptyDocument is what Chromium makes of a response without a body.
const emptyDocument = "<html><head></head><body></body></html>"

// readPage returns the current state of the page.
func (v *visit) readPage(ctx context.Context) (*Page, error) {
	v.mu.Lock()
	p := &Page{FinalURL: v.url, Redirects: slices.Clone(v.redirects), Code: v.code, Header: v.header, RequestHeader: v.sent,
		Started: v.began}
	isFile, body := v.phase == downloaded, v.body
	v.mu.Unlock()
	p.Repaired = v.proxy.wasRepaired(p.FinalURL)
	for i := range p.Redirects {
		hop := &p.Redirects[i]
		p.Repaired = p.Repaired || v.proxy.wasRepaired(hop.URL)
		if hop.Header != nil {
			v.proxy.completeHop(hop)
		}
	}
	if err := v.proxy.cutBodyOf(p.FinalURL); err != nil {
		return nil, v.faultOf(BadBody, err)
	}
	p.Charset = charsetOf(p.Header.Get("Content-Type"))
	if isFile {
		p.Body = body
		p.ContentType = cmp.Or(mediaType(p.Header.Get("Content-Type")), mediaType(http.DetectContentType(body)))
		return p, nil
	}
	isolated, err := cdp.Call(ctx, v.session, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: v.frame, WorldName: world})
	if err != nil {
		return nil, err
	}
	value, err := v.evaluateScript(ctx, fmt.Sprintf(readScript, v.req.MaxBytes), isolated.ExecutionContextID)
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
	switch {
	case document.Text == "" && p.Header.Get("Content-Encoding") != "":
		return nil, v.faultOf(BadBody, errors.New("the body is not in its Content-Encoding"))
	case document.Text == emptyDocument && p.Code < 400:
		return nil, v.faultOf(Empty, nil)
	}
	if document.Large || int64(len(document.Text)) > v.req.MaxBytes {
		return nil, v.faultOf(TooLarge, fmt.Errorf("the rendered page exceeds %d bytes", v.req.MaxBytes))
	}
	p.Body, p.Rendered = []byte(document.Text), true
	p.ContentType = strings.ToLower(document.Type)
	p.Charset = strings.ToLower(document.Charset)
	return p, nil
}

// finishPage adds the cookies of the page's browser context and the time it took.
func (v *visit) finishPage(ctx context.Context, p *Page) {
	found, err := cdp.Call(ctx, v.chromium.driver, storage.GetCookies, storage.GetCookiesParams{BrowserContextID: chromedp.FromContext(v.context).BrowserContextID})
	if err != nil {
		v.cfg.Log.Warn("cannot read the cookies of a page", "url", p.FinalURL, "error", err)
	}
	for _, c := range found.Cookies[:min(len(found.Cookies), maxCookies)] {
		line := http.Cookie{Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, Secure: c.Secure, HttpOnly: c.HTTPOnly}
		if !c.Session && c.Expires > 0 && c.Expires < math.MaxUint32 {
			line.Expires = time.Unix(int64(c.Expires), 0)
		}
		if text := line.String(); text != "" {
			p.Cookies = append(p.Cookies, text)
		}
	}
	p.Total = time.Since(v.began) - v.time.pausedTime()
}
