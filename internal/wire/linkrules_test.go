package wire

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestReadLinkRules(t *testing.T) {
	changed := func(change func(*LinkRules)) *LinkRules {
		r := DefaultLinkRules()
		change(r)
		return r
	}
	cases := map[string]struct {
		properties map[string]string
		want       *LinkRules
		errs       string
	}{
		"no properties": {nil, DefaultLinkRules(), ""},
		"keep known":    {map[string]string{"RECRAWL_NO_ROOT_URLS": " 0 "}, changed(func(r *LinkRules) { r.KeepKnown = true }), ""},
		"status":        {map[string]string{"RECRAWL_URL_UPDATE_STATUS": "-1"}, changed(func(r *LinkRules) { r.Status = KeepStatus }), ""},
		"empty dates":   {map[string]string{"RECRAWL_URL_UPDATE_TCDATE": "", "RECRAWL_URL_UPDATE_UDATE": " "}, changed(func(r *LinkRules) { r.TcDate, r.UDate = "", "" }), ""},
		"auto remove":   {map[string]string{"AUTO_REMOVE_RESOURCES": "5", "AUTO_REMOVE_WHERE": "a", "AUTO_REMOVE_ORDER": "b"}, changed(func(r *LinkRules) { r.RemoveMost, r.RemoveWhere, r.RemoveBy = 5, "a", "b" }), ""},
		"without order": {map[string]string{"AUTO_REMOVE_RESOURCES": "5", "AUTO_REMOVE_WHERE": "a"}, DefaultLinkRules(), ""},
		"invalid status": {map[string]string{"RECRAWL_URL_UPDATE_STATUS": "3", "RECRAWL_URL_AGE_EXPRESSION": "1"}, changed(func(r *LinkRules) { r.Age = "1" }),
			`[property RECRAWL_URL_UPDATE_STATUS has "3"; expected -1, 0, 1, 4 or 7]`},
		"not a number": {map[string]string{"AUTO_REMOVE_RESOURCES": "many", "AUTO_REMOVE_WHERE": "a", "AUTO_REMOVE_ORDER": "b"}, changed(func(r *LinkRules) { r.RemoveWhere, r.RemoveBy = "a", "b" }),
			`[property AUTO_REMOVE_RESOURCES has "many"; expected a whole number that is not negative]`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r, errs := ReadLinkRules(func(name string) (string, bool) { v, ok := c.properties[name]; return v, ok })
			if said := fmt.Sprint(errs); !reflect.DeepEqual(r, c.want) || said != c.errs && !(c.errs == "" && errs == nil) {
				t.Errorf("rules %+v, %s", r, said)
			}
		})
	}
}

func TestReadFieldExpressions(t *testing.T) {
	cases := map[string]struct{ text, want, err string }{
		"a list":       {`[{"URL":{"Size":{"Size+1":0}}},{"Site":{"Priority":{"1":"0"}}}]`, "[{URL Size Size+1 0} {Site Priority 1 0}]", ""},
		"an object":    {`{"url":{"lastModified":{"NOW()":2}}}`, "[{URL LastModified NOW() 2}]", ""},
		"every entry":  {`[{"URL":{"Size":{"1":0,"2":1},"Depth":{"3":0}}}]`, "[{URL Size 1 0} {URL Size 2 1} {URL Depth 3 0}]", ""},
		"nothing":      {`[]`, "[]", ""},
		"two invalid":  {`[{"URL":{"Nothing":{"1":0},"Size":{"1":7},"Depth":{"3":0}}}]`, "[{URL Depth 3 0}]", `has "Nothing" at "URL", which is not a column; has 7 at "Size" of "URL"; expected 0, 1 or 2`},
		"other object": {`[{"Batch":{}}]`, "[]", `has "Batch"; expected "URL" or "Site"`},
		"invalid JSON": {`[`, "[]", "is not valid JSON"},
		"a text":       {`"x"`, "[]", "is not a JSON object"},
		"empty":        {``, "[]", "is empty"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			list, err := ReadFieldExpressions(c.text)
			if got := fmt.Sprint(list); got != c.want {
				t.Errorf("expressions %s, want %s", got, c.want)
			}
			if said := fmt.Sprint(err); c.err == "" && err != nil || !strings.HasPrefix(said, c.err) && c.err != "" {
				t.Errorf("error %s, want %s", said, c.err)
			}
		})
	}
}

func FuzzReadFieldExpressions(f *testing.F) {
	for _, seed := range []string{`[{"URL":{"Size":{"Size+1":0}}}]`, `{"Site":{"a":1}}`, `[{"URL":{"Size":{"x":null}}}]`, `[[]]`, `null`, `[null]`, `{"URL":null}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, _ := ReadFieldExpressions(text)
		if len(list) > mostExpressions {
			t.Fatalf("%d expressions", len(list))
		}
		for _, e := range list {
			if e.Object != ObjectURL && e.Object != ObjectSite || e.Column == "" || e.Cast < CastInt || e.Cast > CastDate {
				t.Fatalf("%+v", e)
			}
		}
	})
}
