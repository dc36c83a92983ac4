package expr

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/testkit/testwait"
)

func TestFields(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"columns":          {"SELECT State, CDate AS d, HTTPTimeout FROM sites", "State:-1 d:-1t HTTPTimeout:-1"},
		"sum and mean":     {"SELECT SUM(Size) s, AVG(Size) a, SUM(HTTPTimeout) h, COUNT(*) c, MAX(CDate) m FROM sites", "s:0 a:4 h:-1 c:-1 m:-1t"},
		"quotient":         {"SELECT Size/Errors q, Size*2 p, SUM(Size)*2 r, SUM(Size)/COUNT(*) z FROM sites", "q:4 p:-1 r:0 z:4"},
		"literal and cast": {"SELECT 1.50 c, CAST('7' AS SIGNED) i", "c:2 i:-1"},
		"default of a sum": {"SELECT IFNULL(SUM(Size), 0) s, IFNULL(HTTPTimeout, 0) h FROM sites", "s:0 h:-1"},
		"star":             {"SELECT * FROM sites", "sites.*"},
		"one star":         {"SELECT u.*, 1 FROM sites s JOIN urls_s1 u ON u.Site_Id = s.Id", "urls_s1.* 1:-1"},
		"moments":          {"SELECT DATE_ADD(CDate, INTERVAL 1 DAY) a, CURDATE() b, NOW() c FROM sites", "a:-1t b:-1 c:-1t"},
	}
	for name, c := range cases {
		for _, dialect := range []Dialect{SQLite, MySQL} {
			t.Run(fmt.Sprintf("%s %d", name, dialect), func(t *testing.T) {
				s := Scope{Dialect: dialect, Now: testNow, Foreign: []Table{siteTable, urlTable}}
				_, fields, err := s.Query(c.text)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, f := range fields {
					switch {
					case f.Table != nil:
						got = append(got, f.Table.Name+".*")
					case f.Time:
						got = append(got, fmt.Sprintf("%s:%dt", f.Name, f.Decimals))
					default:
						got = append(got, fmt.Sprintf("%s:%d", f.Name, f.Decimals))
					}
				}
				if strings.Join(got, " ") != c.want {
					t.Errorf("fields = %v, want %s", got, c.want)
				}
			})
		}
	}
}

// The description of a column must not cost more than its text.
func TestFieldsOfDeepText(t *testing.T) {
	text := "SELECT " + strings.Repeat("(1+", 40) + "1" + strings.Repeat(")", 40)
	begin := time.Now()
	if _, _, err := (Scope{Now: testNow}).Query(text); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begin); d > testwait.Deadline {
		t.Errorf("took %v", d)
	}
}

func TestFind(t *testing.T) {
	find := func(database, table string) *Table {
		if strings.EqualFold(table, "urls_s1") && (database == "" || database == "dc_urls") {
			return &urlTable
		}
		return nil
	}
	s := Scope{Now: testNow, Foreign: []Table{siteTable}, Find: find}
	q, _, err := s.Query("SELECT COUNT(*) FROM sites JOIN dc_urls.urls_s1 u ON u.Site_Id = sites.Id")
	if err != nil || !strings.Contains(q.Text, "JOIN `dc_urls`.`urls_s1` AS `u`") {
		t.Errorf("%s: %v", q.Text, err)
	}
	for text, part := range map[string]string{
		"SELECT 1 FROM urls_s2":                               "table `urls_s2` is not known",
		"SELECT 1 FROM mysql.user":                            "table `mysql`.`user` is not known",
		"SELECT (SELECT Id FROM dc_sites.urls_s1) FROM sites": "table `dc_sites`.`urls_s1` is not known",
	} {
		if _, _, err := s.Query(text); err == nil || err.Error() != part {
			t.Errorf("%s: %v", text, err)
		}
	}
}
