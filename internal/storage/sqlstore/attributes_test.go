package sqlstore

import (
	"encoding/json"
	"strings"
	"testing"

	"hce/dc/internal/wire"
)

const (
	md5One = "0123456789abcdef0123456789abcdef"
	md5Two = "fedcba9876543210fedcba9876543210"
)

// attributes runs a list of ATTRIBUTE_SET or ATTRIBUTE_UPDATE.
func (b *bench) attributes(raw string, do func(*Store, []wire.AttributeRequest) (wire.GeneralResponse, error)) wire.GeneralResponse {
	b.Helper()
	list, err := wire.ReadAttributes("Attribute", json.RawMessage(raw), nil)
	b.must(err)
	answer, err := do(b.Store, list)
	b.must(err)
	return answer
}

func attributeSet(s *Store, list []wire.AttributeRequest) (wire.GeneralResponse, error) {
	return s.AttributeSet(ctx, list)
}

func attributeUpdate(s *Store, list []wire.AttributeRequest) (wire.GeneralResponse, error) {
	return s.AttributeUpdate(ctx, list)
}

// stored formats the answer of ATTRIBUTE_FETCH: URL, name and value.
func (b *bench) stored(raw string) string {
	b.Helper()
	list, err := wire.ReadAttributeSelections("AttributeFetch", json.RawMessage(raw), nil)
	b.must(err)
	found, err := b.AttributeFetch(ctx, list)
	b.must(err)
	var texts []string
	for _, a := range found {
		key := map[string]string{md5One: "1", md5Two: "2"}[a.URLMd5]
		texts = append(texts, key+a.Name+"="+a.Value)
	}
	return strings.Join(texts, " ")
}

const someAttributes = `[{"siteId":"s","name":"a","value":"x"},{"siteId":"s","name":"a","urlMd5":"` + md5One + `","value":"y"},
	{"siteId":"s","name":"a","urlMd5":"` + md5Two + `","value":"old"},{"siteId":"s","name":"b","urlMd5":"` + md5One + `","value":"old"}]`

func TestAttributeSet(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	same(t, "new", b.attributes(someAttributes, attributeSet).Statuses, statuses(0, 0, 0, 0))
	answer := b.attributes(`[{"siteId":"S","name":"a","value":"z"},{"siteId":"s","name":"A","value":"q"},{"siteId":"no","name":"a","value":"z"},
		{"siteId":"s","name":"`+strings.Repeat("ü", 32)+`","urlMd5":"`+md5Two+`"},{"siteId":"s","name":"a","urlMd5":null,"value":"w"}]`, attributeSet)
	same(t, "statuses", answer.Statuses, statuses(2, 0, 3, 0, 2))
	same(t, "stored", b.stored(`[{"siteId":"s"}]`), "a=w 1a=y 2a=old 1b=old A=q 2"+strings.Repeat("ü", 32)+"=")
}

func TestAttributeUpdate(t *testing.T) {
	cases := map[string]struct {
		raw  string
		ok   bool
		want string
	}{
		"every URL":    {`{"siteId":"s","name":"a","value":"n"}`, true, "a=n 1a=n 2a=n 1b=old"},
		"one URL":      {`{"siteId":"s","name":"a","urlMd5":"` + md5One + `","value":"n"}`, true, "a=x 1a=n 2a=old 1b=old"},
		"the site's":   {`{"siteId":"s","name":"a","urlMd5":"","value":"n"}`, true, "a=n 1a=y 2a=old 1b=old"},
		"new name":     {`{"siteId":"s","name":"c","value":"n"}`, true, "a=x 1a=y 2a=old 1b=old c=n"},
		"new at a URL": {`{"siteId":"s","name":"b","urlMd5":"` + md5Two + `","value":"n"}`, true, "a=x 1a=y 2a=old 1b=old 2b=n"},
		"same value":   {`{"siteId":"s","name":"b","value":"old"}`, true, "a=x 1a=y 2a=old 1b=old"},
		"no value":     {`{"siteId":"s","name":"a"}`, false, "a=x 1a=y 2a=old 1b=old"},
		"unknown site": {`{"siteId":"no","name":"a","value":"n"}`, false, "a=x 1a=y 2a=old 1b=old"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.newSite(`{"id":"s"}`)
			b.attributes(someAttributes, attributeSet)
			same(t, "statuses", b.attributes("["+c.raw+"]", attributeUpdate).Statuses, statuses(c.ok))
			same(t, "stored", b.stored(`[{"siteId":"s"}]`), c.want)
		})
	}
}

