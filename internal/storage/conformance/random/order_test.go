package random_test

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/wire"
)

// Lists of an answer whose order is undefined and which are compared as sets:
//
//   - urls, filters and properties of a site, attributes of a URL: always.
//   - The rows of SITE_FIND, URL_FETCH, URL_CONTENT with urlFetch, URL_HISTORY,
//     URL_STATS, PROXY_STATUS, PROXY_FIND, ATTRIBUTE_FETCH and SQL_CUSTOM, if a criterion
//     of the request has no ORDER BY. (The generator ends each ORDER BY with a unique key.)

// innerSets are the keys of lists without an order.
var innerSets = []string{"urls", "filters", "properties", "attributes"}

// chosenRows are the operations that answer with a list of rows.
var chosenRows = []wire.Op{wire.SiteFind, wire.URLFetch, wire.URLContent, wire.URLHistory, wire.URLStats, wire.ProxyStatus, wire.ProxyFind, wire.AttributeFetch, wire.SQLCustom}

// normal converts an answer to the compared form: sets are sorted, and values that differ
// between backends are replaced.
func normal(request json.RawMessage, answer []byte) (any, error) {
	v, err := tree(answer)
	if err != nil {
		return nil, err
	}
	var call wire.Call
	if json.Unmarshal(request, &call) != nil {
		return v, nil
	}
	v = plainAnswer(call.Op, v)
	if call.Op == wire.URLVerify {
		v = deletedCopies(call.Object, v)
	}
	if slices.Contains(chosenRows, call.Op) && !orderGiven(call) {
		v = asSet(v)
	}
	return v, nil
}

// tree parses JSON to objects, lists and values; numbers keep their text.
func tree(raw []byte) (any, error) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// plainAnswer sorts the inner sets and replaces numbers of the database and file times.
func plainAnswer(op wire.Op, v any) any {
	switch x := v.(type) {
	case list:
		for i := range x {
			x[i] = plainAnswer(op, x[i])
		}
	case object:
		for key, value := range x {
			x[key] = plainAnswer(op, value)
			if l, ok := value.(list); ok && slices.Contains(innerSets, key) {
				sortJSON(l)
			}
		}
		if _, isProxy := x["faultsMax"]; isProxy {
			x["id"] = "(of the database)"
		}
		if date, ok := x["cDate"].(string); ok && fileTime(date) {
			x["cDate"] = "(of the file)"
		}
	}
	return v
}

// fileTime reports whether a time is a file time from the real clock. The fake clock starts
// in 2026 and moves for some days.
func fileTime(date string) bool {
	return date > begin.AddDate(0, 6, 0).Format(time.DateTime)
}

// deletedCopies replaces rows of dc_urls_deleted in answers by a constant.
func deletedCopies(request json.RawMessage, answer any) any {
	var items []struct{ DBName any }
	pair, ok := answer.(list)
	if json.Unmarshal(request, &items) != nil || !ok || len(pair) != 2 {
		return answer
	}
	rows, _ := pair[1].(list)
	for i := range min(len(rows), len(items)) {
		if items[i].DBName == "dc_urls_deleted" && rows[i] != nil {
			rows[i] = "(a row)"
		}
	}
	return answer
}

// orderGiven reports whether every criterion of the request has an order.
func orderGiven(call wire.Call) bool {
	v, err := tree(call.Object)
	if err != nil {
		return true // refused
	}
	if call.Op == wire.SQLCustom {
		return strings.Contains(strings.ToUpper(string(call.Object)), "ORDER BY") && strings.Count(string(call.Object), "SELECT") == 1
	}
	criterions, ordered := 0, 0
	var walk func(any)
	walk = func(v any) {
		switch x := v.(type) {
		case list:
			for _, item := range x {
				walk(item)
			}
		case object:
			for key, value := range x {
				if !strings.HasSuffix(strings.ToLower(key), "criterions") {
					walk(value)
					continue
				}
				criterions++
				if c, ok := value.(object); ok {
					if text, _ := c["ORDER BY"].(string); text != "" {
						ordered++
					}
				}
			}
		}
	}
	walk(v)
	return criterions > 0 && criterions == ordered
}

// asSet sorts the lists of an answer at every depth.
func asSet(v any) any {
	switch x := v.(type) {
	case list:
		for i := range x {
			x[i] = asSet(x[i])
		}
		if len(x) != 2 || !isOperation(x[0]) {
			sortJSON(x)
		}
	case object:
		for key := range x {
			x[key] = asSet(x[key])
		}
	}
	return v
}

// isOperation reports whether a list is a pair of operation and answer, not two rows.
func isOperation(v any) bool {
	switch x := v.(type) {
	case string:
		_, ok := wire.ParseOp(x)
		return ok
	case json.Number:
		n, err := x.Int64()
		return err == nil && n > wire.ResponseOffset && wire.Op(n-wire.ResponseOffset).Known()
	}
	return false
}

// sortJSON sorts a list by the JSON of its items.
func sortJSON(l list) {
	slices.SortFunc(l, func(a, b any) int { return strings.Compare(jsonText(a), jsonText(b)) })
}

// jsonText is one line of JSON, keys in order.
func jsonText(v any) string {
	text, err := plainJSON(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
