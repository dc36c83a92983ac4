package expr

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// These conditions have the shapes listed in docs/spec/storage.md 5.4. Their sub-selects
// refer to the site of the row (docs/spec/DECISIONS.md 4).
const (
	notRoot   = "`ParentMd5`<>''"
	modesFlag = "(SELECT Value FROM dc_sites.sites_properties WHERE Site_Id=sites.Id AND Name='MODES_FLAG' LIMIT 1)"
	agingURLs = "DATE_ADD(IFNULL(UDate, CDate), INTERVAL (SELECT RecrawlPeriod*2 FROM `dc_sites`.`sites` WHERE `Id`='%SITE_ID%') MINUTE) < NOW() AND " + notRoot
)

// whereCases are conditions and the keys of the matching rows of openTest. "!" marks a
// refused condition.
var whereCases = []struct {
	name  string
	sites bool // on the table of sites
	where string
	want  string
}{
	{"crawl URLs", false, "Status=1 AND State=0", "a"},
	{"crawl sites", true, "`State`=1 AND (" + modesFlag + " IS NULL OR " + modesFlag + " & 1 > 0)", "s1 0"},
	{"process URLs", false, "`Type`<>6 AND `Status`=4 AND `State`=0 AND `Crawled`>0 AND `Size`>0 AND `ErrorMask` & 4198399 = 0 AND `ContentType` IN ('text/html','text/xml') AND HTTPCode='200' AND " + notRoot, "b c"},
	{"process sites", true, "Id<>'0' AND State=1 AND IFNULL(" + modesFlag + ", 255) & 2", "s2"},
	{"aging URLs", false, agingURLs, "c d f g h"},
	{"aging sites", true, "`Id`<>'0' AND `State` IN (1,3) AND (" + modesFlag + " & 16 OR " + modesFlag + " IS NULL)", "s3"},
	{"re-crawl sites", true, "State=1 AND RecrawlDate IS NOT NULL AND RecrawlDate<NOW() AND " + modesFlag + " & 8 <> 0", "s1"},
	{"re-crawl resets roots", false, "ParentMd5=''", "a"},
	{"re-crawl resets crawled", false, "`State`=0 AND `Status`>3 AND `Crawled`>0", "b c d e f"},
	{"re-crawl deletes old", false, notRoot + " AND ((Status=4 AND Crawled=0 AND Processed=0) OR (Crawled>0 AND ErrorMask>0 AND Processed=0) OR (Status=7 AND TagsCount=0))", "c e h"},
	{"auto-remove", false, notRoot + " AND Status IN (4,7) AND (DATE_ADD(UDate, INTERVAL %RecrawlPeriod% MINUTE)<NOW() OR (UDate IS NULL AND DATE_ADD(CDate, INTERVAL %RecrawlPeriod% MINUTE)<NOW()))", "b c d f h"},
	{"return of stuck URLs", false, "`Status` IN (2,3,5,6) AND DATE_ADD(`UDate`, INTERVAL 60 MINUTE)<NOW()", "g"},
	{"contents by date", false, "Status=7 AND TagsCount>3 AND PDate >= '2026-01-01' AND PDate<DATE_SUB(NOW(), INTERVAL 1 DAY) AND TagsMask & 1", "f"},
	{"date range", false, "CDate BETWEEN '2025-01-01' AND NOW()", "a b c d e f g h"},
	{"this node", false, "NOT (Status=4 AND Crawled=0)", "a b c d e f g"},
	{"subtraction of dates", false, "NOW()-UDate>0 AND NOW()-UDate<10000", "a"},
	{"subtraction of a day", false, "NOW()-UDate>=1000000", "c d f"},
	{"TIMEDIFF", false, "TIMEDIFF(NOW(), UDate) > '05:00:00'", "c d f"},
	{"incremental", false, "Status BETWEEN 4 AND 7 AND State=0 AND TIMEDIFF(NOW(), TcDate) > TIMEDIFF(TcDate, LastModified)", ""},
	{"text ignores case and trailing spaces", false, "ContentType='Text/Html'", "a b c e h"},
	{"keys are exact", false, "URLMd5='A'", ""},
	{"column = column", false, "URLMd5=ParentMd5 OR Site_Id=Description", "!"},
	{"text IN", false, "ContentType NOT IN ('TEXT/HTML', 'text/xml')", "d g"},
	{"text as number", false, "HTTPCode='404'", "e"},
	{"text as condition", true, "Id AND 1", ""},
	{"bit 52", false, "ErrorMask & 4503599627370496", "g"},
	{"bit 52 as literal", false, "ErrorMask = 4503599627370496", "g"},
	{"LIKE prefix", false, "URL LIKE 'HTTP://x.org/%' AND URLMd5 LIKE('%B%')", "b"},
	{"bare 1", false, "1", "a b c d e f g h"},
	{"1 = 1", false, "1 = 1", "a b c d e f g h"},
	{"= NULL", false, "UDate = NULL", ""},
	{"OR stays inside", false, "Status=1 OR 1", "a b c d e f g h"},
	{"LENGTH", false, "LENGTH(ParentMd5)=0", "a"},
	{"ratio", false, "Size/2000 = 0.5", "b"},
	{"IN sub-select", false, "Site_Id IN (SELECT Id FROM sites WHERE State=1) AND Status=1", "a"},
	{"NOT IN sub-select", false, "Site_Id NOT IN (SELECT Id FROM sites WHERE State=1)", ""},
	{"EXISTS, correlated", true, "EXISTS (SELECT 1 FROM dc_urls.urls_s1 u WHERE u.Site_Id = sites.Id)", "s1"},
	{"outer bare column", true, "(SELECT COUNT(*) FROM sites_properties WHERE Site_Id=Id)>0", "s1 s2 s3"},
	{"database.table.column", true, "`dc_sites`.`sites`.`Id`='s1'", "s1"},
	{"column case", false, "status=1 and STATE=0", "a"},
	{"date as text", false, "UDate LIKE '2026-01-05%'", "a b e g"},
	{"date against a number", false, "UDate > 20260105", "a b e g"},
	{"date against an empty text", false, "UDate = ''", ""},
	{"date part", false, "HOUR(UDate)=13", "b"},
	{"null text", false, "IFNULL(UDate, '') = ''", "h"},
	{"float", false, "HTTPTimeout=30000 AND MRate<0.6 AND URLMd5='a'", "a"},
	{"IF", false, "IF(Status=1, State=0, 0)", "a"},
	{"old macro stays", false, "URL LIKE '%NAME%'", ""},
}

