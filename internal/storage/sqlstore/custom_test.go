package sqlstore

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// custom returns the result as JSON, or "!" and the errString.
func (b *bench) custom(mode CustomMode, raw string) string {
	b.Helper()
	r, err := wire.ReadCustom(json.RawMessage(raw), nil)
	b.must(err)
	answer, err := b.Custom(ctx, r, mode)
	b.must(err)
	if answer.ErrString != nil {
		if answer.Result == nil || len(answer.Result) > 0 {
			b.Errorf("%s: result together with an error: %v", raw, answer.Result)
		}
		return "!" + *answer.ErrString
	}
	text, err := json.Marshal(answer.Result)
	b.must(err)
	return string(text)
}

// query is a request of one text on dc_sites.
func query(text string) string {
	raw, err := json.Marshal(map[string]any{"rid": 1, "query": text, "dbName": "dc_sites"})
	if err != nil {
		return ""
	}
	return string(raw)
}

func customBench(t testing.TB) *bench {
	b := newBench(t)
	b.newSite(`{"id":"s","urls":["http://a/"],"userId":7,"description":"2026-01-05 10:00:00","properties":{"P":"1"},"filters":[{"pattern":"f"}]}`)
	b.newSite(`{"id":"s-2"}`)
	b.newURLs(`[{"siteId":"s","url":"u","size":10,"crawlingTime":4,"parentMd5":"` + md5One + `","attributes":[{"k":"v"}]}]`)
	b.newProxies(`[{"siteId":"s","host":"h"}]`)
	return b
}

func TestCustomRead(t *testing.T) {
	b := customBench(t)
	cases := map[string]struct{ db, text, want string }{
		"of the database":           {"dc_sites", "SELECT Id, State FROM sites WHERE User_Id=7", `[["s",1]]`},
		"named database":            {"dc_urls", "SELECT `dc_sites`.`sites`.`Id` FROM `dc_sites`.`sites` WHERE User_Id=7", `[["s"]]`},
		"another's table":           {"dc_sites", "SELECT COUNT(*) FROM urls_s", "!table `urls_s` is not known"},
		"of a site":                 {"dc_urls", "SELECT COUNT(*), SUM(Size), AVG(Size), MAX(HTTPTimeout) FROM URLS_s", `[[2,"10","5.0000",30000]]`},
		"site with a hyphen":        {"dc_urls", "SELECT COUNT(*), SUM(Size) FROM `urls_s-2`", `[[0,null]]`},
		"unknown site":              {"dc_urls", "SELECT 1 FROM urls_no", "!table `urls_no` is not known"},
		"join":                      {"dc_urls", "SELECT s.Id, u.URL FROM urls_s u JOIN dc_sites.sites s ON s.Id=u.Site_Id ORDER BY u.URL", `[["s","http://a/"],["s","u"]]`},
		"sub-select":                {"dc_urls", "SELECT URL FROM urls_s WHERE Size=(SELECT MAX(Size) FROM urls_s) AND Site_Id IN (SELECT Id FROM dc_sites.sites)", `[["u"]]`},
		"self join":                 {"dc_urls", "SELECT COUNT(*) FROM urls_s a, urls_s b", `[[4]]`},
		"attributes":                {"dc_attributes", "SELECT * FROM att_s", `[[1,"k","` + wire.Md5("u") + `","v","2026-01-05T10:00:00"]]`},
		"deleted, another database": {"dc_urls_deleted", "SELECT COUNT(*) FROM urls_s", `[[0]]`},
		"contents":                  {"dc_contents", "SELECT id, data, CDate FROM contents_s", `[]`},
		"counters":                  {"dc_stat_freqs", "SELECT SUM(FIns) FROM freq_s", `[[null]]`},
		"journal":                   {"dc_stat_logs", "SELECT OpCode, Object, ODate FROM log_s", `[]`},
		"lists":                     {"dc_sites", "SELECT p.Name, f.Pattern, r.URL FROM sites_properties p, sites_filters f, sites_urls r WHERE p.Site_Id='s' AND f.Site_Id='s'", `[["P","f","http://a/"]]`},
		"proxies":                   {"dc_sites", "SELECT Host, Domains, CDate FROM sites_proxy", `[["h",null,"2026-01-05T10:00:00"]]`},
		"a text like a date":        {"dc_sites", "SELECT Description, CDate FROM sites WHERE Id='s'", `[["2026-01-05 10:00:00","2026-01-05T10:00:00"]]`},
		"no table":                  {"dc_sites", "SELECT NOW(), NULL, 2.00, 1/4", `[["2026-01-05T10:00:00",null,"2.00","0.2500"]]`},
		"groups":                    {"dc_sites", "SELECT State, COUNT(*) AS n FROM sites GROUP BY State HAVING n > 0 ORDER BY n LIMIT 5", `[[1,3]]`},
		"our own columns":           {"dc_sites", "SELECT RecrawlLock FROM sites", "!column `RecrawlLock` is not known"},
		"our own tables":            {"dc_sites", "SELECT * FROM trash", "!table `trash` is not known"},
		"names of the file":         {"dc_sites", "SELECT * FROM `dc_urls.urls`", "!table `dc_urls.urls` is not known"},
		"another database":          {"dc_sites", "SELECT * FROM mysql.user", "!table `mysql`.`user` is not known"},
		"path for an id":            {"dc_urls", "SELECT * FROM `urls_s' OR '1`", "!table `urls_s' OR '1` is not known"},
		"function":                  {"dc_sites", "SELECT SLEEP(9)", "!function SLEEP is not allowed"},
		"union":                     {"dc_sites", "SELECT 1 UNION SELECT 2", "!UNION is not allowed"},
		"file":                      {"dc_sites", "SELECT 1 INTO OUTFILE '/tmp/x'", "!INTO OUTFILE is not allowed"},
		"lock":                      {"dc_sites", "SELECT Id FROM sites FOR UPDATE", "!locking clause is not allowed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			raw, err := json.Marshal(map[string]any{"rid": 1, "query": c.text, "dbName": c.db})
			b.must(err)
			if got := (&bench{Store: b.Store, TB: t}).custom(CustomRead, string(raw)); got != c.want {
				t.Errorf("%s\n%s, want\n%s", c.text, got, c.want)
			}
		})
	}
	names := `{"rid":5,"query":["SELECT Id, COUNT(*) FROM sites WHERE Id='s' GROUP BY Id","SELECT * FROM dc_attributes.att_s"],"dbName":"dc_sites","includeFieldsNames":1}`
	same(t, "names", b.custom(CustomRead, names),
		`[[{"COUNT(*)":1,"Id":"s"}],[{"CDate":"2026-01-05T10:00:00","Id":1,"Name":"k","URLMd5":"`+wire.Md5("u")+`","Value":"v"}]]`)
	sites := b.custom(CustomRead, `{"rid":5,"query":"SELECT * FROM sites WHERE Id='s'","dbName":"dc_sites","includeFieldsNames":1}`)
	var rows []map[string]any
	b.must(json.Unmarshal([]byte(sites), &rows))
	same(t, "columns of *", []any{len(rows), len(rows[0]), rows[0]["CDate"], rows[0]["TcDate"]}, []any{1, len(wire.SiteColumns), "2026-01-05T10:00:00", nil})
}

