package expr

import (
	"fmt"
	"testing"
)

// null is the expected NULL.
const null = "NULL"

// valueCases are expressions without a row and the results of MySQL 8.
var valueCases = map[string]any{
	// arithmetic
	"5/2": 2.5, "4/2": 2, "1/0": null, "-7 DIV 2": -3, "7 DIV 0": null, "7.5 DIV 2": 3, "'9' DIV 2": 4, "5 DIV 1.5": 3,
	"7 % 3": 1, "-7 % 3": -1, "MOD(7.5, 2)": 1.5, "7 % 0": null, "5 MOD 3": 2, "1+2*3": 7, "(1+2)*3": 9, "- 3": -3,
	"'12abc'+1": 13, "'abc'+1": 1, "'1.5'*2": 3, "NULL+1": null, "2-5": -3, "1.5+1.5": 3, "' 7'+0": 7, "'1e2'+0": 100,
	"9223372036854775807": int64(9223372036854775807), "1--1": 2,
	// comparison
	"'a' = 'A'": 1, "'a' = 'a  '": 1, "'a' < 'B'": 1, "'a' = 1": 0, "'1' = 1": 1, "'1abc' = 1": 1, "'abc' = 0": 1, "1 = '1.0'": 1,
	"'10' > '9'": 0, "'10' > 9": 1, "NULL = NULL": null, "1 <> 2": 1, "1 != 1": 0,
	"2 BETWEEN 1 AND 3": 1, "2 NOT BETWEEN 1 AND 3": 0, "'b' BETWEEN 'A' AND 'C'": 1,
	"NULL BETWEEN 1 AND 2": null, "'2' BETWEEN 1 AND '3'": 1,
	"1 IN (1,2)": 1, "3 NOT IN (1,2)": 1, "3 IN (1, NULL)": null, "'a' IN ('A','b')": 1, "1 IN ('1', 'x')": 1, "'a' IN ('b', 5)": 0, "'a' IN ('b', 0)": 1,
	"NULL IS NULL": 1, "1 IS NOT NULL": 1,
	// logic
	"NOT 0": 1, "NOT NULL": null, "! 5": 0, "1 AND NULL": null, "0 AND NULL": 0, "1 OR NULL": 1,
	"'abc' AND 1": 0, "'1x' AND 1": 1, "0.5 AND 1": 1, "NOT 'x'": 1, "TRUE": 1, "FALSE": 0, "1 && 0": 0, "1 || 0": 1,
	// bits
	"6 & 3": 2, "6 | 1": 7, "'12' & 8": 8, "1.6 & 3": 2, "'1.9' & 3": 1,
	"~0 = ~0": 1, "~1 = ~0": 0, "-1 & 255": 255, "5 & ~1": 4, "NULL & 1": null,
	// LIKE, REGEXP
	"'Abc' LIKE 'a%'": 1, "'abc' LIKE('%B%')": 1, "'abc' NOT LIKE 'x%'": 1, `'a_c' LIKE 'a\_c'`: 1, `'abc' LIKE 'a\_c'`: 0,
	"'abc' LIKE 'a_c'": 1, "12 LIKE '1%'": 1, "NULL LIKE 'a'": null, "'a?b' LIKE 'a?b'": 1,
	// choice
	"IF(1, 'a', 'b')": "a", "IF(NULL, 1, 2)": 2, "IF('0', 1, 2)": 2, "IFNULL(NULL, 5)": 5, "IFNULL(1, 5)": 1, "IFNULL('', 5)": "",
	"IF(1, 1, 'x')": "1",
	// numbers
	"CEIL(1.2)": 2,
	"CEIL(5)":   5,
	// texts
	"LENGTH('abc')": 3, "LENGTH('é')": 2, "LENGTH(12)": 2, "LENGTH('')": 0, "LENGTH(NULL)": null, "SUBSTRING('abcdef', 2, 3)": "bcd", "SUBSTRING('abcdef' FROM 2)": "bcdef",
	"SUBSTRING('abc', -2)": "bc", "SUBSTRING('abc', 0)": "", "SUBSTRING('abc', -9, 2)": "",
	"CONCAT('a', 1, 'b')": "a1b", "CONCAT('a', NULL)": null, "CONCAT(1.5)": "1.5",
	"MD5('a')": "0cc175b9c0f1b6a831c399e269772661", "'a' 'b'": "ab",
	`"double ""quoted"" 'x'"`: `double "quoted" 'x'`, `'it''s \'q\''`: `it's 'q'`, "'what?'": "what?", "'a;b -- c /* d */ # @e'": "a;b -- c /* d */ # @e",
	// reports
	"COALESCE(NULL, NULL, 'x')": "x", "COALESCE(NULL)": null, "COALESCE(1, 'a')": "1", "NULLIF(1, 1)": null, "NULLIF('a', 'A')": null, "NULLIF('a', 'b')": "a", "ISNULL(NULL)": 1, "ISNULL('')": 0,
	"GREATEST(1, 3, 2)": 3, "GREATEST('b', 'C', 'a')": "C", "LEAST(1, 3, NULL)": null, "LEAST(2.5, 1)": 1, "ABS(-3)": 3, "ABS('-1.5')": 1.5, "CEILING(-1.2)": -1, "FLOOR(-1.2)": -2, "FLOOR(7)": 7,
	"ROUND(2.5)": 3, "ROUND(-2.5)": -3, "ROUND(1.005, 2)": 1.01, "ROUND(155, -1)": 160, "ROUND(7)": 7, "ROUND('2.5')": 2, "ROUND(NULL)": null,
	"CHAR_LENGTH('é')": 1, "CHARACTER_LENGTH('ab')": 2, "CONCAT_WS('-', 'a', NULL, 'b', '')": "a-b-", "CONCAT_WS(NULL, 'a', 'b')": null, "INSTR('abc', 'C')": 3, "LOCATE('B', 'éabc')": 3, "LOCATE('x', 'abc')": 0,
	"LCASE('X')": "x", "LOWER('ÉA')": "éa", "UCASE('x')": "X", "UPPER('éa')": "ÉA", "LEFT('abc', 2)": "ab", "LEFT('abc', -1)": "", "RIGHT('abc', 2)": "bc", "RIGHT('abc', 9)": "abc", "RIGHT('abc', 0)": "",
	"LTRIM(' a ')": "a ", "RTRIM(' a ')": " a", "TRIM(' a ')": "a", "MID('abc', 2, 1)": "b", "SUBSTR('abc', 2)": "bc", "REPLACE('aXa', 'X', 'b')": "aba", "REPLACE('aXa', 'x', 'b')": "aXa",
	"SUBSTRING_INDEX('www.x.org', '.', 2)": "www.x", "SUBSTRING_INDEX('www.x.org', '.', -2)": "x.org", "SUBSTRING_INDEX('www.x.org', '.', 9)": "www.x.org", "SUBSTRING_INDEX('a', '', 1)": "",
	"CURRENT_DATE()": "2026-01-05", "CURRENT_DATE": "2026-01-05", "UTC_DATE()": "2026-01-05", "UTC_TIMESTAMP()": "2026-01-05 14:30:45",
	"DATEDIFF('2026-01-05 23:59:59', '2026-01-04')": 1, "DATEDIFF(NOW(), '2025-12-31')": 5, "DAYOFMONTH(NOW())": 5, "DAYOFWEEK(NOW())": 2, "DAYOFYEAR('2026-02-01')": 32, "WEEKDAY(NOW())": 0,
	"FROM_UNIXTIME(86400)": "1970-01-02 00:00:00", "FROM_UNIXTIME(-1)": null, "UNIX_TIMESTAMP('1970-01-02')": 86400, "UNIX_TIMESTAMP(NOW())": 1767623445,
	"CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END": "b", "CASE WHEN NULL THEN 1 WHEN 0 THEN 2 ELSE 3 END": 3, "CASE 5 WHEN 1 THEN 'a' END": null,
	// casts
	"CAST('12abc' AS SIGNED)": 12, "CAST(1.5 AS SIGNED)": 2, "CAST(12 AS CHAR)": "12", "CAST('2026-01-05 10:00:00' AS DATE)": "2026-01-05", "CAST('2026-01-05' AS DATETIME)": "2026-01-05 00:00:00",
	// instants
	"NOW()": "2026-01-05 14:30:45", "CURRENT_TIMESTAMP": "2026-01-05 14:30:45", "CURRENT_TIMESTAMP()": "2026-01-05 14:30:45", "CURDATE()": "2026-01-05", "CURTIME()": "14:30:45",
	"NOW()+0": int64(20260105143045), "CURDATE()+0": 20260105, "NOW() - '2026-01-05'": int64(20260105141019), "NOW(6)": "2026-01-05 14:30:45",
	// intervals
	"DATE_ADD(NOW(), INTERVAL 5 MINUTE)": "2026-01-05 14:35:45", "DATE_SUB(NOW(), INTERVAL 1 DAY)": "2026-01-04 14:30:45", "NOW() + INTERVAL 1 HOUR": "2026-01-05 15:30:45", "NOW() - INTERVAL 2 WEEK": "2025-12-22 14:30:45",
	"DATE_ADD(NOW(), INTERVAL 1.5 MINUTE)": "2026-01-05 14:32:45", "DATE_ADD(NOW(), INTERVAL 1.4 MINUTE)": "2026-01-05 14:31:45", "DATE_ADD(NOW(), INTERVAL -1.5 MINUTE)": "2026-01-05 14:28:45", "DATE_ADD(NOW(), INTERVAL '1.9' MINUTE)": "2026-01-05 14:31:45",
	"DATE_ADD(NOW(), INTERVAL NULL MINUTE)": null, "DATE_ADD(NULL, INTERVAL 1 DAY)": null, "DATE_ADD('2026-01-31', INTERVAL 1 MONTH)": "2026-02-28", "DATE_ADD('2024-02-29', INTERVAL 1 YEAR)": "2025-02-28", "DATE_ADD('2026-01-05', INTERVAL 1 HOUR)": "2026-01-05 01:00:00",
	"DATE_ADD('2026-01-05', INTERVAL 1 DAY)": "2026-01-06", "DATE_ADD('nonsense', INTERVAL 1 DAY)": null, "DATE_ADD(NOW(), INTERVAL 99999999 DAY)": null, "DATE_ADD('2026-02-30', INTERVAL 1 DAY)": null,
	`DATE_ADD(DATE_FORMAT(NOW(),"%Y-%m-%d 00:00:00"), INTERVAL 15 MINUTE)`: "2026-01-05 00:15:00",
	// parts of dates
	"HOUR(NOW())": 14, "MINUTE(NOW())": 30, "SECOND(NOW())": 45, "YEAR(NOW())": 2026, "MONTH(NOW())": 1, "DAY(NOW())": 5, "HOUR('272:59:59')": 272, "HOUR('10:05:03')": 10, "YEAR('x')": null,
	"DATE(NOW())": "2026-01-05", "TIME(NOW())": "14:30:45", "TIME('10:11:12')": "10:11:12",
	"DATE_FORMAT(NOW(), '%Y-%m-%d 00:00:00')": "2026-01-05 00:00:00", "DATE_FORMAT('2009-10-04 22:23:00', '%W %M %Y')": "Sunday October 2009",
	// differences
	"TIMEDIFF('2026-01-05 10:00:00', '2026-01-04 09:00:00')": "25:00:00", "TIMEDIFF('10:00:00', '12:00:00')": "-02:00:00", "TIMEDIFF(NOW(), '2000-01-01 00:00:00')": "838:59:59", "TIMEDIFF(NOW(), '10:00:00')": null, "TIMEDIFF('100:00:00','1:00:00') > TIMEDIFF('9:00:00','0:00:00')": 1, "TIMEDIFF(NOW(), NOW()) = 0": 1,
	"TIMESTAMPDIFF(MONTH, '2026-01-31', '2026-03-01')": 1, "TIMESTAMPDIFF(MINUTE, '2026-01-05', NOW())": 870, "TIMESTAMPDIFF(YEAR, '2026-01-05', '2024-01-06')": -1,
	"TIME_TO_SEC('00:01:40')": 100, "DATE_ADD(NOW(), INTERVAL 1 MINUTE) - NOW() > 0": 1,
	// dates compared
	"'2026-01-05' = CURDATE()": 1, "NOW() > '2026-1-5'": 1, "NOW() > CURDATE()": 1, "NOW() > 20260101": 1, "DATE(NOW()) = DATE_FORMAT(NOW(), '%Y-%m-%d')": 1, "NOW() IN ('2026-01-05 14:30:45')": 1,
	"TIME(NOW()) BETWEEN '09:00' AND '18:00'": 1, "NOW() BETWEEN '2026-01-01' AND '2026-02-01'": 1,
	// bare dates
	"2026-01-05": "2026-01-05 00:00:00", "2026-01-05 10:00:00": "2026-01-05 10:00:00", "2026-01-05T10:00:00Z": "2026-01-05 10:00:00", "2026-01-05T10:00:00+02:30": "2026-01-05 07:30:00", "'2026-01-05 10:00:00'": "2026-01-05 10:00:00", "NULL": null,
	// sub-selects
	"(SELECT COUNT(*) FROM sites)": 4, "(SELECT SUM(Resources) FROM sites)": 4, "(SELECT AVG(State) FROM sites)": 1.5, "(SELECT BIT_OR(Value) FROM sites_properties WHERE Name='MODES_FLAG')": 11, "(SELECT MAX(Id) FROM sites)": "s3", "(SELECT MIN(RecrawlPeriod) FROM sites WHERE RecrawlPeriod>0)": 10,
	"(SELECT COUNT(DISTINCT ContentType) FROM urls_s1)": 4, "(SELECT BIT_OR(Value) FROM sites_properties WHERE 0)": 0, "(SELECT Value FROM dc_sites.sites_properties WHERE Site_Id='s1' AND Name='modes_flag' LIMIT 1) & 8": 8,
	"SELECT Value FROM `dc_sites`.`sites_properties` p WHERE p.Site_Id='s2'": "2", "EXISTS (SELECT * FROM sites WHERE State=9)": 0, "'s1' IN (SELECT Id FROM sites WHERE State=1)": 1, "2 IN (SELECT Value FROM sites_properties)": 1,
	"(SELECT COUNT(*) FROM sites s JOIN sites_properties p ON s.Id=p.Site_Id WHERE s.State=1)": 3, "(SELECT MAX(n.State) FROM sites n LEFT JOIN sites_properties p ON p.Site_Id=n.Id AND p.Name='z' WHERE p.Name IS NULL)": 3,
	"(SELECT State FROM sites GROUP BY State HAVING COUNT(*)=1)": 3, "(SELECT 1)": 1, "(SELECT Id FROM sites ORDER BY RecrawlPeriod DESC LIMIT 1, 1)": "s1", "(SELECT DISTINCT 5 FROM sites)": 5, "EXISTS (SELECT COUNT(*)+0 FROM sites WHERE 0)": 1,
}

// TestValue evaluates valueCases on SQLite.
func TestValue(t *testing.T) {
	db := openTest(t)
	for text, want := range valueCases {
		t.Run(text, func(t *testing.T) {
			q, err := urlScope().Value(text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := cell(db, q)
			if err != nil {
				t.Fatalf("%s %v: %v", q.Text, q.Args, err)
			}
			if got == nil {
				got = null
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s %v\n got %v (%T)\nwant %v", q.Text, q.Args, got, got, want)
			}
		})
	}
}
