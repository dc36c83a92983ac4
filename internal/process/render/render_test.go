package render

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/testkit/testgolden"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
)

// request is a file NAME.json in testdata; its answer is NAME.golden.
type request struct {
	Format json.RawMessage
	Result struct {
		Tags    []result.Tag
		Time    time.Duration // µs
		Metrics map[string]float64
	}
	Crawling  time.Duration // ms
	Errors    errormask.Mask
	Defaults  map[string]string
	EachTag   bool
	Languages []string
}

// docs/spec/processing.md 2.8: every macro and every name.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d requests below testdata, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var q request
			if err := json.Unmarshal(text, &q); err != nil {
				t.Fatal(err)
			}
			f, err := Parse(q.Format)
			if err != nil {
				t.Fatal(err)
			}
			r := result.Result{ID: "0f", Tags: q.Result.Tags, Time: q.Result.Time * time.Microsecond, Metrics: q.Result.Metrics}
			v := Values{CrawlingTime: q.Crawling * time.Millisecond, Errors: q.Errors, Defaults: q.Defaults, EachTag: q.EachTag, Languages: q.Languages}
			got, err := f.Render(&r, v)
			if err != nil {
				t.Fatal(err)
			}
			testgolden.Equal(t, strings.TrimSuffix(file, ".json")+".golden", got)
			if f != nil && f.name == "json" && !json.Valid([]byte(got)) {
				t.Errorf("no JSON: %s", got)
			}
			v.Escaped = true
			rs := []result.Result{r}
			f.Escape(rs)
			if again, err := f.Render(&rs[0], v); err != nil || f != nil && len(f.item) > 0 && again != got {
				t.Errorf("of escaped values: %s, %v", again, err)
			}
		})
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, text, err string
		usable          bool
	}{
		{"absent", ``, "", false},
		{"null", `null`, "", false},
		{"object", `{"name":"JSON","item":"x","type":"news"}`, "", true},
		{"text", `"{\"name\":\"xml\"}"`, "", true},
		{"no name", `{"item":"%title%"}`, "", true},
		{"unknown name", `{"name":"yaml","item":"x"}`, `output_format has "yaml" at "name"; expected json, html, xml, sql, csv or text; values are not escaped`, true},
		{"list", `[1]`, `output_format is [1]; expected an object`, false},
		{"item is a list", `{"name":"json","item":[]}`, `output_format has a JSON array at "item"; expected a text`, false},
		{"footer is a number", `{"name":"json","footer":1}`, `output_format has a JSON number at "footer"; expected a text`, false},
		{"no JSON", `{"name"`, `output_format is not valid JSON: it ends too early`, false},
		{"no JSON in a text", `"no"`, `output_format is no; expected an object`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Parse(json.RawMessage(tt.text))
			if (f != nil) != tt.usable {
				t.Errorf("format %v", f)
			}
			if got := errorText(err); got != tt.err {
				t.Errorf("error %q, want %q", got, tt.err)
			}
			if err != nil && errormask.Of(err) != errormask.TemplateSource {
				t.Errorf("bits %v", errormask.Of(err).Names())
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestMacroNames(t *testing.T) {
	for item, want := range map[string]string{
		"100% of %title%":     "100% of T",
		"%%title%%":           "%T%",
		"a%20b%3A%title%":     "a%20b%3AT",
		"%title":              "%title",
		"%un known%title%":    "%un knownT",
		"%media:content%":     "M",
		"%ti\"tle%":           "%ti\"tle%",
		"%назва%":             "U",
		"%missing%%title%":    "T",
		"%_own%%title_xpath%": "O",
	} {
		f := &Format{name: "text"}
		f.readItem(item)
		r := result.Result{Tags: []result.Tag{
			{Name: "title", Data: []string{" ", "T"}}, {Name: "media:content", Data: []string{"M"}},
			{Name: "назва", Data: []string{"U"}}, {Name: "_own", Data: []string{"O"}},
		}}
		if got, err := f.Render(&r, Values{}); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", item, got, err, want)
		}
	}
}

// docs/spec/processing.md 6.2 #17: the original filled the mask of another result into an item
// that all results shared.
func TestErrorsMaskIsOfEachResult(t *testing.T) {
	f := parse(t, `{"name":"text","item":"%title% %errors_mask%"}`)
	for title, bits := range map[string]errormask.Mask{"a 0": 0, "b 549755813888": errormask.MandatoryTemplate, "c 18446744073709551615": 1<<64 - 1} {
		r := result.Result{Tags: []result.Tag{{Name: "title", Data: []string{title[:1]}}}}
		if got, _ := f.Render(&r, Values{Errors: bits}); got != title {
			t.Errorf("got %q, want %q", got, title)
		}
	}
}

// docs/spec/processing.md 6.2 #18: unfilled macros stayed in the text.
func TestUnfilledMacros(t *testing.T) {
	f := parse(t, `{"name":"json","item":"{\"a\":\"%a%\",\"b\":%b%,\"x\":\"%a_xpath%%a_extractor%%a_lang%\",\"n\":\"%tag_name%%tag_value%_%extractor_value%\"}"}`)
	got, err := f.Render(&result.Result{}, Values{Defaults: map[string]string{"a": `"none"`}})
	if want := `{"a":"\"none\"","b":"","x":"","n":"_"}`; got != want || err != nil {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	// A blank value is no value; the default of a rule may be a value of the result, too.
	r := result.Result{Tags: []result.Tag{{Name: "a", Data: []string{" "}}, {Name: "b", Data: []string{"0"}, Default: true}}}
	if got, _ := f.Render(&r, Values{Defaults: map[string]string{"a": "none"}}); !strings.HasPrefix(got, `{"a":"none","b":0,`) {
		t.Errorf("got %s", got)
	}
}

// docs/spec/processing.md 6.2 #22: values of feed entries were not escaped.
func TestFeedValuesAreEscaped(t *testing.T) {
	r := result.Result{Tags: []result.Tag{
		{Name: "link", Data: []string{"http://a.test/?a=1&amp;b=2"}, Extractor: result.Feed},
		{Name: "summary", Data: []string{`<b>"A & B"</b>`}, Extractor: result.Feed},
	}}
	for name, want := range map[string]string{
		"xml":  `http://a.test/?a=1&amp;b=2 &lt;b&gt;&quot;A &amp; B&quot;&lt;/b&gt;`,
		"json": `"http://a.test/?a=1&amp;b=2 <b>\"A & B\"</b>"`,
		"text": `http://a.test/?a=1&amp;b=2 <b>"A & B"</b>`,
	} {
		item := `%link% %summary%`
		if name == "json" {
			item = `\"` + item + `\"`
		}
		f := parse(t, `{"name":"`+name+`","item":"`+item+`"}`)
		if got, _ := f.Render(&r, Values{}); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// docs/spec/processing.md 2.2, 2.8: escape by output format; the default's content_encoded.
func TestEscape(t *testing.T) {
	for name, want := range map[string]string{"json": `a\"b\\n`, "html": `a&quot;b\n`, "sql": `a\"b\\n`, "csv": `a"b\n`} {
		f := parse(t, `{"name":"`+name+`","item":"x"}`)
		shared := []string{`a"b\n`}
		rs := []result.Result{{}, {}}
		for i := range rs {
			rs[i].Tags = []result.Tag{{Name: "title", Data: shared}, {Name: "content_encoded", Data: shared}}
		}
		f.Escape(rs)
		for i, r := range rs {
			for _, tag := range r.Tags {
				if tag.Data[0] != want || tag.Plain != (name == "json" && i == 0 && tag.Name == "content_encoded") {
					t.Errorf("%s: result %d has %+v", name, i, tag)
				}
			}
		}
		if shared[0] != `a"b\n` {
			t.Errorf("%s: the old values changed", name)
		}
	}
	var none *Format
	none.Escape([]result.Result{{}})
	parse(t, `{"name":"json"}`).Escape(nil)
}

// A list of objects is JSON outside of quotes, a text elsewhere, and stored as it is.
func TestListOfObjects(t *testing.T) {
	const list = `[{"name":"a & \"b\""}]`
	for format, want := range map[string]string{
		`{"name":"json","item":"{\"l\":%goods%}"}`:     `{"l":[{"name":"a & \"b\""}]}`,
		`{"name":"json","item":"{\"l\":\"%goods%\"}"}`: `{"l":"[{\"name\":\"a & \\\"b\\\"\"}]"}`,
		`{"name":"xml","item":"<l>%goods%</l>"}`:       `<l>[{&quot;name&quot;:&quot;a &amp; \&quot;b\&quot;&quot;}]</l>`,
		`{"name":"csv","item":"%goods%"}`:              list,
	} {
		f := parse(t, format)
		r := result.Result{Tags: []result.Tag{{Name: "goods", Data: []string{list}, Type: result.TypeRecords}}}
		for _, escaped := range []bool{false, true} {
			got, err := f.Render(&r, Values{Escaped: escaped})
			if err != nil || got != want {
				t.Errorf("%s: %s, %v; want %s", format, got, err, want)
			}
			all := []result.Result{r}
			f.Escape(all)
			if all[0].First("goods") != list {
				t.Errorf("%s: stored as %s", format, all[0].First("goods"))
			}
		}
	}
}

// A result with values that break out of quotes, keys and lists.
func hostile(value string) result.Result {
	r := result.Result{ID: value, Metrics: map[string]float64{value: -1e300}, Message: value}
	for _, name := range []string{"title", "content_encoded", "own", "title_lang", value} {
		r.Tags = append(r.Tags, result.Tag{Name: name, Data: []string{value}, XPath: value, Extractor: value, Lang: value, LangSuffix: "_l"})
	}
	return r
}

var hostileValues = []string{
	`"},{"x":"`, `\`, "\x00\x1f\n\r\t\b", "\xff\xfe\xed\xa0\x80", "\u2028\u2029\U0001F600", `%title%%own%`, `1e400`, `-`, `01`, `1`, `true`, `null`, `{"a":1}`, `*/<!--]]>`, strings.Repeat(`"`, 5000), `</script>`, `,`, ``,
}

// The text of a json format is valid JSON whatever the values are.
func TestJSONStaysValid(t *testing.T) {
	for _, format := range []string{
		`{"name":"json","item":"{\"t\":\"%title%\",\"x\":\"%title_xpath% %title_extractor% %title_l%\",\"m\":\"%metrics%\"}"}`,
		`{"name":"json","item":"{\"t\":%title%,\"m\":%metrics%,%own%:[%own%,%missing%, %errors_mask%]}"}`,
		`{"name":"json","header":"[","item":"{}","footer":"]"}`,
		`{"name":"json","item":""}`,
		`{"name":"json","header":"{\"a\":\"","item":"%own%}","footer":"\"}"}`,
		`{"name":"json","header":"{","items_header":"\"list\":[","item":"{\"%tag_name%\":\"%tag_value%\",\"%tag_name%_%extractor_value%\":%tag_value%},\n","items_footer":"]","footer":"}"}`,
		`{"name":"json","header":"[","item":"%tag_value%,%title%,","footer":"]"}`,
	} {
		f := parse(t, format)
		for _, value := range hostileValues {
			r := hostile(value)
			v := Values{EachTag: f.perTag, Languages: []string{"title_lang", "own", value}, Defaults: map[string]string{"missing": value}}
			if got, err := f.Render(&r, v); err != nil || !json.Valid([]byte(got)) {
				t.Errorf("format %s, value %.20q: %v, %s", format, value, err, got)
			}
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, format := range []string{
		`{"name":"json","item":"{\"t\":\"%title%\",%own%:%own%}"}`, `{"name":"json","header":"\"","item":"}%title%","footer":"\""}`,
		`{"name":"xml","item":"%tag_name%"}`, `"{\"name\":\"json\",\"item\":\"[%metrics%,%a%]\"}"`, `{"name":"json","item":"%%%title%%","footer":7}`,
		`{"name":"json","item":"\"\\\\%title%\""}`,
	} {
		for _, value := range hostileValues[:5] {
			f.Add([]byte(format), value)
		}
	}
	f.Fuzz(func(t *testing.T, format []byte, value string) {
		f, err := Parse(format)
		if f == nil || err != nil && errormask.Of(err) != errormask.TemplateSource {
			return
		}
		empty, err := f.Render(&result.Result{}, Values{})
		if err != nil {
			t.Fatal(err)
		}
		r := hostile(value)
		got, err := f.Render(&r, Values{Languages: []string{"title_lang", value}})
		if err != nil {
			t.Fatal(err)
		}
		if f.name == "json" && json.Valid([]byte(empty)) && !json.Valid([]byte(got)) {
			t.Errorf("no JSON: %s", got)
		}
		if _, err := f.Render(&r, Values{EachTag: true}); err != nil {
			t.Fatal(err)
		}
	})
}

func parse(t testing.TB, text string) *Format {
	t.Helper()
	f, err := Parse(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A page has about fifteen tags and one item.
func BenchmarkRender(b *testing.B) {
	f := parse(b, `{"name":"json","item":"{\"t\":\"%title%\",\"c\":\"%content_encoded%\",\"a\":\"%author%\",\"e\":%errors_mask%}"}`)
	r := result.Result{}
	for _, name := range strings.Fields("title author pubdate description media link keywords html_lang a b c d e f") {
		r.Add(result.Tag{Name: name, Data: []string{"A short value"}, Extractor: "x"})
	}
	r.Add(result.Tag{Name: "content_encoded", Data: []string{strings.Repeat("A \"word\" of a text.\n", 500)}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Render(&r, Values{}); err != nil {
			b.Fatal(err)
		}
	}
}
