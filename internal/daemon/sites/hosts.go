package sites

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/storage/expr"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/merge"
)

// In a cluster where each node stores the URLs of its own hosts ([Cluster] placement = hosts), a
// client gets the answer of one machine with all the data: one item with the merged objects. A
// node without an answer is a further item with an error.
//
// A LIMIT counts the rows of all nodes. So URL_FETCH asks each node for offset plus count rows and
// takes the first ones of all. A change with a LIMIT first finds the keys of its rows like
// URL_FETCH, and then names these keys.

// maxSelected limits the URLs that a change or a URL_CONTENT with a criterion and a LIMIT selects
// over several nodes.
const maxSelected = 10_000

// across runs one operation of a client over all nodes and merges their answers.
type across struct {
	runner
	ctx   context.Context
	items []wire.ClientResponseItem // of nodes that failed, each failure once
	good  wire.ClientResponseItem   // the names and the time of the nodes that answered
	fault *wire.ClientResponse      // the whole request failed
}

// runMerged is do with the answers merged into one item.
func (r runner) runMerged(ctx context.Context, call wire.Call) wire.ClientResponse {
	a := &across{runner: r, ctx: ctx}
	object, err := a.mergedAnswer(call)
	switch {
	case a.fault != nil:
		return *a.fault
	case err != nil:
		return wire.ErrorItem(err.Error())
	}
	response := wire.ClientResponse{ItemsList: a.items}
	if object != nil {
		a.good.ItemObject = object
		response.ItemsList = append([]wire.ClientResponseItem{a.good}, a.items...)
	}
	return response
}

// mergedAnswer returns the merged object; nil if no node has answered well.
func (a *across) mergedAnswer(call wire.Call) (json.RawMessage, error) {
	if call.Op == wire.URLFetch {
		return a.fetchElements(call.Object)
	}
	object, err := a.expandCriterions(call.Op, call.Object)
	if err != nil || a.fault != nil {
		return nil, err
	}
	call.Object = object
	if call.Op != wire.AttributeFetch {
		return a.runAndMerge(call)
	}
	return a.runElements(call)
}

// runAndMerge runs an operation and merges its answers.
func (a *across) runAndMerge(call wire.Call) (json.RawMessage, error) {
	answers := a.askNodes(call)
	if len(answers) == 0 {
		return nil, nil
	}
	object, ok := merge.Hosts(call.Op, call.Object, answers)
	if !ok {
		return nil, fmt.Errorf("cannot merge the answers of %d nodes to %s: their shapes differ", len(answers), call.Op)
	}
	return object, nil
}

// runElements runs a request with several elements, whose answers are one list, element by
// element.
func (a *across) runElements(call wire.Call) (json.RawMessage, error) {
	var elements []json.RawMessage
	if json.Unmarshal(call.Object, &elements) != nil || len(elements) < 2 {
		return a.runAndMerge(call)
	}
	all := []json.RawMessage{}
	for _, element := range elements {
		one := call
		one.Object = slices.Concat([]byte("["), element, []byte("]"))
		object, err := a.runAndMerge(one)
		if err != nil || object == nil {
			return nil, err
		}
		var list []json.RawMessage
		if err := json.Unmarshal(object, &list); err != nil {
			return nil, fmt.Errorf("read answer of one element: %w", err)
		}
		all = append(all, list...)
	}
	return json.Marshal(all)
}

// askNodes runs an operation on all nodes. It returns the good answers and keeps the others in a.items.
func (a *across) askNodes(call wire.Call) []merge.Answer {
	r := a.runner.runCall(a.ctx, call)
	if r.ErrorCode != wire.ResponseOK || len(r.ItemsList) == 0 {
		a.fault = &r
		return nil
	}
	var answers []merge.Answer
	var nodes []string
	for _, i := range r.ItemsList {
		if i.ErrorCode != wire.ResponseOK {
			a.recordFailure(i)
			continue
		}
		answers = append(answers, merge.Answer{Node: i.Node, Object: i.ItemObject})
		nodes = append(nodes, i.Node)
		took, _ := i.Time.(int64)
		if was, _ := a.good.Time.(int64); was > took {
			took = was
		}
		a.good = wire.ClientResponseItem{ErrorCode: wire.ResponseOK, Port: 0, ID: 0, Time: took}
	}
	a.good.Node = strings.Join(nodes, ";")
	a.good.Host = a.good.Node
	return answers
}

