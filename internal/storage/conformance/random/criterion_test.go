package random_test

import (
	"fmt"
	"strings"

	"hce/dc/internal/wire"
)

// shapes are the conditions and orders of requests on one table. Each order ends with a
// unique key, and only requests with an order have a LIMIT. Orders use the MD5 of texts,
// because the order of letters depends on the collation.
type shapes struct {
	where []string
	order []string
}

var urlShapes = shapes{
	where: []string{
		"Status = $status", "`Status`=$status AND `State`=0", "Status IN ($status, $status, 4)", "Status <> $status", "(ErrorMask & 4198399) = 0",
		"ErrorMask & $bit", "ErrorMask > 0", "`ErrorMask` & $bit = $bit", "UDate < $date", "UDate < DATE_SUB(NOW(), INTERVAL $n MINUTE)",
		"IFNULL(UDate, CDate) < DATE_SUB(NOW(), INTERVAL $n MINUTE)", "CDate BETWEEN $date AND NOW()", "ParentMd5 = ''",
		"ParentMd5 <> '' OR Depth = 0", "LENGTH(ParentMd5) = 0", "URL LIKE 'http://ONE%'", "URL LIKE('%page%')", "URL NOT LIKE '%page/_'",
		"ContentType IN ('text/html', 'text/xml')", "ContentType = 'TEXT/HTML'", "`ContentType`=\"text/html\"", "Charset = 'utf-8'",
		"Size / 3 > $n", "Size DIV 7 = $n", "Size % 2 = 1", "NOT (Crawled > 0)", "!(Processed)", "Crawled IS NOT NULL", "PDate IS NULL", "TcDate IS NOT NULL",
		"TagsMask | 3 = 3", "TagsMask & $bit <> 0", "HTTPCode='200'", "HTTPCode >= $n", "1", "1=1", "0", "'1'", "NOW() - CDate > $n",
		"TIMEDIFF(NOW(), CDate) > '00:10:00'", "IF(Status=4, Size, 0) > $n", "CEIL(Size/1000) > 1", "HOUR(CDate) = 10", "DATE(CDate) = '2026-01-05'",
		"SUBSTRING(URL, 1, 10) = 'http://one'", "DATE_FORMAT(CDate, '%Y-%m-%d 00:00:00') <= $date", "DATE_ADD(CDate, INTERVAL $n HOUR) > NOW()",
		"Site_Id = '$site'", "URLMd5 = '$md5'", "URLMd5 IN ('$md5', '$md5')", "MRate >= 0.5", "HTTPTimeout > 1000.5", "Batch_Id = 7",
		"Priority >= (SELECT Priority FROM dc_sites.sites WHERE Id = Site_Id)", "URLMd5 IN (SELECT URLMd5 FROM `dc_sites`.`sites_urls`)",
		"(SELECT COUNT(*) FROM sites_properties WHERE Name = 'MODES_FLAG' AND Value & 8) > 0", "Status IN (SELECT State FROM sites)",
		"CONCAT(Charset, '/', HTTPMethod) = 'utf-8/get'", "SUBSTRING(ContentType, 1, 5) LIKE 'text/'", "IF(Depth > Freq, Depth, Freq) > 1", "ETag <> ''", "State",
	},
	order: []string{
		"URLMd5", "`URLMd5` DESC", "CDate, URLMd5", "CDate DESC, URLMd5 DESC", "Priority DESC, URLMd5", "LENGTH(ParentMd5), Priority DESC, Depth, UDate DESC, URLMd5",
		"Size DESC, ErrorMask, URLMd5", "IF(Status=1, 0, 1), URLMd5", "Status % 3, URLMd5 DESC", "IFNULL(UDate, CDate), URLMd5",
	},
}

var siteShapes = shapes{
	where: []string{
		"State = 1", "`State`=1 AND Id <> '0'", "State IN (1, 3)", "Id = '$site'", "Id LIKE 'a%'", "Id <> '0'", "Priority >= $n", "User_Id = 7",
		"RecrawlDate < NOW()", "RecrawlPeriod > 0 AND DATE_ADD(TcDate, INTERVAL RecrawlPeriod MINUTE) < NOW()", "NewURLs > 0", "Resources = 0 OR Contents > 0",
		"Description = 'sport'", "Description LIKE 'S%'", "LENGTH(Description) > 5", "Errors > 1", "Size > $n", "CollectedURLs >= $n",
		"Iterations < 3", "CDate >= $date", "TcDateProcess IS NULL", "HTTPTimeout >= 30000",
		"(SELECT COUNT(*) FROM sites_properties WHERE Site_Id = Id AND Name = 'MODES_FLAG') > 0",
		"Id IN (SELECT Site_Id FROM sites_urls WHERE URL LIKE 'http://one%')", "FetchType = 1 OR Category_Id = 3", "1=1", "0",
	},
	order: []string{"Id", "Id DESC", "Priority DESC, Id", "Priority DESC, TcDate ASC, Id", "NewURLs DESC, Id", "CDate DESC, Id", "Size, Id DESC"},
}

