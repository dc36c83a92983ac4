package random_test

// sqlCustom makes queries that SQLCustom=read allows and others. Columns have names, so that
// rows as objects have equal keys.
func (g *generator) sqlCustom() any {
	query := func() any {
		if g.one(4) {
			return g.text("DROP TABLE sites", "UPDATE sites SET State = 2", "SELECT * FROM mysql.user", "SELECT SLEEP(1)", "", "SELECT", "SELECT 1; SELECT 2",
				"SELECT Nonsense FROM sites", "SELECT Id FROM sites INTO OUTFILE '/tmp/x'", "PRAGMA table_info(sites)", "SHOW TABLES")
		}
		return g.expand(g.text(
			"SELECT Id, State, Priority FROM sites ORDER BY Id",
			"SELECT `State`, COUNT(*) AS n, SUM(`Size`) AS s FROM `sites` GROUP BY `State` ORDER BY `State`",
			"SELECT COUNT(*) AS n FROM urls_$site WHERE Status = $status",
			"SELECT URLMd5, URL, ErrorMask, CDate FROM urls_$site WHERE Status IN (1, 4) ORDER BY URLMd5 LIMIT 3",
			"SELECT Status, COUNT(*) AS n, MAX(UDate) AS u, BIT_OR(ErrorMask) AS m FROM urls_$site GROUP BY Status ORDER BY Status",
			"SELECT AVG(Size) AS a, MIN(CDate) AS c FROM `dc_urls`.`urls_$site` WHERE Size > $n",
			"SELECT Name, Value FROM sites_properties WHERE Site_Id = '$site' ORDER BY Name, Value",
			"SELECT Id FROM sites WHERE CDate < NOW() AND Id IN (SELECT Site_Id FROM sites_urls) ORDER BY Id DESC",
			"SELECT URLMd5 AS k FROM urls_$site",
			"SELECT 1 AS one, 'Text' AS t, NULL AS n, 0.5 AS f, NOW() AS d",
		))
	}
	o := object{"rid": g.int(1, 2, 3), "query": query(), "dbName": g.text("dc_sites", "dc_sites", "dc_urls", "nodb", "")}
	g.maybe(o, 6, "query", func() any { return g.several(query) })
	g.maybe(o, 2, "includeFieldsNames", func() any { return g.int(0, 1) })
	return o
}

func (g *generator) proxySite() string {
	if g.one(5) {
		return "*"
	}
	return g.site()
}

func (g *generator) proxyNew() any {
	return g.several(func() any {
		return g.fill(object{"siteId": g.proxySite(), "host": g.proxyHost()}, proxyFields, 3)
	})
}

func (g *generator) proxyUpdate() any { return g.proxyNew() }

func (g *generator) proxyChosen() any {
	return g.several(func() any {
		switch g.r.IntN(4) {
		case 0:
			return object{"siteId": nil, "host": nil, "criterions": g.criterion(proxyShapes, false)}
		case 1:
			return object{"siteId": g.proxySite(), "criterions": g.ordered(proxyShapes)}
		}
		return object{"siteId": g.proxySite(), "host": g.proxyHost()}
	})
}

func (g *generator) proxyDelete() any { return g.proxyChosen() }
func (g *generator) proxyStatus() any { return g.proxyChosen() }

func (g *generator) proxyFind() any {
	return g.several(func() any {
		o := object{"siteId": nil, "criterions": g.criterion(proxyShapes, false)}
		g.maybe(o, 2, "siteId", func() any { return g.proxySite() })
		g.maybe(o, 3, "siteCriterions", func() any { return g.ordered(siteShapes) })
		return o
	})
}

func (g *generator) attribute() object {
	o := object{"siteId": g.site(), "name": g.attributeName()}
	g.maybe(o, 1, "urlMd5", func() any { return g.md5() })
	if g.one(6) {
		delete(o, "urlMd5")
	}
	return o
}

func (g *generator) attributeSet() any {
	return g.several(func() any {
		o := g.attribute()
		o["value"] = g.word()
		g.maybe(o, 12, "value", func() any { return []any{nil, 5, true}[g.r.IntN(3)] })
		return o
	})
}

func (g *generator) attributeUpdate() any { return g.attributeSet() }

// attributesChosen selects attributes by name, by criterion or all.
func (g *generator) attributesChosen() any {
	return g.several(func() any {
		o := g.attribute()
		if g.one(2) {
			o["name"] = nil
			g.maybe(o, 2, "criterions", func() any { return g.criterion(attributeShapes, false) })
		}
		return o
	})
}

func (g *generator) attributeDelete() any { return g.attributesChosen() }
func (g *generator) attributeFetch() any  { return g.attributesChosen() }
