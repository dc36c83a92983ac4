package expr

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// compatRequests are request files of users of the first implementation.
const compatRequests = "../../../shared/compat"

// TestCompatRequests runs every criterion, query and date expression of the
// request files on both databases, which must give the same.
func TestCompatRequests(t *testing.T) {
	if _, err := os.Stat(compatRequests); err != nil {
		t.Skip("no request files here")
	}
	w := openTwin(t)
	texts := 0
	err := filepath.WalkDir(compatRequests, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var root any
		if err := json.Unmarshal(data, &root); err != nil {
			return nil // some samples are not JSON; their readers judge that
		}
		operation := filepath.Base(filepath.Dir(path))
		scope := urlScope()
		switch {
		case strings.HasPrefix(operation, "PROXY"):
			scope = proxyScope()
		case strings.HasPrefix(operation, "SITE"):
			scope = siteScope()
		}
		visit(root, "", func(key, text string) {
			s := scope
			if strings.Contains(strings.ToLower(path+key), "sitecrit") || strings.Contains(key, "sitesCriterions") {
				s = siteScope()
			}
			var f form
			switch last := key[strings.LastIndex(key, "/")+1:]; {
			case last == "WHERE":
				f = whereForm
			case last == "ORDER BY":
				f = orderForm
			case strings.HasSuffix(strings.ToLower(last), "date") && strings.ContainsAny(text, "(N"):
				f = valueForm
			case last == "query" && operation == "SQL_CUSTOM":
				f = selectForm
			default:
				return
			}
			texts++
			d, ok := w.differ(f, s, text)
			if d != "" || !ok && strings.TrimSpace(text) != "" {
				t.Errorf("%s %s %q: refused %t, %s", path, key, text, !ok, d)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if texts < 30 {
		t.Errorf("only %d texts found", texts)
	}
	t.Logf("%d texts", texts)
}

// visit calls f with the path and value of each text in a JSON value.
func visit(v any, path string, f func(path, text string)) {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			visit(item, path+"/"+key, f)
		}
	case []any:
		for _, item := range v {
			visit(item, path, f)
		}
	case string:
		f(path, v)
	}
}