var logShapes = shapes{
	where: []string{"OpCode = 20", "OpCode IN (1, 4, 22)", "ODate >= $date", "OpCode < 20 AND ODate IS NOT NULL", "LENGTH(Object) > 2", "URLMd5 = '$md5'"},
	order: []string{"ODate, OpCode, URLMd5, MD5(Object), CDate", "OpCode DESC, ODate, URLMd5, MD5(Object), CDate"},
}

var freqShapes = shapes{
	where: []string{"FIns > 0", "FUpd >= $n", "FNew = FIns", "MDate IS NULL", "MDate > CDate", "FDel + FDeleted > 0", "URLMd5 = '$md5'"},
	order: []string{"URLMd5", "FUpd DESC, URLMd5", "MDate, URLMd5"},
}

var proxyShapes = shapes{
	where: []string{"Faults > 100", "State = 1", "Site_Id = '%SITE_ID%'", "Site_Id IN ('0', '$site')", "Host LIKE 'PROXY%'", "CountryCode = 'de'",
		"FaultsMax = 0 OR Faults < FaultsMax", "Domains IS NULL", "CDate >= $date"},
	order: []string{"Site_Id, MD5(Host)", "Priority DESC, Site_Id, MD5(Host)"},
}

var attributeShapes = shapes{
	where: []string{"Value = 'old'", "Value LIKE 'Sp%'", "Name = 'topic'", "Name IN ('lang', 'topic')", "URLMd5 = ''", "URLMd5 = '$md5'", "CDate >= $date", "Value > 5"},
	order: []string{"URLMd5, MD5(Name)", "CDate DESC, URLMd5, MD5(Name)"},
}

// badConditions must be refused with the same message.
var badConditions = []string{
	"Nonsense = 1", "Status = ", "SLEEP(1)", "1; DROP TABLE sites", "Status = (SELECT 1", "LOAD_FILE('/etc/passwd') IS NULL", "1 UNION SELECT 2",
	"(SELECT COUNT(*) FROM mysql.user) > 0", "@@version = 1", "Status = ?", "Status = %NOMACRO%", "'open", "BENCHMARK(1, 1)", "(SELECT 1 INTO OUTFILE 'x')",
}

// expand replaces $names of a shape.
func (g *generator) expand(shape string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(shape, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		end := 0
		for end < len(rest) && rest[end] >= 'a' && rest[end] <= 'z' || end < len(rest) && rest[end] == '5' {
			end++
		}
		switch rest[:end] {
		case "status":
			fmt.Fprint(&out, g.int(1, 2, 3, 4, 4, 5, 6, 7))
		case "bit":
			fmt.Fprint(&out, g.int(1, 4, 1<<22, 1<<31, 1<<52, 1<<58))
		case "n":
			fmt.Fprint(&out, g.int(0, 1, 3, 10, 60, 200))
		case "date":
			out.WriteString("'" + g.plainDate() + "'")
		case "site":
			out.WriteString(g.someSite())
		case "md5":
			out.WriteString(wire.Md5(g.someURL()))
		}
		shape = rest[end:]
	}
}

// condition is a shape, two joined shapes, or rarely an invalid condition.
func (g *generator) condition(s shapes) string {
	switch g.r.IntN(30) {
	case 0:
		return g.text(badConditions...)
	case 1, 2, 3:
		return g.expand(g.text(s.where...)) + g.text(" AND ", " OR ") + g.expand(g.text(s.where...))
	case 4:
		return "NOT (" + g.expand(g.text(s.where...)) + ") OR (" + g.expand(g.text(s.where...)) + " AND " + g.expand(g.text(s.where...)) + ")"
	}
	return g.expand(g.text(s.where...))
}

func (g *generator) limit() any {
	switch g.r.IntN(8) {
	case 0:
		return g.text("5", "0, 10", "2,3")
	case 1:
		return list{g.int(0, 1, 2), g.int(1, 5, 50)}
	case 2:
		if g.one(3) {
			return g.text("x", "-1", "1; DROP")
		}
	}
	return g.int(0, 1, 2, 5, 20, 100)
}

// criterion is a criterions object. With defaults the operation has its own order or limit,
// and the object always replaces them.
func (g *generator) criterion(s shapes, defaults bool) object {
	c := object{}
	if !g.one(6) {
		c["WHERE"] = g.condition(s)
	}
	switch {
	case g.r.IntN(5) > 1 || defaults && !g.one(4):
		c["ORDER BY"] = g.text(s.order...)
		if g.one(40) {
			c["ORDER BY"] = g.text("Nonsense, ", "SLEEP(1), ") + g.text(s.order...)
		}
		if !g.one(3) {
			c["LIMIT"] = g.limit()
		}
	case g.one(30):
		return object{"WHERE": list{"Status = 1"}} // refused
	case defaults:
		c["ORDER BY"], c["LIMIT"] = nil, nil
		if g.one(2) {
			c["ORDER BY"], c["LIMIT"] = "", ""
		}
	}
	return c
}

// ordered is a criterion with an order, for lists that another limit cuts.
func (g *generator) ordered(s shapes) object {
	c := g.criterion(s, true)
	if text, _ := c["ORDER BY"].(string); text == "" {
		c["ORDER BY"] = g.text(s.order...)
		delete(c, "LIMIT")
	}
	return c
}
