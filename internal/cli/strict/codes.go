package strict

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/config"
	"hce/dc/internal/manual"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// codes are the values of a field (docs/spec/objects.md 2.3, 5). The service stores any number, and a
// site or URL with another one is never crawled again.
type codes map[string][]int64

var (
	siteCodes   = codes{"state": {1, 2, 3, 4, 5, 6, 7, 8}, "fetchType": {1, 2, 3, 7}, "urlType": upTo(6)}
	urlCodes    = codes{"state": upTo(2), "status": upTo(8), "type": upTo(6), "siteSelect": upTo(3)}
	filterCodes = codes{"type": upTo(1), "stage": upTo(8), "mode": upTo(1), "state": upTo(1)}
	removal     = codes{"taskType": {1, 2}, "delayedType": upTo(1), "historyCleanUp": upTo(2), "state": siteCodes["state"]}
	ofRows      = codes{"urlType": upTo(1), "delayedType": upTo(1), "state": upTo(2), "status": upTo(8)}
)

var codesOf = map[wire.Op]codes{
	wire.SiteNew: siteCodes, wire.SiteUpdate: siteCodes, wire.SiteDelete: removal, wire.SiteCleanup: removal,
	wire.URLNew: urlCodes, wire.URLUpdate: urlCodes,
	wire.URLStatus: ofRows, wire.URLDelete: ofRows, wire.URLCleanup: ofRows, wire.URLPurge: ofRows, wire.URLAge: ofRows, wire.URLVerify: ofRows,
}

func upTo(highest int64) (list []int64) {
	for n := range highest + 1 {
		list = append(list, n)
	}
	return list
}

// nameLists are fields with lists of names, and the names that exist.
var nameLists = map[wire.Op]map[string][]string{
	wire.SiteStatus: {"excludeList": {"filters", "finished", "properties", "urls"}},
	wire.SiteFind:   {"excludeList": {"filters", "properties", "urls"}},
	wire.URLContent: {"dbFieldsList": columnNames(wire.URLColumns)},
}

func columnNames(columns []schema.Column) (names []string) {
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}

// allContents are all bits of contentTypeMask.
const allContents = 1<<16 - 1

// checkCodes looks at the numbers and names of each element of a request.
func checkCodes(op wire.Op, raw json.RawMessage) (list []Problem) {
	all, many := fieldsOf(raw)
	if many && len(all) == 0 {
		return []Problem{{Field: op.String(), Reason: "is an empty list; give an element for each thing to do"}}
	}
	for i, element := range all {
		name := op.String()
		if many {
			name += fmt.Sprintf("[%d]", i)
		}
		list = append(list, codesOf[op].checkElement(name, element)...)
		for field, known := range nameLists[op] {
			list = append(list, checkNames(name+"."+field, element[field], known)...)
		}
		if mask, ok := schema.ReadInt(element["contentTypeMask"]); ok && op == wire.URLContent && (mask < 0 || mask > allContents) {
			list = append(list, Problem{Field: name + ".contentTypeMask", Value: fmt.Sprint(mask), Reason: manual.Locate("has bits that no content has; see docs/spec/objects.md 5.4")})
		}
		if op == wire.SiteNew || op == wire.SiteUpdate {
			filters, _ := fieldsOf(element["filters"])
			for i, f := range filters {
				list = append(list, filterCodes.checkElement(fmt.Sprintf("%s.filters[%d]", name, i), f)...)
			}
		}
	}
	return list
}

// fieldsOf returns the fields of an object, or those of the objects in a list.
func fieldsOf(raw json.RawMessage) (all []map[string]json.RawMessage, list bool) {
	var one map[string]json.RawMessage
	if json.Unmarshal(raw, &one) == nil && one != nil {
		return []map[string]json.RawMessage{one}, false
	}
	var many []json.RawMessage
	if json.Unmarshal(raw, &many) != nil || many == nil {
		return nil, false
	}
	for _, raw := range many {
		var element map[string]json.RawMessage
		_ = json.Unmarshal(raw, &element) // the shape was checked; null has no fields
		all = append(all, element)
	}
	return all, true
}

func (c codes) checkElement(name string, element map[string]json.RawMessage) (list []Problem) {
	for field, known := range c {
		n, given := schema.ReadInt(element[field])
		if given && !slices.Contains(known, n) {
			list = append(list, Problem{Field: name + "." + field, Value: fmt.Sprint(n), Reason: fmt.Sprintf(manual.Locate("is not one of %s; see docs/spec/objects.md 5"), formatNumbers(known))})
		}
	}
	slices.SortFunc(list, func(a, b Problem) int { return strings.Compare(a.Field, b.Field) })
	return list
}

// formatNumbers returns "0 to 8", or "1, 2, 3, 7" if some are missing between.
func formatNumbers(list []int64) string {
	if n := len(list); n > 2 && list[n-1]-list[0] == int64(n-1) {
		return fmt.Sprintf("%d to %d", list[0], list[n-1])
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]")
}

func checkNames(field string, raw json.RawMessage, known []string) (list []Problem) {
	var names []string
	_ = json.Unmarshal(raw, &names) // the shape was checked
	for _, name := range names {
		if !slices.Contains(known, name) {
			list = append(list, Problem{Field: field, Value: name, Reason: "is unknown", Near: config.Nearest(name, known)})
		}
	}
	return list
}
