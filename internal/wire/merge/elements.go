package merge

import (
	"encoding/json"
	"slices"
)

// elements collects lists. Elements that are not objects keep their place unchanged;
// objects get the host of their node.
type elements struct {
	list  []element
	order order
	rank  func(object) rank // the sort key of an object; nil: do not sort
}

type element struct {
	raw json.RawMessage // used if object is nil
	object
}

// each reads a list and calls take with each object. It returns false if raw is not a
// list.
func (e *elements) each(host string, raw json.RawMessage, take func(object)) bool {
	var objects []object
	if json.Unmarshal(raw, &objects) == nil && objects != nil && !slices.ContainsFunc(objects, object.isNil) {
		for _, o := range objects { // the usual case, decoded once
			o.setHost(host)
			take(o)
		}
		return true
	}
	list, ok := readList(raw)
	for _, raw := range list {
		o, ok := readObject(raw)
		if !ok {
			e.list = append(e.list, element{raw: raw})
			continue
		}
		o.setHost(host)
		take(o)
	}
	return ok
}

// keep appends an object and returns its index.
func (e *elements) keep(o object) (place int) {
	e.list = append(e.list, element{object: o})
	return len(e.list) - 1
}

func (e *elements) object() (json.RawMessage, error) {
	e.order.sort(e.list, e.rank)
	values := make([]any, len(e.list))
	for i, el := range e.list {
		values[i] = el.object
		if el.object == nil {
			values[i] = el.raw
		}
	}
	return json.Marshal(values)
}

// batch concatenates the lists of BATCH, without nulls.
type batch struct{ elements }

func (b *batch) add(host string, raw json.RawMessage) bool {
	was := len(b.list)
	if !b.each(host, raw, func(o object) { b.keep(o) }) {
		return false
	}
	list := b.list[:was]
	for _, el := range b.list[was:] {
		if el.object != nil || !isNull(el.raw) {
			list = append(list, el)
		}
	}
	b.list = list
	return true
}
