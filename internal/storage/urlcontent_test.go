package storage

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/wire"
)

// content sends URL_CONTENT for the page.
func (n *node) content(mask int) wire.URLContentResponse {
	n.t.Helper()
	answer := n.good(fmt.Sprintf(`["URL_CONTENT",[{"siteId":%q,"url":%q,"contentTypeMask":%d}]]`, site, page, mask))
	var pair []json.RawMessage
	n.must(json.Unmarshal([]byte(answer), &pair))
	var list []struct {
		RawContents, ProcessedContents   []json.RawMessage
		Headers, Requests, Meta, Cookies []*wire.Content
	}
	n.must(json.Unmarshal(pair[1], &list))
	r := wire.URLContentResponse{Headers: list[0].Headers, Requests: list[0].Requests, Meta: list[0].Meta, Cookies: list[0].Cookies}
	for _, raw := range list[0].RawContents {
		var c wire.Content
		n.must(json.Unmarshal(raw, &c))
		r.RawContents = append(r.RawContents, c)
	}
	for _, raw := range list[0].ProcessedContents {
		r.ProcessedContents = append(r.ProcessedContents, raw)
	}
	return r
}

// texts formats contents as "type:text".
func texts(t testing.TB, list []wire.Content) string {
	t.Helper()
	var all []string
	for _, c := range list {
		data, err := base64.StdEncoding.DecodeString(c.Buffer)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%d:%s", c.TypeID, data))
	}
	return strings.Join(all, " ")
}

// The examples of docs/spec/storage.md 4.24: four versions of a page, two with a tidy
// file, three with headers.
func TestContentMasks(t *testing.T) {
	n := withPage(t)
	stage := n.Raw.Stage()
	for i := range 4 {
		at := n.now.Add(time.Duration(i) * time.Minute)
		n.must(stage.Put(site, md5, at, rawfiles.Raw, []byte(fmt.Sprint("raw", i))))
		if i < 2 {
			n.must(stage.Put(site, md5, at, rawfiles.Tidy, []byte(fmt.Sprint("tidy", i))))
		}
		if i > 0 {
			n.must(stage.Put(site, md5, at, rawfiles.Headers, []byte(fmt.Sprint("headers", i))))
		}
	}
	n.must(stage.Commit(n.t.Context()))
	const all = "0:raw3 0:raw0 0:raw0 0:raw1 0:raw2 0:raw3"
	for _, c := range []struct {
		mask    int
		want    string
		headers string // "-" for a missing one
	}{
		{1283, "0:raw3 1:tidy1", ""},
		{1295, all + " 1:tidy1 1:tidy0 1:tidy0 1:tidy1", ""},
		{1533, "0:raw0 0:raw0 0:raw1 0:raw2 0:raw3 1:tidy0 1:tidy0 1:tidy1", "- - headers1 headers2 headers3"},
		{1026, "0:raw3", ""},
		{1028, "0:raw0", ""},
		{2, "0:raw3", ""},    // default kind: raw (docs/spec/objects.md 7 #20)
		{258, "1:tidy1", ""}, // only tidy
		{514, "", ""},        // no such file
		{1024, "", ""},       // no version bit
		{16, "", ""},         // no version bit
		{1042, "0:raw3", "headers3"},
		{274, "1:tidy1", ""}, // headers accompany only raw files
	} {
		t.Run(fmt.Sprint(c.mask), func(t *testing.T) {
			got := n.content(c.mask)
			if text := texts(t, got.RawContents); text != c.want {
				t.Errorf("raw contents %s, want %s", text, c.want)
			}
			var headers []string
			for _, h := range got.Headers {
				if h == nil {
					headers = append(headers, "-")
					continue
				}
				headers = append(headers, strings.TrimPrefix(texts(t, []wire.Content{*h}), "2:"))
			}
			if text := strings.Join(headers, " "); text != c.headers {
				t.Errorf("headers %s, want %s", text, c.headers)
			}
			if c.mask == 1533 && (len(got.Requests) != 5 || len(got.Meta) != 5 || len(got.Cookies) != 5 || got.Requests[0] != nil) {
				t.Errorf("%d requests, %d meta, %d cookies", len(got.Requests), len(got.Meta), len(got.Cookies))
			}
		})
	}
}

// docs/spec/storage.md 3.3.
func TestProcessedMasks(t *testing.T) {
	const object = `{"default":{"t":1},"internal":[{"i":0},{"i":1}],"custom":["c0"]}`
	const plain = `{"default":{"t":1},"internal":[{"i":0}],"custom":[]}`
	for _, c := range []struct {
		stored string
		mask   int
		want   string
	}{
		{object, 1, "c0"},
		{plain, 1, `{"default":{"t":1}}`},
		{object, 4096, `{"i":0}`},
		{object, 4096 + 16384, `{"i":0} {"i":1}`},
		{object, 8192, "c0"},
		{object, 4096 + 8192, `[{"i":0} c0] [{"i":1} null]`},
		{object, 1 + 4096, `c0 {"i":0}`},
		{`[1,2]`, 1, "[1,2]"},
		{`[1,2]`, 4096 + 8192, ""},
		{`{"internal":[]}`, 1, ""},
		{`{"internal":{},"custom":7}`, 1 + 4096 + 8192, ""},
		{`no JSON`, 1, ""},
		{`null`, 1, ""},
	} {
		t.Run(fmt.Sprint(c.stored, " ", c.mask), func(t *testing.T) {
			for name, data := range map[string][]byte{"plain": []byte(c.stored), "base64": []byte(base64.StdEncoding.EncodeToString([]byte(c.stored)))} {
				var got []string
				for _, p := range processed(wire.Entry{Data: data}, int64(c.mask)) {
					switch x := p.(type) {
					case wire.Content:
						got = append(got, strings.TrimPrefix(texts(t, []wire.Content{x}), "10:"))
					case []any:
						second := "null"
						if x[1] != nil {
							second = strings.TrimPrefix(texts(t, []wire.Content{x[1].(wire.Content)}), "10:")
						}
						got = append(got, "["+strings.TrimPrefix(texts(t, []wire.Content{x[0].(wire.Content)}), "10:")+" "+second+"]")
					}
				}
				if text := strings.Join(got, " "); text != c.want {
					t.Errorf("%s: %s, want %s", name, text, c.want)
				}
			}
		})
	}
}

func FuzzProcessed(f *testing.F) {
	f.Add([]byte(`{"default":1,"internal":[null],"custom":["x"]}`), int64(0x7fff))
	f.Fuzz(func(t *testing.T, data []byte, mask int64) {
		if _, err := json.Marshal(processed(wire.Entry{Data: data}, mask)); err != nil {
			t.Error(err)
		}
	})
}
