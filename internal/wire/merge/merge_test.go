package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/wire"
)

// canonical is JSON with sorted keys and numbers as they were.
func canonical(t testing.TB, raw []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// answer returns a response with one item for each object, of the nodes a, b, c.
func answer(objects ...string) wire.ClientResponse {
	var r wire.ClientResponse
	for i, o := range objects {
		node := string(rune('a' + i))
		r.ItemsList = append(r.ItemsList, wire.ClientResponseItem{
			ErrorCode: 0, Host: node, Node: node + "1", Port: 5540, Time: 5 + i, ID: 3, ItemObject: json.RawMessage(o),
		})
	}
	return r
}

// written returns one line for each item: error code, host, object.
func written(t testing.TB, r wire.ClientResponse) string {
	t.Helper()
	var lines []string
	for _, i := range r.ItemsList {
		lines = append(lines, fmt.Sprintf("%v %s %s", i.ErrorCode, i.Host, canonical(t, i.ItemObject)))
	}
	return strings.Join(lines, "\n")
}

// tableCase has the objects of the nodes and the lines of the merged response. A single
// want without a host is the object of one merged item.
type tableCase struct {
	name    string
	request string
	nodes   []string
	want    []string
}

func table(t *testing.T, op wire.Op, cases []tableCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			want := strings.Join(tc.want, "\n")
			if len(tc.want) == 1 && strings.ContainsAny(want[:1], "{[") {
				hosts := strings.Join(strings.Split("abcdefgh", "")[:len(tc.nodes)], ";")
				codes := strings.TrimSuffix(strings.Repeat("0;", len(tc.nodes)), ";")
				want = codes + " " + hosts + " " + canonical(t, []byte(want))
			}
			got := written(t, For(op, json.RawMessage(tc.request)).Merge(answer(tc.nodes...)))
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Each golden file has the responses of the nodes to a request and the merged response.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var golden struct {
				Operation     string
				Request       json.RawMessage
				Nodes, Merged json.RawMessage
			}
			if err := json.Unmarshal(raw, &golden); err != nil {
				t.Fatal(err)
			}
			op, ok := wire.ParseOp(golden.Operation)
			if !ok {
				t.Fatal(golden.Operation)
			}
			var r wire.ClientResponse
			if err := json.Unmarshal(golden.Nodes, &r); err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(For(op, golden.Request).Merge(r))
			if err != nil {
				t.Fatal(err)
			}
			if want := canonical(t, golden.Merged); canonical(t, got) != want {
				t.Errorf("got\n%s\nwant\n%s", canonical(t, got), want)
			}
		})
	}
}

func TestItems(t *testing.T) {
	item := func(code any, message, host string, port, took any, object string) wire.ClientResponseItem {
		return wire.ClientResponseItem{ErrorCode: code, ErrorMessage: message, Host: host, Node: "n-" + host, Port: port, Time: took,
			ID: json.Number("9007199254740993"), ItemObject: json.RawMessage(object)}
	}
	good := `{"errorCode":0,"errorMessage":"","statuses":[1]}`
	lost := item(2, "lost", "x", 1, 2, "null")
	odd := item(0, "odd", "y", 1, 2, `"text"`)
	in := wire.ClientResponse{ErrorCode: 0, ErrorMessage: "kept", ItemsList: []wire.ClientResponseItem{
		lost, item(0, "m1", "a", 5540.0, 21000000.0, good), odd, item(json.Number("7"), "m2", "b", nil, json.Number("9"), good),
		item("0;0", "", "c", "1;2", 3, good),
	}}
	got := For(wire.URLNew, nil).Merge(in)
	if got.ErrorMessage != "kept" || len(got.ItemsList) != 3 || fmt.Sprint(got.ItemsList[1:]) != fmt.Sprint([]wire.ClientResponseItem{lost, odd}) {
		t.Fatalf("got %+v", got)
	}
	one := got.ItemsList[0]
	one.ItemObject = nil
	want := wire.ClientResponseItem{ErrorCode: "0;7;0;0", ErrorMessage: "m1m2", Host: "a;b;c", Node: "n-a;n-b;n-c",
		Port: "5540;;1;2", Time: "21000000;9;3", ID: json.Number("9007199254740993")}
	if fmt.Sprintf("%#v", one) != fmt.Sprintf("%#v", want) {
		t.Errorf("got %#v\nwant %#v", one, want)
	}
	if len(in.ItemsList) != 5 || in.ItemsList[0].Host != "x" || string(in.ItemsList[1].ItemObject) != good {
		t.Errorf("Merge changed its argument: %+v", in)
	}
}

