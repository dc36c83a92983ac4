package merge

import (
	"encoding/json"
	"slices"
)

// elements collects lists. Elements that are not objects keep their place unchanged;
// objects get the host of their node.
type elements struct {
	take      func(object) // merges one object: keep, or a change of list
	skipNulls bool
	list      []element
	order     order
	rank      func(object) rank // the sort key of an object; nil: do not sort
}

type element struct {
	raw json.RawMessage // used if object is nil
	object
	rank rank // set by sortByRank
}

func (e *elements) addAnswer(host string, raw json.RawMessage) bool {
	var objects []object
	if json.Unmarshal(raw, &objects) == nil && objects != nil && !slices.ContainsFunc(objects, object.isNil) {
		for _, o := range objects { // the usual case, decoded once
			o.setHost(host)
			e.take(o)
		}
		return true
	}
	list, ok := readList(raw)
	for _, raw := range list {
		if o, ok := readObject(raw); ok {
			o.setHost(host)
			e.take(o)
		} else if !e.skipNulls || !isNull(raw) {
			e.list = append(e.list, element{raw: raw})
		}
	}
	return ok
}

// appendObject appends an object and returns its index.
func (e *elements) appendObject(o object) (place int) {
	e.list = append(e.list, element{object: o})
	return len(e.list) - 1
}

func (e *elements) mergedObject() (json.RawMessage, error) {
	if e.rank != nil {
		e.order.sortByRank(e.list, e.rank)
	}
	values := make([]any, len(e.list))
	for i, el := range e.list {
		values[i] = el.object
		if el.object == nil {
			values[i] = el.raw
		}
	}
	return json.Marshal(values)
}

// newBatch concatenates the lists of BATCH, without nulls.
func newBatch() *elements {
	e := &elements{skipNulls: true}
	e.take = func(o object) { e.appendObject(o) }
	return e
}
