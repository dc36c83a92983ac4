package merge

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sort"
	"strings"
	"testing"

	"hce/dc/internal/wire"
)

// lists returns random answers of three nodes to op, with many common keys, and the sorted
// keys that the merged list must have.
func lists(r *rand.Rand, op wire.Op) (nodes []string, keys []string) {
	seen := map[string]bool{}
	for range 3 {
		elements := []string{}
		for range r.IntN(6) {
			key := fmt.Sprint("k", r.IntN(8))
			seen[key] = true
			switch op {
			case wire.SiteFind:
				elements = append(elements, fmt.Sprintf(`{"id":%q,"size":%d,"errorMask":%d,"iterations":%d,"avgSpeed":%d}`,
					key, r.Int64N(1<<50), r.IntN(64), r.IntN(5), r.IntN(5)))
			case wire.URLContent:
				elements = append(elements, fmt.Sprintf(`{"siteId":"s","urlMd5":%q,"rawContents":[1],"dbFields":{"Status":%d,"Batch_Id":%d,"UDate":"2026-01-05 10:00:%02d"}}`,
					key, r.IntN(8), r.IntN(3), r.IntN(60)))
			default:
				elements = append(elements, fmt.Sprintf(`{"urlMd5":%q,"status":%d,"crawled":%d,"processed":%d,"batchId":%d,"UDate":"2026-01-05 10:00:%02d"}`,
					key, r.IntN(8), r.IntN(3), r.IntN(3), r.IntN(3), r.IntN(60)))
			}
		}
		nodes = append(nodes, "["+strings.Join(elements, ",")+"]")
	}
	for key := range seen {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return nodes, keys
}

// keysOf returns the sorted keys of a merged list, including repeated ones.
func keysOf(t *testing.T, raw json.RawMessage) []string {
	t.Helper()
	var list []struct{ ID, URLMd5, Host string }
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	keys := []string{}
	for _, el := range list {
		if el.Host == "" {
			t.Errorf("no host in %s", raw)
		}
		keys = append(keys, el.ID+el.URLMd5)
	}
	sort.Strings(keys)
	return keys
}

// The merged list has each id once, and the sums are equal, whether the answers are merged
// at once or step by step.
func TestNothingIsLost(t *testing.T) {
	const rounds = 300
	for _, op := range []wire.Op{wire.SiteFind, wire.URLFetch, wire.URLStatus, wire.URLContent} {
		t.Run(op.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(op)))
			for range rounds {
				nodes, want := lists(r, op)
				m := For(op, json.RawMessage(`[{"urlsCriterions":{"ORDER BY":"UDate DESC"}}]`))
				whole := answer(nodes...)
				atOnce := m.Merge(whole)
				first := m.Merge(wire.ClientResponse{ItemsList: whole.ItemsList[:2]})
				stepwise := m.Merge(wire.ClientResponse{ItemsList: append(first.ItemsList, whole.ItemsList[2])})
				for _, got := range []wire.ClientResponse{atOnce, stepwise} {
					if len(got.ItemsList) != 1 || got.ItemsList[0].Host != "a;b;c" || got.ItemsList[0].Time != "5;6;7" {
						t.Fatalf("items %s", written(t, got))
					}
					if keys := keysOf(t, got.ItemsList[0].ItemObject); !reflect.DeepEqual(keys, append([]string{}, want...)) {
						t.Fatalf("of %v\nthere are %v, not %v", nodes, keys, want)
					}
				}
				if op != wire.SiteFind {
					continue
				}
				if a, b := withoutHosts(t, atOnce), withoutHosts(t, stepwise); a != b {
					t.Fatalf("of %v\nat once  %s\nstepwise %s", nodes, a, b)
				}
			}
		})
	}
}

