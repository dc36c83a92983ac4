package random_test

import "strings"

// field is one key of a request and its possible values.
type field struct {
	name  string
	value func(*generator) any
}

func ints(values ...int64) func(*generator) any {
	return func(g *generator) any { return g.int(values...) }
}

func texts(values ...string) func(*generator) any {
	return func(g *generator) any { return g.text(values...) }
}

func aMask(g *generator) any { return g.mask() }
func aDate(g *generator) any { return g.date() }
func aMd5(g *generator) any  { return g.md5() }
func aWord(g *generator) any { return g.word() }

func aFloat(g *generator) any {
	if g.one(8) {
		return g.text("0.5", "30000", "12")
	}
	return []any{0, 0.25, 0.5, 1, 30000, 1234.5}[g.r.IntN(6)]
}

// urlFields are the stored fields of a URL without its key (docs/spec/objects.md 2.7).
var urlFields = []field{
	{"type", ints(0, 0, 0, 1, 2, 3, 6)}, {"state", ints(0, 0, 0, 1, 2)}, {"status", ints(0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8)},
	{"crawled", ints(0, 0, 1, 2)}, {"processed", ints(0, 0, 1)},
	{"contentType", texts("", "text/html", "text/html", "Text/HTML", "text/html ", "text/xml", "application/rss+xml")},
	{"requestDelay", ints(0, 500, 1000)}, {"processingDelay", ints(0, 500, 1000)}, {"httpTimeout", aFloat},
	{"charset", texts("", "utf-8", "UTF-8", "utf-8 ", "windows-1251")}, {"batchId", ints(0, 7, 8, 4000000000)}, {"errorMask", aMask},
	{"crawlingTime", ints(0, 1, 120, 333)}, {"processingTime", ints(0, 5, 77)}, {"totalTime", ints(0, 200)},
	{"httpCode", ints(0, 200, 200, 301, 404, 500)}, {"httpMethod", texts("get", "post", "")}, {"size", ints(0, 1, 100, 10240, 1<<40)},
	{"linksI", ints(0, 1, 11)}, {"linksE", ints(0, 2)}, {"freq", ints(0, 1, 9)}, {"depth", ints(0, 1, 2, 3)}, {"rawContentMd5", aMd5},
	{"parentMd5", func(g *generator) any {
		if g.one(4) {
			return ""
		}
		return g.md5()
	}},
	{"lastModified", aDate}, {"eTag", texts("", `"tag"`, "tag", `W/"Tag"`)}, {"mRate", func(g *generator) any { return []any{0, 0.5, 0.25, 1}[g.r.IntN(4)] }},
	{"mRateCounter", ints(0, 1, 5)}, {"UDate", aDate}, {"CDate", aDate}, {"tcDate", aDate}, {"pDate", aDate},
	{"maxURLsFromPage", ints(0, 80, 200)}, {"tagsMask", aMask}, {"tagsCount", ints(0, 0, 3)}, {"contentURLMd5", aMd5},
	{"priority", ints(0, 5, 10)}, {"classifierMask", aMask},
}

// siteFields are the stored fields of a site without its id (docs/spec/objects.md 2.1).
var siteFields = []field{
	{"description", aWord}, {"uDate", aDate}, {"tcDate", aDate}, {"tcDateProcess", aDate}, {"cDate", aDate},
	{"resources", ints(0, 5)}, {"contents", ints(0, 5)}, {"collectedURLs", ints(0, 5)}, {"newURLs", ints(0, 5)}, {"deletedURLs", ints(0, 5)},
	{"iterations", ints(0, 3)}, {"state", ints(1, 1, 1, 2, 3, 5, 6, 7)}, {"priority", ints(0, 50, 100)}, {"maxURLs", ints(0, 800)},
	{"maxURLsFromPage", ints(0, 200)}, {"maxResources", ints(0, 300)}, {"maxErrors", ints(0, 40)}, {"maxResourceSize", ints(0, 2000000)},
	{"requestDelay", ints(0, 300, 500)}, {"processingDelay", ints(0, 200)}, {"httpTimeout", aFloat}, {"errorMask", aMask},
	{"errors", ints(0, 2)}, {"size", ints(0, 9)}, {"avgSpeed", ints(0, 9)}, {"avgSpeedCounter", ints(0, 9)}, {"urlType", ints(0, 0, 1)},
	{"userId", ints(0, 1, 7)}, {"recrawlPeriod", ints(0, 60, 1440)}, {"recrawlDate", aDate}, {"fetchType", ints(1, 2, 7)}, {"categoryId", ints(0, 1, 3)},
}

var proxyFields = []field{
	{"domains", texts(`["*"]`, `["one.test"]`, "*")}, {"priority", ints(0, 2, 9)}, {"state", ints(0, 1, 1)}, {"regionCode", ints(0, 3)},
	{"metroCode", ints(0, 501)}, {"faults", ints(0, 1, 150)}, {"faultsMax", ints(0, 100)}, {"categoryId", ints(0, 2)},
	{"countryCode", texts("", "DE", "de")}, {"countryName", aWord}, {"regionName", aWord}, {"cityName", texts("", "Köln", "Prag 🙂")},
	{"zipCode", texts("", "50667")}, {"timeZone", texts("", "Europe/Berlin")}, {"description", aWord}, {"latitude", aFloat}, {"longitude", aFloat},
	{"limits", texts(`{"max":5}`, "")}, {"cDate", aDate}, {"uDate", aDate},
}

var filterFields = []field{
	{"subject", texts("", "%URL%", "RAW_CONTENT")}, {"opCode", ints(0, 1, 2, 7)}, {"stage", ints(0, 1, 5, 7)}, {"action", ints(1, -1)},
	{"type", ints(0, 1)}, {"mode", ints(0, 1)}, {"state", ints(0, 1)}, {"uDate", aDate}, {"groupId", ints(0, 1)},
}

// edges: one value in edges is at or above the maximum of a column.
const edges = 150

func (g *generator) edge(v any) any {
	switch v.(type) {
	case int64:
		return g.int(-1, 255, 256, 1<<31, 1<<32, 1<<40)
	case string:
		return strings.Repeat(g.text("x", "ж"), 33)
	}
	return v
}

// fill sets each field with probability 1/n; some values are null.
func (g *generator) fill(o object, fields []field, n int) object {
	for _, f := range fields {
		if !g.one(n) {
			continue
		}
		o[f.name] = f.value(g)
		switch {
		case g.one(12):
			o[f.name] = nil
		case g.one(edges):
			o[f.name] = g.edge(o[f.name])
		}
	}
	return o
}