var generalOps = []wire.Op{
	wire.SiteNew, wire.SiteUpdate, wire.SiteDelete, wire.SiteCleanup, wire.URLNew, wire.URLUpdate, wire.URLDelete, wire.URLCleanup,
}

func TestGeneral(t *testing.T) {
	g := func(code, message, statuses string) string {
		return fmt.Sprintf(`{"errorCode":%s,"errorMessage":%s,"statuses":%s}`, code, message, statuses)
	}
	for _, op := range generalOps {
		t.Run(op.String(), func(t *testing.T) {
			table(t, op, []tableCase{
				{"none", "", nil, nil},
				{"one", "", []string{g("0", `"m"`, "[1]")}, []string{"0 a " + g("0", `"m"`, "[1]")}},
				{"two", "", []string{g("0", `"OK"`, "[1,null]"), g("2020", `"Duplicate"`, `["x",true]`)},
					[]string{`{"errorCode":"0;2020","errorMessage":"OK;Duplicate","statuses":[1,null,"x",true],"host":"a"}`}},
				{"three, one merged before", "", []string{g(`"0;1"`, `";"`, "[1]"), g("0", `""`, "[]"), g("0", "null", "null")},
					[]string{`{"errorCode":"0;1;0;0","errorMessage":";;;","statuses":[1],"host":"a"}`}},
				{"no statuses", "", []string{g("0", `""`, "null"), `{"errorCode":3}`}, []string{`{"errorCode":"0;3","errorMessage":";","statuses":[],"host":"a"}`}},
				{"unknown keys of the first", "", []string{`{"x":{"y":[9007199254740993]},"statuses":[]}`, `{"z":1,"statuses":[]}`},
					[]string{`{"errorCode":";","errorMessage":";","statuses":[],"host":"a","x":{"y":[9007199254740993]}}`}},
				{"big ids", "", []string{g("0", `""`, "[9223372036854775807]"), g("0", `""`, "[18446744073709551615]")},
					[]string{`{"errorCode":"0;0","errorMessage":";","statuses":[9223372036854775807,18446744073709551615],"host":"a"}`}},
				{"one and a lost one", "", []string{"null", g("0", `""`, "[]")}, []string{"0 a null", "0 b " + g("0", `""`, "[]")}},
				{"two and a lost one", "", []string{"null", g("0", `""`, "[1]"), g("0", `""`, "[2]")},
					[]string{`0;0 b;c {"errorCode":"0;0","errorMessage":";","host":"b","statuses":[1,2]}`, "0 a null"}},
				{"two and another form", "", []string{g("0", `""`, "[1]"), g("0", `""`, "5"), g("0", `""`, "[2]")},
					[]string{`0;0 a;c {"errorCode":"0;0","errorMessage":";","host":"a","statuses":[1,2]}`, "0 b " + g("0", `""`, "5")}},
				{"other forms", "", []string{"[]", "5", g("[]", `""`, "[]"), g("0", `{}`, "[]"), g("0", `""`, `"x"`)},
					[]string{"0 a []", "0 b 5", "0 c " + g("[]", `""`, "[]"), "0 d " + g("0", `{}`, "[]"), "0 e " + g("0", `""`, `"x"`)}},
			})
		})
	}
}

