package random_test

import (
	"encoding/base64"

	"hce/dc/internal/wire"
)

// attributes of a URL: objects of one name and value (docs/spec/objects.md 2.7).
func (g *generator) attributes() any {
	return g.several(func() any {
		if g.one(12) {
			return object{"a": "1", "b": "2"} // skipped: two keys
		}
		return object{g.attributeName(): g.word()}
	})
}

func (g *generator) urlNew() any {
	return g.several(func() any {
		o := g.fill(object{"url": g.url(), "siteSelect": g.int(0, 0, 1, 2, 3, 3)}, urlFields, 3)
		if !g.one(3) {
			o["siteId"] = g.site()
		}
		g.maybe(o, 20, "urlMd5", func() any { return g.md5() })
		g.maybe(o, 20, "siteSelect", func() any { return 9 })
		g.maybe(o, 4, "attributes", g.attributes)
		g.maybe(o, 4, "urlUpdate", func() any { return g.fill(object{}, urlFields, 6) })
		g.maybe(o, 8, "urlPut", func() any { return g.put(nil, nil) })
		return o
	})
}

func (g *generator) urlUpdate() any {
	return g.several(func() any {
		o := g.fill(object{"siteId": g.site()}, urlFields, 5)
		g.maybe(o, 2, "status", func() any { return g.int(1, 2, 3, 4, 4, 5, 7, 7) })
		switch g.r.IntN(6) {
		case 0, 1, 2:
			o["url"] = g.url()
		case 3, 4:
			o["urlMd5"], o["url"] = g.md5(), nil
		case 5:
			o["urlMd5"], o["url"], o["criterions"] = nil, nil, g.ordered(urlShapes)
		}
		g.maybe(o, 10, "criterions", func() any { return object{"WHERE": g.condition(urlShapes), "ORDER BY": "URLMd5"} })
		g.maybe(o, 5, "attributes", g.attributes)
		g.maybe(o, 10, "urlPut", func() any { return g.put(nil, nil) })
		return o
	})
}

// key sets url and urlType: the URL as text or by its key.
func (g *generator) key(o object) {
	o["url"], o["urlType"] = g.url(), wire.ByURL
	if g.one(2) {
		o["url"], o["urlType"] = g.md5(), 1
	}
}

func (g *generator) urlStatus() any {
	return g.several(func() any {
		o := object{"siteId": g.site()}
		g.key(o)
		return o
	})
}

// chosen is the selection of URL_DELETE, URL_CLEANUP and URL_PURGE: a URL or a criterion.
func (g *generator) chosen() object {
	o := object{"siteId": g.site()}
	g.key(o)
	if g.one(3) {
		o["url"], o["criterions"] = nil, g.ordered(urlShapes)
		g.maybe(o, 12, "criterions", func() any { return nil })
	}
	return o
}

func (g *generator) urlDelete() any {
	return g.several(func() any {
		o := g.chosen()
		g.delayed(o)
		return o
	})
}

func (g *generator) urlCleanup() any {
	return g.several(func() any {
		o := g.chosen()
		g.delayed(o)
		g.maybe(o, 2, "state", func() any { return g.int(0, 1) })
		g.maybe(o, 2, "status", func() any { return g.int(1, 4, 7) })
		return o
	})
}

func (g *generator) urlPurge() any {
	return g.several(func() any {
		if g.one(4) {
			return object{"siteId": nil, "url": nil, "urlType": 1, "criterions": g.ordered(urlShapes),
				"siteLimits": []any{list{0, -1}, list{0, 2}, list{1, 2}, nil, list{-1, 3}}[g.r.IntN(5)]}
		}
		o := g.chosen()
		o["criterions"] = g.ordered(urlShapes)
		return o
	})
}

func (g *generator) sitesList() list {
	l := list{}
	for range g.r.IntN(4) {
		l = append(l, g.someSite())
	}
	if g.one(20) {
		l = append(l, g.site())
	}
	return l
}

func (g *generator) attributeNames() any {
	return []any{list{"*"}, list{}, list{"topic"}, list{"TOPIC", "lang"}}[g.r.IntN(4)]
}

func (g *generator) fetch() object {
	urls := g.ordered(urlShapes)
	if g.one(8) {
		urls["SQL"] = object{"VALUE": g.text("SELECT Value FROM sites_properties WHERE Site_Id = '%SITE_ID%' AND Name = 'MODES_FLAG' ORDER BY Value LIMIT 1",
			"SELECT MAX(Priority) FROM sites", "SELECT 7", "DELETE FROM sites")}
		urls["WHERE"] = g.text("Status >= %VALUE%", "IFNULL(%VALUE%, Status = 1)", "%VALUE% = 7 OR Site_Id = '%SITE_ID%'")
	}
	o := object{"sitesList": g.sitesList(), "sitesCriterions": g.ordered(siteShapes), "urlsCriterions": urls, "maxURLs": g.int(0, 1, 5, 20, 100)}
	g.maybe(o, 4, "algorithm", func() any { return 1 })
	g.maybe(o, 60, "algorithm", func() any { return 2 })
	g.maybe(o, 3, "isLocking", func() any { return g.int(0, 1) })
	g.maybe(o, 3, "attributeNames", g.attributeNames)
	g.maybe(o, 5, "urlUpdate", func() any {
		return object{"status": g.int(2, 5, 8), "batchId": g.int(7, 8), "UDate": "NOW()", "siteId": nil, "url": nil}
	})
	g.maybe(o, 6, "siteUpdate", func() any { return g.fill(object{"tcDate": "NOW()"}, siteFields, 20) })
	g.maybe(o, 12, "skipBusySites", func() any { return true })
	g.maybe(o, 12, "paceTime", func() any { return g.int(0, 1000, 5000) })
	return o
}

