package expr

import (
	"fmt"
	"strings"
	"testing"
)

func TestChange(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"update":            {"UPDATE sites SET State=2, UDate='2026-01-05' WHERE Id='a' OR 1", "UPDATE T SET `State` = ?, `UDate` = ? WHERE own AND ((("},
		"update all":        {"UPDATE dc_sites.sites SET `state`=State+1", "UPDATE T SET `State` = (`State` + ?) WHERE own"},
		"delete":            {"DELETE FROM `sites` WHERE Id='a'", "DELETE FROM T WHERE own AND ("},
		"insert":            {"INSERT INTO sites (Id, State) VALUES ('a', 1+1), ('b', NULL)", "INSERT INTO T (`Id`, `State`, `CDate`) VALUES (?, (? + ?), ?), (?, NULL, ?)"},
		"insert its own":    {"INSERT INTO sites (Id, CDate) VALUES ('a', NOW())", "INSERT INTO T (`Id`, `CDate`) VALUES (?, ?)"},
		"insert, few":       {"INSERT INTO sites (Id, State) VALUES ('a')", "!VALUES"},
		"insert, no names":  {"INSERT INTO sites VALUES ('a')", "!INSERT other than"},
		"insert, select":    {"INSERT INTO sites (Id) SELECT 'x'", "!INSERT other than"},
		"insert, column":    {"INSERT INTO sites (Id) VALUES (State)", "!column `State`"},
		"replace":           {"REPLACE INTO sites (Id) VALUES ('a')", "!REPLACE"},
		"ignore":            {"INSERT IGNORE INTO sites (Id) VALUES ('a')", "!INSERT other than"},
		"on duplicate":      {"INSERT INTO sites (Id) VALUES ('a') ON DUPLICATE KEY UPDATE State=1", "!INSERT other than"},
		"two tables":        {"UPDATE sites, urls_s1 SET sites.State=1", "!UPDATE"},
		"two deleted":       {"DELETE sites FROM sites JOIN urls_s1 ON 1=1", "!DELETE other than"},
		"limit":             {"DELETE FROM sites LIMIT 1", "!DELETE other than"},
		"order":             {"UPDATE sites SET State=1 ORDER BY Id", "!UPDATE other than"},
		"alias":             {"UPDATE sites s SET s.State=1", "!alias"},
		"sub-select":        {"DELETE FROM sites WHERE Id IN (SELECT Site_Id FROM urls_s1)", "!sub-select on"},
		"unknown table":     {"DELETE FROM nothing", "!table `nothing`"},
		"unknown column":    {"UPDATE sites SET Nothing=1", "!column `Nothing`"},
		"twice":             {"UPDATE sites SET State=1, state=2", "!column `state` is set twice"},
		"function":          {"UPDATE sites SET State=SLEEP(1)", "!function SLEEP"},
		"second statement":  {"DELETE FROM sites; DELETE FROM sites", "!statement separator"},
		"select":            {"SELECT 1", "!statement other than"},
		"truncate":          {"TRUNCATE sites", "!statement other than"},
		"nothing":           {" ", "!"},
		"literal of a date": {"UPDATE sites SET UDate='never'", "!"},
	}
	find := func(_, table string) *Table {
		for _, known := range []*Table{&siteTable, &urlTable} {
			if known.Name == table {
				return known
			}
		}
		return nil
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			change, err := Scope{Now: testNow, Find: find}.Change(c.text)
			if refusal, refused := strings.CutPrefix(c.want, "!"); refused {
				if err == nil || !strings.HasPrefix(err.Error(), refusal) {
					t.Errorf("error = %v, want %s", err, refusal)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			q := change.Text("T", SQL{Text: "own"}, map[string]any{"CDate": "now"})
			if !strings.HasPrefix(q.Text, c.want) || strings.Count(q.Text, "?") != len(q.Args) {
				t.Errorf("%s %v, want %s", q.Text, q.Args, c.want)
			}
		})
	}
	// Only comparisons differ in the text for MySQL.
	change, err := Scope{Dialect: MySQL, Now: testNow, Find: find}.Change("UPDATE sites SET State=2 WHERE Id='a'")
	if err != nil {
		t.Fatal(err)
	}
	if q := change.Text("T", SQL{}, nil); q.Text != "UPDATE T SET `State` = ? WHERE ((`Id` = ?))" || fmt.Sprint(q.Args) != "[2 a]" {
		t.Errorf("%s %v", q.Text, q.Args)
	}
}