func TestSiteStatus(t *testing.T) {
	table(t, wire.SiteStatus, []tableCase{
		{"finished on both", "{}", []string{`{"id":"s","finished":true}`, `{"id":"s","finished":true}`}, []string{`{"id":"s","finished":true,"host":"b"}`}},
		{"work is left on one", "{}", []string{`{"id":"s","finished":true}`, `{"id":"s","finished":false}`}, []string{`{"id":"s","finished":false,"host":"b"}`}},
		{"work is left on the other", "{}", []string{`{"id":"s","finished":false}`, `{"id":"s","finished":true}`}, []string{`{"id":"s","finished":false,"host":"b"}`}},
		{"a node of an older version", "{}", []string{`{"id":"s","finished":true}`, `{"id":"s"}`}, []string{`{"id":"s","host":"b"}`}},
		{"sums", "", []string{
			`{"id":"s","resources":1,"contents":2,"collectedURLs":3,"newURLs":4,"deletedURLs":5,"errors":6,"size":7,"maxURLs":250,"maxResources":0,"maxErrors":1}`,
			`{"id":"s","resources":10,"contents":20,"collectedURLs":30,"newURLs":40,"deletedURLs":50,"errors":60,"size":70,"maxURLs":250,"maxResources":0,"maxErrors":1}`,
			`{"id":"s","resources":100,"contents":200,"collectedURLs":300,"newURLs":400,"deletedURLs":500,"errors":600,"size":700,"maxURLs":250,"maxResources":0,"maxErrors":1}`,
		}, []string{`{"id":"s","resources":111,"contents":222,"collectedURLs":333,"newURLs":444,"deletedURLs":555,"errors":666,"size":777,"maxURLs":750,"maxResources":0,"maxErrors":3,"host":"c"}`}},
		{"greatest, least, bits", "", []string{`{"iterations":2,"errorMask":5,"avgSpeed":9,"avgSpeedCounter":3}`, `{"iterations":7,"errorMask":12,"avgSpeed":4,"avgSpeedCounter":8}`},
			[]string{`{"iterations":7,"errorMask":13,"avgSpeed":4,"avgSpeedCounter":3,"host":"b"}`}},
		{"names of the bits", "", []string{`{"errorMask":2,"errorNames":["REQUEST_TIMEOUT"]}`, `{"errorMask":288230376151711744,"errorNames":["SSRF_GUARD"]}`},
			[]string{`{"errorMask":288230376151711746,"errorNames":["REQUEST_TIMEOUT","SSRF_GUARD"],"host":"b"}`}},
		{"the first's other fields", "", []string{`{"state":1,"priority":5,"x":[1e400]}`, `{"state":2,"priority":7,"y":1}`}, []string{`{"state":1,"priority":5,"x":[1e400],"host":"b"}`}},
		{"64 bits", "", []string{`{"size":9007199254740993}`, `{"size":2}`}, []string{`{"size":9007199254740995,"host":"b"}`}},
		{"no room", "", []string{`{"size":9223372036854775807}`, `{"size":2}`}, []string{`{"size":9223372036854775807,"host":"b"}`}},
		{"no room below", "", []string{`{"size":-9223372036854775808}`, `{"size":-1}`}, []string{`{"size":-9223372036854775808,"host":"b"}`}},
		{"numbers as text", "", []string{`{"size":"5","avgSpeed":" 7"}`, `{"size":3,"avgSpeed":"4"}`}, []string{`{"size":8,"avgSpeed":4,"host":"b"}`}},
		{"missing and null", "", []string{`{"size":null,"avgSpeed":null,"errors":1}`, `{"size":3,"avgSpeed":4,"iterations":2,"errors":null}`},
			[]string{`{"size":3,"avgSpeed":4,"iterations":2,"errors":1,"host":"b"}`}},
		{"unreadable numbers", "", []string{`{"size":[1],"errors":1,"errorMask":99999999999999999999}`, `{"size":3,"errors":"many","errorMask":1}`},
			[]string{`{"size":[1],"errors":1,"errorMask":99999999999999999999,"host":"b"}`}},
		{"unknown on the second", "", []string{`{"id":"s","state":1,"avgSpeed":7,"maxURLs":5}`, `{"id":"s","state":9,"avgSpeed":0,"maxURLs":1}`},
			[]string{`{"id":"s","state":1,"avgSpeed":7,"maxURLs":5,"host":"a"}`}},
		{"unknown on the first", "", []string{`{"id":"s","state":9,"avgSpeed":0}`, `{"id":"s","state":1,"avgSpeed":7}`}, []string{`{"id":"s","state":1,"avgSpeed":7,"host":"b"}`}},
		{"unknown on both", "", []string{`{"id":"s","state":9}`, `{"id":"s","state":9}`}, []string{`{"id":"s","state":9,"host":"b"}`}},
		{"different sites", "", []string{`{"id":"s"}`, `{"id":"t"}`}, []string{`0 a {"id":"s"}`, `0 b {"id":"t"}`}},
		{"no objects", "", []string{`[]`, `"x"`, `{"id":"s"}`}, []string{`0 a []`, `0 b "x"`, `0 c {"id":"s"}`}},
	})
}

