package strict

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/manual"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/urlkey"
)

// Verdict is what an answer says about its request.
type Verdict struct {
	Problems []Problem
	Done     int  // elements of the request that succeeded
	NoNode   bool // no node answered
}

// Status returns the exit status: command.ExitDone, ExitErrors if only a part was done, ExitRefused
// if nothing was, and ExitFailed if no node answered.
func (v Verdict) Status() int {
	switch {
	case v.NoNode:
		return command.ExitFailed
	case len(v.Problems) == 0:
		return command.ExitDone
	case v.Done == 0:
		return command.ExitRefused
	}
	return command.ExitErrors
}

// Lookup reports whether a site exists, and else the nearest known id.
type Lookup func(id string) (known bool, near string)

// Answer judges the answer to a request. A message of the service is the reason of its problem.
// lookup is called only for elements that failed.
func Answer(op wire.Op, request, answer json.RawMessage, lookup Lookup) Verdict {
	var response wire.ClientResponse
	if err := json.Unmarshal(answer, &response); err != nil {
		return Verdict{NoNode: true, Problems: []Problem{{Field: op.String(), Reason: "has an answer that cannot be read: " + err.Error()}}}
	}
	if response.ErrorCode != wire.ResponseOK || len(response.ItemsList) == 0 {
		return Verdict{NoNode: true, Problems: []Problem{{Field: op.String(), Reason: fmt.Sprintf("failed with errorCode %d: %s", response.ErrorCode, response.ErrorMessage)}}}
	}
	j := judge{op: op, lookup: lookup}
	j.elements, j.list = requestElements(request)
	fault := "is refused: "
	if !response.ItemsList[0].Failed() { // by other nodes of a cluster
		fault = "is incomplete: "
	}
	for _, item := range response.ItemsList {
		if item.Failed() {
			j.addProblem(Problem{Field: op.String(), Reason: fault + item.ErrorMessage})
			continue
		}
		if err := j.judgeNode(item.ItemObject); err != nil {
			j.addProblem(Problem{Field: op.String(), Reason: "has an answer that cannot be read: " + err.Error()})
		}
	}
	return j.verdict
}

// requestElements returns the objects of a request, and whether they are in a list. Other values are empty
// objects.
func requestElements(request json.RawMessage) (all []map[string]any, list bool) {
	var one map[string]any
	if json.Unmarshal(request, &one) == nil {
		return []map[string]any{one}, false
	}
	var many []json.RawMessage
	_ = json.Unmarshal(request, &many) // the service has accepted it
	for _, raw := range many {
		var element map[string]any
		_ = json.Unmarshal(raw, &element)
		all = append(all, element)
	}
	return all, true
}

// judge collects the verdict about one answer.
type judge struct {
	op       wire.Op
	elements []map[string]any
	list     bool
	lookup   Lookup
	verdict  Verdict
}

func (j *judge) addProblem(p Problem) { j.verdict.Problems = append(j.verdict.Problems, p) }

// textValue returns a text of element i, "" without one, and its name in messages. An
// element with criterions may have several results: those beyond the list belong to its last element.
func (j *judge) textValue(i int, key string) (field, value string) {
	i = max(0, min(i, len(j.elements)-1))
	field = j.op.String()
	if j.list {
		field += fmt.Sprintf("[%d]", i)
	}
	if i < len(j.elements) && j.elements[i][key] != nil {
		value = fmt.Sprint(j.elements[i][key])
	}
	return field + "." + key, value
}

// unknownSite returns the problem of element i if its site is unknown.
func (j *judge) unknownSite(i int) (Problem, bool) {
	for _, key := range []string{"id", "siteId"} {
		field, id := j.textValue(i, key)
		if id == "" {
			continue
		}
		if known, near := j.lookup(id); !known {
			return Problem{Field: field, Value: id, Reason: "is not known; list the sites with SITE_FIND", Near: near}, true
		}
	}
	return Problem{}, false
}

// addUnknown adds the problem of element i, whose site or URL does not exist.
func (j *judge) addUnknown(i int) {
	if p, found := j.unknownSite(i); found {
		j.addProblem(p)
		return
	}
	j.addFailure(i, "is not known; list the URLs of the site with URL_FETCH")
}