func (g *generator) urlFetch() any {
	l := g.several(func() any { return g.fetch() })
	if len(l) == 1 && g.one(10) {
		l = list{object{"sitesList": list{g.site()}, "urlsCriterions": g.ordered(urlShapes), "asBatch": 9}}
	}
	return l
}

func (g *generator) urlContent() any {
	return g.several(func() any {
		if g.one(25) {
			return nil
		}
		o := object{"siteId": g.site(), "url": g.url(), "contentTypeMask": g.int(1, 2, 3, 1027, 1283, 1295, 1533, 4096, 8192, 12289, 24576, 32768, 65535)}
		g.maybe(o, 3, "urlMd5", func() any { return g.md5() })
		g.maybe(o, 3, "dbFieldsList", func() any {
			return []any{list{}, list{"Status", "PDate", "Nothing"}, list{"status", "URL", "ErrorMask", "HTTPTimeout", "MRate"}}[g.r.IntN(3)]
		})
		g.maybe(o, 3, "attributeNames", g.attributeNames)
		g.maybe(o, 4, "urlFetch", func() any { return g.fetch() })
		return o
	})
}

// put is a URLPut. Processed contents are base64 of JSON (docs/spec/storage.md 3.3). Only one
// suffix is used, because the order of several depends on file times.
func (g *generator) put(site, md5 any) object {
	kind := g.int(0, 0, 1, 2, 3, 4, 5, 9, 10, 10, 11)
	dict := object{"data": base64.StdEncoding.EncodeToString([]byte(g.word() + "."))}
	if kind == 10 {
		dict["data"] = base64.StdEncoding.EncodeToString([]byte(g.text(`{"default":{"t":1},"internal":[{"i":0},{"i":1}],"custom":["c0"]}`,
			`{"default":{},"internal":[],"custom":[]}`, `[1,2]`, "no JSON", `{"internal":[{"ü":"☃"}],"custom":[]}`)))
	}
	g.maybe(dict, 8, "data", func() any { return g.text("plain text", "", "YQ", "a=b=c") })
	g.maybe(dict, 8, "cDate", func() any { return "2026-01-01 00:00:00" })
	g.maybe(dict, 15, "id", func() any { return g.md5() })
	g.maybe(dict, 8, "properties", func() any { return object{"a": 1} })
	o := object{"siteId": site, "urlMd5": md5, "contentType": kind, "putDict": dict}
	g.maybe(o, 25, "contentType", func() any { return 6 })
	g.maybe(o, 6, "fileStorageSuffix", func() any { return "v1" })
	g.maybe(o, 40, "fileStorageSuffix", func() any { return "../x" })
	return o
}

func (g *generator) urlPut() any {
	return g.several(func() any {
		o := g.put(g.site(), g.md5())
		if g.one(8) {
			o["urlMd5"], o["criterions"] = nil, g.ordered(urlShapes)
		}
		return o
	})
}

func (g *generator) urlVerify() any {
	return g.several(func() any {
		o := object{"siteId": g.site(), "dbName": g.text("dc_urls", "dc_urls", "dc_urls_deleted", "dc_sites", "nodb")}
		g.key(o)
		g.maybe(o, 15, "dbName", func() any { return nil })
		g.maybe(o, 3, "criterions", func() any { return object{"WHERE": g.condition(urlShapes)} })
		return o
	})
}

func (g *generator) urlAge() any {
	return g.several(func() any {
		urls := g.ordered(urlShapes)
		if _, ok := urls["WHERE"]; !ok && !g.one(10) {
			urls["WHERE"] = g.condition(urlShapes)
		}
		o := object{"urlsCriterions": urls, "sitesCriterions": g.ordered(siteShapes), "maxURLs": g.int(1, 2, 5)}
		g.delayed(o)
		return o
	})
}

func (g *generator) urlHistory() any {
	return g.several(func() any {
		o := object{"siteId": g.site(), "urlMd5": g.md5()}
		if g.one(2) {
			o["urlMd5"], o["urlCriterions"] = nil, g.ordered(urlShapes)
		}
		g.maybe(o, 1, "logCriterions", func() any { return g.criterion(logShapes, true) })
		return o
	})
}

func (g *generator) urlStats() any {
	return g.several(func() any {
		o := object{"siteId": g.site(), "urlMd5": g.md5()}
		if g.one(2) {
			o["urlMd5"] = nil
			g.maybe(o, 2, "urlCriterions", func() any { return g.ordered(urlShapes) })
			g.maybe(o, 2, "statsCriterions", func() any { return g.criterion(freqShapes, false) })
		}
		return o
	})
}

func (g *generator) urlReturn() any {
	o := object{"batchId": g.int(0, 7, 8), "sites": g.sitesList(), "maxAttempts": g.int(0, 1, 2), "fault": g.one(2)}
	g.maybe(o, 2, "except", func() any { return list{8} })
	g.maybe(o, 3, "statuses", func() any { return list{2, 5} })
	return o
}