func TestSiteFind(t *testing.T) {
	table(t, wire.SiteFind, []tableCase{
		{"union by id", "", []string{`[{"id":"s","size":1},{"id":"t","size":2}]`, `[{"id":"u","size":4},{"id":"s","size":8,"x":1}]`, `[{"id":"s","size":16}]`},
			[]string{`[{"id":"s","size":25,"host":"c"},{"id":"t","size":2,"host":"a"},{"id":"u","size":4,"host":"b"}]`}},
		{"nothing found", "", []string{`[]`, `[]`}, []string{`[]`}},
		{"no ids", "", []string{`[{"size":1},{"id":null},5,null]`, `[{"size":2},{"id":[1]},{"id":7}]`},
			[]string{`[{"size":1,"host":"a"},{"id":null,"host":"a"},5,null,{"size":2,"host":"b"},{"id":[1],"host":"b"},{"id":7,"host":"b"}]`}},
		{"no list", "", []string{`[{"id":"s"}]`, `{"id":"s"}`}, []string{`0 a [{"id":"s"}]`, `0 b {"id":"s"}`}},
	})
}

func TestURLs(t *testing.T) {
	row := func(status, crawled, processed, batch int, updated, mark string) string {
		return fmt.Sprintf(`{"urlMd5":"m","status":%d,"crawled":%d,"processed":%d,"batchId":%d,"UDate":%s,"mark":%q}`,
			status, crawled, processed, batch, updated, mark)
	}
	const old, young = `"2026-01-05 09:59:59"`, `"2026-01-05 10:00:00"`
	cases := []struct {
		name           string
		earlier, later string
		wins           string
	}{
		{"the same", row(4, 1, 0, 9, old, "1"), row(4, 1, 0, 9, old, "2"), "1"},
		{"further, crawled and processed in a batch", row(4, 1, 0, 9, young, "1"), row(7, 1, 1, 9, old, "2"), "2"},
		{"as far, crawled and processed in a batch", row(7, 1, 1, 9, young, "1"), row(7, 1, 1, 9, old, "2"), "2"},
		{"further, not crawled", row(1, 0, 0, 0, old, "1"), row(2, 0, 0, 9, young, "2"), "1"},
		{"further, not processed", row(1, 0, 0, 0, old, "1"), row(4, 1, 0, 9, young, "2"), "1"},
		{"further, no batch", row(1, 0, 0, 0, old, "1"), row(7, 1, 1, 0, young, "2"), "1"},
		{"less far", row(7, 1, 1, 9, old, "1"), row(4, 1, 1, 9, young, "2"), "1"},
		{"as far, crawled at last", row(4, 0, 0, 9, young, "1"), row(4, 1, 0, 0, old, "2"), "2"},
		{"as far, both not crawled", row(1, 0, 0, 0, old, "1"), row(1, 0, 0, 0, young, "2"), "1"},
		{"as far, newer", row(4, 1, 0, 0, old, "1"), row(4, 2, 0, 0, young, "2"), "2"},
		{"as far, older", row(4, 1, 0, 0, young, "1"), row(4, 2, 0, 0, old, "2"), "1"},
		{"a date against None", row(4, 1, 0, 0, `"None"`, "1"), row(4, 1, 0, 0, old, "2"), "2"},
		{"None against a date", row(4, 1, 0, 0, old, "1"), row(4, 1, 0, 0, `"None"`, "2"), "1"},
		{"no dates", row(4, 1, 0, 0, "null", "1"), row(4, 1, 0, 0, `{"str":"NOW()"}`, "2"), "1"},
		{"dates are not compared as texts", row(4, 1, 0, 0, `"yesterday"`, "1"), row(4, 1, 0, 0, old, "2"), "2"},
		{"nothing known of the earlier", `{"urlMd5":"m","mark":"1"}`, row(0, 1, 0, 0, old, "2"), "2"},
		{"nothing known of the later", row(0, 1, 0, 0, old, "1"), `{"urlMd5":"m","mark":"2","status":[7],"crawled":{}}`, "1"},
		{"numbers as text", `{"urlMd5":"m","status":"4","crawled":"0","mark":"1"}`, `{"urlMd5":"m","status":4,"crawled":"1","mark":"2"}`, "2"},
	}
	for _, op := range []wire.Op{wire.URLFetch, wire.URLStatus} {
		for _, tc := range cases {
			t.Run(op.String()+" "+tc.name, func(t *testing.T) {
				got := For(op, nil).Merge(answer("["+tc.earlier+"]", "["+tc.later+"]"))
				var list []struct{ Mark, Host string }
				if len(got.ItemsList) != 1 || json.Unmarshal(got.ItemsList[0].ItemObject, &list) != nil || len(list) != 1 {
					t.Fatalf("got %s", written(t, got))
				}
				if host := map[string]string{"1": "a", "2": "b"}[tc.wins]; list[0].Mark != tc.wins || list[0].Host != host {
					t.Errorf("got %+v", list)
				}
			})
		}
		table(t, op, []tableCase{
			{"order of arrival", "", []string{`[{"urlMd5":"p"},{"urlMd5":"m"}]`, `[{"urlMd5":"q"},` + row(7, 1, 1, 9, old, "2") + `]`},
				[]string{`[{"urlMd5":"p","host":"a"},{"urlMd5":"m","status":7,"crawled":1,"processed":1,"batchId":9,"UDate":"2026-01-05 09:59:59","mark":"2","host":"b"},{"urlMd5":"q","host":"b"}]`}},
			{"what has no md5", "", []string{`[{"u":1},null,[2]]`, `[{"u":1},{"urlMd5":""},{"urlMd5":{}}]`},
				[]string{`[{"u":1,"host":"a"},null,[2],{"u":1,"host":"b"},{"urlMd5":"","host":"b"},{"urlMd5":{},"host":"b"}]`}},
			{"nothing", "", []string{`[]`, `[]`}, []string{`[]`}},
			{"no list", "", []string{`[]`, `{"errorCode":1}`}, []string{`0 a []`, `0 b {"errorCode":1}`}},
			{"unknown keys", "", []string{`[{"urlMd5":"p","batchId":9007199254740993,"attributes":[{"value":"<&>"}]}]`, `[]`},
				[]string{`[{"urlMd5":"p","batchId":9007199254740993,"attributes":[{"value":"<&>"}],"host":"a"}]`}},
		})
	}
}

