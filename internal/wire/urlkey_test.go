package wire

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

func TestNormalEscapes(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "http://h/a/b?c=d", "http://h/a/b?c=d"},
		{"empty", "", ""},
		{"tilde", "http://h/%7Ea", "http://h/~a"},
		{"lower-case tilde", "http://h/%7ea", "http://h/~a"},
		{"letters and digits", "http://h/%41%7a%30", "http://h/Az0"},
		{"unreserved marks", "/%2D%2e%5F%7e", "/-._~"},
		{"lower-case digits", "http://h/%c3%a9", "http://h/%C3%A9"},
		{"mixed digits", "http://h/%c3%A9", "http://h/%C3%A9"},
		{"canonical escape", "http://h/%C3%A9", "http://h/%C3%A9"},
		{"raw character", "http://h/é", "http://h/%C3%A9"},
		{"reserved characters keep their escapes", "/%2f%3F%26%3d", "/%2F%3F%26%3D"},
		{"space", "/a%20b", "/a%20b"},
		{"query", "/?q=%7e%c3%a9&r=%26", "/?q=~%C3%A9&r=%26"},
		{"escaped percent sign", "/%257E", "/%257E"},
		{"escaped percent sign, lower case", "/%25c3", "/%25c3"},
		{"percent sign at the end", "/%7E%", "/~%"},
		{"percent sign and one digit", "/%7E%4", "/~%4"},
		{"percent sign without digits", "/100%/%7E", "/100%/~"},
		{"no escape becomes one", "/%%37E", "/%%37E"},
		{"no escape becomes one, second digit", "/%7%45", "/%7%45"},
		{"two percent signs", "/%%41%42", "/%%41B"},
		{"plus", "/a+b", "/a+b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := NormalEscapes(c.text); got != c.want {
				t.Errorf("NormalEscapes(%q) = %q, want %q", c.text, got, c.want)
			}
			if got := NormalEscapes(c.want); got != c.want {
				t.Errorf("not idempotent: %q becomes %q", c.want, got)
			}
			if got := KeyOfURL(c.text); got != Md5(c.want) {
				t.Errorf("KeyOfURL(%q) = %s, want the md5 of %q", c.text, got, c.want)
			}
		})
	}
}

// A text without escapes, and one with canonical escapes, costs no allocation.
func TestKeyAllocates(t *testing.T) {
	for _, text := range []string{"http://example.com/articles/a-title-12345.html?ref=home", "http://example.com/%C3%A9", "http://example.com/%7Ea"} {
		text := strings.Clone(text)
		if n := testing.AllocsPerRun(100, func() { SumOfURL(text) }); n > 1 { // one: the bytes of a long text
			t.Errorf("SumOfURL(%q): %v allocations", text, n)
		}
	}
	text := strings.Clone("http://example.com/%C3%A9")
	if n := testing.AllocsPerRun(100, func() { NormalEscapes(text) }); n > 0 {
		t.Errorf("NormalEscapes: %v allocations", n)
	}
}

func FuzzNormalEscapes(f *testing.F) {
	for _, text := range []string{"http://h/%7e%c3%A9?a=%zz", "%%37E%", "%25%37%45", "é%C3%a9\xff%", "%4%%41%2e%2E"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := NormalEscapes(text)
		if twice := NormalEscapes(once); twice != once {
			t.Fatalf("%q becomes %q, then %q", text, once, twice)
		}
		before, err := url.PathUnescape(text)
		if err != nil {
			return // a percent sign that begins no escape
		}
		if after, err := url.PathUnescape(once); err != nil || after != before {
			t.Fatalf("%q means %q, %q means %q, %v", text, before, once, after, err)
		}
	})
}

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

func BenchmarkSumOfURL(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"plain", "https://www.example.com/articles/some-long-title-of-article-12345.html?ref=home&x=1"},
		{"canonical", "https://www.example.com/wiki/%D0%93%D0%BB%D0%B0%D0%B2%D0%BD%D0%B0%D1%8F"},
		{"lower case", "https://www.example.com/wiki/%d0%93%d0%bb%d0%b0%d0%b2%d0%bd%d0%b0%d1%8f"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				SumOfURL(c.text)
			}
		})
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
