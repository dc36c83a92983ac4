package client

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
)

func TestRequest(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	if err := os.WriteFile(text, []byte("<b>\n\"ü\"</b>"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		op           wire.Op
		file, fields string // file: its content; "-" for no file
		mode         int
		want         string
		err          error
		says         string
	}{
		"file alone":               {op: wire.SiteStatus, file: `{"id":"a"}`, want: `{"id":"a"}`},
		"byte order mark":          {op: wire.SiteStatus, file: "\xef\xbb\xbf{\"id\":\"a\"}\r\n", want: `{"id":"a"}`},
		"big integer":              {op: wire.SiteStatus, file: `{"n":9007199254740993,"f":1.50}`, want: `{"f":1.50,"n":9007199254740993}`},
		"two values":               {op: wire.SiteStatus, file: `{"id":"a"} {"id":"b"}`, err: ErrJSON, says: "more than one value"},
		"a bracket too many":       {op: wire.SiteStatus, file: `{"id":"a"}}`, err: ErrJSON, says: "more than one value"},
		"a list bracket too many":  {op: wire.SiteStatus, file: `{"id":"a"}]`, err: ErrJSON, says: "more than one value"},
		"empty file":               {op: wire.SiteStatus, file: ``, err: ErrJSON, says: "it is empty"},
		"invalid JSON":             {op: wire.SiteStatus, file: "{'id':1}", err: ErrJSON, says: "at byte"},
		"no file":                  {op: wire.SiteStatus, file: "missing", err: ErrFile},
		"fields alone":             {op: wire.SiteStatus, file: "-", fields: `{"id":"a"}`, want: `{"id":"a"}`},
		"fields alone, list":       {op: wire.URLNew, file: "-", fields: `{"url":"u"}`, want: `[{"url":"u"}]`},
		"fields alone, one of two": {op: wire.SiteDelete, file: "-", fields: `{"id":"a"}`, want: `{"id":"a"}`},
		// Missing fields stay missing: without state there is no restart.
		"fields alone, site update": {op: wire.SiteUpdate, file: "-", fields: `{"id":"a","priority":3}`, want: `{"id":"a","priority":3}`},
		"fields are a list":         {op: wire.URLNew, file: "-", fields: `[{"url":"u"}]`, says: "it is a list; give lists with --file"},
		"fields are null":           {op: wire.URLNew, file: "-", fields: `null`, says: "--fields \"null\" is not a JSON object: it is null"},
		"fields: invalid JSON":      {op: wire.URLNew, file: "-", fields: `{`, says: "is not a JSON object: at byte"},
		"fields are two":            {op: wire.URLNew, file: "-", fields: `{} {}`, says: "more than one value"},
		"mode 0":                    {op: wire.SiteNew, file: `{"a":{"x":1,"y":2},"l":[1],"k":1}`, fields: `{"a":{"z":3},"l":[2],"n":null}`, want: `{"a":{"z":3},"k":1,"l":[2],"n":null}`},
		"mode 1":                    {op: wire.SiteNew, mode: 1, file: `{"a":{"x":1,"y":{"p":1}},"l":[1]}`, fields: `{"a":{"x":9,"z":3,"y":{"p":2,"q":3}},"l":[2]}`, want: `{"a":{"x":9,"y":{"p":2}},"l":[2]}`},
		"mode 1, other kind":        {op: wire.SiteNew, mode: 1, file: `{"a":[1],"b":{"x":1}}`, fields: `{"a":{"x":1},"b":7}`, want: `{"a":{"x":1},"b":7}`},
		"mode 2":                    {op: wire.SiteNew, mode: 2, file: `{"a":{"x":1,"y":{"p":[1]}},"l":[1]}`, fields: `{"a":{"x":9,"z":3,"y":{"p":[2]}},"l":[2],"n":{"m":[]}}`, want: `{"a":{"x":9,"y":{"p":[1,2]},"z":3},"l":[1,2],"n":{"m":[]}}`},
		"every element":             {op: wire.URLNew, file: `[{"url":"a"},{"url":"b"},7]`, fields: `{"siteId":"0"}`, want: `[{"siteId":"0","url":"a"},{"siteId":"0","url":"b"},7]`},
		// A key that one element lacks still applies to the next.
		"mode 1, every element": {op: wire.URLNew, mode: 1, file: `[{"a":{"x":1}},{"a":{"x":1,"y":2}}]`, fields: `{"a":{"x":5,"y":6}}`, want: `[{"a":{"x":5}},{"a":{"x":5,"y":6}}]`},
		// Elements do not share a list.
		"mode 2, every element": {op: wire.URLNew, mode: 2, file: `[{"a":{}},{"a":{"l":[1]}},{}]`, fields: `{"a":{"l":[2]}}`, want: `[{"a":{"l":[2]}},{"a":{"l":[1,2]}},{"a":{"l":[2]}}]`},
		"file values": {op: wire.URLPut, file: "-", fields: `{"d":{"data":"file://` + text + `"},"l":["file://` + text + `"],"p":"file:/x"}`,
			want: `[{"d":{"data":"<b>\n\"ü\"</b>"},"l":["file://` + text + `"],"p":"file:/x"}]`},
		"file value is missing": {op: wire.URLPut, file: "-", fields: `{"d":{"data":"file://` + text + `.not"}}`, says: "--fields data: open"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := ""
			switch {
			case c.err == ErrFile:
				path = filepath.Join(folder, "missing")
			case c.file != "-":
				path = filepath.Join(t.TempDir(), "request.json")
				if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			raw, err := Request(c.op, path, c.fields, c.mode)
			if c.want == "" {
				if err == nil || c.err != nil && !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("%s, error %v; want %v %q", raw, err, c.err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if err := decodeJSON(raw, &got); err != nil {
				t.Fatal(err)
			}
			if err := decodeJSON([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			g, _ := json.Marshal(got)
			w, _ := json.Marshal(want)
			if string(g) != string(w) {
				t.Errorf("%s, want %s", g, w)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name string
		op   wire.Op
		raw  string
		ok   bool
	}{
		{"site", wire.SiteStatus, `{"id":"a"}`, true},
		{"site is a list", wire.SiteStatus, `[{"id":"a"}]`, false},
		{"one or many", wire.SiteDelete, `[{"id":"a"}]`, true},
		{"list is an object", wire.URLStatus, `{"url":"a"}`, false},
		{"wrong type", wire.URLFetch, `[{"maxURLs":"many"}]`, false},
		{"text", wire.SiteNew, `"x"`, false},
		{"null", wire.SiteNew, `null`, false},
		{"site update", wire.SiteUpdate, `{"id":"a"}`, true},
		{"site update is a list", wire.SiteUpdate, `[]`, false},
		{"query", wire.SQLCustom, `{"rid":1,"query":"SELECT 1","dbName":"dc_sites"}`, true},
		{"list for an object", wire.SQLCustom, `[]`, false},
		{"null for an object", wire.SQLCustom, `null`, false},
		{"content", wire.URLPut, `[{"siteId":"0","urlMd5":"0cc175b9c0f1b6a831c399e269772661","contentType":0,"putDict":{"data":""}}]`, true},
		{"object for a list", wire.URLPut, `{}`, false},
		{"element", wire.URLPut, `[{},7]`, false},
		{"number out of range", wire.ProxyNew, `[{"siteId":"0","host":"h:1","state":-1}]`, false},
		{"no name", wire.AttributeSet, `[{"siteId":"0"}]`, false},
		{"not of clients", wire.URLReturn, `{}`, false},
		{"batch", wire.BatchRun, `{"id":1,"items":[]}`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := service.Check(c.op, json.RawMessage(c.raw), nil); (err == nil) != c.ok {
				t.Errorf("error %v", err)
			}
		})
	}
}

func FuzzRequest(f *testing.F) {
	f.Add(`{"a":{"x":1},"l":[1]}`, `{"a":{"x":2},"l":[2]}`, 1)
	f.Add(`[{"a":1},2]`, `{"a":null}`, 2)
	f.Fuzz(func(t *testing.T, file, fields string, mode int) {
		if strings.Contains(fields, "file:") || strings.Contains(fields, `\`) {
			return // would read files
		}
		path := filepath.Join(t.TempDir(), "r")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		raw, err := Request(wire.URLNew, path, fields, mode%3)
		if err == nil && !json.Valid(raw) {
			t.Errorf("%q is not JSON", raw)
		}
	})
}
