package random_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/wire"
)

// brokenNode is a node with one fault that the comparison must find.
type brokenNode struct {
	node
	onRun  func(request json.RawMessage, run func(json.RawMessage) (any, error)) (any, error)
	onDump func(dump)
}

func (n brokenNode) run(ctx context.Context, request json.RawMessage) (any, error) {
	run := func(r json.RawMessage) (any, error) { return n.node.run(ctx, r) }
	if n.onRun == nil {
		return run(request)
	}
	return n.onRun(request, run)
}

func (n brokenNode) dump(ctx context.Context) (dump, error) {
	d, err := n.node.dump(ctx)
	if err == nil && n.onDump != nil {
		n.onDump(d)
	}
	return d, err
}

func broken(n brokenNode) backend {
	return backend{name: "broken", open: func(t testing.TB, c *clock) node {
		n.node = sqlite.open(t, c)
		return n
	}}
}

func isOp(request json.RawMessage, op wire.Op) bool {
	return step{Request: request}.op() == op.String()
}

// A fault of one node is found in a random sequence and cut to a few steps. These steps
// still show the fault, and no difference on nodes without it.
func TestFaultsAreFoundAndCut(t *testing.T) {
	for _, c := range []struct {
		name, kind string // kind: a prefix
		steps      int    // maximum after the cut
		fault      brokenNode
	}{
		{"a wrong answer", "answers of URL_STATUS", 4, brokenNode{onRun: func(r json.RawMessage, run func(json.RawMessage) (any, error)) (any, error) {
			v, err := run(r)
			if err != nil || !isOp(r, wire.URLStatus) {
				return v, err
			}
			text, err := plainJSON(v)
			return json.RawMessage(bytes.ReplaceAll(text, []byte(`"siteSelect":3`), []byte(`"siteSelect":2`))), err
		}}},
		{"a column that is not stored", "table dc_", 4, brokenNode{onRun: func(r json.RawMessage, run func(json.RawMessage) (any, error)) (any, error) {
			if isOp(r, wire.URLUpdate) {
				r = bytes.ReplaceAll(r, []byte(`"priority":`), []byte(`"ignored":`))
			}
			return run(r)
		}}},
		{"files that are not stored", "table raw", 3, brokenNode{onDump: func(d dump) { d["raw"] = nil }}},
		{"a panic", "panic in SITE_FIND", 1, brokenNode{onRun: func(r json.RawMessage, run func(json.RawMessage) (any, error)) (any, error) {
			if isOp(r, wire.SiteFind) && bytes.Contains(r, []byte("http://")) {
				panic("one")
			}
			return run(r)
		}}},
		{"words of a database", "words of a database in SITE_STATUS", 1, brokenNode{onRun: func(r json.RawMessage, run func(json.RawMessage) (any, error)) (any, error) {
			if isOp(r, wire.SiteStatus) && bytes.Contains(r, []byte(`"a1"`)) {
				return []any{"SITE_STATUS", wire.Refuse(fmt.Errorf("no such table: urls_a1"))}, nil
			}
			return run(r)
		}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pair{sqlite, broken(c.fault)}
			s, err := generate(20260105, 400)
			if err != nil {
				t.Fatal(err)
			}
			d := p.run(t, s, 50, nil)
			if d == nil || !strings.HasPrefix(d.kind, c.kind) {
				t.Fatalf("found %+v, want %s", d, c.kind)
			}
			short := p.keepShrunk(t, s, d, t.TempDir(), "short", 30*time.Second)
			if len(short.Steps) > c.steps {
				t.Errorf("%d steps are left, want at most %d", len(short.Steps), c.steps)
			}
			if d := p.run(t, short, 1, nil); d == nil || !strings.HasPrefix(d.kind, c.kind) {
				t.Errorf("the short script shows %+v", d)
			}
			if d := pairs[0].run(t, short, 1, nil); d != nil {
				t.Errorf("nodes without the fault: %+v", d)
			}
		})
	}
}