// addFailure adds the problem of element i.
func (j *judge) addFailure(i int, reason string) {
	for _, key := range []string{"url", "urlMd5", "host", "name", "id", "siteId"} {
		if field, value := j.textValue(i, key); value != "" {
			j.addProblem(Problem{Field: field, Value: value, Reason: reason})
			return
		}
	}
	field, _ := j.textValue(i, "")
	j.addProblem(Problem{Field: strings.TrimSuffix(field, "."), Reason: reason})
}

// judgeNode judges the object of one node.
func (j *judge) judgeNode(object json.RawMessage) error {
	switch j.op {
	case wire.SiteFind, wire.ProxyStatus, wire.ProxyFind, wire.AttributeFetch:
		j.verdict.Done++
		return nil
	case wire.SiteStatus:
		return j.siteStatus(object)
	case wire.URLFetch:
		return j.judgeFetch(object)
	case wire.URLStatus:
		return j.judgeRows(object)
	case wire.URLContent:
		return judgeEach(j, object, j.judgeContent)
	case wire.URLPut:
		return judgeEach(j, object, j.judgePut)
	case wire.URLVerify, wire.URLHistory, wire.URLStats:
		return judgeEach(j, object, j.judgePresent)
	case wire.SQLCustom:
		return j.judgeQuery(object)
	case wire.BatchRun:
		return judgeEach(j, object, j.judgePage)
	}
	return j.judgeGeneral(object)
}

func (j *judge) siteStatus(object json.RawMessage) error {
	var site struct {
		State int64 `json:"state"`
	}
	if err := json.Unmarshal(object, &site); err != nil {
		return err
	}
	if site.State == wire.SiteNotFound {
		j.addUnknown(0)
		return nil
	}
	j.verdict.Done++
	return nil
}

// judgeFetch looks for unknown sites of URL_FETCH: they have no URL.
func (j *judge) judgeFetch(object json.RawMessage) error {
	var rows []wire.URL
	if err := json.Unmarshal(object, &rows); err != nil {
		return err
	}
	for i, element := range j.elements {
		before := len(j.verdict.Problems)
		ids, _ := element["sitesList"].([]any)
		for _, value := range ids {
			id, text := value.(string)
			if !text || slices.ContainsFunc(rows, func(row wire.URL) bool { return row.SiteID == id }) {
				continue
			}
			if known, near := j.lookup(id); !known {
				field, _ := j.textValue(i, "sitesList")
				j.addProblem(Problem{Field: field, Value: id, Reason: "is not known; list the sites with SITE_FIND", Near: near})
			}
		}
		if len(j.verdict.Problems) == before {
			j.verdict.Done++
		}
	}
	return nil
}

func (j *judge) judgeRows(object json.RawMessage) error {
	var rows []wire.URL
	if err := json.Unmarshal(object, &rows); err != nil {
		return err
	}
	for i := range j.elements {
		_, asked := j.textValue(i, "url")
		key := urlkey.Of(asked)
		if slices.ContainsFunc(rows, func(row wire.URL) bool { return row.URL == asked || row.URLMd5 == asked || row.URLMd5 == key }) {
			j.verdict.Done++
		} else {
			j.addUnknown(i)
		}
	}
	return nil
}

// judgeEach judges a list of answers. An answer for which check adds no problem is done.
func judgeEach[T any](j *judge, object json.RawMessage, check func(i int, answer T)) error {
	var answers []T
	if err := json.Unmarshal(object, &answers); err != nil {
		return err
	}
	for i, a := range answers {
		before := len(j.verdict.Problems)
		if check(i, a); len(j.verdict.Problems) == before {
			j.verdict.Done++
		}
	}
	return nil
}

// judgeContent judges an answer of URL_CONTENT, which are one for each element without a urlFetch.
func (j *judge) judgeContent(i int, a *struct {
	Key *string `json:"urlMd5"`
}) {
	if a != nil && a.Key == nil {
		j.addUnknown(i)
	}
}

func (j *judge) judgePut(i int, a wire.URLPutResponse) {
	if a.ErrCode != 0 {
		j.addFailure(i, "failed: "+a.ErrMessage)
	}
}

func (j *judge) judgePresent(i int, a any) {
	if a == nil {
		j.addUnknown(i)
	}
}

