package strict

import (
	"encoding/json"
	"fmt"
	"strings"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/urlkey"
)

// Ask sends an operation and decodes the object of its answer, as client.Service does.
type Ask func(op wire.Op, request, answer any) error

// Unknown returns a problem for each site, URL and proxy of a request that the service does not know.
// It asks before the request is sent, because the service answers as if these were changed or
// deleted. What the service does not answer counts as known.
func Unknown(op wire.Op, request json.RawMessage, lookup Lookup, ask Ask) []Problem {
	j := judge{op: op, lookup: rememberLookup(lookup)}
	j.elements, j.list = requestElements(request)
	switch op {
	case wire.SiteDelete, wire.FieldRecalc, wire.AttributeFetch, wire.AttributeDelete, wire.ProxyNew, wire.ProxyFind:
		j.unknownSites()
	case wire.URLUpdate, wire.URLDelete, wire.URLCleanup, wire.URLPut, wire.URLHistory:
		if j.unknownSites(); len(j.verdict.Problems) == 0 {
			j.unknownURLs(ask)
		}
	case wire.ProxyUpdate, wire.ProxyDelete, wire.ProxyStatus:
		if j.unknownSites(); len(j.verdict.Problems) == 0 {
			j.unknownProxies(ask)
		}
	}
	return j.verdict.Problems
}

// rememberLookup asks once for each site.
func rememberLookup(lookup Lookup) Lookup {
	type answer struct {
		known bool
		near  string
	}
	seen := map[string]answer{}
	return func(id string) (bool, string) {
		a, found := seen[id]
		if !found {
			a.known, a.near = lookup(id)
			seen[id] = a
		}
		return a.known, a.near
	}
}

func (j *judge) unknownSites() {
	for i := range j.elements {
		if p, unknown := j.unknownSite(i); unknown {
			j.addProblem(p)
		}
	}
}

// unknownURLs asks for the rows that the elements name by URL or key.
func (j *judge) unknownURLs(ask Ask) {
	var requests []any
	var keys []string
	var at []int
	for i, element := range j.elements {
		site, _ := element["siteId"].(string)
		if key := keyOf(element); site != "" && key != "" {
			requests = append(requests, map[string]any{"siteId": site, "url": key, "urlType": wire.ByMd5})
			keys, at = append(keys, site+" "+key), append(at, i)
		}
	}
	var rows []wire.URL
	if len(requests) == 0 || ask(wire.URLStatus, requests, &rows) != nil {
		return
	}
	known := map[string]bool{}
	for _, row := range rows {
		known[row.SiteID+" "+row.URLMd5] = true
	}
	for n, key := range keys {
		if !known[key] {
			j.addFailure(at[n], "is not known; list the URLs of the site with URL_FETCH")
		}
	}
}

// keyOf returns the key of the URL that an element names, "" if it names none or no valid one.
func keyOf(element map[string]any) string {
	key, _ := element["urlMd5"].(string)
	url, _ := element["url"].(string)
	switch {
	case key == "" && url != "" && fmt.Sprint(element["urlType"]) == fmt.Sprint(wire.ByMd5):
		key = url
	case key == "" && url != "":
		key = urlkey.Of(url)
	}
	if key = strings.ToLower(key); wire.CheckMd5("", "", key) != nil {
		return "" // the service says why
	}
	return key
}

func (j *judge) unknownProxies(ask Ask) {
	for i, element := range j.elements {
		site, host := element["siteId"], element["host"]
		if site == nil || host == nil {
			continue
		}
		var rows []wire.Proxy
		if ask(wire.ProxyStatus, []any{map[string]any{"siteId": site, "host": host}}, &rows) == nil && len(rows) == 0 {
			field, value := j.textValue(i, "host")
			j.addProblem(Problem{Field: field, Value: value, Reason: fmt.Sprintf("is not known in site %v; list the proxies with PROXY_FIND", site)})
		}
	}
}
