package expr

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sampleRequests holds one folder of request files for each operation.
const sampleRequests = "../../wire/testdata/requests"

// clientTexts are further criterions and expressions in the style of clients: mixed
// quotes and letter case, nested calls, macros, expressions with columns.
var clientTexts = []struct {
	form  form
	sites bool
	text  string
}{
	{whereForm, false, "`ParentMd5`<>\"\" AND (`Status` IN (4,7) OR (`Status`=4 AND `Crawled`=0 AND `Processed`=0)) AND DATE_ADD(`UDate`, INTERVAL %RecrawlPeriod% MINUTE)<NOW() AND `URLMd5`<>'0123456789abcdef0123456789abcdef'"},
	{whereForm, false, "ParentMd5 <> '' and status in (4, 7) and date_add(udate, interval 2*%RecrawlPeriod% minute) < now()"},
	{whereForm, false, "`CDate`<DATE_SUB(NOW(), INTERVAL 30 DAY)"},
	{whereForm, false, "TIMESTAMPDIFF(SECOND, `TcDate`, NOW()) > TIMESTAMPDIFF(SECOND, `LastModified`, `TcDate`)"},
	{whereForm, false, "TIMESTAMPDIFF(MINUTE, NOW(), UDate) + 60 > 0"},
	{whereForm, false, "NOW() - `UDate` > 0 OR TIMEDIFF(NOW(), `UDate`) > '01:00:00'"},
	{whereForm, false, "`URL` LIKE('%p%') AND NOT (`HTTPCode`='200') AND LENGTH(`ContentType`) > 3 AND SUBSTRING(URL, 1, 4) = 'HTTP'"},
	{whereForm, false, "`TagsMask` & 5 AND `ErrorMask` | 1 AND UDate BETWEEN '2025-01-01' AND NOW()"},
	{whereForm, false, "IFNULL(`UDate`,`CDate`) < DATE_SUB(NOW(), INTERVAL 2*(SELECT `RecrawlPeriod` FROM `dc_sites`.`sites` WHERE `Id`='%SITE_ID%') MINUTE)"},
	{whereForm, true, "`State`=1 AND IFNULL((SELECT `Value` FROM `dc_sites`.`sites_properties` WHERE `Site_Id`=`sites`.`Id` AND `Name`='MODES_FLAG' LIMIT 1), 255) & 8 > 0 AND `RecrawlDate` IS NOT NULL AND `RecrawlDate`<=NOW()"},
	{orderForm, false, "`ContentType` ASC, `Crawled` ASC, `TagsCount` ASC, `UDate` ASC"},
	{orderForm, false, "IF(Status = 7, 0, 1), DATE(CDate) DESC, URL"},
	{orderForm, true, "MD5(CONCAT(`Id`, '-3'))"},
	{valueForm, true, "DATE_ADD(CURDATE(), INTERVAL (CEIL(TIME_TO_SEC(CURTIME())/(60*`RecrawlPeriod`))+1)*`RecrawlPeriod` MINUTE)"},
	{valueForm, true, "DATE_ADD(DATE_FORMAT(NOW(), '%Y-%m-%d 00:00:00'), INTERVAL (HOUR(NOW())*60 + MINUTE(NOW()) + SECOND(NOW())/60) DIV (RecrawlPeriod+1) * RecrawlPeriod MINUTE)"},
	{valueForm, true, "Iterations + 1"},
	{valueForm, true, "CURRENT_TIMESTAMP"},
	{selectForm, true, "SELECT COUNT(*), SUM(Size), AVG(AVGSpeed), MIN(CDate), MAX(TcDate), BIT_OR(State) FROM sites"},
	{bareForm, false, "CAST((YEAR('2026-05-04') * 100 + MONTH('2026-05-04') + DAY('2026-05-04 10:00:00')) AS SIGNED)"},
}

// TestRequests runs every criterion, query and date expression of the sample requests,
// and clientTexts, on both databases. Both must give the same result.
func TestRequests(t *testing.T) {
	w := openTwin(t)
	for _, c := range clientTexts {
		scope := urlScope()
		if c.sites {
			scope = siteScope()
		}
		w.check(t, c.form, scope, c.text)
	}
	texts := 0
	err := filepath.WalkDir(sampleRequests, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var root any
		if err := json.Unmarshal(data, &root); err != nil {
			return err
		}
		operation := filepath.Base(filepath.Dir(path))
		scope := urlScope()
		switch {
		case strings.HasPrefix(operation, "PROXY"):
			scope = proxyScope()
		case strings.HasPrefix(operation, "SITE"):
			scope = siteScope()
		}
		visit(root, "", func(key, text string) {
			f, s, ok := formOf(operation, key, text)
			if !ok {
				return
			}
			if s == nil {
				s = &scope
			}
			texts++
			d, ok := w.differ(f, *s, text)
			if d != "" || !ok && strings.TrimSpace(text) != "" {
				t.Errorf("%s %s %q: refused %t, %s", path, key, text, !ok, d)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if texts < 30 {
		t.Errorf("only %d texts found", texts)
	}
	t.Logf("%d texts", texts)
}

// formOf returns the form of a text by its path in a request, and its scope if it is not
// the scope of the operation. It returns false if the text is not SQL.
func formOf(operation, path, text string) (form, *Scope, bool) {
	var scope *Scope
	if strings.Contains(strings.ToLower(path), "sitecrit") || strings.Contains(path, "sitesCriterions") {
		s := siteScope()
		scope = &s
	}
	key := path[strings.LastIndex(path, "/")+1:]
	if strings.Contains(path, "/properties/") {
		s := urlScope()
		scope = &s
	}
	switch {
	case key == "WHERE", strings.HasSuffix(key, "_WHERE"):
		return whereForm, scope, true
	case key == "ORDER BY", strings.HasSuffix(key, "_ORDER"):
		return orderForm, scope, true
	case strings.HasSuffix(strings.ToLower(key), "date") && strings.ContainsAny(text, "(N"):
		return valueForm, scope, true
	case key == "query" && operation == "SQL_CUSTOM":
		return selectForm, scope, true
	}
	return form{}, nil, false
}

// visit calls f with the path and value of each text in a JSON value.
func visit(v any, path string, f func(path, text string)) {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			visit(item, path+"/"+key, f)
		}
	case []any:
		for _, item := range v {
			visit(item, path, f)
		}
	case string:
		f(path, v)
	}
}
