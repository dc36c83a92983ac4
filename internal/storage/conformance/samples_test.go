package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sample is a request of internal/wire/testdata/requests.
type sample struct {
	op, name string
	raw      []byte
}

// removes is 1 for an operation that removes data, otherwise 0.
func (s sample) removes() int {
	if strings.HasSuffix(s.op, "_DELETE") || strings.HasSuffix(s.op, "_CLEANUP") {
		return 1
	}
	return 0
}

// samples reads the sample requests of all operations, in the order of their codes, but
// operations that remove data last.
func samples(t *testing.T) (list []sample) {
	t.Helper()
	for _, op := range operations() {
		files, err := filepath.Glob(filepath.Join("..", "..", "wire", "testdata", "requests", op.String(), "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, sample{op.String(), filepath.Base(file), []byte(strings.TrimPrefix(string(raw), "\xef\xbb\xbf"))})
		}
	}
	slices.SortStableFunc(list, func(a, b sample) int { return cmp.Compare(a.removes(), b.removes()) })
	if len(list) < 40 {
		t.Fatalf("found only %d sample requests", len(list))
	}
	return list
}

// longID and longKey are in the sample id_too_long.json: ids have at most 32 characters
// (docs/spec/DECISIONS.md 4).
const (
	longID  = "702ccb01a0359f273a6e20095352a0d8000"
	longKey = "97646cc8430b101fb9491fd9de1ebd73000"
)

// All sample requests are accepted, in all spellings of the original's clients
// (docs/spec/DECISIONS.md 1.7).
func TestSampleRequests(t *testing.T) {
	forEachBackendWith(t, map[string]string{"SQLCustom": "read"}, func(t *testing.T, n *Node) {
		for _, s := range samples(t) {
			answer, err := n.ask(context.Background(), s.op, string(s.raw))
			if strings.Contains(string(s.raw), longID) && strings.Contains(answer, "is not a site id") {
				continue
			}
			if err != nil || strings.Contains(answer, `"refused":true`) {
				t.Errorf("%s %s: %v %.300s", s.op, s.name, err, answer)
			}
		}
	})
}

// mandatory are the keys that a request must have (docs/spec/objects.md 2,
// docs/spec/DECISIONS.md 1.7), without those that another key can replace.
var mandatory = map[string][]string{
	"SITE_STATUS": {"id"}, "SITE_UPDATE": {"id", "criterions"}, "SITE_CLEANUP": {"id"}, "URL_NEW": {"url"}, "URL_STATUS": {"url"}, "URL_PUT": {"putDict"},
	"PROXY_NEW": {"host", "siteId"}, "PROXY_UPDATE": {"host", "siteId"}, "SQL_CUSTOM": {"query", "dbName", "rid"}, "SITE_DELETE": {"id"},
}

// variants are other forms of a request by name: numbers as texts, a missing or null key,
// dates as "NULL", an unknown key.
func variants(raw []byte) (map[string]string, error) {
	list := map[string]string{}
	add := func(name string, change func(object map[string]any)) error {
		var document any
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber()
		if err := d.Decode(&document); err != nil {
			return err
		}
		for _, o := range objectsOf(document) {
			change(o)
		}
		text, err := json.Marshal(document)
		list[name] = string(text)
		return err
	}
	keys := map[string]bool{}
	err := add("unchanged", func(o map[string]any) {
		for key := range o {
			keys[key] = true
		}
	})
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if err := add("without "+key, func(o map[string]any) { delete(o, key) }); err != nil {
			return nil, err
		}
		if err := add(key+" null", func(o map[string]any) { o[key] = nil }); err != nil {
			return nil, err
		}
	}
	err = add("numbers as texts", func(o map[string]any) {
		for key, v := range o {
			if n, ok := v.(json.Number); ok {
				o[key] = n.String()
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if err := add("unknown key", func(o map[string]any) { o["madeUpKey"] = map[string]any{"x": 1} }); err != nil {
		return nil, err
	}
	return list, add("dates NULL", func(o map[string]any) {
		for key := range o {
			if key == "CDate" || key == "UDate" || strings.HasSuffix(key, "Date") {
				o[key] = "NULL"
			}
		}
	})
}

// objectsOf returns the object of a request, or its elements.
func objectsOf(document any) []map[string]any {
	switch d := document.(type) {
	case map[string]any:
		return []map[string]any{d}
	case []any:
		var list []map[string]any
		for _, element := range d {
			if o, ok := element.(map[string]any); ok {
				list = append(list, o)
			}
		}
		return list
	}
	return nil
}

// Variants of the sample requests are accepted, except those without a mandatory key.
func TestVariantsOfSamples(t *testing.T) {
	forEachBackendWith(t, map[string]string{"SQLCustom": "read"}, func(t *testing.T, n *Node) {
		for _, s := range samples(t) {
			list, err := variants(s.raw)
			n.must(err)
			for name, request := range list {
				answer, err := n.ask(context.Background(), s.op, request)
				if err == nil && !strings.Contains(answer, `"refused":true`) {
					continue
				}
				if lacksMandatory(s.op, name, answer) || strings.Contains(answer, longID) || strings.Contains(answer, longKey) {
					continue
				}
				t.Errorf("%s %s, %s: %v %.300s", s.op, s.name, name, err, answer)
			}
		}
	})
}

// lacksMandatory reports whether a variant lacks a mandatory key and the refusal names it.
func lacksMandatory(op, variant, answer string) bool {
	for _, key := range mandatory[op] {
		if (variant == "without "+key || variant == key+" null") && strings.Contains(answer, key) {
			return true
		}
	}
	return false
}
