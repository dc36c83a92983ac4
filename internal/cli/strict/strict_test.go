package strict

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

func TestProperties(t *testing.T) {
	names := Properties()
	if len(names) < 110 {
		t.Errorf("only %d names: %q", len(names), names)
	}
	for _, want := range []string{
		"HTTP_HEADERS", "TLSVerify", "HostConcurrency", "URL_TEMPLATE_REALTIME_URLENCODE", "RECRAWL_PERIOD_STEP", "COUNTER_CRIT_DURLS",
		"COUNTER_CRIT_CONTENTS", "MODES_FLAG", "AGING_URL_CRITERION", "template", "RECRAWL_DELETE_WHERE", "PROCESS_CTYPES", "LOGGER", "PDATE_SOURCES_MASK",
		"TAGS_MAPPING", "TAGS_TYPES", "SCRAPER_METRICS", "DEFAULT_METRIC", "SCRAPER_SCRAPY_PRECONFIGURED", "PDATE_TIME", "LINK_RESOLVE", "PROCESSOR_ALGORITHM",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %q", want, names)
		}
	}
	for _, name := range names {
		if strings.HasPrefix(name, "_") || name == "and" {
			t.Errorf("%q is no property", name)
		}
	}
}

func TestCheck(t *testing.T) {
	cases := map[string]struct {
		op   wire.Op
		raw  string
		want []string // part of each problem, in order
	}{
		"a good site":      {wire.SiteNew, `{"urls":["https://a.org/"],"requestDelay":1,"filters":[{"pattern":"^https://a\\.org/"}],"properties":{"HTTP_HEADERS":"A: b","HTTP_POST_FORM_q":"x"}}`, nil},
		"unknown key":      {wire.SiteNew, `{"urls":["https://a.org/"],"requestDelya":1}`, []string{"Site.requestDelya is unknown; did you mean requestDelay?"}},
		"unknown list":     {wire.SiteNew, `{"urls":["https://a.org/"],"filter":[]}`, []string{"did you mean filters?"}},
		"key of a filter":  {wire.SiteNew, `{"urls":["https://a.org/"],"filters":[{"pattern":"a","patern":"b"}]}`, []string{"Site.filters[0].patern is unknown; did you mean pattern?"}},
		"unknown property": {wire.SiteNew, `{"urls":["https://a.org/"],"properties":{"HTTP_HEADRES":"x"}}`, []string{"Site.properties.HTTP_HEADRES is unknown; did you mean HTTP_HEADERS?"}},
		"listed property":  {wire.SiteNew, `{"urls":["https://a.org/"],"properties":[{"name":"Robots_Mode","value":"1"}]}`, []string{"did you mean ROBOTS_MODE?"}},
		"value":            {wire.SiteNew, `{"urls":["https://a.org/"],"properties":{"RETRY":"{\"404\": {}}"}}`, []string{`Site.properties.RETRY has the cause "404"`}},
		"value of a list":  {wire.SiteNew, `{"urls":["https://a.org/"],"properties":[{"name":"RETRY","value":2}]}`, []string{"Site.properties.RETRY is"}},
		"filter":           {wire.SiteNew, `{"urls":["https://a.org/"],"filters":[{"pattern":"("}]}`, []string{`Site.filters[0].pattern = "(" does not compile`}},
		"no scheme":        {wire.SiteNew, `{"urls":["a.org"]}`, []string{`Site.urls[0] = "a.org" has no scheme; did you mean https://a.org/?`}},
		"another scheme":   {wire.SiteNew, `{"urls":[{"url":"ftp://a.org/"}]}`, []string{"only http and https"}},
		"several":          {wire.SiteNew, `{"urls":["a.org"],"nonsense":1,"properties":{"X":"y"}}`, []string{"Site.nonsense is unknown", "Site.urls[0]", "Site.properties.X is unknown"}},
		"refused":          {wire.SiteNew, `{"urls":5}`, []string{"is not a list"}},
		"an update":        {wire.SiteUpdate, `{"id":"a","stat":3}`, []string{"SiteUpdate.stat is unknown; did you mean state?"}},
		"a URL":            {wire.URLNew, `[{"url":"https://a.org/x","prioriti":1}]`, []string{"did you mean priority?"}},
		"an empty list":    {wire.ProxyNew, `[]`, []string{"PROXY_NEW is an empty list"}},
		"two spellings":    {wire.SiteNew, `{"urls":["https://a.org/x","https://A.org/x#y"]}`, []string{"Site.urls[1] = \"https://A.org/x#y\" is given twice"}},
		"property twice":   {wire.SiteNew, `{"urls":["https://a.org/"],"properties":[{"name":"TLSVerify","value":"1"},{"name":"TLSVerify","value":"0"}]}`, []string{"TLSVerify is given twice"}},
		"a state":          {wire.SiteUpdate, `{"id":"a","state":77}`, []string{`SITE_UPDATE.state = "77" is not one of 1 to 8`}},
		"a fetch type":     {wire.SiteNew, `{"urls":["https://a.org/"],"fetchType":9}`, []string{"is not one of 1, 2, 3, 7"}},
		"a stage":          {wire.SiteNew, `{"urls":["https://a.org/"],"filters":[{"pattern":"x","stage":77}]}`, []string{"SITE_NEW.filters[0].stage"}},
		"a status":         {wire.URLNew, `[{"siteId":"a","url":"https://a.org/x","status":99}]`, []string{"URL_NEW[0].status"}},
		"a mask":           {wire.URLContent, `[{"siteId":"a","url":"https://a.org/x","contentTypeMask":-1}]`, []string{"contentTypeMask"}},
		"a column":         {wire.URLContent, `[{"siteId":"a","url":"https://a.org/x","contentTypeMask":1,"dbFieldsList":["Stat"]}]`, []string{"did you mean State?"}},
		"excluded":         {wire.SiteStatus, `{"id":"a","excludeList":["filtres"]}`, []string{"did you mean filters?"}},
		"a clause":         {wire.URLDelete, `[{"siteId":"a","url":null,"criterions":{"WHRE":"1=1"}}]`, []string{"criterions.WHRE is unknown; did you mean WHERE?"}},
		"a batch":          {wire.BatchRun, `{"items":[{"urlObj":{"url":"https://a.org/"},"properties":{"FETCH_RAW_CONTENT":"1","reprocess":"0","recrawl":"1","processorName":"NEWS"}}]}`, nil},
		"bad items": {wire.BatchRun, `{"items":[{"urlObj":{"url":"a.org","dpeth":1}},{"urlObj":{"url":"https://b.org"}},
			{"urlObj":{"url":"https://B.org/"},"properties":{"FETCH_RAW_CONTNT":"1"},"siteObj":{"filters":[{"pattern":"("}],"properties":{"X":"y"}}}]}`, []string{
			"BatchItem[0].urlObj.dpeth is unknown; did you mean depth?", "BatchItem[0].urlObj.url", "BatchItem[2].urlObj.url = \"https://B.org/\" is given twice", "did you mean FETCH_RAW_CONTENT?",
			"siteObj.properties.X is unknown", "siteObj.filters[0].pattern",
		}},
		"no items": {wire.BatchRun, `{}`, []string{"Batch.items is empty"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Check(c.op, json.RawMessage(c.raw))
			if len(got) != len(c.want) {
				t.Fatalf("%v", got)
			}
			for i, want := range c.want {
				if !strings.Contains(got[i].String(), want) {
					t.Errorf("%s, want %s", got[i], want)
				}
			}
		})
	}
}

func TestField(t *testing.T) {
	if c, p := Field("requestDelay"); p != nil || c.Kind != schema.KindInt {
		t.Error(c, p)
	}
	if _, p := Field("RequestDelay"); p == nil || p.Near != "requestDelay" {
		t.Error(p)
	}
}
