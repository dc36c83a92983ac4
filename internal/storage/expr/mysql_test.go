package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pingcap/tidb/pkg/parser"
)

// TestMySQL checks the texts of the MySQL writer. Each result must parse again.
func TestMySQL(t *testing.T) {
	p := parser.New()
	for _, c := range []struct{ text, want, args string }{
		{"URL LIKE 'a' OR URL NOT LIKE 'b'", "((`URL` LIKE ?) OR (`URL` NOT LIKE ?))", "[a b]"},
		{"status=1 AND NOT State", "((`Status` = ?) AND (NOT `State`))", "[1]"},
		{"NOW() - UDate > 0", "((CAST(? AS DATETIME) - `UDate`) > ?)", "[2026-01-05 14:30:45 0]"},
		{"PDate >= CURDATE()", "(`PDate` >= CAST(? AS DATE))", "[2026-01-05]"},
		{"DATE_ADD(UDate, INTERVAL 1.5 MINUTE) < '2026-01-01'", "(DATE_ADD(`UDate`, INTERVAL ? MINUTE) < ?)", "[1.5 2026-01-01]"},
		{"URL LIKE '%?%' OR ContentType IN ('a', \"b\")", "((`URL` LIKE ?) OR (`ContentType` IN (?, ?)))", "[%?% a b]"},
		{"ErrorMask & ~8 = 0", "((`ErrorMask` & (~ ?)) = ?)", "[8 0]"},
		{"EXISTS (SELECT * FROM sites s WHERE s.Id = Site_Id)", "(EXISTS (SELECT 1 FROM `dc_sites`.`sites` AS `s` WHERE (`s`.`Id` = `dc_urls`.`urls_s1`.`Site_Id`)))", "[]"},
		{"IF(Status IS NULL, SUBSTRING(URL, 2), IF(Status = 1, CAST(Size AS CHAR), 'x'))", "IF((`Status` IS NULL), SUBSTRING(`URL`, ?), IF((`Status` = ?), CAST(`Size` AS CHAR), ?))", "[2 1 x]"},
		{"TIMESTAMPDIFF(HOUR, UDate, CDate) DIV 2 OR DAY(UDate) BETWEEN 1 AND 2", "((TIMESTAMPDIFF(HOUR, `UDate`, `CDate`) DIV ?) OR (DAY(`UDate`) BETWEEN ? AND ?))", "[2 1 2]"},
		{"(SELECT BIT_OR(DISTINCT 1) FROM sites)", "!", ""},
		{"(SELECT COUNT(DISTINCT State) FROM sites GROUP BY State HAVING COUNT(*)>1 ORDER BY State DESC LIMIT 2, 1)", "(SELECT COUNT(DISTINCT `dc_sites`.`sites`.`State`) FROM `dc_sites`.`sites` GROUP BY `dc_sites`.`sites`.`State` HAVING (COUNT(*) > ?) ORDER BY `dc_sites`.`sites`.`State` DESC LIMIT ? OFFSET ?)", "[1 1 2]"},
	} {
		t.Run(c.text, func(t *testing.T) {
			s := urlScope()
			s.Dialect, s.Quote = MySQL, nil
			q, err := s.Value(c.text)
			if c.want == "!" {
				if err == nil {
					t.Fatalf("accepted: %s", q.Text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if q.Text != c.want || fmt.Sprint(q.Args) != c.args {
				t.Errorf("\n got %s %v\nwant %s %s", q.Text, q.Args, c.want, c.args)
			}
			if _, _, err := p.ParseSQL("SELECT " + q.Text); err != nil {
				t.Errorf("%s: %v", q.Text, err)
			}
		})
	}
}

// TestMySQLFunctions writes a call of each supported function for both databases.
func TestMySQLFunctions(t *testing.T) {
	db := openTest(t)
	p := parser.New()
	written := map[string]string{
		"TIMESTAMPDIFF": "TIMESTAMPDIFF(DAY, UDate, CDate)", "DATE_ADD": "DATE_ADD(UDate, INTERVAL 1 DAY)", "DATE_SUB": "DATE_SUB(UDate, INTERVAL 1 DAY)", "CAST": "CAST(URL AS SIGNED)", "DATE_FORMAT": "DATE_FORMAT(UDate, '%Y')",
	}
	for name, r := range functions {
		text := written[name]
		if text == "" {
			args := "URL" + strings.Repeat(", Status", max(r.min-1, 0))
			if r.max == 0 || r.min == 0 {
				args = ""
			}
			text = name + "(" + args + ")"
			if r.sqlite == nil {
				text = "(SELECT " + text + " FROM urls_s1)"
			}
		}
		if r.source == "" {
			t.Errorf("function %s has no source", name)
		}
		s := urlScope()
		q, err := s.Value(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		firstColumn(t, db, "SELECT "+q.Text+" FROM urls_s1", q.Args)
		s.Dialect, s.Quote = MySQL, nil
		if q, err = s.Value(text); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if _, _, err := p.ParseSQL("SELECT " + q.Text); err != nil {
			t.Errorf("%s: %v", q.Text, err)
		}
	}
}

// TestLengths checks that LENGTH of a column reads the stored length on MySQL, never
// on SQLite.
func TestLengths(t *testing.T) {
	s := siteScope()
	s.Foreign = append([]Table{}, s.Foreign...)
	for i := range s.Foreign {
		if s.Foreign[i].Name == urlTable.Name {
			s.Foreign[i].Lengths = map[string]string{"ParentMd5": "ParentLen"}
		}
	}
	u := urlScope()
	u.Table.Lengths = map[string]string{"ParentMd5": "ParentLen"}
	for _, c := range []struct {
		name  string
		scope Scope
		text  string
		mysql string
	}{
		{"length", u, "LENGTH(ParentMd5)", "`ParentLen`"},
		{"other case", u, "length(parentmd5) = 0", "(`ParentLen` = ?)"},
		{"another column", u, "LENGTH(URLMd5)", "LENGTH(`URLMd5`)"},
		{"not the column itself", u, "LENGTH(SUBSTRING(ParentMd5, 1))", "LENGTH(SUBSTRING(CAST(`ParentMd5` AS CHAR), ?))"},
		{"an expression", u, "LENGTH(CONCAT(ParentMd5))", "LENGTH(CONCAT(CAST(`ParentMd5` AS CHAR)))"},
		{"in a sub-select", s, "(SELECT MAX(LENGTH(u.ParentMd5)) FROM dc_urls.urls_s1 u)", "(SELECT MAX(`u`.`ParentLen`) FROM `dc_urls`.`urls_s1` AS `u`)"},
		{"alias that hides the column", s, "(SELECT Status AS ParentMd5 FROM dc_urls.urls_s1 ORDER BY LENGTH(ParentMd5) LIMIT 1)", "(SELECT `dc_urls`.`urls_s1`.`Status` FROM `dc_urls`.`urls_s1` ORDER BY LENGTH(`dc_urls`.`urls_s1`.`Status`) LIMIT ? OFFSET ?)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			scope := c.scope
			scope.Dialect, scope.Quote = MySQL, nil
			q, err := scope.Value(c.text)
			if err != nil || q.Text != c.mysql {
				t.Errorf("%q, %v; want %q", q.Text, err, c.mysql)
			}
			scope.Dialect = SQLite
			if q, err = scope.Value(c.text); err != nil || strings.Contains(q.Text, "ParentLen") {
				t.Errorf("SQLite: %q, %v", q.Text, err)
			}
		})
	}
	u.Dialect, u.Quote = MySQL, nil
	if q, err := u.OrderBy("LENGTH(`ParentMd5`) ASC, Priority DESC"); err != nil || q.Text != "`ParentLen`, `Priority` DESC" {
		t.Errorf("order %q, %v", q.Text, err)
	}
	u.Table.Alias, u.Joined = "x", []Table{siteTable}
	if q, err := u.OrderBy("LENGTH(ParentMd5)"); err != nil || q.Text != "`x`.`ParentLen`" {
		t.Errorf("order with a join %q, %v", q.Text, err)
	}
}
