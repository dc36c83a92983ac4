package random_test

import "hce/dc/internal/wire"

// properties in one of their three forms (docs/spec/objects.md 2.4).
func (g *generator) properties() any {
	count := 1 + g.r.IntN(3)
	if g.one(3) {
		rows := list{}
		for range count {
			name, value := g.property()
			row := object{"name": name, "value": value}
			g.maybe(row, 4, "urlMd5", func() any { return wire.Md5(g.someURL()) })
			g.maybe(row, 4, "uDate", func() any { return g.date() })
			rows = append(rows, row)
		}
		return rows
	}
	o := object{}
	for range count {
		name, value := g.property()
		o[name] = value
		if g.one(6) {
			o[name] = list{nil, value, nil}
		}
	}
	return o
}

func (g *generator) property() (name, value string) {
	switch g.r.IntN(12) {
	case 0, 1:
		return "STATS_FREQ_ENABLED", g.text("1", "1", "0", "x")
	case 2, 3:
		return "STATS_LOG_ENABLED", g.text("1", "1", "0", "")
	case 4, 5:
		return g.text(counterNames...), g.text(counterConditions...)
	case 6:
		return "AGING_URL_CRITERION", g.condition(urlShapes)
	case 7:
		return "UPDATE_NOT_INSERT_ROOT_URLS", g.text("0", "1")
	case 8:
		return "MODES_FLAG", g.text("11", "31", "0")
	case 9:
		return g.text("Größe", "free"), g.word()
	}
	return "PROCESS_CTYPES", g.text("text/html", "text/html,text/xml")
}

func (g *generator) filters() list {
	return g.several(func() any {
		return g.fill(object{"pattern": g.text("^http://one", `\.test/`, "(.*)", "Status = 4")}, filterFields, 3)
	})
}

// rootURLs are items of Site.urls: texts and objects (docs/spec/objects.md 2.2). Dates are
// literals there.
func (g *generator) rootURLs() list {
	return g.several(func() any {
		if g.one(2) {
			return g.someURL()
		}
		o := object{"url": g.someURL()}
		g.fill(o, urlFields, 12)
		for _, date := range []string{"UDate", "CDate", "tcDate", "pDate", "lastModified"} {
			if _, ok := o[date]; ok {
				o[date] = g.plainDate()
			}
		}
		delete(o, "parentMd5")
		return o
	})
}

func (g *generator) siteNew() any {
	o := g.fill(object{"id": g.newSiteID()}, siteFields, 5)
	if g.one(15) {
		delete(o, "id") // made from the first root URL
	}
	g.maybe(o, 4, "moveURLs", func() any { return []any{false, true, 0, 1}[g.r.IntN(4)] })
	o["urls"] = g.rootURLs()
	switch g.r.IntN(4) {
	case 0:
		o["properties"] = g.properties()
	case 1, 2:
		o["properties"] = object{"STATS_FREQ_ENABLED": "1", "STATS_LOG_ENABLED": g.text("1", "0"), "COUNTER_CRIT_ERRORS": g.text(counterConditions...)}
	}
	if g.one(3) {
		o["filters"] = g.filters()
	}
	return o
}

func (g *generator) siteUpdate() any {
	o := g.fill(object{"updateType": g.int(0, 1, 2)}, siteFields, 9)
	if g.one(8) {
		o["id"], o["criterions"] = nil, g.criterion(siteShapes, false)
	} else {
		o["id"] = g.site()
	}
	g.maybe(o, 5, "state", func() any { return wire.SiteRestart })
	g.maybe(o, 4, "urls", func() any { return g.rootURLs() })
	g.maybe(o, 3, "properties", func() any { return g.properties() })
	g.maybe(o, 4, "filters", func() any { return g.filters() })
	return o
}

func (g *generator) excludeList() any {
	return []any{list{}, list{"urls"}, list{"properties", "filters"}, list{"urls", "nothing"}}[g.r.IntN(4)]
}

func (g *generator) siteStatus() any {
	o := object{"id": g.site(), "deleteTaskId": nil}
	g.maybe(o, 3, "excludeList", g.excludeList)
	return o
}

func (g *generator) siteFind() any {
	o := object{"criterions": g.criterion(siteShapes, true)}
	if g.one(12) {
		delete(o, "criterions")
		o["url"] = g.text(hosts...) + "none"
		return o
	}
	g.maybe(o, 2, "url", func() any {
		return g.text("", "http://", "http://one", "HTTP://TWO", "http://one.test/100%", "http://one.test/page_")
	})
	g.maybe(o, 4, "url", func() any { return nil })
	g.maybe(o, 3, "excludeList", g.excludeList)
	if g.one(8) {
		c := object{"WHERE": g.text("sites_urls.URL LIKE 'http://one%'", "`sites_properties`.`Name` = 'MODES_FLAG'", "sites_filters.Type = 1", "sites.State = 1")}
		c["TABLES"] = g.text("sites_urls", "`sites_properties`", "dc_sites.sites_filters", "", "mysql.user")
		c["ORDER BY"], c["LIMIT"] = g.text("sites.Id", "sites.Priority DESC, sites.Id"), g.limit()
		o["criterions"] = c
	}
	return o
}

func (g *generator) siteDelete() any {
	return g.oneOrMany(func() any {
		o := object{"id": g.site(), "taskType": 1}
		if g.one(6) {
			o["id"] = nil
			o["criterions"] = object{"WHERE": g.text("Id = 'a1'", "State = 7", "Id LIKE 'B%' AND State <> 1", "Nonsense = 1"), "ORDER BY": "Id", "LIMIT": 1}
			g.maybe(o, 4, "criterions", func() any { return object{} })
		}
		g.delayed(o)
		return o
	})
}

func (g *generator) siteCleanup() any {
	return g.oneOrMany(func() any {
		o := object{"id": g.site(), "taskType": g.int(1, 2)}
		g.delayed(o)
		g.maybe(o, 2, g.text("moveURLs", "moveUrls"), func() any { return g.int(0, 1) })
		g.maybe(o, 2, g.text("saveRootURLs", "saveRootUrls"), func() any { return g.one(2) })
		g.maybe(o, 3, "state", func() any { return g.int(1, 2, 3) })
		g.maybe(o, 2, "historyCleanUp", func() any { return g.int(0, 1, 2) })
		return o
	})
}

func (g *generator) fieldRecalc() any {
	return g.several(func() any {
		o := object{"siteId": g.site(), "recalcType": g.int(0, 0, 1)}
		g.maybe(o, 3, "criterions", func() any { return g.ordered(siteShapes) })
		return o
	})
}
