package clients

import (
	"encoding/json"
	"fmt"
	"strings"

	"hce/dc/internal/dc"
)

// Merge makes one item of the items of several nodes (objects 6.4): the
// statuses of the operations that change something one after the other, the
// lists of BATCH one after the other. Answers to other operations stay one item
// per node. Items of nodes that failed follow the merged one, so that no error
// is lost; a response of one item is returned as it is.
func Merge(op dc.Op, r dc.ClientResponse) dc.ClientResponse {
	var join func([]json.RawMessage) (json.RawMessage, error)
	switch op {
	case dc.SiteNew, dc.SiteUpdate, dc.SiteDelete, dc.SiteCleanup, dc.URLNew, dc.URLUpdate, dc.URLDelete, dc.URLCleanup:
		join = joinGeneral
	case dc.BatchRun:
		join = joinLists
	default:
		return r
	}
	var good, bad []dc.ClientResponseItem
	var objects []json.RawMessage
	for _, item := range r.ItemsList {
		if len(item.ItemObject) == 0 || string(item.ItemObject) == "null" {
			bad = append(bad, item)
			continue
		}
		good = append(good, item)
		objects = append(objects, item.ItemObject)
	}
	if len(good) < 2 {
		return r
	}
	object, err := join(objects)
	if err != nil {
		return r // what has another form than it should is shown as it came
	}
	one := joinItems(good)
	one.ItemObject = object
	r.ItemsList = append([]dc.ClientResponseItem{one}, bad...)
	return r
}

// joinItems is the first item with the nodes' fields as texts joined by
// semicolons (objects 3.2).
func joinItems(items []dc.ClientResponseItem) dc.ClientResponseItem {
	join := func(field func(dc.ClientResponseItem) any) string {
		texts := make([]string, len(items))
		for i, item := range items {
			texts[i] = fmt.Sprint(field(item))
		}
		return strings.Join(texts, ";")
	}
	one := items[0]
	one.ErrorMessage = ""
	for _, item := range items {
		one.ErrorMessage += item.ErrorMessage
	}
	one.ErrorCode = join(func(i dc.ClientResponseItem) any { return i.ErrorCode })
	one.Host = join(func(i dc.ClientResponseItem) any { return i.Host })
	one.Node = join(func(i dc.ClientResponseItem) any { return i.Node })
	one.Port = join(func(i dc.ClientResponseItem) any { return i.Port })
	one.Time = join(func(i dc.ClientResponseItem) any { return i.Time })
	return one
}

// joinGeneral joins GeneralResponses: codes and messages as texts, statuses as
// one list.
func joinGeneral(objects []json.RawMessage) (json.RawMessage, error) {
	var codes, messages []string
	statuses := []json.RawMessage{}
	for _, raw := range objects {
		var g struct {
			ErrorCode    json.RawMessage   `json:"errorCode"`
			ErrorMessage string            `json:"errorMessage"`
			Statuses     []json.RawMessage `json:"statuses"`
		}
		if err := json.Unmarshal(raw, &g); err != nil {
			return nil, err
		}
		codes = append(codes, string(g.ErrorCode))
		messages = append(messages, g.ErrorMessage)
		statuses = append(statuses, g.Statuses...)
	}
	return json.Marshal(map[string]any{
		"errorCode": strings.Join(codes, ";"), "errorMessage": strings.Join(messages, ";"), "statuses": statuses,
	})
}

// joinLists makes one list of lists; nulls are left out.
func joinLists(objects []json.RawMessage) (json.RawMessage, error) {
	all := []json.RawMessage{}
	for _, raw := range objects {
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
		for _, element := range list {
			if string(element) != "null" {
				all = append(all, element)
			}
		}
	}
	return json.Marshal(all)
}
