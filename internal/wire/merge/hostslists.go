package merge

import (
	"encoding/json"
	"fmt"
	"slices"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
)

// joinURLStatus returns the rows in the order of the request's elements. One node has the row of
// an element.
func joinURLStatus(request json.RawMessage, answers []Answer) (json.RawMessage, error) {
	list, err := wire.ReadURLStatus(request, &lenient.Notes{})
	if err != nil {
		return nil, err
	}
	byMd5 := map[string][]object{}
	for _, a := range answers {
		var rows []object
		if err := json.Unmarshal(a.Object, &rows); err != nil {
			return nil, err
		}
		for _, o := range rows {
			byMd5[o.textOrEmpty("urlMd5")] = append(byMd5[o.textOrEmpty("urlMd5")], o)
		}
	}
	rows := []object{}
	for _, r := range list {
		found := byMd5[r.URLMd5]
		if len(found) == 0 {
			continue
		}
		at := max(0, slices.IndexFunc(found, func(o object) bool { return o.textOrEmpty("siteId") == r.SiteID }))
		rows = append(rows, found[at])
	}
	return json.Marshal(rows)
}

// joinEach merges lists with one entry per element of the request, entry by entry.
func joinEach(better func(a, b json.RawMessage) json.RawMessage) func(json.RawMessage, []Answer) (json.RawMessage, error) {
	return func(_ json.RawMessage, answers []Answer) (json.RawMessage, error) {
		var one []json.RawMessage
		for i, a := range answers {
			list, ok := readList(a.Object)
			if !ok || i > 0 && len(list) != len(one) {
				return nil, fmt.Errorf("node %s answered with %d entries, others with %d", a.Node, len(list), len(one))
			}
			for at := range list {
				if i > 0 {
					list[at] = better(one[at], list[at])
				}
			}
			one = list
		}
		return json.Marshal(append([]json.RawMessage{}, one...))
	}
}

// firstKnown returns the first entry that is not null.
func firstKnown(a, b json.RawMessage) json.RawMessage {
	if isNull(a) {
		return b
	}
	return a
}

// refusedPut returns the answer of URL_PUT with an error, or else the first.
func refusedPut(a, b json.RawMessage) json.RawMessage {
	o, _ := readObject(b)
	if o.intValue("errCode") != 0 {
		return b
	}
	return a
}

// bestContent returns the entry of the node that has the row, or else one with contents.
func bestContent(a, b json.RawMessage) json.RawMessage {
	rank := func(raw json.RawMessage) int {
		o, ok := readObject(raw)
		switch {
		case !ok:
			return 0
		case !isNull(o["urlMd5"]):
			return 3
		case !isEmpty(o["rawContents"]) || !isEmpty(o["processedContents"]):
			return 2
		}
		return 1
	}
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// bothRows appends the rows of the second entry to the first.
func bothRows(field string) func(a, b json.RawMessage) json.RawMessage {
	return func(a, b json.RawMessage) json.RawMessage {
		first, ok := readObject(a)
		second, also := readObject(b)
		switch {
		case !ok:
			return b
		case !also:
			return a
		}
		rows, _ := readList(first[field])
		more, _ := readList(second[field])
		raw, err := json.Marshal(append(append([]json.RawMessage{}, rows...), more...))
		if err != nil {
			return a
		}
		first[field] = raw
		raw, err = json.Marshal(first)
		if err != nil {
			return a
		}
		return raw
	}
}

// joinUnion returns each entry once by its key. field is the list in an object, "" if the answer
// is the list.
func joinUnion(field string, key func(json.RawMessage) string) func(json.RawMessage, []Answer) (json.RawMessage, error) {
	return func(_ json.RawMessage, answers []Answer) (json.RawMessage, error) {
		seen, all := map[string]bool{}, []json.RawMessage{}
		for _, a := range answers {
			raw := a.Object
			if field != "" {
				o, _ := readObject(a.Object)
				raw = o[field]
			}
			list, ok := readList(raw)
			if !ok {
				return nil, fmt.Errorf("node %s did not answer with a list", a.Node)
			}
			for _, entry := range list {
				if k := key(entry); !seen[k] {
					seen[k] = true
					all = append(all, entry)
				}
			}
		}
		if field == "" {
			return json.Marshal(all)
		}
		o, _ := readObject(answers[0].Object)
		return withStatuses(o, all)
	}
}

func wholeKey(raw json.RawMessage) string { return string(raw) }

// proxyKey identifies a proxy: every node has it.
func proxyKey(raw json.RawMessage) string { return fieldsKey(raw, "siteId", "host") }

// attributeKey identifies an attribute of a URL.
func attributeKey(raw json.RawMessage) string { return fieldsKey(raw, "siteId", "urlMd5", "name") }

func fieldsKey(raw json.RawMessage, fields ...string) (key string) {
	o, _ := readObject(raw)
	for _, field := range fields {
		key += o.textOrEmpty(field) + "\x00"
	}
	return key
}