func (j *judge) judgeQuery(object json.RawMessage) error {
	var answer struct {
		Error *string `json:"errString"`
	}
	if err := json.Unmarshal(object, &answer); err != nil {
		return err
	}
	if answer.Error == nil {
		j.verdict.Done++
		return nil
	}
	field, query := j.textValue(0, "query")
	j.addProblem(Problem{Field: field, Value: query, Reason: "failed: " + *answer.Error})
	return nil
}

// judgePage judges a page of BATCH.
func (j *judge) judgePage(_ int, page struct {
	URL    string `json:"url"`
	Fields struct {
		Code  int64          `json:"HttpCode"`
		Mask  errormask.Mask `json:"ErrorMask"`
		Names []string       `json:"errorNames"`
	} `json:"dbFields"`
}) {
	if page.Fields.Mask != 0 {
		j.addProblem(Problem{Field: "BATCH.items", Value: page.URL, Reason: fmt.Sprintf(manual.Locate("failed with HTTP code %d: %s (docs/errors.md)"), page.Fields.Code, strings.Join(page.Fields.Names, ", "))})
	}
}

// judgeGeneral judges a GeneralResponse: a status for each element.
func (j *judge) judgeGeneral(object json.RawMessage) error {
	var g struct {
		Code     any    `json:"errorCode"` // a number, or numbers of several nodes
		Message  string `json:"errorMessage"`
		Statuses []any  `json:"statuses"`
	}
	if err := json.Unmarshal(object, &g); err != nil {
		return err
	}
	before := len(j.verdict.Problems)
	if j.op == wire.SiteNew && g.Code == float64(wire.CodeDuplicateSite) {
		j.addDuplicate()
		return nil
	}
	for i, status := range g.Statuses {
		switch reason := j.failureReason(i, status, g.Message); reason {
		case "":
			j.verdict.Done++
		case notKnown:
			j.addUnknown(i)
		default:
			j.addFailure(i, reason)
		}
	}
	switch {
	case len(j.verdict.Problems) > before:
	case g.Code != float64(wire.CodeOK) && strings.Trim(fmt.Sprint(g.Code), "0;") != "":
		j.addProblem(Problem{Field: j.op.String(), Reason: "failed: " + g.Message})
	case len(g.Statuses) == 0:
		j.verdict.Done++
	}
	return nil
}

// addDuplicate adds the problem of SITE_NEW of a site that exists.
func (j *judge) addDuplicate() {
	field, value := j.textValue(0, "id")
	if value == "" && len(j.elements) > 0 { // the service takes the md5 of the first URL
		field, value = "SITE_NEW.urls", fmt.Sprint(j.elements[0]["urls"])
	}
	j.addProblem(Problem{Field: field, Value: value, Reason: "exists already; change it with SITE_UPDATE, or choose another id"})
}

// Statuses of single elements (docs/spec/storage.md 4.7, 4.22, 4.23).
const (
	statusExists = 2
	statusNoSite = 3 // of ATTRIBUTE_SET
)

// notKnown is the reason of a site or URL that does not exist.
const notKnown = "is not known"

// failureReason returns why a status is no success, "" if it is one.
func (j *judge) failureReason(i int, status any, message string) string {
	if status == nil {
		return "is refused: " + message
	}
	if done, isBool := status.(bool); isBool && !done {
		if message != "" {
			return "failed: " + message
		}
		return notKnown
	}
	code, isNumber := status.(float64)
	if !isNumber || code == wire.CodeOK { // true, an id or a count
		return ""
	}
	switch {
	case j.op == wire.URLNew && code == statusExists:
		if i < len(j.elements) && j.elements[i]["urlUpdate"] != nil {
			return ""
		}
		return "is known already; change it with URL_UPDATE"
	case j.op == wire.ProxyNew && code == statusExists:
		return "is known already; change it with PROXY_UPDATE"
	case j.op == wire.AttributeSet && code == statusExists:
		return ""
	case j.op == wire.SiteUpdate && code == wire.CodeDuplicateSite, j.op == wire.SiteCleanup && code == wire.CodeNotFound, j.op == wire.AttributeSet && code == statusNoSite:
		return notKnown
	}
	return fmt.Sprintf("failed with status %v: %s", code, message)
}
