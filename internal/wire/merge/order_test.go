package merge

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hce/dc/internal/wire"
)

func TestReadOrder(t *testing.T) {
	for text, want := range map[string]order{
		"":                          {},
		"  ":                        {},
		",":                         {},
		"CDate":                     {"CDate", false},
		"CDate ASC":                 {"CDate", false},
		"CDate DESC":                {"CDate", true},
		"CDate asc":                 {"CDate", true},
		"CDate ASC, Size DESC":      {"CDate", false},
		"CDate, Size DESC":          {"CDate", false},
		" `Size`\tDESC,CDate":       {"Size", true},
		"IF(a, b, c) DESC, CDate":   {"IF(a,", true},
		"FIELD(Status,7,4) DESC, x": {"FIELD(Status,7,4)", true},
		"))) , x":                   {")))", false},
	} {
		if got := readOrder(text); got != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestOrderOfRequests(t *testing.T) {
	const by = `{"urlsCriterions":{"ORDER BY":"Size DESC"}}`
	size := order{"Size", true}
	cases := []struct {
		name    string
		op      wire.Op
		request string
		want    order
	}{
		{"fetch", wire.URLFetch, `[` + by + `,{"urlsCriterions":{"ORDER BY":"CDate"}}]`, size},
		{"fetch of one object", wire.URLFetch, by, size},
		{"only the first element counts", wire.URLFetch, `[{"urlsCriterions":{}},` + by + `]`, order{}},
		{"the criterions of sites", wire.URLFetch, `[{"sitesCriterions":{"ORDER BY":"Size"}}]`, order{}},
		{"content", wire.URLContent, `[{"urlFetch":` + by + `}]`, size},
		{"content without a fetch", wire.URLContent, `[` + by + `]`, order{}},
		{"status", wire.URLStatus, `[` + by + `]`, order{}},
		{"null", wire.URLFetch, `null`, order{}},
		{"nothing", wire.URLFetch, ``, order{}},
		{"empty list", wire.URLFetch, `[]`, order{}},
		{"odd criterions", wire.URLFetch, `[{"urlsCriterions":[1]}]`, order{}},
		{"odd order", wire.URLFetch, `[{"urlsCriterions":{"ORDER BY":{"x":1}}}]`, order{}},
		{"null order", wire.URLFetch, `[{"urlsCriterions":{"ORDER BY":null}}]`, order{}},
		{"cut off", wire.URLFetch, `[{"urlsCriterions":{"ORDER`, order{}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			if got := For(tc.op, json.RawMessage(tc.request)).order; got != tc.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// Values come from two nodes in this order; want names them by their places.
func TestSorted(t *testing.T) {
	cases := []struct {
		by     string
		values [4]string // of the URL's field, or the response's column
		want   string
	}{
		{"", [4]string{`3`, `1`, `2`, `0`}, "0123"},
		{"Size", [4]string{`10`, `9`, `"8"`, `9007199254740993`}, "2103"},
		{"Size DESC", [4]string{`9007199254740992`, `9`, `9007199254740993`, `null`}, "2013"},
		{"Size asc", [4]string{`1`, `2`, `3`, `4`}, "3210"},
		{"Depth", [4]string{`1`, `[]`, `-5`, `0`}, "1230"},
		{"TagsCount DESC, CDate ASC", [4]string{`1`, `2`, `3`, `3`}, "2310"},
		{"TagsCount ASC, CDate DESC", [4]string{`2`, `1`, `1`, `3`}, "1203"},
		{"PDate", [4]string{`"2026-01-05 10:00:00"`, `"None"`, `"2025-12-31 23:59:59"`, `null`}, "1320"},
		{"PDate DESC", [4]string{`"None"`, `"2025-12-31 23:59:59"`, `"2026-01-05 10:00:00"`, `"soon"`}, "2103"},
		{"UDate", [4]string{`"2026-01-05 10:00:00.5"`, `"2026-01-05 10:00:00"`, `{"str":"NOW()"}`, `"0000-00-00 00:00:00"`}, "2310"},
		{"TcDate", [4]string{`"2026-01-05 10:00:02"`, `"2026-01-05 10:00:01"`, `"1969-01-05 10:00:00"`, `"x"`}, "3210"},
		{"CDate", [4]string{`"2026-01-05 10:00:02"`, `"2026-01-05 10:00:01"`, `"2026-01-05 10:00:03"`, `"2026-01-05 10:00:00"`}, "3102"},
		{"`ContentURLMd5`", [4]string{`"c"`, `"a"`, `""`, `"b"`}, "2130"},
		{"Priority DESC", [4]string{`"2026-01-02"`, `"2026-01-01"`, `"None"`, `"2026-01-03"`}, "3012"},
	}
	for _, tc := range cases {
		column := strings.Trim(strings.Split(tc.by+" ", " ")[0], "`")
		field, ok := urlFields[column]
		if !ok {
			column, field = "CDate", "CDate"
		}
		criterions := fmt.Sprintf(`{"urlsCriterions":{"ORDER BY":%q}}`, tc.by)
		url := func(i int) string { return fmt.Sprintf(`{"urlMd5":"%d",%q:%s}`, i, field, tc.values[i]) }
		page := func(i int) string {
			return fmt.Sprintf(`{"siteId":"s","urlMd5":"%d","rawContents":[1],"dbFields":{%q:%s}}`, i, column, tc.values[i])
		}
		check := func(op wire.Op, request string, element func(int) string) {
			t.Run(fmt.Sprintf("%s by %s", op, tc.by), func(t *testing.T) {
				r := For(op, json.RawMessage(request)).Merge(answer("["+element(0)+","+element(1)+"]", "["+element(2)+","+element(3)+"]"))
				var list []struct{ URLMd5 string }
				if err := json.Unmarshal(r.ItemsList[0].ItemObject, &list); err != nil {
					t.Fatal(err)
				}
				got := ""
				for _, el := range list {
					got += el.URLMd5
				}
				if got != tc.want {
					t.Errorf("got %s, want %s", got, tc.want)
				}
			})
		}
		check(wire.URLFetch, "["+criterions+"]", url)
		check(wire.URLContent, `[{"urlFetch":`+criterions+`}]`, page)
	}
}

func TestSortedWithOddElements(t *testing.T) {
	request := `[{"urlsCriterions":{"ORDER BY":"Size"}}]`
	table(t, wire.URLFetch, []tableCase{
		{"first", request, []string{`[{"urlMd5":"p","size":2},null]`, `[{"urlMd5":"q","size":1},"x"]`},
			[]string{`[null,"x",{"urlMd5":"q","size":1,"host":"b"},{"urlMd5":"p","size":2,"host":"a"}]`}},
	})
	request = `[{"urlFetch":{"urlsCriterions":{"ORDER BY":"ContentURLMd5"}}}]`
	table(t, wire.URLContent, []tableCase{
		{"contentURLMd5 outside of dbFields", request, []string{`[{"rawContents":[1],"contentURLMd5":"z"}]`, `[{"rawContents":[1],"contentURLMd5":"y"}]`},
			[]string{`[{"rawContents":[1],"contentURLMd5":"y","host":"b"},{"rawContents":[1],"contentURLMd5":"z","host":"a"}]`}},
	})
}