// ATTRIBUTE_DELETE deletes the attributes that ATTRIBUTE_FETCH reads for the same request.
// docs/spec/storage.md 6.2 #19: the condition on the URL followed LIMIT and ORDER BY, and
// an OR bypassed it.
func TestAttributeSelections(t *testing.T) {
	const url = `"urlMd5":"` + md5One + `"`
	cases := map[string]struct{ raw, found, left string }{
		"all":                  {`{"siteId":"s"}`, "a=x 1a=y 2a=old 1b=old", ""},
		"name":                 {`{"siteId":"s","name":"a"}`, "a=x 1a=y 2a=old", "1b=old"},
		"name, not criterion":  {`{"siteId":"s","name":"a","criterions":{"WHERE":"0","LIMIT":1}}`, "a=x 1a=y 2a=old", "1b=old"},
		"name in capitals":     {`{"siteId":"s","name":"A"}`, "", "a=x 1a=y 2a=old 1b=old"},
		"empty name":           {`{"siteId":"s","name":""}`, "", "a=x 1a=y 2a=old 1b=old"},
		"name at a URL":        {`{"siteId":"s","name":"a",` + url + `}`, "1a=y", "a=x 2a=old 1b=old"},
		"URL":                  {`{"siteId":"s",` + url + `}`, "1a=y 1b=old", "a=x 2a=old"},
		"of the site":          {`{"siteId":"s","urlMd5":""}`, "a=x", "1a=y 2a=old 1b=old"},
		"criterion":            {`{"siteId":"s","criterions":{"WHERE":"` + "`Value`='old'" + `"}}`, "2a=old 1b=old", "a=x 1a=y"},
		"criterion at a URL":   {`{"siteId":"s",` + url + `,"criterions":{"WHERE":"Value='old' OR 1=1"}}`, "1a=y 1b=old", "a=x 2a=old"},
		"limit at a URL":       {`{"siteId":"s",` + url + `,"criterions":{"LIMIT":1}}`, "1a=y", "a=x 2a=old 1b=old"},
		"order, limit, a URL":  {`{"siteId":"s",` + url + `,"criterions":{"ORDER BY":"Name DESC","LIMIT":[0,1]}}`, "1b=old", "a=x 1a=y 2a=old"},
		"where, order, limit":  {`{"siteId":"s",` + url + `,"criterions":{"WHERE":"Id>0","ORDER BY":"Id DESC","LIMIT":"1,5"}}`, "1a=y", "a=x 2a=old 1b=old"},
		"macro and sub-select": {`{"siteId":"s","criterions":{"WHERE":"URLMd5 IN (SELECT URLMd5 FROM urls_%SITE_ID% WHERE Status=1)"}}`, "2a=old", "a=x 1a=y 1b=old"},
		"unknown site":         {`{"siteId":"no"}`, "", "a=x 1a=y 2a=old 1b=old"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.newSite(`{"id":"s"}`)
			b.newSite(`{"id":"other"}`)
			b.newURLs(`[{"siteId":"s","url":"u","urlMd5":"` + md5Two + `"}]`)
			b.attributes(someAttributes, attributeSet)
			b.attributes(strings.ReplaceAll(someAttributes, `"s"`, `"other"`), attributeSet)
			same(t, "found", b.stored("["+c.raw+"]"), c.found)
			list, err := wire.ReadAttributeSelections("AttributeDelete", json.RawMessage("["+c.raw+"]"), nil)
			b.must(err)
			answer, err := b.AttributeDelete(ctx, list)
			b.must(err)
			same(t, "statuses", answer.Statuses, statuses(list[0].SiteID == "s"))
			same(t, "left", b.stored(`[{"siteId":"s"}]`), c.left)
			same(t, "other", b.stored(`[{"siteId":"other"}]`), "a=x 1a=y 2a=old 1b=old")
		})
	}
}

func TestAttributeRefusals(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	b.attributes(someAttributes, attributeSet)
	for _, where := range []string{"Site_Id='other'", "Value=(SELECT Value FROM att_other)", "1) OR (1=1", "SLEEP(9)", "1; DROP TABLE x"} {
		list := []wire.AttributeRequest{{SiteID: "s", Criterion: wire.Criterion{Where: where}}}
		if found, err := b.AttributeFetch(ctx, list); err == nil || !strings.Contains(err.Error(), "AttributeFetch[0].criterions.WHERE") {
			t.Errorf("%s: %v, %v", where, found, err)
		}
		answer, err := b.AttributeDelete(ctx, list)
		b.must(err)
		same(t, where, answer.Statuses, statuses(false))
	}
	same(t, "stored", b.stored(`[{"siteId":"s"}]`), "a=x 1a=y 2a=old 1b=old")
}

// docs/spec/storage.md 6.2 #12: attributes of the general site could not be read.
func TestAttributesOfTheGeneralSite(t *testing.T) {
	b := newBench(t)
	same(t, "set", b.attributes(`[{"siteId":"0","name":"a","value":"x"}]`, attributeSet).Statuses, statuses(0))
	found, err := b.AttributeFetch(ctx, []wire.AttributeRequest{{SiteID: "0"}})
	b.must(err)
	same(t, "found", found, []wire.Attribute{{SiteID: "0", Name: "a", Value: "x", CDate: "2026-01-05 10:00:00"}})
	raw, err := json.Marshal(found[0])
	b.must(err)
	same(t, "on the wire", string(raw), `{"siteId":"0","name":"a","urlMd5":"","value":"x","cDate":"2026-01-05T10:00:00"}`)
}
