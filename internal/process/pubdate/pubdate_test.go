package pubdate

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/wire/property"
	"hce/dc/internal/wire/result"
)

var now = time.Date(2016, 6, 1, 12, 0, 0, 0, time.UTC)

const pageURL = "https://news.example/2016/a"

// read reads properties without an error.
func read(t testing.TB, expression string, pairs ...string) Rules {
	t.Helper()
	p := &property.Values{Texts: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		p.Texts[pairs[i]] = pairs[i+1]
	}
	rules := Read(p, expression)
	if len(p.Errs) > 0 {
		t.Fatal(p.Errs)
	}
	return rules
}

// The sources of docs/spec/processing.md 2.4 and their order.
// docs/spec/processing.md 2.4 #2, #16, #32, #64, #128, 1.5 PDATE_SOURCES_MASK, PDATE_SOURCES_MASK_OVERWRITE, PDATE_SOURCES_EXPRESSION.
func TestSources(t *testing.T) {
	feed := time.Date(2016, 1, 2, 3, 4, 5, 0, time.UTC)
	eval := func(text string) (string, error) { return strings.Trim(text, "'"), nil }
	tests := []struct {
		name       string
		s          Sources
		expression string
		pairs      []string
		want       string
		source     int64
	}{
		{name: "defaults: the page wins over the feed", s: Sources{Feed: feed, PubDate: "Nov 3 2015"}, want: "2015-11-03 00:00:00", source: 32},
		{name: "defaults: the feed, with its zone", s: Sources{Feed: feed}, want: "2016-01-02 03:04:05 +0000", source: 2},
		{name: "defaults: the feed, if the page has no date", s: Sources{Feed: feed, PubDate: "soon"}, want: "2016-01-02 03:04:05 +0000", source: 2},
		{name: "defaults: now, if nothing is found", want: "2016-06-01 12:00:00", source: 64},
		{name: "dc_date without pubdate", s: Sources{DublinCore: "2015-01-02"}, want: "2015-01-02 00:00:00", source: 16},
		{name: "dc_date and a blank pubdate", s: Sources{DublinCore: "2015-01-02", PubDate: " "}, want: "2015-01-02 00:00:00", source: 16},
		{name: "pubdate hides dc_date", s: Sources{DublinCore: "2015-01-02", PubDate: "soon"}, want: "2016-06-01 12:00:00", source: 64},
		{name: "another tag of type datetime", s: Sources{Others: []string{"soon", "2015-01-02", "2015-01-03"}}, want: "2015-01-02 00:00:00", source: 32},
		{name: "pubdate before other tags", s: Sources{PubDate: "2015-01-02", Others: []string{"2015-01-03"}}, want: "2015-01-02 00:00:00", source: 32},
		{name: "zone of the page", s: Sources{PubDate: "2015年 04月 22日 10:41 JST"}, want: "2015-04-22 10:41:00 +0900", source: 32},
		{name: "mask: feed only", s: Sources{Feed: feed, PubDate: "2015-01-02"}, pairs: []string{"PDATE_SOURCES_MASK", "2"}, want: "2016-01-02 03:04:05 +0000", source: 2},
		{name: "mask: without now", pairs: []string{"PDATE_SOURCES_MASK", "63"}},
		{name: "mask 0", s: Sources{PubDate: "2015-01-02"}, pairs: []string{"PDATE_SOURCES_MASK", "0"}},
		{name: "overwrite bit of the page: the feed wins", s: Sources{Feed: feed, PubDate: "2015-01-02"}, pairs: []string{"PDATE_SOURCES_MASK_OVERWRITE", "224"}, want: "2016-01-02 03:04:05 +0000", source: 2},
		{name: "overwrite 0: now replaces all", s: Sources{PubDate: "2015-01-02"}, pairs: []string{"PDATE_SOURCES_MASK_OVERWRITE", "0"}, want: "2016-06-01 12:00:00", source: 64},
		{name: "defaults: now hides the expression", expression: "'2014-01-01'", want: "2016-06-01 12:00:00", source: 64},
		{name: "expression instead of now", expression: "'2014-01-01'", pairs: []string{"PDATE_SOURCES_MASK", "191"}, want: "2014-01-01 00:00:00", source: 128},
		{name: "expression replaces the page", s: Sources{PubDate: "2015-01-02"}, expression: "'2014-01-01'", pairs: []string{"PDATE_SOURCES_MASK_OVERWRITE", "64"}, want: "2014-01-01 00:00:00", source: 128},
		{name: "expression over the date found so far", s: Sources{PubDate: "2015-01-02"}, expression: "%PDATE%", pairs: []string{"PDATE_SOURCES_MASK_OVERWRITE", "64"}, want: "2015-01-02 00:00:00", source: 128},
		{name: "relative date", s: Sources{PubDate: "Вчера, 18:59"}, want: "2016-05-31 18:59:00", source: 32},
		{name: "language: German", s: Sources{PubDate: "03/04/2015", Language: "de"}, want: "2015-04-03 00:00:00", source: 32},
		{name: "language: English", s: Sources{PubDate: "03/04/2015", Language: "en"}, want: "2015-03-04 00:00:00", source: 32},
		{name: "language: British", s: Sources{PubDate: "03/04/2015", Language: "en-GB"}, want: "2015-04-03 00:00:00", source: 32},
		{name: "language: Japanese", s: Sources{PubDate: "4/3 10:11", Language: "ja"}, want: "2016-04-03 10:11:00", source: 32},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.s.URL, tt.s.Now, tt.s.Evaluate = pageURL, now, eval
			r := Resolve(tt.s, read(t, tt.expression, tt.pairs...))
			if got := strings.TrimSpace(string(r.Date) + " " + r.Zone); got != tt.want || r.Source != tt.source || len(r.Errs) > 0 {
				t.Errorf("%q from %d, %v; want %q from %d; steps %q", got, r.Source, r.Errs, tt.want, tt.source, r.Steps)
			}
			if len(r.Steps) == 0 {
				t.Error("no steps")
			}
		})
	}
}

