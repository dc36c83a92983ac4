package linkrules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire/prop"
)

// Methods of a Resolver.
const (
	MethodHead    = "HEAD"
	MethodStatic  = "SGET" // a GET of the static fetcher
	MethodDynamic = "DGET" // a GET of the browser
)

const (
	// maxRedirects bounds MAX of a resolver.
	maxRedirects = 50

	// maxNested bounds nested resolvers.
	maxNested = 8
)

// Resolver is the property HTTP_REDIRECT_RESOLVER: which links are replaced by their
// redirect target, and how that is fetched.
type Resolver struct{ rules []urlRule[Resolution] }

// Resolution says how to resolve a link. Callers must not change Types.
type Resolution struct {
	Method string
	Max    int   // redirects to follow, 0 to 50
	Types  []int // codes that count as a redirect
}

// ParseResolver parses {"METHOD": HEAD, SGET or DGET, "URL": [regex or nested object],
// "MAX": n, "TYPES": [codes]}. A nested object inherits missing members from the outer one.
// Defaults: HEAD, every link, 10, all redirect codes. Source: docs/spec/crawling.md 3, 7.3
// (F12).
func ParseResolver(text string) (*Resolver, error) {
	var raw json.RawMessage
	if err := decode(text, &raw); err != nil {
		return nil, err
	}
	r := &Resolver{}
	err := r.read(raw, Resolution{MethodHead, 10, []int{301, 302, 303, 304, 307, 308}}, 0)
	return r, err
}

func (r *Resolver) read(raw json.RawMessage, by Resolution, depth int) error {
	var v struct {
		Method *string         `json:"METHOD"`
		URL    json.RawMessage `json:"URL"`
		Max    *prop.Int       `json:"MAX"`
		Types  json.RawMessage `json:"TYPES"`
	}
	if depth > maxNested {
		return fmt.Errorf("has more than %d nested objects", maxNested)
	}
	if err := prop.Decode(string(raw), &v); err != nil {
		return err
	}
	if v.Method != nil {
		by.Method = strings.ToUpper(strings.TrimSpace(*v.Method))
		if !slices.Contains([]string{MethodHead, MethodStatic, MethodDynamic}, by.Method) {
			return fmt.Errorf(`has %.40q at "METHOD"; expected HEAD, SGET or DGET`, *v.Method)
		}
	}
	if v.Max != nil {
		by.Max = int(min(max(*v.Max, 0), maxRedirects))
	}
	if types, err := redirectCodes(v.Types); err != nil {
		return err
	} else if len(types) > 0 {
		by.Types = types
	}
	urls, err := elements(v.URL)
	if err != nil {
		return err
	}
	if urls == nil {
		urls = []json.RawMessage{[]byte(`""`)}
	}
	for _, u := range urls {
		if u[0] == '{' {
			if err := r.read(u, by, depth+1); err != nil {
				return err
			}
			continue
		}
		text, err := prop.Text(u)
		if err != nil {
			return err
		}
		link, err := expression(text)
		if err != nil {
			return err
		}
		if r.rules = append(r.rules, urlRule[Resolution]{link, by}); len(r.rules) > maxRules {
			return checkCount(len(r.rules))
		}
	}
	return nil
}

// redirectCodes parses TYPES.
func redirectCodes(raw json.RawMessage) (codes []int, err error) {
	list, err := elements(raw)
	if err != nil {
		return nil, err
	}
	for _, element := range list {
		var code prop.Int
		if err := code.UnmarshalJSON(element); err != nil {
			return nil, err
		}
		if code < 300 || code > 399 {
			return nil, fmt.Errorf(`has %d at "TYPES"; expected a code from 300 to 399`, code)
		}
		codes = append(codes, int(code))
	}
	return codes, nil
}

// For returns how to resolve a link, by the first expression found in it, or nil to keep
// it.
func (r *Resolver) For(link string) *Resolution {
	if r == nil {
		return nil
	}
	return firstMatch(r.rules, link)
}

// FetcherTypes is the property FETCHER_TYPE: the fetcher of some URLs, before all other
// choices.
type FetcherTypes struct{ rules []urlRule[int] }

// ParseFetcherTypes parses {urlRegex: 1 static or 2 dynamic}. Other numbers are ignored.
// Source: docs/spec/crawling.md 3, 4.9.
func ParseFetcherTypes(text string) (*FetcherTypes, error) {
	list, err := members(text)
	if err != nil {
		return nil, err
	}
	f := &FetcherTypes{}
	for _, m := range list {
		var n prop.Int
		if err := inside(m.Name, m.Value, &n); err != nil {
			return nil, err
		}
		if n != 1 && n != 2 {
			continue
		}
		re, err := expression(m.Name)
		if err != nil {
			return nil, err
		}
		f.rules = append(f.rules, urlRule[int]{re, int(n)})
	}
	return f, nil
}

// For returns the fetcher of a URL, 1 or 2, by the first expression found in it, or 0.
func (f *FetcherTypes) For(url string) int {
	if f != nil {
		if fetcher := firstMatch(f.rules, url); fetcher != nil {
			return *fetcher
		}
	}
	return 0
}

// Chain is the property URL_CHAIN: links to the parts of a multi-page document.
type Chain struct {
	pattern *pyregexp.Regexp

	// For the processor, which joins the parts.
	TagsNames []string
	Delimiter string
}

// ParseChain parses {"url_pattern": regex, "tags_name": [name], "delimiter": text}. It
// returns nil for null. Source: docs/spec/crawling.md 5.11.
func ParseChain(text string) (*Chain, error) {
	var raw json.RawMessage
	if err := decode(text, &raw); err != nil {
		return nil, err
	}
	if bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	var v struct {
		Pattern   *string    `json:"url_pattern"`
		Tags      prop.Texts `json:"tags_name"`
		Delimiter string     `json:"delimiter"`
	}
	if err := prop.Decode(text, &v); err != nil {
		return nil, err
	}
	if v.Pattern == nil {
		return nil, nil
	}
	if *v.Pattern == "" {
		return nil, errors.New(`has no expression at "url_pattern"`)
	}
	re, err := expression(*v.Pattern)
	if err != nil {
		return nil, err
	}
	return &Chain{re, v.Tags, v.Delimiter}, checkCount(len(v.Tags))
}

// Match reports whether a link is a part of the chain.
func (c *Chain) Match(link string) bool { return c != nil && c.pattern.MatchString(link) }