// Violations of the rules are found even on two nodes that agree.
func TestRulesAreChecked(t *testing.T) {
	site := func(d dump) row { return d["dc_sites.sites"][0] }
	for _, c := range []struct {
		name, kind string
		spoil      func(dump)
	}{
		{"counter", "counter NewURLs", func(d dump) { site(d)["NewURLs"] = site(d).int("NewURLs") + 1 }},
		{"mask", "counter ErrorMask", func(d dump) { site(d)["ErrorMask"] = int64(1 << 57) }},
		{"orphan", "orphan in dc_stat_logs.log", func(d dump) { d["dc_stat_logs.log"] = append(d["dc_stat_logs.log"], row{"Site_Id": "gone"}) }},
		{"trash", "trash", func(d dump) { d["dc_sites.trash"] = append(d["dc_sites.trash"], row{"Site_Id": "0"}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := broken(brokenNode{onDump: c.spoil})
			s, err := generate(1, 20)
			if err != nil {
				t.Fatal(err)
			}
			if d := (pair{b, b}).run(t, s, atEnd, nil); d == nil || d.kind != c.kind {
				t.Errorf("found %+v, want %s", d, c.kind)
			}
		})
	}
}

// Irrelevant differences are ignored, others are found.
func TestAnswersAreCompared(t *testing.T) {
	for _, c := range []struct{ name, request, a, b, kind string }{
		{"equal", `["SITE_STATUS",{}]`, `["SITE_STATUS",{"id":"a"}]`, `["SITE_STATUS",{"id":"a"}]`, ""},
		{"order of keys", `["SITE_STATUS",{}]`, `["SITE_STATUS",{"id":"a","state":1}]`, `["SITE_STATUS",{"state":1,"id":"a"}]`, ""},
		{"a number's text", `["SITE_STATUS",{}]`, `["SITE_STATUS",{"httpTimeout":30000}]`, `["SITE_STATUS",{"httpTimeout":30000.0}]`, "answers of SITE_STATUS"},
		{"null and nothing", `["SITE_STATUS",{}]`, `["SITE_STATUS",{"uDate":null}]`, `["SITE_STATUS",{}]`, "answers of SITE_STATUS"},
		{"order of filters", `["SITE_STATUS",{}]`, `["SITE_STATUS",{"filters":[1,2]}]`, `["SITE_STATUS",{"filters":[2,1]}]`, ""},
		{"order of statuses", `["URL_NEW",[]]`, `["URL_NEW",{"statuses":[0,2]}]`, `["URL_NEW",{"statuses":[2,0]}]`, "answers of URL_NEW"},
		{"words of a refusal", `["URL_NEW",[]]`, `["URL_NEW",{"errorMessage":"a"}]`, `["URL_NEW",{"errorMessage":"b"}]`, "answers of URL_NEW"},
		{"rows without an order", `["ATTR_FETCH",[{"criterions":{}}]]`, `["ATTR_FETCH",[{"name":"a"},{"name":"b"}]]`, `["ATTR_FETCH",[{"name":"b"},{"name":"a"}]]`, ""},
		{"rows with an order", `["ATTR_FETCH",[{"criterions":{"ORDER BY":"MD5(Name)"}}]]`, `["ATTR_FETCH",[{"name":"a"},{"name":"b"}]]`,
			`["ATTR_FETCH",[{"name":"b"},{"name":"a"}]]`, "answers of ATTRIBUTE_FETCH"},
		{"a missing row", `["ATTR_FETCH",[{}]]`, `["ATTR_FETCH",[{"name":"a"}]]`, `["ATTR_FETCH",[]]`, "answers of ATTRIBUTE_FETCH"},
		{"number of a proxy", `[29,[{}]]`, `[129,[{"id":7,"faultsMax":0}]]`, `[129,[{"id":9,"faultsMax":0}]]`, ""},
		{"time of a file", `["URL_CONTENT",[{}]]`, `["URL_CONTENT",[{"rawContents":[{"cDate":"2027-01-01 00:00:00.123"}]}]]`,
			`["URL_CONTENT",[{"rawContents":[{"cDate":"2027-01-01 00:00:01.000"}]}]]`, ""},
		{"time of a name", `["URL_CONTENT",[{}]]`, `["URL_CONTENT",[{"rawContents":[{"cDate":"2026-01-06 00:00:00.123"}]}]]`,
			`["URL_CONTENT",[{"rawContents":[{"cDate":"2026-01-06 00:00:01.000"}]}]]`, "answers of URL_CONTENT"},
		{"a deleted copy", `["URL_VERIFY",[{"dbName":"dc_urls_deleted"},{"dbName":"dc_urls"}]]`, `["URL_VERIFY",[{"size":1},null]]`, `["URL_VERIFY",[{"size":2},null]]`, ""},
		{"a live row", `["URL_VERIFY",[{"dbName":"dc_urls"}]]`, `["URL_VERIFY",[{"size":1}]]`, `["URL_VERIFY",[{"size":2}]]`, "answers of URL_VERIFY"},
		{"no request", `"x"`, `[null,{"errorMessage":"a"}]`, `[null,{"errorMessage":"b"}]`, "answers of no request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind, detail := compareAnswers(step{Request: json.RawMessage(c.request)}, []byte(c.a), []byte(c.b), "", "")
			if kind != c.kind {
				t.Errorf("%q (%s), want %q", kind, detail, c.kind)
			}
		})
	}
}

