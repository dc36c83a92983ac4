package conformance

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mandatory are the keys without which a request has no meaning (docs/spec/objects.md 2,
// docs/spec/DECISIONS.md 1.7); a key that has a stand-in is not among them.
var mandatory = map[string][]string{
	"SITE_STATUS": {"id"}, "SITE_UPDATE": {"id", "criterions"}, "SITE_CLEANUP": {"id"}, "URL_NEW": {"url"}, "URL_STATUS": {"url"}, "URL_PUT": {"putDict"},
	"PROXY_NEW": {"host", "siteId"}, "PROXY_UPDATE": {"host", "siteId"}, "SQL_CUSTOM": {"query", "dbName", "rid"}, "SITE_DELETE": {"id"},
}

// longKey is in the sample of longID: no key has 35 digits.
const longKey = "c2ab041d4a4240eedb0df3b7e1d0f4c2000"

// variants are forms in which other users may have written a request: numbers as
// texts, booleans as numbers, a key left out or null, dates as "NULL".
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
	err := add("as it is", func(o map[string]any) {
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
	err = add("a key nobody knows", func(o map[string]any) { o["madeUpKey"] = map[string]any{"x": 1} })
	if err != nil {
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

// objectsOf are the request, or its elements.
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

// What users of the original may have sent that nobody here has seen: the
// samples in other forms. None is refused, but for a key that must be there.
func TestVariantsOfSamples(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "shared", "compat")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("the samples are not here")
	}
	forEachBackendWith(t, map[string]string{"SQLCustom": "read"}, func(t *testing.T, n *Node) {
		for _, op := range operations() {
			samples, err := filepath.Glob(filepath.Join(folder, op.String(), "*"))
			n.must(err)
			for _, sample := range samples {
				raw, err := os.ReadFile(sample)
				n.must(err)
				list, err := variants([]byte(strings.TrimPrefix(string(raw), "\xef\xbb\xbf")))
				n.must(err)
				for name, request := range list {
					answer, err := n.ask(context.Background(), op.String(), request)
					if err == nil && !strings.Contains(answer, `"refused":true`) {
						continue
					}
					if excused(op.String(), name, answer) || strings.Contains(answer, longID) || strings.Contains(answer, longKey) {
						continue
					}
					t.Errorf("%s %s, %s: %v %.300s", op, filepath.Base(sample), name, err, answer)
				}
			}
		}
	})
}

// excused tells the refusals of requests that lack what they cannot do without.
func excused(op, variant, answer string) bool {
	for _, key := range mandatory[op] {
		if (variant == "without "+key || variant == key+" null") && strings.Contains(answer, key) {
			return true
		}
	}
	return false
}