func TestContents(t *testing.T) {
	const raw = `"rawContents":[{"buffer":""}]`
	page := func(keys, fields string) string { return fmt.Sprintf(`[{%s,%s,"dbFields":{%s}}]`, raw, keys, fields) }
	first := `"siteId":"s","urlMd5":"m","mark":1`
	second := `"siteId":"s","urlMd5":"m","mark":2`
	both := func(a, b string) []string { return []string{page(a, ""), page(b, "")} }
	rows := func(a, b string) []string { return []string{page(first, a), page(second, b)} }
	cases := []struct {
		name  string
		nodes []string
		marks string
	}{
		{"the same URL", both(first, second), "1a"},
		{"another URL", both(first, `"siteId":"s","urlMd5":"n","mark":2`), "1a 2b"},
		{"the same URL of another site", both(first, `"siteId":"t","urlMd5":"m","mark":2`), "1a 2b"},
		{"the same raw content", both(`"siteId":"s","urlMd5":"m","rawContentMd5":"r","mark":1`, `"siteId":"s","urlMd5":"n","rawContentMd5":"r","mark":2`), "1a"},
		{"the same processed content", both(`"siteId":"s","urlMd5":"m","contentURLMd5":"c","mark":1`, `"siteId":"s","urlMd5":"n","contentURLMd5":"c","mark":2`), "1a"},
		{"raw content like processed", both(`"siteId":"s","rawContentMd5":"c","mark":1`, `"siteId":"s","contentURLMd5":"c","mark":2`), "1a 2b"},
		{"empty md5s", both(`"siteId":"s","urlMd5":"m","rawContentMd5":"","contentURLMd5":"","mark":1`, `"siteId":"s","urlMd5":"n","rawContentMd5":"","contentURLMd5":"","mark":2`), "1a 2b"},
		{"md5s empty in quotes", both(`"siteId":"s","urlMd5":"m","rawContentMd5":"\"\"","contentURLMd5":"\"\"","mark":1`, `"siteId":"s","urlMd5":"n","rawContentMd5":"\"\"","contentURLMd5":"\"\"","mark":2`), "1a 2b"},
		{"no md5s", both(`"siteId":"s","urlMd5":null,"mark":1`, `"siteId":"s","mark":2`), "1a 2b"},
		{"no contents", []string{`[{` + first + `,"rawContents":[],"processedContents":[]}]`, `[{` + second + `,"rawContents":null}]`}, ""},
		{"contents of the second only", []string{`[{` + first + `,"rawContents":[],"processedContents":[]}]`, `[{` + second + `,"processedContents":[1]}]`}, "2b"},
		{"a batch at last", rows(`"Batch_Id":0,"Status":7`, `"Batch_Id":5,"Status":4`), "2b"},
		{"batches of both", rows(`"Batch_Id":3`, `"Batch_Id":5`), "1a"},
		{"no batch", rows(`"Batch_Id":3`, `"Batch_Id":0`), "1a"},
		{"further", rows(`"Status":4,"UDate":"2026-01-05 10:00:00"`, `"Status":7,"UDate":"2026-01-05 09:00:00"`), "2b"},
		{"less far", rows(`"Status":7`, `"Status":4`), "1a"},
		{"newer", rows(`"Status":7,"UDate":"2026-01-05 09:00:00"`, `"Status":4,"UDate":"2026-01-05 10:00:00"`), "2b"},
		{"older", rows(`"UDate":"2026-01-05 10:00:00"`, `"UDate":"2026-01-05 09:00:00"`), "1a"},
		{"a date against None", rows(`"UDate":"None"`, `"UDate":"2026-01-05 09:00:00"`), "2b"},
		{"columns as text", rows(`"Status":"4"`, `"Status":"7"`), "2b"},
		{"the earlier without a status", rows(``, `"Status":1`), "2b"},
		{"the later without a status", rows(`"Status":1`, `"Status":null`), "1a"},
		{"no columns", []string{`[{` + raw + `,` + first + `,"dbFields":5}]`, `[{` + raw + `,` + second + `,"dbFields":null}]`}, "1a"},
		{"a replaced response has no keys", []string{
			page(`"siteId":"s","urlMd5":"m","rawContentMd5":"old","mark":1`, `"Status":4`),
			page(`"siteId":"s","urlMd5":"m","rawContentMd5":"new","mark":2`, `"Status":7`),
			page(`"siteId":"s","urlMd5":"n","rawContentMd5":"old","mark":3`, `"Status":4`),
		}, "2b 3c"},
		{"by two keys", []string{
			page(`"siteId":"s","urlMd5":"m","mark":1`, ``), page(`"siteId":"s","urlMd5":"n","rawContentMd5":"r","mark":2`, ``),
			page(`"siteId":"s","urlMd5":"m","rawContentMd5":"r","mark":3`, `"Status":1`),
		}, "3c 2b"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			got := For(wire.URLContent, nil).Merge(answer(tc.nodes...))
			var list []struct {
				Mark int
				Host string
			}
			if len(got.ItemsList) != 1 || json.Unmarshal(got.ItemsList[0].ItemObject, &list) != nil {
				t.Fatalf("got %s", written(t, got))
			}
			var marks []string
			for _, el := range list {
				marks = append(marks, fmt.Sprint(el.Mark, el.Host))
			}
			if strings.Join(marks, " ") != tc.marks {
				t.Errorf("got %v, want %s", marks, tc.marks)
			}
		})
	}
	table(t, wire.URLContent, []tableCase{
		{"odd elements", "", []string{`[5,null]`, `[{"rawContents":"odd","n":9007199254740993}]`}, []string{`[5,null,{"rawContents":"odd","n":9007199254740993,"host":"b"}]`}},
		{"no list", "", []string{`[]`, `7`}, []string{`0 a []`, `0 b 7`}},
	})
}