// A seed always gives the same sequence, and a longer sequence begins with it.
func TestSeedsMakeSequences(t *testing.T) {
	text := func(seed uint64, n int) string {
		s, err := generate(seed, n)
		if err != nil {
			t.Fatal(err)
		}
		s.Steps = s.Steps[:100]
		raw, err := s.text()
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if text(7, 100) != text(7, 200) {
		t.Error("one seed gives two sequences")
	}
	if text(7, 100) == text(8, 100) {
		t.Error("two seeds give one sequence")
	}
}

// A test of shrink alone: a predicate replaces the two nodes.
func TestShrink(t *testing.T) {
	var long script
	for i := range 2000 {
		raw, err := plainJSON(list{"URL_NEW", list{object{"a": i, "b": object{"c": 1, "d": 2}}, object{"e": 1}}})
		if err != nil {
			t.Fatal(err)
		}
		long.Steps = append(long.Steps, step{Wait: 1, Request: raw})
	}
	has := func(s script, what string) bool {
		return slices.ContainsFunc(s.Steps, func(st step) bool { return strings.Contains(string(st.Request), what) })
	}
	for _, c := range []struct {
		name  string
		fails func(script) bool
		want  string
	}{
		{"one step", func(s script) bool { return has(s, `"a":1234,`) || has(s, `"a":1234}`) }, `["URL_NEW",[{"a":1234}]]`},
		{"two steps far apart", func(s script) bool {
			return has(s, `"a":3}`) && has(s, `"a":1999}`) || has(s, `"a":3,`) && has(s, `"a":1999,`) || has(s, `"a":3}`) && has(s, `"a":1999,`) || has(s, `"a":3,`) && has(s, `"a":1999}`)
		},
			`["URL_NEW",[{"a":3}]] ["URL_NEW",[{"a":1999}]]`},
		{"a key deep within", func(s script) bool { return has(s, `"d":2`) }, `["URL_NEW",[{"b":{"d":2}}]]`},
		{"the number of steps", func(s script) bool { return len(s.Steps) >= 3 }, `["URL_NEW",[]] ["URL_NEW",[]] ["URL_NEW",[]]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			short := shrinker{fails: c.fails, spent: func() bool { return false }}.shrink(long)
			var texts []string
			for _, st := range short.Steps {
				if st.Wait != 0 {
					t.Errorf("waits %d", st.Wait)
				}
				texts = append(texts, string(st.Request))
			}
			if got := strings.Join(texts, " "); got != c.want {
				t.Errorf("cut to %s, want %s", got, c.want)
			}
		})
	}
	t.Run("no time", func(t *testing.T) {
		short := shrinker{fails: func(script) bool { return true }, spent: func() bool { return true }}.shrink(long)
		if len(short.Steps) != len(long.Steps) {
			t.Errorf("%d steps without trying", len(short.Steps))
		}
	})
}

// A script is equal after writing and reading.
func TestScriptsAreKept(t *testing.T) {
	s, err := generate(3, 50)
	if err != nil {
		t.Fatal(err)
	}
	path, err := s.keep(t.TempDir(), "x")
	if err != nil {
		t.Fatal(err)
	}
	again, err := readScript(path)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := s.text()
	b, _ := again.text()
	if !bytes.Equal(a, b) {
		t.Errorf("wrote\n%s\nread\n%s", a, b)
	}
}
