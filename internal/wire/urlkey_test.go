package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

// A message with the md5 of its own text names the row of the key; another md5 stays.
func TestKeysOfMessages(t *testing.T) {
	const text = "http://h/%7ea"
	want, other := Md5("http://h/~a"), Md5("other")
	given := []struct{ name, md5, want string }{{"none", "", want}, {"of the text", Md5(text), want}, {"the key", want, want}, {"another", other, other}}
	for _, g := range given {
		t.Run(g.name, func(t *testing.T) {
			object := map[string]any{"url": text, "siteId": "s"}
			if g.md5 != "" {
				object["urlMd5"] = g.md5
			}
			raw, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			list := json.RawMessage("[" + string(raw) + "]")
			check := func(what, got string, err error) {
				t.Helper()
				if err != nil || got != g.want {
					t.Errorf("%s: key %q, %v; want %q", what, got, err, g.want)
				}
			}
			var u URL
			err = json.Unmarshal(raw, &u)
			check("URL", u.URLMd5, err)
			added, err := ReadURLNew(list, nil)
			check("URL_NEW", added[0].Row.Text("URLMd5"), err)
			changed, err := ReadURLUpdate(list, nil)
			check("URL_UPDATE", changed[0].URLMd5, err)
			read, err := ReadURLContent(list, nil)
			check("URL_CONTENT", read[0].URLMd5, err)
			object["urlObj"], object["urlId"] = map[string]any{"url": text}, g.md5
			raw, err = json.Marshal(map[string]any{"id": 1, "items": []any{object}})
			if err != nil {
				t.Fatal(err)
			}
			batch, err := ReadBatch(raw, nil)
			check("BATCH", batch.Items[0].URLID, err)
		})
	}
	status, err := ReadURLStatus(json.RawMessage(`[{"siteId":"s","url":"`+text+`"}]`), nil)
	if err != nil || status[0].URLMd5 != want {
		t.Errorf("URL_STATUS: %+v, %v", status, err)
	}
}

// A request that looks for rows may name any text: one that is no key finds nothing, and the other
// elements of its list are answered.
func TestTextsThatAreNoKeys(t *testing.T) {
	for text, want := range map[string]string{"abc123": NoKey, "": "", "../x": NoKey, strings.Repeat("AB", 16): strings.Repeat("ab", 16)} {
		raw, err := json.Marshal([]map[string]string{{"siteId": "s", "url": text, "urlType": "1", "urlMd5": text}})
		if err != nil {
			t.Fatal(err)
		}
		stats, err := ReadURLStats(raw, nil)
		if err != nil || stats[0].URLMd5 != want || stats[0].Check("o") != nil {
			t.Errorf("statistics of %q: %q, %v", text, stats[0].URLMd5, err)
		}
		attributes, err := ReadAttributeSelections("AttributeFetch", raw, nil)
		if err != nil || *attributes[0].URLMd5 != want || attributes[0].Check("o") != nil {
			t.Errorf("attributes of %q: %q, %v", text, *attributes[0].URLMd5, err)
		}
		if text == "" {
			continue
		}
		contents, err := ReadURLContent(raw, nil)
		if err != nil || contents[0].URLMd5 != want || contents[0].Check("o") != nil {
			t.Errorf("contents of %q: %q, %v", text, contents[0].URLMd5, err)
		}
		status, err := ReadURLStatus(raw, nil)
		if err != nil || status[0].URLMd5 != want || status[0].Check("o") != nil {
			t.Errorf("status of %q: %q, %v", text, status[0].URLMd5, err)
		}
	}
}