// TestWhere runs whereCases on SQLite.
func TestWhere(t *testing.T) {
	db := openTest(t)
	urls, sites := urlScope(), siteScope()
	urls.Macros = map[string]string{"SITE_ID": "s1", "RecrawlPeriod": "60"}
	sites.Macros = urls.Macros
	for _, c := range whereCases {
		scope := urls
		if c.sites {
			scope = sites
		}
		t.Run(c.name, func(t *testing.T) {
			q, err := scope.Where(c.where)
			if c.want == "!" {
				if err == nil {
					t.Fatalf("accepted: %s", q.Text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(q.Text, "(") || !strings.HasSuffix(q.Text, ")") {
				t.Errorf("not in parentheses: %s", q.Text)
			}
			key, table := "URLMd5", scope.Table.Name
			if table == "sites" {
				key = "Id"
			}
			got := firstColumn(t, db, "SELECT "+key+" FROM "+table+" WHERE 1 AND "+q.Text+" ORDER BY rowid", q.Args)
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s %v\n got %v\nwant %s", q.Text, q.Args, got, c.want)
			}
		})
	}
}

// TestWhereText checks texts that must stay plain for an index.
func TestWhereText(t *testing.T) {
	for _, c := range []struct{ name, where, text, args string }{
		{"plain", "Status=1 AND State=0 AND `ErrorMask` & 4198399 = 0", "(((`Status` = ?) AND (`State` = ?) AND ((`ErrorMask` & ?) = ?)))", "[1 0 4198399 0]"},
		{"key", "URLMd5='x' AND ParentMd5 IN ('a','b')", "(((`URLMd5` = ?) AND (`ParentMd5` IN (?, ?))))", "[x a b]"},
		{"date", "UDate<NOW() AND UDate>='2026-01-01'", "(((`UDate` < ?) AND (`UDate` >= ?)))", "[2026-01-05 14:30:45 2026-01-01 00:00:00]"},
		{"number as text", "HTTPCode='200'", "((`HTTPCode` = ?))", "[200]"},
		{"between", "Status BETWEEN 1 AND '4'", "((`Status` BETWEEN ? AND ?))", "[1 4]"},
		{"text", "ContentType='A '", "((upper(rtrim(`ContentType`)) = ?))", "[A]"},
		{"question mark", "URL='a?b' AND Status=1", "(((upper(rtrim(`URL`)) = ?) AND (`Status` = ?)))", "[A?B 1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, err := urlScope().Where(c.where)
			if err != nil {
				t.Fatal(err)
			}
			if q.Text != c.text || fmt.Sprint(q.Args) != c.args {
				t.Errorf("\n got %s %v\nwant %s %s", q.Text, q.Args, c.text, c.args)
			}
		})
	}
}

// TestIndexUse checks SQLite's query plan.
func TestIndexUse(t *testing.T) {
	db := openTest(t)
	for where, index := range map[string]string{
		"Status=1 AND State=0":                         "url_status (Status=? AND State=?)",
		"Status IN (4, 7) AND ErrorMask & 4198399 = 0": "url_status (Status=?)",
		"URLMd5='a'": "url_key (URLMd5=?)",
		"UDate < DATE_SUB(NOW(), INTERVAL 60 MINUTE)":         "url_date (UDate<?)",
		"UDate < CURDATE() AND UDate > '2025-01-01 00:00:00'": "url_date (UDate>? AND UDate<?)",
	} {
		q, err := urlScope().Where(where)
		if err != nil {
			t.Fatal(err)
		}
		var id, parent, unused int
		var plan string
		if err := db.QueryRow("EXPLAIN QUERY PLAN SELECT * FROM urls_s1 WHERE "+q.Text, q.Args...).Scan(&id, &parent, &unused, &plan); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(plan, index) {
			t.Errorf("%s\n%s\nplan %s", where, q.Text, plan)
		}
	}
}

// orderCases are order lists and the keys of the rows of openTest in that order.
var orderCases = []struct{ name, order, want string }{
	{"roots first", "LENGTH(ParentMd5), Priority DESC, Depth, UDate DESC", "a h g f e d c b"},
	{"date", "`UDate` DESC", "e a b g c f d h"},
	{"nulls first", "UDate ASC, URLMd5", "h d f c g b a e"},
	{"text without case", "ContentType, URLMd5 DESC", "g d h e c b a f"},
	{"condition", "Status=7 DESC, URLMd5", "f a b c d e g h"},
	{"sub-select", "(SELECT COUNT(*) FROM urls_s1 c WHERE c.ParentMd5 = urls_s1.URLMd5) DESC, URLMd5", "a b c d e f g h"},
	{"negative", "-Depth", "h g f e d c b a"},
	{"IFNULL", "IFNULL(UDate, CDate) ASC LIMIT", "!"},
	{"position", "1", "!"},
	{"aggregate", "COUNT(*)", "!"},
	{"two statements", "a; DROP TABLE x", "!"},
	{"INTO", "Status INTO OUTFILE '/tmp/x'", "!"},
	{"lock", "Status FOR UPDATE", "!"},
	{"LIMIT", "Status LIMIT 5", "!"},
	{"UNION", "Status UNION SELECT 1", "!"},
}

func TestOrderBy(t *testing.T) {
	db := openTest(t)
	for _, c := range orderCases {
		t.Run(c.name, func(t *testing.T) {
			q, err := urlScope().OrderBy(c.order)
			if c.want == "!" {
				if err == nil {
					t.Fatalf("accepted: %s", q.Text)
				}
				t.Log(err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := firstColumn(t, db, "SELECT URLMd5 FROM urls_s1 ORDER BY "+q.Text, q.Args)
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s\n got %v\nwant %s", q.Text, got, c.want)
			}
		})
	}
}

// assignCases are values for columns of the site s1 and the stored values.
var assignCases = []struct {
	name, column, text string
	want               any
}{
	{"now", "UDate", "NOW()", "2026-01-05 14:30:45"},
	{"null", "UDate", "NULL", nil},
	{"date becomes midnight", "UDate", "CURDATE()", "2026-01-05 00:00:00"},
	{"plain date", "UDate", "2026-01-05", "2026-01-05 00:00:00"},
	{"quoted date", "UDate", "'2026-01-05 10:00:00'", "2026-01-05 10:00:00"},
	{"invalid date", "UDate", "'soon'", "!"},
	{"impossible date", "UDate", "2026-13-05 00:00:00", "!"},
	{"column", "RecrawlDate", "DATE_ADD(NOW(), INTERVAL `RecrawlPeriod` MINUTE)", "2026-01-05 15:30:45"},
	{"shipped re-crawl date", "RecrawlDate", `DATE_ADD(DATE_FORMAT(NOW(),"%Y-%m-%d 00:00:00"), INTERVAL ((((HOUR(NOW())*60 + MINUTE(NOW()) + SECOND(NOW())/60) DIV (RecrawlPeriod+1)+1)*RecrawlPeriod) + 15) MINUTE)`, "2026-01-05 15:15:00"},
	{"counter", "Iterations", "Iterations+1", int64(4)},
	{"mask", "Errors", "`Errors` | 3", int64(7)},
	{"number as text", "Iterations", "'7'", int64(7)},
	{"rounded", "Iterations", "2.5", int64(3)},
	{"text", "Description", "'it''s'", "it's"},
	{"text of a number", "Description", "12", "12"},
	{"float", "HTTPTimeout", "'1.5'", 1.5},
	{"unknown", "Nothing", "1", "!"},
	{"empty text", "Iterations", " ", ""},
}

// TestAssign writes assignCases into a row and reads them back.
func TestAssign(t *testing.T) {
	db := openTest(t)
	for _, c := range assignCases {
		t.Run(c.name, func(t *testing.T) {
			q, err := siteScope().Assign(c.column, c.text)
			switch {
			case c.want == "!":
				if err == nil {
					t.Fatalf("accepted: %s", q.Text)
				}
				return
			case err != nil:
				t.Fatal(err)
			case c.want == "":
				if q.Text != "" {
					t.Errorf("wrote %q", q.Text)
				}
				return
			}
			run(t, db, "UPDATE sites SET "+c.column+" = "+q.Text+" WHERE Id='s1'", q.Args...)
			var got any
			if err := db.QueryRow("SELECT " + c.column + " FROM sites WHERE Id='s1'").Scan(&got); err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("%s\n got %v (%T)\nwant %v", q.Text, got, got, c.want)
			}
		})
	}
}

func TestSelect(t *testing.T) {
	db := openTest(t)
	q, err := siteScope().Select("SELECT SUM(`Resources`) AS Resources, State n, COUNT(*) FROM `sites` WHERE State<>9 GROUP BY n ORDER BY n DESC LIMIT 1")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(q.Text, q.Args...)
	if err != nil {
		t.Fatal(q.Text, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(columns, []string{"Resources", "n", "COUNT(*)"}) {
		t.Errorf("columns %q", columns)
	}
	got := [][3]int{}
	for rows.Next() {
		var r [3]int
		if err := rows.Scan(&r[0], &r[1], &r[2]); err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	if len(got) != 1 || got[0] != [3]int{1, 3, 1} {
		t.Errorf("rows %v", got)
	}
	for _, text := range []string{"DELETE FROM sites", "SELECT * FROM mysql.user", "SELECT 1; SELECT 2", "SELECT 1 UNION SELECT 2", "SELECT * FROM (SELECT 1) x", "WITH x AS (SELECT 1) SELECT * FROM x", "SELECT * FROM sites INTO OUTFILE '/tmp/a'", "SELECT * FROM sites FOR UPDATE", "SELECT *", "TABLE sites", "SHOW TABLES", "SELECT sites.* FROM sites s"} {
		if q, err := siteScope().Select(text); err == nil {
			t.Errorf("%s accepted: %s", text, q.Text)
		} else {
			t.Log(err)
		}
	}
}

func TestJoined(t *testing.T) {
	s := siteScope()
	s.Table.Alias = "s"
	s.Joined = []Table{{Database: "dc_sites", Name: "sites_urls", Alias: "u", Columns: urlColumns}}
	q, err := s.Where("State=1 AND u.State=0 AND URLMd5='x'")
	if err != nil {
		t.Fatal(err)
	}
	if want := "(((`s`.`State` = ?) AND (`u`.`State` = ?) AND (`u`.`URLMd5` = ?)))"; q.Text != want {
		t.Errorf("\n got %s\nwant %s", q.Text, want)
	}
}

// TestDocExample checks the example of the package comment.
func TestDocExample(t *testing.T) {
	s := Scope{Now: testNow, Table: Table{Name: "urls_0", Columns: map[string]Kind{"Status": Int, "UDate": Time}}}
	q, err := s.Where("Status=1 AND DATE_ADD(UDate, INTERVAL 5 MINUTE) < NOW()")
	if err != nil {
		t.Fatal(err)
	}
	if want := "(((`Status` = ?) AND (my_date_add(`UDate`, ?, 'MINUTE') < ?)))"; q.Text != want || fmt.Sprint(q.Args) != "[1 5 2026-01-05 14:30:45]" {
		t.Errorf("%s %v", q.Text, q.Args)
	}
}
