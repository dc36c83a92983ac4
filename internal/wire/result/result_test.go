package result

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func sample() Result {
	r := Result{ID: "0123", Time: 12300 * time.Microsecond, Metrics: map[string]float64{"TAGS_NUMBER": 2}}
	r.Add(Tag{Name: "title", Data: []string{" ", "News"}, XPath: "//h1", Extractor: "ScrapyExtractor", Type: "text", Lang: "en", LangSuffix: "_language"})
	r.Add(Tag{Name: "guid", Data: []string{"7"}, Extractor: Feed})
	r.Add(Tag{Name: "content_encoded", Data: []string{"A text."}, Extractor: "Scraper", Plain: true})
	return r
}

func TestEncode(t *testing.T) {
	stored, err := Encode([]Result{sample()}, []string{"custom text"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := Expand(stored)
	if err != nil {
		t.Fatal(err)
	}
	const inner = `{"data":{"resId":"0123","tagList":[[` +
		`{"name":"title","data":["News"],"xpath":"//h1","extractor":"ScrapyExtractor","type":"text","lang":"en","lang_suffix":"_language"},` +
		`{"name":"guid","data":["7"],"xpath":null,"extractor":"ProcessorFeedParser"},` +
		`{"name":"content_encoded","data":"A text.","xpath":null,"extractor":"Scraper","type":null}` +
		`]]},"error_code":0,"error_message":"","time":"0.0123","metrics":"{\"TAGS_NUMBER\":2}"}`
	want := `{"custom":["custom text"],"default":` + inner + `,"internal":[` + inner + `]}`
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	for name, stored := range map[string][]byte{"packed": stored, "plain": text, "base64": []byte(base64.StdEncoding.EncodeToString(text))} {
		got := Decode(stored)
		if !reflect.DeepEqual(got.Default, sample()) || len(got.Internal) != 1 || len(got.Custom) != 1 {
			t.Errorf("%s: decoded %+v", name, got)
		}
	}
}

// A stored value has each text once and compressed. One that cannot be expanded has no parts.
func TestExpand(t *testing.T) {
	r := sample()
	for i := range 100 {
		r.Add(Tag{Name: fmt.Sprint("tag", i), Data: []string{fmt.Sprintf("Value <%d> & more words.", i)}, Extractor: "NewspaperExtractor"})
	}
	other := Result{ID: "0123"}
	for name, results := range map[string][]Result{"one result": {r}, "two results": {r, other}, "without tags": {other}} {
		stored, err := Encode(results, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := Expand(stored)
		var value struct{ Default, Internal json.RawMessage }
		if err != nil || json.Unmarshal(text, &value) != nil || !bytes.HasPrefix(value.Internal, append([]byte("["), value.Default...)) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		if len(results[0].Tags) > 100 && len(stored) > len(text)/6 {
			t.Errorf("%s: %d bytes of %d are stored", name, len(stored), len(text))
		}
		if main, ok := Main(stored); !ok || !bytes.HasPrefix(main, []byte(`{"default":{"data":{"resId":"0123"`)) {
			t.Errorf("%s: main part %s", name, main)
		}
		damaged := stored[:len(stored)/2]
		if got, err := Expand(damaged); err == nil {
			t.Errorf("%s: half of it expands to %s", name, got)
		}
		if got := Decode(damaged); got.Internal != nil {
			t.Errorf("%s: half of it has %d results", name, len(got.Internal))
		}
	}
}

// docs/spec/processing.md 6.2 #26: raw-data could not be read back. #5: metrics were encoded
// again at each serialization.
func TestOtherEncodings(t *testing.T) {
	raw, err := EncodeRaw(Result{ID: "0123"}, []byte("<p>\xff"))
	if got := Decode(raw); err != nil || len(got.Custom) != 1 || got.Custom[0] != "PHA+/w==" || got.Default.ID != "0123" || len(got.Internal) != 1 {
		t.Errorf("raw-data is %s, %v", raw, err)
	}
	r := sample()
	one, err := r.EncodeDefault()
	again := Decode(one).Default
	two, err2 := again.EncodeDefault()
	if err != nil || err2 != nil || string(one) != string(two) {
		t.Errorf("encoded twice: %s, then %s", one, two)
	}
}

// Values of unknown shapes give empty parts, never a panic.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"\x28\xb5\x2f\xfd", ``, `null`, `[]`, `{"default":{"data":{"tagList":[]}}}`, `{"default":{"data":{"tagList":[[{"data":7}]]},"metrics":"[1]"}}`,
		`{"default":{"data":{"tagList":[[{"name":"a","data":null,"xpath":7,"type":{}}]]},"time":"x","metrics":"{\"A\":{}}"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := Decode(text)
		for i := range c.Internal {
			if _, err := c.Internal[i].EncodeDefault(); err != nil {
				t.Error(err)
			}
		}
	})
}

// docs/spec/processing.md 1.5 TAGS_MAPPING, 2.6.
func TestCountAndMask(t *testing.T) {
	r := sample()
	r.Add(Tag{Name: "pubdate", Data: []string{"2026-01-02"}, Default: true})
	r.Add(Tag{Name: "own", Data: []string{"x"}})
	if n := r.Count(); n != 4 {
		t.Errorf("Count is %d, want 4: title, guid, content_encoded, own", n)
	}
	if m := r.Mask(nil); m != 1<<3|1<<9|1<<1 {
		t.Errorf("Mask is %d", m)
	}
	if m := r.Mask(map[string]int64{"own": 64, "title": 1, "pubdate": 2}); m != 65 {
		t.Errorf("Mask with TAGS_MAPPING is %d, want 65", m)
	}
	r.Remove("title")
	r.Add(Tag{Name: "own", Data: []string{"  "}})
	if r.Tag("title") != nil || r.First("own") != "x" {
		t.Errorf("tags are %+v", r.Tags)
	}
}

// docs/spec/processing.md 2.6 #0 to #25.
func TestMaskOfEachTag(t *testing.T) {
	for bit, names := range []string{
		"media", "content_encoded content", "pubdate published", "title", "link", "description", "updated_parsed", "dc_date", "author", "guid",
		"keywords", "media_thumbnail", "enclosure", "media_content", "google_search", "google_search_total", "html_lang", "parent_rss_feed",
		"parent_rss_feed_urlMd5", "summary_detail", "summary", "comments", "tags", "updated", "order_number", "source_url",
	} {
		for name := range strings.FieldsSeq(names) {
			r := Result{Tags: []Tag{{Name: name, Data: []string{"x"}}, {Name: "feed_url", Data: []string{"x"}}}}
			if m := r.Mask(nil); m != 1<<bit {
				t.Errorf("the mask of %s is %d, want %d", name, m, 1<<bit)
			}
		}
	}
}

// docs/spec/processing.md 2.7 TAGS_NUMBER, WORDS_NUMBER, CONTENT_SIZE.
func TestMetrics(t *testing.T) {
	r := Result{}
	r.Add(Tag{Name: "title", Data: []string{"ab cde 12-3 日"}})
	r.Tags = append(r.Tags, Tag{Name: "empty"})
	for name, want := range map[string]float64{
		"TAGS_NUMBER": 1, "METRIC_TAGS_COUNT_PERCENT": 50, "words_number": 4, "WORDS_NUMBER_PERCENT": 50,
		"CONTENT_SIZE": 13, "METRIC_CONTENT_SIZE_PERCENT": 69,
	} {
		if got, err := r.Metric(name); err != nil || got != want {
			t.Errorf("%s is %v, %v, want %v", name, got, err, want)
		}
	}
	if _, err := r.Metric("OTHER"); err == nil {
		t.Error("an unknown metric has a value")
	}
	r.Metrics = map[string]float64{"WORDS_NUMBER": 9}
	if got, _ := r.Metric("METRIC_WORDS_COUNT"); got != 9 {
		t.Errorf("the stored metric is %v, want 9", got)
	}
}
