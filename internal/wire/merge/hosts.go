package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// Answer is the object of one node.
type Answer struct {
	Node   string
	Object json.RawMessage
}

// Hosts merges the answers of nodes that each store the URLs of their own hosts, and every one
// all sites ([Cluster] placement = hosts). The result is what one machine with all the data
// answers: one status per element of the request, each row once, no limit of a site added up.
//
//	object, ok := merge.Hosts(wire.URLNew, request, answers)
//
// A node answers success for an element that another node owns, so the only other status is that
// of the owner. ok is false, without an object, if op is not merged (SQL_CUSTOM) or an answer
// has another shape. Lists with a LIMIT need HostsRequest first. Rows of URL_FETCH are merged by
// Fetch. The answers do not change.
func Hosts(op wire.Op, request json.RawMessage, answers []Answer) (object json.RawMessage, ok bool) {
	if len(answers) == 0 {
		return nil, false
	}
	join := hostJoins[op]
	if join == nil {
		return nil, false
	}
	if len(answers) == 1 {
		return answers[0].Object, true
	}
	merged, err := join(request, answers)
	return merged, err == nil
}

// HostsMerges reports whether Hosts or Fetch merges the answers to op.
func HostsMerges(op wire.Op) bool { return hostJoins[op] != nil || op == wire.URLFetch }

// hostJoins merge two or more answers, by operation.
var hostJoins = map[wire.Op]func(request json.RawMessage, answers []Answer) (json.RawMessage, error){
	wire.SiteNew: joinStatuses, wire.SiteUpdate: joinStatuses, wire.SiteDelete: joinStatuses, wire.SiteCleanup: joinStatuses,
	wire.URLNew: joinStatuses, wire.URLUpdate: joinStatuses, wire.URLDelete: joinStatuses, wire.URLCleanup: joinStatuses,
	wire.URLAge: joinStatuses, wire.URLPurge: joinPurged, wire.FieldRecalc: joinUnion("statuses", wholeKey),
	wire.ProxyNew: joinStatuses, wire.ProxyUpdate: joinStatuses, wire.ProxyDelete: joinStatuses,
	wire.AttributeSet: joinStatuses, wire.AttributeUpdate: joinStatuses, wire.AttributeDelete: joinStatuses,

	wire.SiteStatus: joinSite, wire.SiteFind: joinSites,
	wire.URLStatus: joinURLStatus, wire.URLContent: joinEach(bestContent), wire.URLVerify: joinEach(firstKnown),
	wire.URLPut:     joinEach(refusedPut),
	wire.URLHistory: joinEach(bothRows("logRows")), wire.URLStats: joinEach(bothRows("freqRows")),
	wire.ProxyStatus: joinUnion("", proxyKey), wire.ProxyFind: joinUnion("", proxyKey),
	wire.AttributeFetch: joinUnion("", attributeKey),
}

// joinStatuses returns the answer of the node with a failure, or else the first. Each status is
// the first one that is not a success.
func joinStatuses(_ json.RawMessage, answers []Answer) (json.RawMessage, error) {
	var base object
	var statuses []json.RawMessage
	for _, a := range answers {
		o, list, err := readGeneral(a)
		if err != nil {
			return nil, err
		}
		if base == nil || hasNoError(base) && !hasNoError(o) {
			base = o
		}
		for i, status := range list {
			switch {
			case i >= len(statuses):
				statuses = append(statuses, status)
			case isSuccess(statuses[i]):
				statuses[i] = status
			}
		}
	}
	return withStatuses(base, statuses)
}

// readGeneral reads a GeneralResponse.
func readGeneral(a Answer) (object, []json.RawMessage, error) {
	o, ok := readObject(a.Object)
	list, listOK := readList(o["statuses"])
	if !ok || !listOK {
		return nil, nil, fmt.Errorf("node %s did not answer with statuses", a.Node)
	}
	return o, list, nil
}

func withStatuses(o object, statuses []json.RawMessage) (json.RawMessage, error) {
	raw, err := json.Marshal(append([]json.RawMessage{}, statuses...))
	if err != nil {
		return nil, err
	}
	o["statuses"] = raw
	return json.Marshal(o)
}

// hasNoError reports whether a GeneralResponse has no error.
func hasNoError(o object) bool {
	list, _ := readList(o["statuses"])
	return o.intValue("errorCode") == wire.CodeOK && !slices.ContainsFunc(list, func(s json.RawMessage) bool { return !isSuccess(s) })
}

// isSuccess reports whether a status is 0, true or the id of a site.
func isSuccess(status json.RawMessage) bool {
	s := string(bytes.TrimSpace(status))
	return s == "0" || s == "true" || len(s) > 0 && s[0] == '"'
}

// joinPurged adds up the numbers in the statuses [site, number] of URL_PURGE.
func joinPurged(_ json.RawMessage, answers []Answer) (json.RawMessage, error) {
	var base object
	var order []string
	sums := map[string]int64{}
	for _, a := range answers {
		o, list, err := readGeneral(a)
		if err != nil {
			return nil, err
		}
		if base == nil || hasNoError(base) && !hasNoError(o) {
			base = o
		}
		for _, status := range list {
			var pair [2]json.RawMessage
			if err := json.Unmarshal(status, &pair); err != nil {
				return nil, err
			}
			n, _ := schema.ReadInt(pair[1])
			site := string(pair[0])
			if _, known := sums[site]; !known {
				order = append(order, site)
			}
			sums[site] += n
		}
	}
	var statuses []json.RawMessage
	for _, site := range order {
		statuses = append(statuses, fmt.Appendf(nil, "[%s,%d]", site, sums[site]))
	}
	return withStatuses(base, statuses)
}

// joinSite returns the site of all nodes; nodes without it do not count.
func joinSite(_ json.RawMessage, answers []Answer) (json.RawMessage, error) {
	var one object
	for _, a := range answers {
		o, ok := readObject(a.Object)
		switch {
		case !ok:
			return nil, fmt.Errorf("node %s did not answer with a site", a.Node)
		case one == nil || isUnknownSite(one) && !isUnknownSite(o):
			one = o
		case !isUnknownSite(o):
			foldHosts(one, o)
		}
	}
	return json.Marshal(one)
}

// joinSites returns each site once, in the order of the first node that knows it. All nodes have
// all sites, so the longest list has as many as the LIMIT of the request allows.
func joinSites(_ json.RawMessage, answers []Answer) (json.RawMessage, error) {
	longest := 0
	byID, sites := map[string]object{}, []object{}
	for _, a := range answers {
		var list []object
		if err := json.Unmarshal(a.Object, &list); err != nil {
			return nil, err
		}
		longest = max(longest, len(list))
		for _, o := range list {
			if known, ok := byID[o.textOrEmpty("id")]; ok {
				foldHosts(known, o)
				continue
			}
			byID[o.textOrEmpty("id")] = o
			sites = append(sites, o)
		}
	}
	return json.Marshal(sites[:longest])
}

// foldHosts adds the counters of another node to a site. Limits are those of the first node:
// every node has the whole limit.
func foldHosts(into, later object) {
	for _, limit := range [...]string{"maxURLs", "maxResources", "maxErrors"} {
		delete(later, limit)
	}
	foldCounters(into, later)
	for _, date := range [...]string{"uDate", "tcDate", "tcDateProcess"} {
		if later.isNewer(into, date) {
			into[date] = later[date]
		}
	}
}