func TestCustomRequests(t *testing.T) {
	b := customBench(t)
	cases := map[string]struct {
		mode      CustomMode
		raw, want string
	}{
		"off":                {CustomOff, query("SELECT 1"), "!SQL_CUSTOM is switched off; SQLCustom of db-task.ini allows it"},
		"off by default":     {"", query("SELECT 1"), "!SQL_CUSTOM is switched off; SQLCustom of db-task.ini allows it"},
		"number":             {CustomRead, `{"rid":1,"query":5,"dbName":"dc_sites"}`, "!query is not a text or a list of texts"},
		"list of numbers":    {CustomRead, `{"rid":1,"query":["SELECT 1",5],"dbName":"dc_sites"}`, "!query is not a text or a list of texts"},
		"list with null":     {CustomRead, `{"rid":1,"query":["SELECT 1",null],"dbName":"dc_sites"}`, "!query is not a text or a list of texts"},
		"empty text":         {CustomRead, `{"rid":1,"query":" ","dbName":"dc_sites"}`, "!query is empty"},
		"empty list":         {CustomRead, `{"rid":1,"query":[],"dbName":"dc_sites"}`, "!query is empty"},
		"list of empty text": {CustomAll, `{"rid":1,"query":["SELECT 1",""],"dbName":"dc_sites"}`, "!query is empty"},
		"no database":        {CustomRead, `{"rid":1,"query":"SELECT 1","dbName":""}`, `!dbName "" is not the name of a database`},
		"bad database":       {CustomAll, `{"rid":1,"query":"SELECT 1","dbName":"mysql"}`, `!dbName "mysql" is not the name of a database`},
		"second fails":       {CustomRead, `{"rid":1,"query":["SELECT 1","SELECT 1 FROM nothing"],"dbName":"dc_sites"}`, "!table `nothing` is not known"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (&bench{Store: b.Store, TB: t}).custom(c.mode, c.raw); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// docs/spec/storage.md 6.2 #36: the read-only check looked only at the first word.
func TestCustomReadOnly(t *testing.T) {
	b := customBench(t)
	for _, text := range []string{
		"TRUNCATE sites", "REPLACE INTO sites (Id) VALUES ('x')", "CREATE TABLE x (a INT)", "INSERT INTO sites (Id) VALUES ('x')",
		"UPDATE sites SET State=2", "DELETE FROM sites", "DROP TABLE sites", "ALTER TABLE sites ADD x INT", "SELECT 1; DELETE FROM sites",
		"/* x */ DELETE FROM sites", "WITH a AS (SELECT 1) DELETE FROM sites", "PRAGMA query_only = 0", "ATTACH 'x' AS y", "COMMIT", "SET @a = 1",
		"SELECT @a := 1", "CALL p()", "(DELETE FROM sites)", "EXPLAIN DELETE FROM sites", "SELECT LOAD_FILE('/etc/passwd')", "DELETE FROM \"dc_sites.sites\"",
	} {
		if got := b.custom(CustomRead, query(text)); !strings.HasPrefix(got, "!") {
			t.Errorf("%s: %s", text, got)
		}
	}
	same(t, "sites", b.custom(CustomRead, query("SELECT COUNT(*), MAX(State) FROM sites")), "[[3,1]]")
}

func TestCustomAll(t *testing.T) {
	sites, urls := func(b *bench) string { return b.db.Table(sqldb.Sites, "sites") }, func(b *bench) string { return b.db.SiteTable(sqldb.URLs, "s") }
	texts := func(list ...string) func(*bench) []string { return func(*bench) []string { return list } }
	cases := map[string]struct {
		texts  func(b *bench) []string
		want   string // "!" for any error
		then   string // State, NewURLs and number of rows of s afterwards
		sqlite bool   // MySQL permits it
	}{
		"read as in read":   {texts("SELECT Id FROM sites WHERE User_Id=7"), `[[["s"]]]`, `[[1,2,2]]`, false},
		"update":            {texts("UPDATE `sites` SET `State`=2, UDate=DATE_ADD(CDate, INTERVAL 1 DAY) WHERE `Id`='s' OR `Id`='x'"), `[[]]`, `[[2,2,2]]`, false},
		"update, then read": {texts("UPDATE dc_urls.urls_s SET Status=4, Crawled=Crawled+1 WHERE URL='u'", "SELECT NewURLs FROM sites WHERE Id='s'"), `[[],[[1]]]`, `[[1,1,2]]`, false},
		"delete":            {texts("DELETE FROM dc_urls.urls_s WHERE URL='u' OR 1=0"), `[[]]`, `[[1,1,1]]`, false},
		"insert":            {texts("INSERT INTO dc_urls.urls_s (URL, URLMd5, Status) VALUES ('x', '" + md5One + "', 2+2), ('y', '" + md5Two + "', 1)"), `[[]]`, `[[1,3,4]]`, false},
		"another site":      {texts("UPDATE dc_urls.`urls_s-2` SET Status=4", "DELETE FROM dc_urls.`urls_s-2`"), `[[],[]]`, `[[1,2,2]]`, false},
		"all or nothing":    {texts("DELETE FROM dc_urls.urls_s", "SELECT 1 FROM nothing"), "!", `[[1,2,2]]`, false},
		"unknown column":    {texts("UPDATE sites SET Nothing=1"), "!", `[[1,2,2]]`, false},
		"own dialect": {func(b *bench) []string {
			return []string{"UPDATE " + sites(b) + " SET State = (SELECT 1 + 2) WHERE Id = 's';", "SELECT State AS i, 'x;y' FROM " + sites(b) + " WHERE Id = 's' -- ;"}
		}, `[[],[[3,"x;y"]]]`, `[[3,2,2]]`, false},
		"second statement": {func(b *bench) []string { return []string{"SELECT 1 FROM " + sites(b) + "; DELETE FROM " + urls(b)} }, "!", `[[1,2,2]]`, false},
		"behind a comment": {func(b *bench) []string { return []string{"/*/ ' */ DELETE FROM " + urls(b) + "; SELECT 1"} }, "!", `[[1,2,2]]`, false},
		"transaction":      {texts("DELETE FROM dc_urls.urls_s", "COMMIT"), "!", `[[1,2,2]]`, true},
		"savepoint":        {texts("SAVEPOINT x"), "!", `[[1,2,2]]`, true},
		"another file":     {texts("ATTACH DATABASE '/tmp/none/x.db' AS x"), "!", `[[1,2,2]]`, false},
		"pragma":           {texts("PRAGMA journal_mode = DELETE"), "!", `[[1,2,2]]`, false},
		"nonsense":         {texts("FETCH me a beer"), "!", `[[1,2,2]]`, false},
	}
	for name, c := range cases {
		if c.sqlite && backend != sqldb.DriverSQLite {
			continue
		}
		t.Run(name, func(t *testing.T) {
			b := customBench(t)
			raw, err := json.Marshal(map[string]any{"rid": 1, "query": c.texts(b), "dbName": "dc_sites"})
			b.must(err)
			got := b.custom(CustomAll, string(raw))
			if c.want == "!" && !strings.HasPrefix(got, "!") || c.want != "!" && got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			same(t, "then", b.custom(CustomRead, query("SELECT State, NewURLs, (SELECT COUNT(*) FROM dc_urls.urls_s) FROM sites WHERE Id='s'")), c.then)
			// The writing connection still works.
			b.newURLs(`[{"siteId":"s","url":"next"}]`)
			same(t, "next", b.row("s", "next").Status, int64(1))
		})
	}
}

func TestCustomBounds(t *testing.T) {
	b := newBench(t)
	var list []wire.URLNewRequest
	for i := range 150 {
		url := "u" + strings.Repeat("x", i)
		if i == 0 {
			url = strings.Repeat("y", 4000)
		}
		list = append(list, wire.URLNewRequest{Row: schema.Patch{"URL": url, "URLMd5": wire.Md5(url), "Site_Id": "0"}})
	}
	_, _, err := b.URLNew(ctx, list)
	b.must(err)
	custom := func(text string) string {
		raw, err := json.Marshal(map[string]any{"rid": 1, "query": text, "dbName": "dc_urls", "includeFieldsNames": 1})
		b.must(err)
		return b.custom(CustomRead, string(raw))
	}
	const much = "!the answer has more than 10000 rows or 16777216 bytes"
	same(t, "rows", custom("SELECT a.Status FROM urls_0 a, urls_0 b"), much)
	same(t, "bytes", custom("SELECT a.URL FROM urls_0 a, urls_0 b, urls_0 c WHERE a.URL LIKE 'yy%' LIMIT 9000"), much)
	if got := custom("SELECT a.Status FROM urls_0 a, urls_0 b LIMIT 10000"); strings.Count(got, "Status") != 10000 {
		t.Errorf("%.100s", got)
	}
	// A slow query ends at the time limit. This is not an error of the node.
	b.Store.db.Options.CustomTime = 100 * time.Millisecond
	const slow = "SELECT COUNT(*) FROM urls_0 a, urls_0 b, urls_0 c WHERE CONCAT(a.URL, 1) > CONCAT(b.URL, c.URL)"
	same(t, "time", custom(slow), "!the queries take longer than 100ms")
	cancelled, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	if _, err := b.Custom(cancelled, wire.CustomRequest{Queries: []string{slow}, DBName: "dc_urls"}, CustomRead); err == nil {
		t.Error("a cancelled request has an answer")
	}
	b.Store.db.Options.CustomTime = 30 * time.Second
	same(t, "then", custom("SELECT COUNT(*) n FROM urls_0"), `[{"n":150}]`)
}

// Requests may use the configured names of databases and those of the specification.
func TestCustomOfRenamedDatabases(t *testing.T) {
	d, err := sqldb.Open(ctx, sqldb.Config{Path: t.TempDir() + "/dc.db", Names: map[string]string{sqldb.URLs: "live"}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s := Open(d, Options{})
	for database, want := range map[string]string{"live": "", "dc_urls": "", "dead": `dbName "dead" is not the name of a database`} {
		answer, err := s.Custom(ctx, wire.CustomRequest{Queries: []string{"SELECT COUNT(*) FROM urls_0 u JOIN live.urls_0 ON live.urls_0.URL=u.URL"}, DBName: database}, CustomRead)
		if err != nil || (answer.ErrString == nil) != (want == "") || want != "" && *answer.ErrString != want {
			t.Errorf("%s: %+v, %v", database, answer, err)
		}
	}
}
