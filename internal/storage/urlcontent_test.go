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
	"hce/dc/internal/wire/result"
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
// docs/spec/processing.md 4.2, 6.1 #17.
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
		{`{"default":{"t":1},"internal":[{"i":0},{"i":1}],"custom":[null,{"c":1}]}`, 1 + 4096 + 8192, `{"default":{"t":1}} [{"i":0} null] [{"i":1} {"c":1}]`},
		{`{"internal":[],"custom":[null,"c1"]}`, 8192 + 16384, "c1"},
		{`{"internal":[],"custom":["c0"]}`, 4096 + 8192, ""}, // a pair belongs to a result
	} {
		t.Run(fmt.Sprint(c.stored, " ", c.mask), func(t *testing.T) {
			for name, data := range map[string][]byte{"plain": []byte(c.stored), "base64": []byte(base64.StdEncoding.EncodeToString([]byte(c.stored)))} {
				if text := describe(t, whole(selectParts(wire.Entry{Data: data}, int64(c.mask), nil))); text != c.want {
					t.Errorf("%s: %s, want %s", name, text, c.want)
				}
			}
		})
	}
}

// docs/spec/processing.md 4.2, for the values that processor-task stores, and for the same as the
// original service stored them: base64, also with line ends.
func TestProcessedMasksOfResults(t *testing.T) {
	r := func(title string) result.Result {
		return result.Result{ID: md5, Tags: []result.Tag{{Name: "title", Data: []string{title}, Extractor: "MLExtractor"}}}
	}
	one, two := r("one"), r("two")
	encoded := func(text []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	inner := func(r *result.Result) string {
		return strings.TrimSuffix(strings.TrimPrefix(encoded(r.EncodeDefault()), `{"default":`), "}")
	}
	both := encoded(result.Encode([]result.Result{one, two}, []string{"text one", "text two"}))
	plain := encoded(result.Encode([]result.Result{one, two}, nil))
	raw := encoded(result.EncodeRaw(result.Result{ID: md5}, []byte("<p>page</p>")))
	for _, c := range []struct {
		row, stored string
		mask        int64
		want        string
	}{
		{"PROCESSED", both, wire.MaskProcessed, "text one"},
		{"PROCESSED without custom texts", plain, wire.MaskProcessed, encoded(one.EncodeDefault())},
		{"PROCESSED of raw-data", raw, wire.MaskProcessed, "PHA+cGFnZTwvcD4="}, // 6.2 #26
		{"INTERNAL and CUSTOM", both, wire.MaskInternal | wire.MaskCustom, "[" + inner(&one) + " text one] [" + inner(&two) + " text two]"},
		{"INTERNAL and CUSTOM without custom texts", plain, wire.MaskInternal | wire.MaskCustom, "[" + inner(&one) + " null] [" + inner(&two) + " null]"},
		{"INTERNAL", both, wire.MaskInternal, inner(&one)},
		{"CUSTOM", both, wire.MaskCustom, "text one"},
		{"CUSTOM without custom texts", plain, wire.MaskCustom, ""},
		{"INTERNAL with PROCESSED_ALL", both, wire.MaskInternal | wire.MaskAll, inner(&one) + " " + inner(&two)},
		{"CUSTOM with PROCESSED_ALL", both, wire.MaskCustom | wire.MaskAll, "text one text two"},
		{"PROCESSED_ALL alone", both, wire.MaskAll, ""},
		{"list with PROCESSED", `[{"a":1}, "b"]`, wire.MaskProcessed, `[{"a":1}, "b"]`},
		{"list with PROCESSED_ALL", `[{"a":1}]`, wire.MaskInternal | wire.MaskCustom | wire.MaskAll, ""},
	} {
		text := []byte(encoded(result.Expand([]byte(c.stored)))) // older programs stored the text, also as base64
		lines := base64.StdEncoding.EncodeToString(text)
		for i := 76; i < len(lines); i += 77 {
			lines = lines[:i] + "\n" + lines[i:]
		}
		for form, data := range map[string]string{"packed": c.stored, "JSON": string(text), "base64": base64.StdEncoding.EncodeToString(text), "lines of base64": lines + "\n"} {
			t.Run(c.row+", "+form, func(t *testing.T) {
				if got := describe(t, whole(selectParts(wire.Entry{Data: []byte(data)}, c.mask, nil))); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			})
		}
	}
}

// whole returns the parts of an undamaged content.
func whole(list []any, err error) []any {
	if err != nil {
		panic(err)
	}
	return list
}

// describe joins texts of contents by spaces; a pair is in brackets.
func describe(t testing.TB, list []any) string {
	t.Helper()
	var got []string
	for _, p := range list {
		switch x := p.(type) {
		case nil:
			got = append(got, "null")
		case wire.Content:
			got = append(got, strings.TrimPrefix(texts(t, []wire.Content{x}), "10:"))
		case []any:
			got = append(got, "["+describe(t, x)+"]")
		}
	}
	return strings.Join(got, " ")
}

func FuzzProcessed(f *testing.F) {
	for _, seed := range []string{
		`{"default":1,"internal":[null],"custom":["x"]}`, `{"internal":[],"custom":[null,{},[],7,"\ud800"]}`, `[`, `bnVsbA==`, `{"internal":null,"custom":null}`, "\xff{}",
	} {
		f.Add([]byte(seed), int64(0x7fff))
	}
	f.Fuzz(func(t *testing.T, data []byte, mask int64) {
		list, damaged := selectParts(wire.Entry{Data: data}, mask, nil)
		if _, err := json.Marshal(list); err != nil || damaged != nil && len(list) > 0 {
			t.Error(list, err, damaged)
		}
	})
}
