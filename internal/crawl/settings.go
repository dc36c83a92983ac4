package crawl

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/canon"
	"hce/dc/internal/dc"
)

// settings are the site properties that one item is fetched with (crawling 3).
type settings struct {
	headers        []Header
	cookie         string
	robots         bool
	robotsLinks    bool
	storeHeaders   bool
	storeRequest   bool
	storeCookies   bool
	redirects      int
	htmlRedirects  int // meta refreshes; below 1 they are not looked at
	connectTimeout time.Duration
	user, password string
	contentTypes   []string // lower case; none: all
	mask           canon.Mask
	schemes        canon.Schemes
	insecureTLS    bool
	concurrency    int

	bits dc.ErrorMask // of properties that could not be read, for the site
}

// propertyError says which property of a site could not be read. It stops only
// that property.
type propertyError struct{ name, reason string }

func (e propertyError) Error() string { return "property " + e.name + " " + e.reason }

// readSettings lays the item's properties over the site's, over the defaults.
// The last of several values wins.
func readSettings(site *dc.Site, over map[string]string, def Config) (settings, []error) {
	values := map[string]string{}
	for _, p := range site.Properties {
		if p.URLMd5 == "" {
			values[p.Name] = p.Value
		}
	}
	for name, value := range over {
		values[name] = value
	}
	p := properties{values: values}
	s := settings{
		headers:        def.Headers,
		cookie:         def.Cookie,
		robots:         p.int("ROBOTS_MODE", 1) > 0,
		robotsLinks:    p.int("ROBOTS_COLLECT", 1) > 0,
		storeHeaders:   p.int("STORE_HTTP_HEADERS", 1) != 0,
		storeRequest:   p.int("STORE_HTTP_REQUEST", 1) != 0,
		storeCookies:   p.int("STORE_COOKIES", 1) > 0,
		redirects:      int(min(p.int("HTTP_REDIRECTS_MAX", 5), 50)),
		htmlRedirects:  int(min(p.int("HTML_REDIRECTS_MAX", 1), 50)),
		connectTimeout: p.seconds("CONNECTION_TIMEOUT", 10*time.Second),
		user:           values["HTTP_AUTH_NAME"],
		password:       values["HTTP_AUTH_PWD"],
		mask:           canon.Mask(p.int("URL_NORMALIZE_MASK", int64(canon.Main))),
		schemes:        p.schemes("PROTOCOLS"),
		insecureTLS:    p.int("TLSVerify", 1) == 0,
		concurrency:    int(max(p.int("HostConcurrency", 1), 1)),
	}
	if own := p.headers("HTTP_HEADERS"); len(own) > 0 {
		s.headers = mergeHeaders(def.Headers, own)
	}
	if text := strings.TrimSpace(values["HTTP_COOKIE"]); text != "" && text[0] != '{' {
		s.cookie = text
	} else if text != "" {
		s.cookie = p.cookie("HTTP_COOKIE", def.Cookie)
	}
	for _, t := range strings.Split(strings.ToLower(values["ALLOWED_CTYPES"]), ",") {
		if t = strings.TrimSpace(t); t != "" {
			s.contentTypes = append(s.contentTypes, t)
		}
	}
	return s, p.errs
}

// properties reads texts as what they mean and collects what cannot be read.
type properties struct {
	values map[string]string
	errs   []error
}

func (p *properties) fail(name, reason string) {
	p.errs = append(p.errs, propertyError{name, reason})
}

func (p *properties) int(name string, def int64) int64 {
	text := strings.TrimSpace(p.values[name])
	if text == "" {
		return def
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		p.fail(name, fmt.Sprintf("is %q, not a whole number", clip(text)))
		return def
	}
	return n
}