// recordFailure keeps the failure of a node. Equal failures, such as an invalid request, are one item.
func (a *across) recordFailure(i wire.ClientResponseItem) {
	for at, known := range a.items {
		if known.ErrorCode != i.ErrorCode || known.ErrorMessage != i.ErrorMessage {
			continue
		}
		if !slices.Contains(strings.Split(known.Node, ";"), i.Node) {
			a.items[at].Node += ";" + i.Node
			a.items[at].Host = a.items[at].Node
		}
		return
	}
	a.items = append(a.items, i)
}

// fetchElements runs the elements of URL_FETCH and joins their rows.
func (a *across) fetchElements(object json.RawMessage) (json.RawMessage, error) {
	list, err := wire.ReadURLFetch(object, &lenient.Notes{})
	var elements []json.RawMessage
	if err != nil || json.Unmarshal(object, &elements) != nil || len(elements) != len(list) {
		if len(a.askNodes(wire.Call{Op: wire.URLFetch, Object: object})) > 0 { // the nodes refuse it
			return nil, fmt.Errorf("cannot read the request: %w", err)
		}
		return nil, nil
	}
	all := []json.RawMessage{}
	for i, r := range list {
		rows, err := a.fetchRows(r, elements[i])
		if err == nil && a.fault == nil && (len(r.URLUpdate) > 0 || len(r.SiteUpdate) > 0 || r.SiteLists.Given()) {
			rows, err = a.claimRows(r, elements[i], rows)
		}
		if err != nil || a.fault != nil || a.good.Node == "" {
			return nil, err
		}
		for _, row := range rows {
			all = append(all, row.Raw)
		}
	}
	return json.Marshal(all)
}

// fetchRows selects the rows of one element without changing them.
func (a *across) fetchRows(r wire.URLFetchRequest, element json.RawMessage) ([]merge.Row, error) {
	limit, err := expr.ParseLimit(r.URLsCriterion.Limit)
	if err == nil {
		err = merge.CheckOrder(r.URLsCriterion.OrderBy)
	}
	if err != nil {
		return nil, err
	}
	f := merge.Fetch{
		Sites: r.Sites, OrderBy: r.URLsCriterion.OrderBy, Offset: limit.Offset, Count: limit.Count, Limited: limit.Set,
		MaxURLs: r.MaxURLs, Proportional: r.Algorithm == 1,
	}
	if len(f.Sites) == 0 {
		if f.Sites, err = a.siteOrder(r.SitesCriterion); err != nil || a.fault != nil {
			return nil, err
		}
	}
	changes := map[string]any{"siteUpdate": nil, "urlUpdate": nil, "isLocking": false}
	if limit.Offset > 0 {
		criterion := r.URLsCriterion
		criterion.Limit = fmt.Sprint(limit.Offset + limit.Count)
		changes["urlsCriterions"] = criterionObject(criterion)
		if !f.Proportional {
			changes["maxURLs"] = 0
		}
	}
	object, err := listWithChanges(element, changes)
	if err != nil {
		return nil, err
	}
	return f.Merge(a.askNodes(wire.Call{Op: wire.URLFetch, Object: object}))
}

// siteOrder returns the ids of the sites that a criterion selects, in its order.
func (a *across) siteOrder(c wire.Criterion) ([]string, error) {
	if c.Where == "" {
		c.Where = fmt.Sprintf("`State`=%d", wire.SiteActive)
	}
	request, err := json.Marshal(map[string]any{
		"url": nil, "criterions": criterionObject(c), "excludeList": []string{"urls", "properties", "filters"},
	})
	if err != nil {
		return nil, err
	}
	object, err := a.runAndMerge(wire.Call{Op: wire.SiteFind, Object: request})
	if err != nil || object == nil {
		return nil, err
	}
	var sites []struct {
		ID string `json:"id"`
	}
	err = json.Unmarshal(object, &sites)
	ids := make([]string, len(sites))
	for i, s := range sites {
		ids[i] = s.ID
	}
	return ids, err
}

