package scraper_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
	"unicode/utf8"

	"hce/dc/internal/process/scraper"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/result"
)

// names are the properties that FuzzScrape gives a value to.
var names = []string{
	"template", "PROCESSOR_PROPERTIES", "SCRAPER_METRICS", "DEFAULT_METRIC", "SCRAPER_SCRAPY_PRECONFIGURED", "CONTENT_HASH", "TAGS_MAPPING", "TAGS_TYPES",
	"MEDIA_LIMITS", "PDATE_SOURCES_MASK", "PDATE_SOURCES_MASK_OVERWRITE", "PDATE_DAY_MONTH_ORDER", "PDATE_TIME", "PDATE_TIMEZONES", "HTTP_REDIRECT_LINK",
	"URL_CHAIN", "URL_NORMALIZE_MASK_PROCESSOR", "PROCESSOR_ALGORITHM",
}

// Whatever a site asks for and whatever a page is: what is stored is JSON, each error bit has a message,
// and the explanation of a page changes nothing.
func FuzzScrape(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var r request
		if err := json.Unmarshal(raw, &r); err != nil {
			f.Fatal(err)
		}
		for i, name := range names {
			if value, given := r.Properties[name]; given {
				text, is := value.(string)
				if !is {
					raw, _ := json.Marshal(value)
					text = string(raw)
				}
				processor, _ := r.Properties["PROCESSOR_NAME"].(string)
				f.Add(uint8(i), text, processor, r.Type, r.Header, []byte(r.Text))
			}
		}
	}
	f.Add(uint8(0), `{"output_format":{"name":"json","item":"%a%%tag_name%"}}`, "FEED_PARSER", "text/json", "X-feed_url: \xff", []byte(`{"entry":{"title":"\ud800"}}`))
	f.Fuzz(func(t *testing.T, name uint8, value, processor, kind, header string, text []byte) {
		if len(value) > 2000 || len(text) > 4000 {
			return // no slow expressions on large pages: max_item_time ends them
		}
		source := &scraper.Source{
			Properties: map[string]string{names[int(name)%len(names)]: value, "PROCESSOR_NAME": processor},
			Filters:    []filter.Rule{{Pattern: value, Stage: filter.StagePrepared, Action: -1, State: 1}, {Pattern: "x", Mode: 1, State: 1, Action: -1}},
		}
		scrape := func(explain bool) scraper.Output {
			rules, problems := scraper.Compile(source)
			for _, p := range problems {
				if p.Text == "" {
					t.Error("a problem without a text")
				}
			}
			row := wire.NewURL("s", "http://fuzz.test/a")
			return scraper.Scrape(&scraper.Page{
				ID: row.URLMd5, URL: row.URL, Type: kind, Processor: processor, Text: text, Header: []byte(header), Entry: processor == "FEED_PARSER",
				Fields: map[string]string{"url": row.URL}, Now: time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC), Row: &row, Limits: &wire.Site{ID: "s"}, Room: 5,
				Explain: explain,
			}, rules)
		}
		out, explained := scrape(false), scrape(true)
		if explained.Explained == nil || out.Bits != explained.Bits || out.Item.TagsCount != explained.Item.TagsCount || out.Item.Hash != explained.Item.Hash {
			t.Errorf("explained: %v, %d tags; want %v, %d", explained.Bits.Names(), explained.Item.TagsCount, out.Bits.Names(), out.Item.TagsCount)
		}
		if out.Bits != 0 && out.Message == "" || out.Refused && out.Bits == 0 {
			t.Errorf("%v, refused %v without a message", out.Bits.Names(), out.Refused)
		}
		contents := [][]byte{out.Item.Content}
		for _, item := range out.Items {
			contents = append(contents, item.Content)
		}
		for i, content := range contents {
			if content == nil && i == 0 {
				continue
			}
			text, err := result.Expand(content)
			if err != nil || !json.Valid(text) || !utf8.Valid(text) {
				t.Errorf("content %d: %q %v", i, text, err)
			}
		}
	})
}
