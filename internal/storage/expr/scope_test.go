package expr

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/pingcap/tidb/pkg/parser"

	"hce/dc/internal/wire"
)

func TestParseLimit(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		want Limit
		bad  bool
	}{
		{"nothing", "", Limit{}, false},
		{"blank", " ", Limit{}, false},
		{"zero", "0", Limit{Set: true}, false},
		{"number", " 5 ", Limit{Count: 5, Set: true}, false},
		{"offset, count", "0, 10", Limit{Count: 10, Set: true}, false},
		{"offset", "2,3", Limit{Offset: 2, Count: 3, Set: true}, false},
		{"negative", "-1", Limit{}, true},
		{"negative in a list", "0,-1", Limit{}, true},
		{"fraction", "1.5", Limit{}, true},
		{"not a number", "NaN", Limit{}, true},
		{"huge", "9007199254740993", Limit{}, true},
		{"three", "1,2,3", Limit{}, true},
		{"comma", ",", Limit{}, true},
		{"SQL", "1; DROP TABLE x", Limit{}, true},
		{"sub-select", "(SELECT 1)", Limit{}, true},
		{"long", strings.Repeat("9", 5000), Limit{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseLimit(c.text)
			if got != c.want || (err != nil) != c.bad {
				t.Errorf("got %+v, %v", got, err)
			}
			if err != nil && len(err.Error()) > 200 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestMacros(t *testing.T) {
	db := openTest(t)
	for _, c := range []struct {
		name, text string
		macros     map[string]string
		want       string // "!" refused
	}{
		{"field", "%STATUS% = 4", map[string]string{"STATUS": "4"}, "1"},
		{"text", "%CTYPE% = 'text/html'", map[string]string{"CTYPE": wire.QuotedSQL("text/html")}, "1"},
		{"hostile text", "%URL% = 'x'", map[string]string{"URL": wire.QuotedSQL(`a' OR 1=1 \' -- `)}, "0"},
		{"value unquoted by mistake", "'%URL%' = 'x'", map[string]string{"URL": "' OR SLEEP(1) OR '"}, "!"},
		{"unknown in a string", "'a%NAME%b' LIKE '%NAME%'", map[string]string{"X": "1"}, "1"},
		{"value is not expanded again", "'%A%' = '%B%'", map[string]string{"A": "%B%", "B": "x"}, "0"},
		{"condition", "%PROCESS_WHERE_URLS%", map[string]string{"PROCESS_WHERE_URLS": "IFNULL(NULL, 2 > 1)"}, "1"},
		{"too long", "%A%%A%", map[string]string{"A": strings.Repeat("1", maxText)}, "!"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := urlScope()
			s.Macros = c.macros
			q, err := s.Value(c.text)
			if c.want == "!" {
				if err == nil {
					t.Fatalf("accepted: %.100s", q.Text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := firstColumn(t, db, "SELECT "+q.Text, q.Args); got[0] != c.want {
				t.Errorf("%s %v = %v", q.Text, q.Args, got)
			}
		})
	}
}

// TestEmpty checks that a blank text gives zero SQL.
func TestEmpty(t *testing.T) {
	for name, f := range map[string]func(string) (SQL, error){"Where": urlScope().Where, "OrderBy": urlScope().OrderBy, "Value": urlScope().Value, "Select": urlScope().Select} {
		for _, text := range []string{"", " \n\t"} {
			if q, err := f(text); err != nil || q.Text != "" || q.Args != nil {
				t.Errorf("%s(%q) = %v, %v", name, text, q, err)
			}
		}
	}
	if _, err := (Scope{}).Where("Status=1"); err == nil {
		t.Error("a zero scope knows a column")
	}
}

// TestBareColumnNames checks that no column name needs back-ticks.
func TestBareColumnNames(t *testing.T) {
	for _, table := range []Table{urlTable, siteTable, proxyTable, propertyTable} {
		s := Scope{Table: table, Now: testNow}
		for name := range table.Columns {
			if _, err := s.Where(name + " IS NULL AND " + strings.ToLower(name) + " IS NULL"); err != nil {
				t.Errorf("%s.%s: %v", table.Name, name, err)
			}
			if _, err := s.OrderBy(name + " DESC"); err != nil {
				t.Errorf("%s.%s: %v", table.Name, name, err)
			}
		}
	}
}

// TestShared writes more texts than the cache holds, from several goroutines.
func TestShared(t *testing.T) {
	s := urlScope()
	want, err := s.Where(typical)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 300 {
				q, err := s.Where(typical)
				if err != nil || q.Text != want.Text {
					t.Errorf("%q, %v", q.Text, err)
					return
				}
				if _, err := s.Where("Status = " + strings.Repeat("1", 1+i%10) + strings.Repeat(" ", g*300+i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	trees.mu.Lock()
	defer trees.mu.Unlock()
	if len(trees.entries) > maxCached {
		t.Errorf("%d trees kept", len(trees.entries))
	}
}

const typical = "`Type`<>6 AND `Status`=4 AND `State`=0 AND `Crawled`>0 AND `Size`>0 AND `ErrorMask` & 4198399 = 0 AND `ContentType` IN ('text/html','text/xml') AND HTTPCode='200' AND DATE_ADD(UDate, INTERVAL 60 MINUTE) < NOW()"

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := parseExpression(typical); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWhere(b *testing.B) {
	s := urlScope()
	for b.Loop() {
		if _, err := s.Where(typical); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	db := openTest(b)
	run(b, db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<12500) INSERT INTO urls_s1 SELECT u.* FROM urls_s1 u, n")
	for name, where := range map[string]string{"plain": "Size>999999 AND ErrorMask & 4198399 = 0", "date_add": "DATE_ADD(UDate, INTERVAL 60 MINUTE) > NOW() + INTERVAL 1 YEAR", "text": "ContentType='nothing'"} {
		b.Run(name, func(b *testing.B) {
			q, err := urlScope().Where(where)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				firstColumn(b, db, "SELECT URLMd5 FROM urls_s1 WHERE "+q.Text, q.Args)
			}
		})
	}
}

// seeds are texts with a bit of everything.
var seeds = []string{
	typical, agingURLs, "NOW()-UDate>0", "(SELECT COUNT(*) FROM sites s WHERE s.Id=Site_Id GROUP BY State HAVING MAX(Size)>1 ORDER BY 1)", "a IN (1,'b',NULL) XOR ~1>>2", "CASE URL WHEN 1 THEN 'a' ELSE NOW() END",
	"SELECT Status, COUNT(*) AS n FROM urls_s1 GROUP BY Status HAVING n > 1 ORDER BY n DESC LIMIT 2, 5", "SELECT u.*, 0x41 `a b` FROM urls_s1 u LEFT JOIN sites s ON s.Id = u.Site_Id WHERE u.URL LIKE 'a%'", "SELECT DISTINCT 1 + 1", "TagsMask >> Status & ~'7' | b'101' ^ x''", "LENGTH(ParentMd5) + LENGTH(URL)", "2026-01-05T10:00:00Z", "URLMd5 COLLATE utf8_bin IN ('a', ParentMd5)",
	"SUBSTRING(URL FROM 2) LIKE '%a' ESCAPE '|'", "EXISTS (SELECT DISTINCT * FROM sites JOIN sites_properties p ON p.Site_Id=Id)", "DATE '2026-01-01' BETWEEN CURDATE() AND '2026'", "LENGTH(ParentMd5), Priority DESC", "CAST(x'41' AS CHAR(1)) <=> BINARY URL",
	"TIMEDIFF(NOW(), UDate) > 10000", "CONCAT(1,'a',NOW())", "IFNULL(~0, -1) & 0xff", "`Status` IS NOT TRUE", "1.5e3 DIV -2 % 3 || 'x'", "IFNULL(TIME(UDate), CURTIME())", "(SELECT MIN(URL) x FROM urls_s1 u ORDER BY x)",
	"(SELECT BIT_OR(Value) FROM sites_properties) + (SELECT AVG(DISTINCT UDate) FROM sites)", "CEIL('1.25') = TIME_TO_SEC(Size)", "TIMESTAMPDIFF(DAY, URL, 1) = MD5(Status)", "%SITE_ID%", "((SELECT 1))", "1 IN ((SELECT 1))", "(SELECT Status FROM sites ORDER BY (SELECT State))",
}

// fuzz checks that no text causes a panic, that SQLite can prepare and the MySQL parser
// can parse every accepted text, that every value is bound, and that both dialects accept
// the same texts.
func fuzz(f *testing.F, statement string, write func(Scope, string) (SQL, error)) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	for text := range valueCases {
		f.Add(text)
	}
	for _, c := range whereCases {
		f.Add(c.where)
	}
	for _, c := range orderCases {
		f.Add(c.order)
	}
	db, p := openTest(f), parser.New()
	f.Fuzz(func(t *testing.T, text string) {
		s := urlScope()
		s.Macros = map[string]string{"SITE_ID": "s1"}
		q, err := write(s, text)
		if err == nil && q.Text != "" {
			checkBound(t, text, q)
			prepared, err := db.Prepare(statement + q.Text)
			if err != nil {
				t.Fatalf("%q\n%q: %v", text, q.Text, err)
			}
			if err := prepared.Close(); err != nil {
				t.Fatal(err)
			}
		}
		s.Dialect, s.Quote = MySQL, nil
		m, other := write(s, text)
		if other == nil && m.Text != "" {
			checkBound(t, text, m)
			if _, _, err := p.ParseSQL(statement + m.Text); err != nil {
				t.Fatalf("%q\n%q: %v", text, m.Text, err)
			}
		}
		if err == nil && other != nil {
			t.Errorf("%q: for SQLite %q, for MySQL %v", text, q.Text, other)
		}
		for _, err := range []error{err, other} {
			var e *Error
			if err != nil && (!errors.As(err, &e) || e.Part == "" || e.Reason == "") {
				t.Errorf("%q: error %v", text, err)
			}
		}
	})
}

// checkBound counts the placeholders. The label of a field may also contain a "?".
func checkBound(t *testing.T, text string, q SQL) {
	t.Helper()
	if strings.Count(q.Text, "?") != len(q.Args) && !strings.Contains(q.Text, " AS `") {
		t.Errorf("%q: %q has %d arguments", text, q.Text, len(q.Args))
	}
}

func FuzzWhere(f *testing.F)   { fuzz(f, "SELECT 1 FROM urls_s1 WHERE ", Scope.Where) }
func FuzzOrderBy(f *testing.F) { fuzz(f, "SELECT 1 FROM urls_s1 ORDER BY ", Scope.OrderBy) }
func FuzzValue(f *testing.F)   { fuzz(f, "UPDATE urls_s1 SET Charset = ", Scope.Value) }
func FuzzSelect(f *testing.F)  { fuzz(f, "", Scope.Select) }

func FuzzAssign(f *testing.F) {
	fuzz(f, "UPDATE urls_s1 SET UDate = ", func(s Scope, text string) (SQL, error) {
		for _, column := range []string{"Size", "MRate", "URL"} {
			if _, err := s.Assign(column, text); err != nil {
				break
			}
		}
		return s.Assign("UDate", text)
	})
}
