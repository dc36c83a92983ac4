package random_test

import (
	"fmt"
	"strings"

	"hce/dc/internal/wire"
)

// operation is one kind of request with its frequency and its generator.
type operation struct {
	op     wire.Op
	weight int
	object func(*generator) any
}

// operations are those of docs/spec/objects.md 1 without BATCH, which db-task does not
// serve, and the internal URL_RETURN.
var operations = []operation{
	{wire.SiteNew, 6, (*generator).siteNew}, {wire.SiteUpdate, 7, (*generator).siteUpdate}, {wire.SiteStatus, 4, (*generator).siteStatus},
	{wire.SiteDelete, 1, (*generator).siteDelete}, {wire.SiteCleanup, 1, (*generator).siteCleanup}, {wire.SiteFind, 4, (*generator).siteFind},
	{wire.URLNew, 18, (*generator).urlNew}, {wire.URLUpdate, 12, (*generator).urlUpdate}, {wire.URLStatus, 6, (*generator).urlStatus},
	{wire.URLDelete, 4, (*generator).urlDelete}, {wire.URLFetch, 8, (*generator).urlFetch}, {wire.URLCleanup, 4, (*generator).urlCleanup},
	{wire.URLContent, 6, (*generator).urlContent}, {wire.SQLCustom, 4, (*generator).sqlCustom}, {wire.URLPurge, 3, (*generator).urlPurge},
	{wire.FieldRecalc, 2, (*generator).fieldRecalc}, {wire.URLVerify, 3, (*generator).urlVerify}, {wire.URLAge, 2, (*generator).urlAge},
	{wire.URLPut, 5, (*generator).urlPut}, {wire.URLHistory, 3, (*generator).urlHistory}, {wire.URLStats, 3, (*generator).urlStats},
	{wire.ProxyNew, 4, (*generator).proxyNew}, {wire.ProxyUpdate, 3, (*generator).proxyUpdate}, {wire.ProxyDelete, 2, (*generator).proxyDelete},
	{wire.ProxyStatus, 2, (*generator).proxyStatus}, {wire.ProxyFind, 2, (*generator).proxyFind},
	{wire.AttributeSet, 5, (*generator).attributeSet}, {wire.AttributeUpdate, 3, (*generator).attributeUpdate},
	{wire.AttributeDelete, 2, (*generator).attributeDelete}, {wire.AttributeFetch, 4, (*generator).attributeFetch},
	{wire.URLReturn, 1, (*generator).urlReturn},
}

// generate makes n steps from a seed. A shorter sequence is the beginning of a longer one.
func generate(seed uint64, n int) (script, error) {
	g := newGenerator(seed)
	s := script{Note: fmt.Sprintf("seed %d", seed), Steps: make([]step, 0, n)}
	total := 0
	for _, o := range operations {
		total += o.weight
	}
	for i := range n {
		request := g.request(total)
		if i+1 < len(siteIDs) { // sites for the later requests
			request = list{"SITE_NEW", object{"id": siteIDs[i+1], "urls": list{g.someURL()}, "properties": object{"STATS_FREQ_ENABLED": "1", "STATS_LOG_ENABLED": "1"}}}
		}
		raw, err := plainJSON(request)
		if err != nil {
			return s, fmt.Errorf("generate step: %w", err)
		}
		s.Steps = append(s.Steps, step{Wait: int(g.int(0, 0, 1, 1, 7, 60, 301)), Request: raw})
	}
	return s, nil
}

// request is a pair [operation, object]. A few are invalid.
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

// spelling is the name or the code of the operation (docs/spec/DECISIONS.md 1.2).
func (g *generator) spelling(op wire.Op) any {
	name := op.String()
	switch g.r.IntN(6) {
	case 0:
		return int(op)
	case 1:
		if op == wire.FieldRecalc {
			return "FIELD_RECALCULATE"
		}
		return strings.Replace(name, "ATTRIBUTE_", "ATTR_", 1)
	}
	return name
}

// noRequest is an invalid request.
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

// oneOrMany is an object or a list of objects.
func (g *generator) oneOrMany(item func() any) any {
	if g.one(4) {
		return g.several(item)
	}
	return item()
}

// maybe sets a key with probability 1/n.
func (g *generator) maybe(o object, n int, name string, value func() any) {
	if g.one(n) {
		o[name] = value()
	}
}

func (g *generator) delayed(o object) {
	g.maybe(o, 2, "delayedType", func() any { return g.int(0, 0, 1) })
}

// spoil replaces one value by an invalid one. It does not change criterions: badConditions
// covers them, and a request without its order may have several correct answers.
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
