package linkrules

import (
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

// Resolution says how to resolve a link. Callers must not change Types.
type Resolution struct {
	Method string
	Max    int   // redirects to follow, 0 to 50
	Types  []int // codes that count as a redirect
}

// ParseResolver parses HTTP_REDIRECT_RESOLVER: which links are replaced by their redirect
// target. It is {"METHOD": HEAD, SGET or DGET, "URL": [regex or nested object],
// "MAX": n, "TYPES": [codes]}. A nested object inherits missing members from the outer one.
// Defaults: HEAD, every link, 10, all redirect codes. Source: docs/spec/crawling.md 3, 7.3
// (F12).
func ParseResolver(text string) (ByURL[Resolution], error) {
	var raw json.RawMessage
	if err := decodeJSON(text, &raw); err != nil {
		return nil, err
	}
	var r ByURL[Resolution]
	err := readResolver(&r, raw, Resolution{MethodHead, 10, []int{301, 302, 303, 304, 307, 308}}, 0)
	return r, err
}

func readResolver(r *ByURL[Resolution], raw json.RawMessage, by Resolution, depth int) error {
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
	urls, err := parseElements(v.URL)
	if err != nil {
		return err
	}
	if urls == nil {
		urls = []json.RawMessage{[]byte(`""`)}
	}
	for _, u := range urls {
		if u[0] == '{' {
			if err := readResolver(r, u, by, depth+1); err != nil {
				return err
			}
			continue
		}
		text, err := prop.Text(u)
		if err != nil {
			return err
		}
		if err := r.addRule(text, by); err != nil {
			return err
		}
	}
	return nil
}

// redirectCodes parses TYPES.
func redirectCodes(raw json.RawMessage) (codes []int, err error) {
	list, err := parseElements(raw)
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

// ParseFetcherTypes parses FETCHER_TYPE, the fetcher of some URLs before all other choices:
// {urlRegex: 1 static or 2 dynamic}. Other numbers are ignored. Source:
// docs/spec/crawling.md 3, 4.9.
func ParseFetcherTypes(text string) (ByURL[int], error) {
	list, err := parseMembers(text)
	if err != nil {
		return nil, err
	}
	var types ByURL[int]
	for _, m := range list {
		var n prop.Int
		if err := parseMember(m.Name, m.Value, &n); err != nil {
			return nil, err
		}
		if n != 1 && n != 2 {
			continue
		}
		if err := types.addRule(m.Name, int(n)); err != nil {
			return nil, err
		}
	}
	return types, nil
}

// ParseChain parses URL_CHAIN, {"url_pattern": regex}: the links to the parts of a multi-page
// document. It returns nil if the property is off. The members "tags_name" and "delimiter"
// are for the processor, which joins the parts. Source: docs/spec/crawling.md 5.11.
func ParseChain(text string) (*pyregexp.Regexp, error) {
	var v struct {
		Pattern *string `json:"url_pattern"`
	}
	if err := decodeJSON(text, &v); err != nil || v.Pattern == nil {
		return nil, err
	}
	if *v.Pattern == "" {
		return nil, errors.New(`has no expression at "url_pattern"`)
	}
	return compileExpression(*v.Pattern)
}