// resolveText resolves pubdate on the page with one property.
func resolveText(t *testing.T, text, name, value string, at time.Time) string {
	t.Helper()
	r := Resolve(Sources{URL: pageURL, Now: at, PubDate: text}, read(t, "", name, value))
	if len(r.Errs) > 0 {
		t.Error(r.Errs)
	}
	return strings.TrimSpace(string(r.Date) + " " + r.Zone)
}

// docs/spec/processing.md 2.4 and 6.2 #21: order 0 is day and month, 1 is month and day.
// docs/spec/processing.md 1.5 PDATE_DAY_MONTH_ORDER.
func TestDayMonthOrder(t *testing.T) {
	for _, tt := range []struct{ name, value, text, want string }{
		{"0: day first", `[{"pattern":"news\\.example","order":0}]`, "03/04/2015", "2015-04-03 00:00:00"},
		{"1: month first", `[{"pattern":"news\\.example","order":1}]`, "03/04/2015", "2015-03-04 00:00:00"},
		{"1 does not swap what is certain", `[{"pattern":".","order":1}]`, "23/04/2015", "2015-04-23 00:00:00"},
		{"1 with dots", `[{"pattern":".","order":1}]`, "03.04.2015", "2015-03-04 00:00:00"},
		{"0 and a month name", `[{"pattern":".","order":0}]`, "Mar 4, 2015", "2015-03-04 00:00:00"},
		{"0 and an ISO date", `[{"pattern":".","order":0}]`, "2015-03-04", "2015-03-04 00:00:00"},
		{"another URL", `[{"pattern":"^ftp:","order":0}]`, "03/04/2015", "2015-03-04 00:00:00"},
		{"first match", `[{"pattern":"^ftp:","order":1},{"pattern":"2016","order":"0"},{"pattern":".","order":1}]`, "03/04/2015", "2015-04-03 00:00:00"},
		{"one object instead of a list", `{"order":0}`, "03/04/2015", "2015-04-03 00:00:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := resolveText(t, tt.text, "PDATE_DAY_MONTH_ORDER", tt.value, now); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// docs/spec/processing.md 2.4 and 6.2 #21: the result is t - from + to.
// docs/spec/processing.md 1.5 PDATE_TIMEZONES.
func TestTimezones(t *testing.T) {
	const unzoned, tokyo, newYork = "2016-05-01 10:00", "2016-05-01 10:00:00 +0900", "2016-05-01 10:00:00 -0400"
	server := now.In(time.FixedZone("server", 3*3600))
	for _, tt := range []struct{ name, value, text, want string }{
		{"0: always, source zone", `[{"pattern":".","zone_to":"+0000","condition":0}]`, tokyo, "2016-05-01 01:00:00 +0000"},
		{"0: always, no zone counts as UTC", `[{"pattern":".","zone_to":"+2","condition":0}]`, unzoned, "2016-05-01 12:00:00 +0200"},
		{"0: zone_from replaces that of the source", `[{"pattern":".","zone_from":"+0800","zone_to":"+0000"}]`, tokyo, "2016-05-01 02:00:00 +0000"},
		{"both zones west of Greenwich", `[{"zone_from":"-05:00","zone_to":"-08:00"}]`, unzoned, "2016-05-01 07:00:00 -0800"},
		{"from the west to the east", `[{"zone_to":"+0530"}]`, newYork, "2016-05-01 19:30:00 +0530"},
		{"abbreviations", `[{"zone_from":"EST","zone_to":"JST"}]`, unzoned, "2016-05-02 00:00:00 +0900"},
		{"names, summer time", `[{"zone_from":"Europe/Kyiv","zone_to":"America/New_York"}]`, unzoned, "2016-05-01 03:00:00 -0400"},
		{"number without quotes", `[{"zone_to":2}]`, unzoned, "2016-05-01 12:00:00 +0200"},
		{"to LOCAL", `[{"zone_to":"LOCAL"}]`, tokyo, "2016-05-01 04:00:00 +0300"},
		{"from LOCAL", `[{"zone_from":"LOCAL","zone_to":"UTC"}]`, unzoned, "2016-05-01 07:00:00 +0000"},
		{"1: the source has a zone", `[{"zone_to":"+0000","condition":1}]`, tokyo, "2016-05-01 01:00:00 +0000"},
		{"1: the source has none", `[{"zone_to":"+0500","condition":1}]`, unzoned, "2016-05-01 10:00:00"},
		{"2: the source has a zone", `[{"zone_to":"+0500","condition":2}]`, tokyo, "2016-05-01 10:00:00 +0900"},
		{"2: the source has none", `[{"zone_from":"+0900","zone_to":"+0000","condition":2}]`, unzoned, "2016-05-01 01:00:00 +0000"},
		{"3: equal", `[{"zone_from":"JST","zone_to":"+0000","condition":3}]`, tokyo, "2016-05-01 01:00:00 +0000"},
		{"3: different", `[{"zone_from":"JST","zone_to":"+0000","condition":3}]`, newYork, "2016-05-01 10:00:00 -0400"},
		{"3: no zone", `[{"zone_from":"JST","zone_to":"+0000","condition":3}]`, unzoned, "2016-05-01 10:00:00"},
		{"4: different", `[{"zone_from":"JST","zone_to":"+0000","condition":4}]`, newYork, "2016-05-01 01:00:00 +0000"},
		{"4: equal", `[{"zone_from":"JST","zone_to":"+0000","condition":4}]`, tokyo, "2016-05-01 10:00:00 +0900"},
		{"4: no zone", `[{"zone_from":"JST","zone_to":"+0000","condition":4}]`, unzoned, "2016-05-01 01:00:00 +0000"},
		{"another URL", `[{"pattern":"^ftp:","zone_to":"+0000"}]`, tokyo, "2016-05-01 10:00:00 +0900"},
		{"first rule whose condition holds", `[{"zone_to":"+0100","condition":2},{"zone_to":"+0200"},{"zone_to":"+0300"}]`, tokyo, "2016-05-01 03:00:00 +0200"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := resolveText(t, tt.text, "PDATE_TIMEZONES", tt.value, server); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// docs/spec/processing.md 1.5 PDATE_TIME.
func TestPDateTime(t *testing.T) {
	failure := errors.New("near FOO: unknown function")
	for _, tt := range []struct {
		name, value, answer string
		err                 error
		want, asked, fails  string
	}{
		{name: "computed, macro in quotes", value: `[{"pattern":".","value":"DATE_ADD('%PDATE%', INTERVAL 1 DAY)"}]`, answer: "2015-11-04 10:00:00", want: "2015-11-04 10:00:00 +0900", asked: "DATE_ADD('2015-11-03 10:00:00', INTERVAL 1 DAY)"},
		{name: "computed", value: `[{"pattern":".","value":"DATE_ADD(%PDATE%, INTERVAL 1 DAY)"}]`, answer: "2015-11-04 10:00:00", want: "2015-11-04 10:00:00 +0900", asked: "DATE_ADD('2015-11-03 10:00:00', INTERVAL 1 DAY)"},
		{name: "field of the URL", value: `[{"pattern":".","value":"%CDATE%"}]`, answer: "2015-01-01 00:00:00", want: "2015-01-01 00:00:00 +0900", asked: "%CDATE%"},
		{name: "NULL keeps the date", value: `[{"pattern":".","value":"NULL"}]`, want: "2015-11-03 10:00:00 +0900", asked: "NULL"},
		{name: "another URL", value: `[{"pattern":"^ftp:","value":"NOW()"}]`, want: "2015-11-03 10:00:00 +0900"},
		{name: "refused", value: `[{"pattern":".","value":"FOO()"}]`, err: failure, want: "2015-11-03 10:00:00 +0900", asked: "FOO()", fails: `PDATE_TIME has "FOO()"`},
		{name: "no date", value: `[{"pattern":".","value":"7"}]`, answer: "7", want: "2015-11-03 10:00:00 +0900", asked: "7", fails: `gives "7"; expected a date`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := ""
			s := Sources{URL: pageURL, Now: now, PubDate: "2015-11-03 10:00:00 +0900", Evaluate: func(text string) (string, error) {
				asked = text
				return tt.answer, tt.err
			}}
			r := Resolve(s, read(t, "", "PDATE_TIME", tt.value))
			if got := string(r.Date) + " " + r.Zone; got != tt.want || asked != tt.asked {
				t.Errorf("%q, asked %q; want %q, %q", got, asked, tt.want, tt.asked)
			}
			if (len(r.Errs) > 0) != (tt.fails != "") || len(r.Errs) > 0 && !strings.Contains(r.Errs[0].Error(), tt.fails) {
				t.Errorf("errors %v, want %q", r.Errs, tt.fails)
			}
		})
	}
	r := Resolve(Sources{Now: now}, read(t, "", "PDATE_TIME", `[{"value":"NOW()"}]`))
	if len(r.Errs) != 1 {
		t.Errorf("without an evaluator: %v", r.Errs)
	}
}

func TestUnreadableProperties(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"PDATE_SOURCES_MASK", "all", `property PDATE_SOURCES_MASK`},
		{"PDATE_SOURCES_MASK_OVERWRITE", "-1", `expected a number of at least 0`},
		{"PDATE_DAY_MONTH_ORDER", `[{"pattern":".","order":2}]`, `element 1 has order 2; expected 0 or 1`},
		{"PDATE_DAY_MONTH_ORDER", `[{"pattern":"("}]`, `element 1 has no order; expected 0 or 1`},
		{"PDATE_DAY_MONTH_ORDER", `[{"pattern":"(","order":1}]`, `element 1 has the pattern "("`},
		{"PDATE_DAY_MONTH_ORDER", `7`, `property PDATE_DAY_MONTH_ORDER is a JSON number; expected a list`},
		{"PDATE_TIME", `[{"pattern":"."}]`, `element 1 has no value; expected an SQL expression`},
		{"PDATE_TIME", `[{"value":7}]`, `element 1 at "value"`},
		{"PDATE_TIMEZONES", `[{"zone_to":"+1"},{"zone_to":"Mars"}]`, `element 2 has zone_to "Mars"; expected LOCAL`},
		{"PDATE_TIMEZONES", `[{"zone_to":"../etc/passwd"}]`, `has zone_to "../etc/passwd"`},
		{"PDATE_TIMEZONES", `[{"zone_to":"+99"}]`, `has zone_to "+99"`},
		{"PDATE_TIMEZONES", `[{"pattern":"."}]`, `element 1 has no zone_to`},
		{"PDATE_TIMEZONES", `[{"zone_to":"+1","condition":5}]`, `element 1 has condition 5; expected 0 to 4`},
		{"PDATE_TIMEZONES", `[{"zone_to":"+1","condition":3}]`, `element 1 has condition 3; expected a zone_from with it`},
	} {
		p := &property.Values{Texts: map[string]string{tt.name: tt.value}}
		Read(p, "")
		if len(p.Errs) != 1 || !strings.Contains(p.Errs[0].Error(), tt.want) || !strings.Contains(p.Errs[0].Error(), "property "+tt.name) {
			t.Errorf("%s %s: %v, want %q", tt.name, tt.value, p.Errs, tt.want)
		}
	}
	p := &property.Values{Texts: map[string]string{"PDATE_TIMEZONES": `[{"zone_to":"Mars"},{"zone_to":"+0100"}]`}}
	if r := Resolve(Sources{URL: pageURL, Now: now}, Read(p, "")); r.Zone != "+0100" {
		t.Errorf("the valid element does not count: %+v", r)
	}
}

// The examples of docs/dates.md.
func TestExamplesOfTheManual(t *testing.T) {
	const orders = `[{"pattern": "^https://shop\\.example/uk/", "order": 0}, {"pattern": "^https://shop\\.example/", "order": 1}]`
	const zones = `[{"pattern": "^https://tokyo\\.example/", "zone_from": "Asia/Tokyo", "zone_to": "+0000", "condition": 2}, {"zone_to": "+0000", "condition": 1}]`
	for _, tt := range []struct{ url, text, language, want string }{
		{"", "Updated: Tue, 4 June 2024, 5:30 p.m. EST", "", "2024-06-04 17:30:00 -0500"},
		{"", "4 червня 2024 р. о 17:30", "", "2024-06-04 17:30:00"},
		{"", "2024年6月4日 17時30分", "", "2024-06-04 17:30:00"},
		{"", "令和6年6月4日", "", "2024-06-04 00:00:00"},
		{"", "2024-06-04T17:30+02:00", "", "2024-06-04 17:30:00 +0200"},
		{"", "20240604T1730Z", "", "2024-06-04 17:30:00 +0000"},
		{"", "1717522200", "", "2024-06-04 17:30:00 +0000"},
		{"", "June 4–7, 2024", "", "2024-06-04 00:00:00"},
		{"", "gestern, 17:30 Uhr", "", "2016-05-31 17:30:00"},
		{"", "3 часа назад", "", "2016-06-01 09:00:00"},
		{"", "３日前", "", "2016-05-29 00:00:00"},
		{"", "17:30", "", "2016-05-31 17:30:00"},
		{"", "4 June", "", "2016-06-04 00:00:00"},
		{"", "03/04/2024", "en-US", "2024-03-04 00:00:00"},
		{"", "03/04/2024", "en-IN", "2024-04-03 00:00:00"},
		{"", "03.04.2024", "en", "2024-04-03 00:00:00"},
		{"https://shop.example/uk/1", "03/04/2024", "", "2024-04-03 00:00:00"},
		{"https://shop.example/1", "03/04/2024", "de", "2024-03-04 00:00:00"},
		{"https://tokyo.example/1", "2024-06-04 01:30", "", "2024-06-03 16:30:00 +0000"},
		{"https://other.example/1", "2024-06-04 01:30 EST", "", "2024-06-04 06:30:00 +0000"},
	} {
		s := Sources{URL: tt.url, Now: now, PubDate: tt.text, Language: tt.language}
		rules := read(t, "", "PDATE_DAY_MONTH_ORDER", orders)
		if strings.Contains(tt.url, "tokyo") || strings.Contains(tt.url, "other") {
			rules = read(t, "", "PDATE_TIMEZONES", zones)
		}
		r := Resolve(s, rules)
		if got := strings.TrimSpace(string(r.Date) + " " + r.Zone); got != tt.want {
			t.Errorf("%q on %s: %q, want %q", tt.text, tt.url, got, tt.want)
		}
	}
}

func TestRulesAreBounded(t *testing.T) {
	list := "[" + strings.Repeat(`{"pattern":"^ftp:","order":0},`, maxRules) + `{"pattern":".","order":0}]`
	p := &property.Values{Texts: map[string]string{"PDATE_DAY_MONTH_ORDER": list}}
	rules := Read(p, "")
	if len(p.Errs) != 1 || !strings.Contains(p.Errs[0].Error(), "has 101 elements; the first 100 count") || len(rules.orders) != maxRules {
		t.Errorf("%d rules, %v", len(rules.orders), p.Errs)
	}
}

// tags returns the names and first values of a result.
func tags(r result.Result) string {
	var all []string
	for _, t := range r.Tags {
		all = append(all, t.Name+"="+t.First())
	}
	return strings.Join(all, "; ")
}

// docs/spec/processing.md 2.2 and 2.6: the tags of dates, with the check values of 2.6.
func TestApply(t *testing.T) {
	tag := func(name, value string) result.Tag {
		return result.Tag{Name: name, Data: []string{value}, Extractor: "ScrapyExtractor"}
	}
	typed := func(t result.Tag) result.Tag { t.Type = dateTime; return t }
	source := result.Tag{Name: "source_url", Data: []string{pageURL}, Extractor: result.Service}
	for _, tt := range []struct {
		name        string
		tags        []result.Tag
		want        string
		count, mask int64
	}{
		{"body and pubdate found", []result.Tag{tag("body", "text"), typed(tag("pubdate", "Nov 3 2015")), source},
			"body=text; pubdate=2015-11-03 00:00:00; source_url=" + pageURL + "; pubdate_normalized=2015-11-03 00:00:00", 4, 33554436},
		{"body and pubdate found, with a zone", []result.Tag{tag("body", "text"), tag("pubdate", "2015-11-03 10:00 JST"), source},
			"body=text; pubdate=2015-11-03 10:00:00; source_url=" + pageURL + "; pubdate_tz=+0900", 4, 33554436},
		{"nothing found", []result.Tag{source}, "source_url=" + pageURL + "; pubdate=2016-06-01 12:00:00", 2, 33554436},
		{"another tag of type datetime", []result.Tag{typed(tag("updated_at", "3 мая 2015")), source},
			"updated_at=3 мая 2015; source_url=" + pageURL + "; updated_at_normalized=2015-05-03 00:00:00; pubdate=2015-05-03 00:00:00", 4, 33554436},
		{"tag of type datetime without a date", []result.Tag{typed(tag("updated_at", "soon"))},
			"updated_at=soon; pubdate=2016-06-01 12:00:00", 2, 4},
		{"language of the page", []result.Tag{tag("html_lang", "fr"), tag("pubdate", "03/04/2015")},
			"html_lang=fr; pubdate=2015-04-03 00:00:00", 2, 1<<16 | 4},
		{"unreadable pubdate", []result.Tag{tag("pubdate", "soon")}, "pubdate=2016-06-01 12:00:00", 1, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := result.Result{Tags: tt.tags}
			Apply(&r, Sources{URL: pageURL, Now: now}, read(t, ""))
			if got := tags(r); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
			if r.Count() != tt.count || r.Mask(nil) != tt.mask {
				t.Errorf("count %d, mask %d; want %d, %d", r.Count(), r.Mask(nil), tt.count, tt.mask)
			}
		})
	}
}

func FuzzProperties(f *testing.F) {
	for _, s := range []string{
		`[{"pattern":"(a+)+$","order":0}]`, `[{"zone_to":"Local"},{"zone_to":"Etc/GMT+12","zone_from":"+1500"}]`, strings.Repeat(`[`, 2000),
		`[{"pattern":"\\","order":"1e99"}]`, `{"value":"%PDATE%%PDATE%","pattern":"(?!x)","condition":"4","zone_to":"+0000","zone_from":-12}`, `[null,{},[],"x"]`,
	} {
		f.Add(s, "03/04/2015 10:00 -0500")
	}
	f.Fuzz(func(t *testing.T, value, text string) {
		p := &property.Values{Texts: map[string]string{}}
		for _, name := range []string{"PDATE_SOURCES_MASK", "PDATE_SOURCES_MASK_OVERWRITE", "PDATE_DAY_MONTH_ORDER", "PDATE_TIME", "PDATE_TIMEZONES"} {
			p.Texts[name] = value
		}
		r := Resolve(Sources{URL: pageURL, Now: now, PubDate: text, Evaluate: func(string) (string, error) { return text, nil }}, Read(p, value))
		if _, ok := r.Date.Time(); r.Date != "" && !ok || r.Zone != "" && len(r.Zone) != 5 {
			t.Errorf("%q with %q: %+v", text, value, r)
		}
	})
}
