package merge

import (
	"encoding/json"
	"slices"
)

// elements is a list under way. One that is no object is kept as it came, in
// its place; every object says its host.
type elements struct {
	list  []element
	order order
	// rank is the value of an object that order sorts by.
	rank func(object) rank
}

type element struct {
	raw json.RawMessage // when it is no object
	object
}

// each reads a list and hands its objects to take, which keeps them or not. It
// answers false when raw is no list.
func (e *elements) each(host string, raw json.RawMessage, take func(object)) bool {
	var objects []object
	if json.Unmarshal(raw, &objects) == nil && objects != nil && !slices.ContainsFunc(objects, object.isNil) {
		for _, o := range objects { // as it should be: read once
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

// keep appends an object and answers its place.
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

// batch piles up the answers of BATCH: the lists one after the other, without
// nulls.
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