func (p *properties) seconds(name string, def time.Duration) time.Duration {
	text := strings.TrimSpace(p.values[name])
	if text == "" {
		return def
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f <= 0 || f > 3600 {
		p.fail(name, fmt.Sprintf("is %q, not a number of seconds up to 3600", clip(text)))
		return def
	}
	return time.Duration(f * float64(time.Second))
}

func (p *properties) schemes(name string) canon.Schemes {
	text := strings.TrimSpace(p.values[name])
	if text == "" {
		return canon.Web
	}
	var list []string
	if json.Unmarshal([]byte(text), &list) != nil {
		p.fail(name, "is not a JSON list of texts")
		return canon.Web
	}
	var known canon.Schemes
	for _, s := range list {
		if s = strings.ToLower(s); s == "http" || s == "https" {
			known = append(known, s)
		}
	}
	if len(known) == 0 {
		p.fail(name, "names neither http nor https")
		return canon.Web
	}
	return known
}

// headers reads header lines, or {"Name": "value" or ["value", ...]}: a first {
// decides (DECISIONS 6.4). Of several values the first is taken; a number, true
// or false is sent as it is written.
func (p *properties) headers(name string) []Header {
	text := strings.TrimSpace(p.values[name])
	if text == "" {
		return nil
	}
	if text[0] != '{' {
		list, err := ParseHeaders(text)
		if err != nil {
			p.fail(name, err.Error())
		}
		return list
	}
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &m) != nil {
		p.fail(name, "is not valid JSON")
		return nil
	}
	var list []Header
	for key, raw := range m {
		var one string
		var many []string
		switch {
		case json.Unmarshal(raw, &one) == nil:
		case json.Unmarshal(raw, &many) == nil && len(many) > 0:
			one = many[0]
		case strings.ContainsRune("-0123456789tf", rune(raw[0])):
			one = string(raw)
		default:
			p.fail(name, fmt.Sprintf("gives %q no text and no list of texts", clip(key)))
			continue
		}
		h := Header{strings.TrimSpace(key), strings.TrimSpace(one)}
		if err := h.check(); err != nil {
			p.fail(name, err.Error())
			continue
		}
		list = append(list, h)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// cookie reads {"domain or .*": {"stage": bits, "cookie": text}}: the text for
// every domain whose stage bits hold 2, page fetch (crawling 4.6).
func (p *properties) cookie(name, def string) string {
	var m map[string]struct {
		Stage  *int64 `json:"stage"`
		Cookie string `json:"cookie"`
	}
	if json.Unmarshal([]byte(p.values[name]), &m) != nil {
		p.fail(name, "is not an object of {stage, cookie}")
		return def
	}
	if c, ok := m[".*"]; ok && (c.Stage == nil || *c.Stage&2 != 0) && c.Cookie != "" {
		return c.Cookie
	}
	return def
}

// ParseHeaders reads lines "Name: value"; empty lines and lines that start with
// # are skipped. A line that is no header is an error; the others are given all
// the same.
func ParseHeaders(text string) ([]Header, error) {
	var list []Header
	var bad error
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		h := Header{strings.TrimSpace(name), strings.TrimSpace(value)}
		if !ok {
			bad = fmt.Errorf("has the line %q, which is no header", clip(line))
			continue
		}
		if err := h.check(); err != nil {
			bad = err
			continue
		}
		list = append(list, h)
	}
	return list, bad
}

// check refuses what would break the request's framing.
func (h Header) check() error {
	if h.Name == "" || strings.ContainsFunc(h.Name, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	}) {
		return fmt.Errorf("has the header name %q, which cannot be sent", clip(h.Name))
	}
	if strings.ContainsAny(h.Value, "\r\n\x00") {
		return fmt.Errorf("has a value of %s that cannot be sent", h.Name)
	}
	return nil
}

// mergeHeaders replaces by name, ignoring case, and adds the rest.
func mergeHeaders(base, over []Header) []Header {
	merged := append([]Header(nil), base...)
next:
	for _, o := range over {
		for i := range merged {
			if strings.EqualFold(merged[i].Name, o.Name) {
				merged[i] = o
				continue next
			}
		}
		merged = append(merged, o)
	}
	return merged
}

func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "..."
	}
	return s
}

// ParseCookie reads a cookie file: the first line that is not empty and no
// comment.
func ParseCookie(text string) string {
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return line
		}
	}
	return ""
}