// claimRows fetches the selected rows again with the changes of the request. Rows that changed
// meanwhile, so that the criterion does not select them, are left out. So two requests that mark
// rows never get the same row, as on one machine.
func (a *across) claimRows(r wire.URLFetchRequest, element json.RawMessage, rows []merge.Row) ([]merge.Row, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	if len(rows) > maxSelected {
		return nil, fmt.Errorf("the URL_FETCH changes %d rows; at most %d over several nodes: set maxURLs", len(rows), maxSelected)
	}
	var sites, keys []string
	at := map[string]int{}
	for i, row := range rows {
		at[row.SiteID+row.URLMd5] = i
		keys = append(keys, row.URLMd5)
		if !slices.Contains(sites, row.SiteID) {
			sites = append(sites, row.SiteID)
		}
	}
	criterion := wire.Criterion{Where: joinConditions(r.URLsCriterion.Where, ofKeys(keys)), OrderBy: r.URLsCriterion.OrderBy, SQL: r.URLsCriterion.SQL}
	object, err := listWithChanges(element, map[string]any{
		"sitesList": sites, "urlsCriterions": criterionObject(criterion), "maxURLs": 0, "algorithm": 0,
	})
	if err != nil {
		return nil, err
	}
	f := merge.Fetch{Sites: sites, OrderBy: r.URLsCriterion.OrderBy}
	claimed, err := f.Merge(a.askNodes(wire.Call{Op: wire.URLFetch, Object: object}))
	slices.SortFunc(claimed, func(x, y merge.Row) int { return at[x.SiteID+x.URLMd5] - at[y.SiteID+y.URLMd5] })
	return claimed, err
}

// expandCriterions replaces criterions with a LIMIT, and selections whose size decides the length of the
// answer, by the keys of the rows that they select.
func (a *across) expandCriterions(op wire.Op, object json.RawMessage) (json.RawMessage, error) {
	switch op {
	case wire.URLUpdate, wire.URLDelete, wire.URLCleanup, wire.URLPut, wire.URLContent:
	default:
		return object, nil
	}
	var elements []json.RawMessage
	if json.Unmarshal(object, &elements) != nil {
		return object, nil // the nodes refuse it
	}
	changed, all := false, []json.RawMessage{}
	for i, element := range elements {
		more, err := a.expandElement(op, slices.Concat([]byte("["), element, []byte("]")), element)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		if a.fault != nil {
			return nil, nil
		}
		changed = changed || len(more) != 1 || string(more[0]) != string(element)
		all = append(all, more...)
	}
	if !changed {
		return object, nil
	}
	return json.Marshal(all)
}

// expandElement returns the elements that replace one element. list is the element as a list.
func (a *across) expandElement(op wire.Op, list, element json.RawMessage) ([]json.RawMessage, error) {
	same := []json.RawMessage{element}
	notes := &lenient.Notes{}
	switch op {
	case wire.URLUpdate:
		if r, err := wire.ReadURLUpdate(list, notes); err == nil && r[0].URLMd5 == "" && r[0].Criterion.Where != "" {
			return a.replaceLimit(r[0].SiteID, r[0].Criterion, element)
		}
	case wire.URLDelete:
		if r, err := wire.ReadURLDelete(list, notes); err == nil && r[0].URLMd5 == "" {
			return a.replaceLimit(r[0].SiteID, r[0].Criterion, element)
		}
	case wire.URLCleanup:
		if r, err := wire.ReadURLCleanup(list, notes); err == nil && r[0].URLMd5 == "" {
			return a.replaceLimit(r[0].SiteID, r[0].Criterion, element)
		}
	case wire.URLPut:
		if r, err := wire.ReadURLPut(list, notes); err == nil && r[0].URLMd5 == "" && !r[0].Criterion.Empty() && r[0].PutDict.Data != nil {
			return a.elementPerURL(selectionElement(r[0].SiteID, r[0].Criterion), element, map[string]any{"criterions": nil})
		}
	case wire.URLContent:
		if r, err := wire.ReadURLContent(list, notes); err == nil && !r[0].Null && r[0].Fetch != nil {
			return a.contentElements(*r[0].Fetch, element)
		}
	}
	return same, nil
}

// replaceLimit replaces a criterion with a LIMIT by the keys that it selects.
func (a *across) replaceLimit(site string, c wire.Criterion, element json.RawMessage) ([]json.RawMessage, error) {
	if strings.TrimSpace(c.Limit) == "" {
		return []json.RawMessage{element}, nil
	}
	rows, err := a.selectRows(selectionElement(site, c))
	switch {
	case err != nil || a.fault != nil:
		return nil, err
	case a.isRefused():
		return []json.RawMessage{element}, nil
	}
	keys := []string{""}
	for _, row := range rows {
		keys = append(keys, row.URLMd5)
	}
	one, err := changeFields(element, map[string]any{"criterions": map[string]any{"WHERE": ofKeys(keys), "LIMIT": nil}})
	return []json.RawMessage{one}, err
}

// contentElements returns an element of URL_CONTENT for each URL that a urlFetch selects.
func (a *across) contentElements(f wire.URLFetchRequest, element json.RawMessage) ([]json.RawMessage, error) {
	var o map[string]json.RawMessage
	if err := json.Unmarshal(element, &o); err != nil {
		return nil, err
	}
	fetch, err := changeFields(o["urlFetch"], map[string]any{"sitesList": f.Sites, "attributeNames": []string{}})
	if err != nil {
		return nil, err
	}
	return a.elementPerURL(fetch, element, map[string]any{"urlFetch": nil})
}