func withoutHosts(t *testing.T, r wire.ClientResponse) string {
	t.Helper()
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(r.ItemsList[0].ItemObject, &list); err != nil {
		t.Fatal(err)
	}
	for _, el := range list {
		delete(el, "host")
	}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestOneItemIsUnchanged(t *testing.T) {
	for op := wire.Op(1); op < 61; op++ {
		for _, object := range []string{`[ {"urlMd5":"m"} , null ]`, `{"errorCode":0,"state":1}`, `null`, `5`, ``} {
			in := answer(object)
			if got := For(op, nil).Merge(in); !reflect.DeepEqual(got, in) {
				t.Errorf("%s: %+v", op, got)
			}
		}
	}
}

// FuzzMerge merges invalid answers to invalid requests. No answer is lost, and the result
// is valid JSON.
func FuzzMerge(f *testing.F) {
	for _, op := range []wire.Op{
		wire.URLNew, wire.SiteStatus, wire.SiteFind, wire.URLFetch, wire.URLStatus, wire.URLContent, wire.BatchRun, wire.URLHistory,
	} {
		for _, nodes := range [][2]string{
			{`{"errorCode":0,"errorMessage":"","statuses":[1]}`, `{"errorCode":"0;0","errorMessage":null,"statuses":null}`},
			{`{"id":"s","state":1,"size":9223372036854775807,"errorMask":"4","errorNames":[]}`, `{"id":"s","state":9,"size":1e400,"errorMask":[1]}`},
			{`[{"id":"s","size":1},null]`, `[{"id":"s","size":"2"},[]]`},
			{`[{"urlMd5":"m","status":4,"crawled":1,"UDate":"None"}]`, `[{"urlMd5":"m","status":"4","crawled":true,"UDate":{"str":"NOW()"}}]`},
			{`[{"siteId":0,"urlMd5":"m","rawContents":[1],"dbFields":{"UDate":"0000-00-00 00:00:00"}}]`, `[{"siteId":"0","urlMd5":"m","rawContents":{},"dbFields":[]}]`},
			{`{"a":1,"a":2}`, "[\"\xff\"]"}, {`null`, `{`}, {``, `"\ud800"`},
		} {
			f.Add(int(op), `[{"urlsCriterions":{"ORDER BY":"UDate DESC"},"urlFetch":{"urlsCriterions":{"ORDER BY":"Size"}}}]`, nodes[0], nodes[1], nodes[0])
		}
	}
	f.Fuzz(func(t *testing.T, op int, request, a, b, c string) {
		in := answer(a, b, c)
		got := For(wire.Op(op), json.RawMessage(request)).Merge(in)
		var hosts []string
		for i, item := range got.ItemsList {
			hosts = append(hosts, strings.Split(item.Host, ";")...)
			if i == 0 && len(got.ItemsList) < 3 && !json.Valid(item.ItemObject) {
				t.Errorf("merged to %q", item.ItemObject)
			}
		}
		sort.Strings(hosts)
		if strings.Join(hosts, "") != "abc" {
			t.Errorf("the answers of %v are there", hosts)
		}
		for i, object := range []string{a, b, c} {
			if string(in.ItemsList[i].ItemObject) != object {
				t.Errorf("object %d was changed to %q", i, in.ItemsList[i].ItemObject)
			}
		}
	})
}

// Two nodes with 1000 pages of 20 kB each.
func BenchmarkMergeContents(b *testing.B) {
	var nodes []string
	for n := range 2 {
		var pages []string
		for i := range 1000 {
			pages = append(pages, fmt.Sprintf(`{"siteId":"s","urlMd5":"%d","rawContents":[{"buffer":"%s"}],"dbFields":{"Status":%d}}`,
				i+500*n, strings.Repeat("QUJD", 5000), 4+n))
		}
		nodes = append(nodes, "["+strings.Join(pages, ",")+"]")
	}
	r := answer(nodes...)
	b.SetBytes(int64(len(nodes[0]) + len(nodes[1])))
	for b.Loop() {
		For(wire.URLContent, nil).Merge(r)
	}
}