func TestBatch(t *testing.T) {
	table(t, wire.BatchRun, []tableCase{
		{"lists", "", []string{`[{"u":1},null]`, `[]`, `[{"u":1},"x",null,{"u":2}]`}, []string{`[{"u":1,"host":"a"},{"u":1,"host":"c"},"x",{"u":2,"host":"c"}]`}},
		{"nulls only", "", []string{`[null]`, `[null]`}, []string{`[]`}},
		{"another form", "", []string{`[{"u":1}]`, `5`}, []string{`0 a [{"u":1}]`, `0 b 5`}},
	})
}

func TestNotMerged(t *testing.T) {
	merged := map[wire.Op]bool{wire.SiteStatus: true, wire.SiteFind: true, wire.URLFetch: true, wire.URLStatus: true, wire.URLContent: true, wire.BatchRun: true}
	for _, op := range generalOps {
		merged[op] = true
	}
	others := 0
	for op := wire.Op(-1); op < 110; op++ {
		if merged[op] {
			continue
		}
		others++
		for _, object := range []string{`[{"urlMd5":"m"}]`, `{"errorCode":0,"errorMessage":"","statuses":[]}`} {
			in := answer(object, object)
			if got := For(op, nil).Merge(in); written(t, got) != written(t, in) {
				t.Errorf("%s: %s", op, written(t, got))
			}
		}
	}
	if others < 90 {
		t.Errorf("%d operations", others)
	}
}