// elementPerURL returns the element once for each URL that a URL_FETCH selects.
func (a *across) elementPerURL(fetch, element json.RawMessage, changes map[string]any) ([]json.RawMessage, error) {
	rows, err := a.selectRows(fetch)
	switch {
	case err != nil || a.fault != nil:
		return nil, err
	case a.isRefused():
		return []json.RawMessage{element}, nil
	}
	elements := []json.RawMessage{}
	for _, row := range rows {
		changes["siteId"], changes["urlMd5"] = row.SiteID, row.URLMd5
		if _, content := changes["urlFetch"]; content {
			changes["url"] = row.URL.URL
		}
		one, err := changeFields(element, changes)
		if err != nil {
			return nil, err
		}
		elements = append(elements, one)
	}
	return elements, nil
}

// isRefused reports whether no node has answered well, and forgets the failures: the same nodes refuse
// the request itself, in its own words.
func (a *across) isRefused() bool {
	if a.good.Node != "" {
		return false
	}
	a.items = nil
	return true
}

// selectionElement is the element of URL_FETCH with the rows of a criterion.
func selectionElement(site string, c wire.Criterion) json.RawMessage {
	raw, _ := json.Marshal(map[string]any{ // never fails
		"sitesList": []string{site}, "sitesCriterions": map[string]any{}, "urlsCriterions": criterionObject(c), "maxURLs": 0,
		"attributeNames": []string{},
	})
	return raw
}

// selectRows runs one element of URL_FETCH, at most maxSelected rows.
func (a *across) selectRows(element json.RawMessage) ([]merge.Row, error) {
	list := slices.Concat([]byte("["), element, []byte("]"))
	r, err := wire.ReadURLFetch(list, &lenient.Notes{})
	if err != nil {
		return nil, err
	}
	rows, err := a.fetchRows(r[0], element)
	if err == nil && len(rows) > maxSelected {
		err = fmt.Errorf("it selects %d URLs; at most %d over several nodes: set a LIMIT", len(rows), maxSelected)
	}
	return rows, err
}

// criterionObject returns a criterion with all clauses, so that no default replaces an empty one.
func criterionObject(c wire.Criterion) map[string]any {
	o := map[string]any{"WHERE": c.Where, "ORDER BY": c.OrderBy, "LIMIT": c.Limit}
	if c.Limit == "" {
		o["LIMIT"] = nil
	}
	if len(c.SQL) > 0 {
		o["SQL"] = c.SQL
	}
	return o
}

// ofKeys is a condition that selects keys. They are md5 sums of our own answers.
func ofKeys(keys []string) string { return "`URLMd5` IN ('" + strings.Join(keys, "','") + "')" }

func joinConditions(a, b string) string {
	if strings.TrimSpace(a) == "" {
		return b
	}
	return "(" + a + ") AND " + b
}

// listWithChanges returns a list of one element with changed fields.
func listWithChanges(element json.RawMessage, changes map[string]any) (json.RawMessage, error) {
	one, err := changeFields(element, changes)
	return slices.Concat([]byte("["), one, []byte("]")), err
}

// changeFields returns an object with changed fields.
func changeFields(element json.RawMessage, changes map[string]any) (json.RawMessage, error) {
	o := map[string]any{}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(element, &fields); err != nil {
		return nil, fmt.Errorf("read element of the request: %w", err)
	}
	for name, value := range fields {
		o[name] = value
	}
	for name, value := range changes {
		o[name] = value
	}
	return json.Marshal(o)
}

// whenBack is the end of the message about a change that a node runs later.
const whenBack = "when it is back"

// explainSilence completes the message of a node that did not answer: what becomes of its part.
func (r runner) explainSilence(op wire.Op, result executor.Result, nodes int) string {
	message := fmt.Sprintf("node %s did not answer within %v", result.Node, r.limit)
	switch {
	case strings.HasPrefix(result.Reason, "node "+result.Node):
		message = result.Reason
	case result.Reason != "":
		message = fmt.Sprintf("node %s: %s", result.Node, result.Reason)
	}
	switch {
	case strings.HasSuffix(message, whenBack):
		return message
	case r.journal && op.Journaled():
		return message + "; it applies the change " + whenBack
	case nodes > 1:
		return message + fmt.Sprintf("; its part of the answer, 1 of %d, is missing", nodes)
	}
	return message
}
