package visit

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/cookies"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/web/linkrules"
)

// TargetOf returns the URL that is requested for an item: its URL, the result of the site's
// template, or the service of EXTERNAL_URL. A URL that was stored percent-encoded as a whole is
// decoded first (docs/spec/crawling.md 2.3, 4.9).
func (r *Environment) TargetOf(it *item.Item) string {
	text := it.Row.URL
	if lower := strings.ToLower(text[:min(len(text), 12)]); strings.HasPrefix(lower, "http%3a") || strings.HasPrefix(lower, "https%3a") {
		if plain, err := url.PathUnescape(text); err == nil {
			text = plain
		}
	}
	if t := it.Settings.Templates[r.RealTime()]; t.Text != "" {
		text = linkrules.Template(t.Text, text, t.Encode)
	}
	if it.Settings.External != "" {
		text = linkrules.Template(it.Settings.External, text, true)
	}
	return text
}

// NewRequest returns the HTTP request for one URL of this visit.
func (v *Visit) NewRequest(target string, stage cookies.Stage) fetch.Request {
	r := fetch.Request{
		URL:            target,
		Method:         http.MethodGet,
		Header:         v.requestHeader(target),
		Timeout:        clampMilliseconds(v.Item.Row.HTTPTimeout),
		ConnectTimeout: v.Settings.ConnectTimeout,
		MaxBytes:       v.Env.Config.MaxResourceSize,
		MaxRedirects:   v.Settings.Redirects,
		InsecureTLS:    v.Settings.InsecureTLS,
		LegacyTLS:      v.Settings.LegacyTLS,
		Jar:            v.cookieJar(target, stage),
		Allow:          v.checkRedirect,
	}
	if most := v.Item.View.MaxResourceSize; most > 0 && (r.MaxBytes <= 0 || most < r.MaxBytes) {
		r.MaxBytes = most
	}
	if r.Timeout == 0 {
		r.Timeout = fetch.DefaultTimeout
	}
	if !v.Env.Deadline.IsZero() {
		if left := max(v.Env.Deadline.Sub(v.Env.Now()), 0) + v.Env.allowedOvertime(); left < r.Timeout {
			r.Timeout, v.cut = left, true
		}
	}
	if v.proxy != nil {
		r.Proxy = v.proxy.URL.String()
	}
	return r
}

// PageRequest returns the request for the page itself, with Referer and form fields.
func (v *Visit) PageRequest(target string) fetch.Request {
	r := v.NewRequest(target, v.cookieStage())
	v.setReferer(r.Header, target)
	if strings.EqualFold(v.Item.Row.HTTPMethod, "post") {
		fields := url.Values{}
		for name, value := range v.Settings.Form {
			fields.Set(name, value)
		}
		r.Method, r.Body = http.MethodPost, []byte(fields.Encode())
	}
	return r
}

// cookieStage returns the stage of HTTP_COOKIE that the item's request belongs to.
func (v *Visit) cookieStage() cookies.Stage {
	if v.Settings.IsFeedSite() {
		return cookies.Feed
	}
	return cookies.Page
}

// requestHeader returns the default headers, overridden by the site's headers.
func (v *Visit) requestHeader(target string) http.Header {
	h := http.Header{}
	host := canonical.Host(target)
	for _, x := range v.Env.Rotator.Headers(v.Env.Config.Headers, "", host) {
		h.Set(x.Name, x.Value)
	}
	for _, x := range v.Env.Rotator.Headers(v.Settings.Headers, v.Item.SiteID, host) {
		h.Set(x.Name, x.Value)
	}
	if v.Settings.User != "" && v.Settings.Password != "" && v.isHome(target) {
		h.Set("Authorization", basicAuth(v.Settings.User, v.Settings.Password))
	}
	return h
}

// isHome reports whether target has the host of the item's own request and a scheme that is at
// least as safe. Only such a target gets the site's password.
func (v *Visit) isHome(target string) bool {
	home, there := v.Item.Target, target
	return canonical.Host(there) == canonical.Host(home) && (strings.HasPrefix(there, "https:") || !strings.HasPrefix(home, "https:"))
}

// setReferer sets the Referer that the site configures, unless its headers contain one
// (docs/spec/crawling.md 4.7).
func (v *Visit) setReferer(h http.Header, target string) {
	if h.Get("Referer") != "" {
		return
	}
	from := ""
	switch v.Settings.Referer {
	case settings.RefererSelf:
		from = target
	case settings.RefererHost:
		if origin, _ := SplitOrigin(target); origin != "" {
			from = origin + "/"
		}
	case settings.RefererParent:
		if from = v.Item.ParentURL; from == "" {
			from = target
		}
	}
	if u, err := canonical.Net(from); err == nil && from != "" {
		u.User, u.Fragment, u.RawFragment = nil, "", ""
		h.Set("Referer", u.String())
	}
}

// cookieJar returns the site's cookies for requests of one stage.
func (v *Visit) cookieJar(target string, stage cookies.Stage) fetch.Jar {
	home, err := canonical.Net(target)
	if err != nil {
		home = &url.URL{}
	}
	return &siteJar{jar: v.Env.Jars.Site(v.Item.SiteID), property: v.Settings.Cookie, home: home, stage: stage, now: v.Env.Now}
}

// siteJar is the jar of a site for one stage. Cookies of the property go to the first host
// only: a redirect does not carry them to another host or out of TLS.
type siteJar struct {
	jar      *cookies.Jar
	property cookies.Property
	home     *url.URL
	stage    cookies.Stage
	now      func() time.Time
}

// Cookies returns the Cookie header of a request to u.
func (j *siteJar) Cookies(u *url.URL) string {
	property := j.property
	if !strings.EqualFold(u.Hostname(), j.home.Hostname()) || j.home.Scheme == "https" && u.Scheme != "https" {
		property = cookies.Property{}
	}
	return j.jar.Header(property, u, j.stage, j.now())
}

// SetCookies stores the cookies of an answer from u.
func (j *siteJar) SetCookies(u *url.URL, h http.Header) { j.jar.SetCookies(u, h, j.now()) }

func basicAuth(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// clampMilliseconds converts a column to a duration between 0 and one day.
func clampMilliseconds(ms float64) time.Duration {
	const day = 24 * 60 * 60 * 1000
	if !(ms > 0) { // also for NaN
		return 0
	}
	return time.Duration(min(ms, day) * float64(time.Millisecond))
}
