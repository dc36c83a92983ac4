package random_test

import (
	"fmt"
	"strings"

	"hce/dc/internal/dc"
)

// operation is one kind of request: how often it comes and what its object is.
type operation struct {
	op     dc.Op
	weight int
	object func(*generator) any
}

// operations are those of objects 1 but BATCH, which is not db-task's, and our
// own URL_RETURN.
var operations = []operation{
	{dc.SiteNew, 6, (*generator).siteNew}, {dc.SiteUpdate, 7, (*generator).siteUpdate}, {dc.SiteStatus, 4, (*generator).siteStatus},
	{dc.SiteDelete, 1, (*generator).siteDelete}, {dc.SiteCleanup, 1, (*generator).siteCleanup}, {dc.SiteFind, 4, (*generator).siteFind},
	{dc.URLNew, 18, (*generator).urlNew}, {dc.URLUpdate, 12, (*generator).urlUpdate}, {dc.URLStatus, 6, (*generator).urlStatus},
	{dc.URLDelete, 4, (*generator).urlDelete}, {dc.URLFetch, 8, (*generator).urlFetch}, {dc.URLCleanup, 4, (*generator).urlCleanup},
	{dc.URLContent, 6, (*generator).urlContent}, {dc.SQLCustom, 4, (*generator).sqlCustom}, {dc.URLPurge, 3, (*generator).urlPurge},
	{dc.FieldRecalc, 2, (*generator).fieldRecalc}, {dc.URLVerify, 3, (*generator).urlVerify}, {dc.URLAge, 2, (*generator).urlAge},
	{dc.URLPut, 5, (*generator).urlPut}, {dc.URLHistory, 3, (*generator).urlHistory}, {dc.URLStats, 3, (*generator).urlStats},
	{dc.ProxyNew, 4, (*generator).proxyNew}, {dc.ProxyUpdate, 3, (*generator).proxyUpdate}, {dc.ProxyDelete, 2, (*generator).proxyDelete},
	{dc.ProxyStatus, 2, (*generator).proxyStatus}, {dc.ProxyFind, 2, (*generator).proxyFind},
	{dc.AttributeSet, 5, (*generator).attributeSet}, {dc.AttributeUpdate, 3, (*generator).attributeUpdate},
	{dc.AttributeDelete, 2, (*generator).attributeDelete}, {dc.AttributeFetch, 4, (*generator).attributeFetch},
	{dc.URLReturn, 1, (*generator).urlReturn},
}

// generate makes n steps of a seed. The same seed gives the same steps, and
// fewer of them are the beginning of more.
func generate(seed uint64, n int) (script, error) {
	g := newGenerator(seed)
	s := script{Note: fmt.Sprintf("seed %d", seed), Steps: make([]step, 0, n)}
	total := 0
	for _, o := range operations {
		total += o.weight
	}
	for i := range n {
		request := g.request(total)
		if i+1 < len(siteIDs) { // there is something to ask for from the beginning
			request = list{"SITE_NEW", object{"id": siteIDs[i+1], "urls": list{g.someURL()}, "properties": object{"STATS_FREQ_ENABLED": "1", "STATS_LOG_ENABLED": "1"}}}
		}
		raw, err := plainJSON(request)
		if err != nil {
			return s, fmt.Errorf("random.generate: %w", err)
		}
		s.Steps = append(s.Steps, step{Wait: int(g.int(0, 0, 1, 1, 7, 60, 301)), Request: raw})
	}
	return s, nil
}

// request is one pair [operation, object], of which few are spoiled.
func (g *generator) request(total int) any {
	at := g.r.IntN(total)
	chosen := operations[0]
	for _, o := range operations {
		if at -= o.weight; at < 0 {
			chosen = o
			break
		}
	}
	body := chosen.object(g)
	switch g.r.IntN(60) {
	case 0, 1:
		body = g.spoil(body)
	case 2:
		return g.noRequest(body)
	}
	return list{g.spelling(chosen.op), body}
}

// spelling is the operation by its name or code (DECISIONS 1.2).
func (g *generator) spelling(op dc.Op) any {
	name := op.String()
	switch g.r.IntN(6) {
	case 0:
		return int(op)
	case 1:
		if op == dc.FieldRecalc {
			return "FIELD_RECALCULATE"
		}
		return strings.Replace(name, "ATTRIBUTE_", "ATTR_", 1)
	}
	return name
}

// noRequest is what no operation understands.
func (g *generator) noRequest(body any) any {
	return []any{
		list{"URL_NWE", body}, list{"url_new", body}, list{13, body}, list{999, body}, list{nil, body}, body, list{"SITE_STATUS"},
		list{"SITE_STATUS", body, 1}, "SITE_STATUS", list{[]any{1}, body}, list{"SITE_NEW", 5}, list{"URL_NEW", "x"}, list{"URL_FETCH", nil},
	}[g.r.IntN(13)]
}

// several is a list of 1 to 4 objects.
func (g *generator) several(item func() any) list {
	l := list{}
	for range 1 + g.r.IntN(4)*g.r.IntN(2) {
		l = append(l, item())
	}
	if g.one(60) {
		return list{}
	}
	return l
}

// oneOrMany is the object itself, or a list of some.
func (g *generator) oneOrMany(item func() any) any {
	if g.one(4) {
		return g.several(item)
	}
	return item()
}

// maybe sets a key once in n times.
func (g *generator) maybe(o object, n int, name string, value func() any) {
	if g.one(n) {
		o[name] = value()
	}
}

func (g *generator) delayed(o object) {
	g.maybe(o, 2, "delayedType", func() any { return g.int(0, 0, 1) })
}

// spoil changes one value somewhere to what does not belong there. Criterions
// are left alone: badConditions are for them, and without its order a request
// might have several right answers.
func (g *generator) spoil(v any) any {
	junk := []any{nil, "x", -1, 1.5, true, list{}, object{}, "", 1 << 40, list{1, "x"}, object{"str": 1}, "0", "'"}
	switch x := v.(type) {
	case object:
		if g.one(8) {
			x["unknownKey"] = 1
			return x
		}
		keys := sortedKeys(x)
		if len(keys) == 0 {
			return junk[g.r.IntN(len(junk))]
		}
		key := keys[g.r.IntN(len(keys))]
		switch {
		case strings.HasSuffix(strings.ToLower(key), "criterions") || key == "urlFetch" || key == "query":
			return x
		case g.one(6):
			delete(x, key)
		default:
			x[key] = g.spoil(x[key])
		}
		return x
	case list:
		if len(x) > 0 && !g.one(6) {
			i := g.r.IntN(len(x))
			x[i] = g.spoil(x[i])
			return x
		}
	}
	return junk[g.r.IntN(len(junk))]
}
