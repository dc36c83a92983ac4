package datetext

import (
	"strings"
	"testing"
	"time"
)

// now is a Wednesday.
var now = time.Date(2016, 6, 1, 12, 0, 0, 0, time.UTC)

var usual = Options{Now: now, CurrentYear: true}

// form returns a time as the tests write it: with its zone, if the text stated one.
func form(t time.Time, ok bool) string {
	if !ok {
		return ""
	}
	return strings.TrimSpace(t.Format(time.DateTime) + " " + Zone(t))
}

type row struct{ name, text, want string }

func check(t *testing.T, o Options, rows []row) {
	t.Helper()
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			if got := form(Parse(tt.text, o)); got != tt.want {
				t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

// The test forms of docs/spec/processing.md 2.4.
func TestFormsOfTheSpecification(t *testing.T) {
	check(t, usual, []row{
		{"words before the date, American zone", "Published On: Nov 03 2015 02:34:13 PM CST", "2015-11-03 14:34:13 -0600"},
		{"dots, month first, bar", "2.18.16 | 11:26PM", "2016-02-18 23:26:00"},
		{"Ukrainian", "17 вересня, 2015", "2015-09-17 00:00:00"},
		{"German", "01.12.2015 12:01 Uhr", "2015-12-01 12:01:00"},
		{"Japanese", "2015年 04月 22日 10:41 JST", "2015-04-22 10:41:00 +0900"},
		{"Heisei", "平成28年5月25日", "2016-05-25 00:00:00"},
		{"compact, offset and Z", "20160324T0410+0200Z", "2016-03-24 04:10:00 +0200"},
		{"offset of three digits", "2016-05-26T06:14-500", "2016-05-26 06:14:00 -0500"},
		{"range of days", "April 14–17, 2016", "2016-04-14 00:00:00"},
		{"Unix seconds", "1464373928", "2016-05-27 18:32:08 +0000"},
		{"Russian yesterday", "Вчера, 18:59", "2016-05-31 18:59:00"},
		{"hexadecimal, lower case", "d41d8cd98f00b204e9800998ecf8427e", ""},
		{"hexadecimal, upper case", "D41D8CD98F00B204E9800998ECF8427E", ""},
		{"hexadecimal, begins like a day and month", "12DEC015AABBCCDD12DEC015AABBCCDD", ""},
		{"four digits", "1545", ""},
	})
}

func TestLanguages(t *testing.T) {
	check(t, usual, []row{
		{"English ordinal", "on the 3rd of March 2015", "2015-03-03 00:00:00"},
		{"English short", "Sept. 5, 2015", "2015-09-05 00:00:00"},
		{"English, weekday and clock", "Thursday, March 5th, 2015 at 3:07 p.m.", "2015-03-05 15:07:00"},
		{"month and year", "March 2015", "2015-03-01 00:00:00"},
		{"day before month, range", "14–17 April 2016", "2016-04-14 00:00:00"},
		{"range over two months", "28 March – 3 April 2016", "2016-03-28 00:00:00"},
		{"number before the date", "Comments 3 March 5, 2015", "2015-03-05 00:00:00"},
		{"no year", "Nov 3", "2016-11-03 00:00:00"},
		{"year first", "2015 March 5, 10:11", "2015-03-05 10:11:00"},
		{"clock first", "18:59, 5 March 2015", "2015-03-05 18:59:00"},
		{"asctime", "Sun Nov  6 08:49:37 UTC 1994", "1994-11-06 08:49:37 +0000"},
		{"glued", "05MAR2015", "2015-03-05 00:00:00"},
		{"German month", "Dienstag, 3. März 2015, 9.05 Uhr", "2015-03-03 09:05:00"},
		{"German zone", "03.03.2015 18 Uhr MEZ", "2015-03-03 18:00:00 +0100"},
		{"Austrian", "7. Jänner 2015", "2015-01-07 00:00:00"},
		{"Russian", "5 января 2015 г., 10:11 (МСК)", "2015-01-05 10:11:00 +0300"},
		{"Russian May", "9 мая 2015 в 10:11", "2015-05-09 10:11:00"},
		{"Ukrainian with year mark", "24 серпня 2015 р. 10:11", "2015-08-24 10:11:00"},
		{"Ukrainian February", "1 лютого 2015", "2015-02-01 00:00:00"},
		{"French", "Publié le 1er août 2015 à 12h30", "2015-08-01 12:30:00"},
		{"French, decomposed accent", "3 fe\u0301vrier 2015", "2015-02-03 00:00:00"},
		{"Spanish", "3 de septiembre de 2015", "2015-09-03 00:00:00"},
		{"Spanish August", "5 ago 2015", "2015-08-05 00:00:00"},
		{"Italian", "martedì 3 maggio 2015 ore 10:11", "2015-05-03 10:11:00"},
		{"Polish", "3 października 2015, 10:11", "2015-10-03 10:11:00"},
		{"Portuguese", "3 de março de 2015", "2015-03-03 00:00:00"},
		{"Czech", "3. července 2015", "2015-07-03 00:00:00"},
		{"Turkish", "3 Ağustos 2015", "2015-08-03 00:00:00"},
		{"Chinese", "2015年4月22日 下午3:05", "2015-04-22 15:05:00"},
		{"Chinese clock", "2015年4月22日15时41分", "2015-04-22 15:41:00"},
		{"Korean", "2015년 4월 22일 오후 3시 5분", "2015-04-22 15:05:00"},
		{"Reiwa", "令和6年3月5日", "2024-03-05 00:00:00"},
		{"first year of Reiwa", "令和元年5月1日", "2019-05-01 00:00:00"},
		{"Japanese clock", "投稿日時：2015年4月22日(水)10時41分08秒", "2015-04-22 10:41:08"},
		{"Japanese afternoon", "4月22日 午後3時", "2016-04-22 15:00:00"},
		{"full-width digits", "２０１５年４月２２日　１０：４１", "2015-04-22 10:41:00"},
		{"full-width separators", "２０１５／０４／２２", "2015-04-22 00:00:00"},
		{"Japanese short year", "15年4月22日", "2015-04-22 00:00:00"},
	})
}

func TestNumbers(t *testing.T) {
	check(t, usual, []row{
		{"ISO", "2015-11-03", "2015-11-03 00:00:00"},
		{"ISO, one digit", "2015-1-3 1:02", "2015-01-03 01:02:00"},
		{"ISO 8601", "2015-11-03T14:34:13Z", "2015-11-03 14:34:13 +0000"},
		{"fraction and offset", "2015-11-03T14:34:13.250+05:30", "2015-11-03 14:34:13 +0530"},
		{"west of Greenwich", "2015-11-03T14:34-05:00", "2015-11-03 14:34:00 -0500"},
		{"offset behind a space", "2015-11-03 14:34:13 -0500", "2015-11-03 14:34:13 -0500"},
		{"RFC 5322", "Tue, 03 Nov 2015 14:34:13 +0200", "2015-11-03 14:34:13 +0200"},
		{"offset and name", "Tue Nov 03 2015 14:34:13 GMT+0900 (JST)", "2015-11-03 14:34:13 +0900"},
		{"RFC 850", "Tuesday, 03-Nov-15 14:34:13 GMT", "2015-11-03 14:34:13 +0000"},
		{"slashes, month first", "03/04/2015", "2015-03-04 00:00:00"},
		{"slashes, day above 12", "23/04/2015", "2015-04-23 00:00:00"},
		{"dashes, month first", "03-04-2015", "2015-03-04 00:00:00"},
		{"dots, day first", "03.04.2015", "2015-04-03 00:00:00"},
		{"spaces", "03. 04. 2015", "2015-04-03 00:00:00"},
		{"Cyrillic word, day first", "Дата: 03/04/2015", "2015-04-03 00:00:00"},
		{"two digits of the year", "03/04/15", "2015-03-04 00:00:00"},
		{"year first with slashes", "2015/11/03 14:34", "2015-11-03 14:34:00"},
		{"compact day", "20151103", "2015-11-03 00:00:00"},
		{"compact seconds", "20151103T143413Z", "2015-11-03 14:34:13 +0000"},
		{"digits with clock", "20151103143413", "2015-11-03 14:34:13"},
		{"Unix milliseconds", "1464373928000", "2016-05-27 18:32:08 +0000"},
		{"year and month", "2015-11", "2015-11-01 00:00:00"},
		{"month and day without a year", "5/25 18:59", "2016-05-25 18:59:00"},
		{"day and month without a year", "25.05., 18:59 Uhr", "2016-05-25 18:59:00"},
		{"midnight in the morning", "5/25/2015 12:05 AM", "2015-05-25 00:05:00"},
		{"24 o'clock", "2015-05-25 24:00", "2015-05-26 00:00:00"},
		{"date with a zone, without a clock", "2015-11-03+09:00", "2015-11-03 00:00:00"},
		{"range of hours", "2015-05-25, 10:00-12:00", "2015-05-25 10:00:00"},
		{"Japan's zone name", "2015-05-25 10:00 JST", "2015-05-25 10:00:00 +0900"},
		{"unknown zone name", "2015-05-25 10:00 XYZ", "2015-05-25 10:00:00"},
		{"lower-case word like a zone", "2015-05-25 10:00 ist es", "2015-05-25 10:00:00"},
	})
}

func TestRelative(t *testing.T) {
	check(t, usual, []row{
		{"today", "Today at 9:30 am", "2016-06-01 09:30:00"},
		{"yesterday", "yesterday", "2016-05-31 00:00:00"},
		{"day before yesterday", "the day before yesterday, 10:00", "2016-05-30 10:00:00"},
		{"hours", "Posted 3 hours ago", "2016-06-01 09:00:00"},
		{"an hour", "an hour ago", "2016-06-01 11:00:00"},
		{"short unit", "5m ago", "2016-06-01 11:55:00"},
		{"sum", "1 day, 3 hours ago", "2016-05-31 09:00:00"},
		{"months", "2 months ago", "2016-04-01 12:00:00"},
		{"left", "2 days left", "2016-06-03 12:00:00"},
		{"days with a clock", "2 days ago, 18:59", "2016-05-30 18:59:00"},
		{"just now", "just now", "2016-06-01 12:00:00"},
		{"name that is a month", "Posted by Jan 3 hours ago", "2016-06-01 09:00:00"},
		{"Russian", "3 часа назад", "2016-06-01 09:00:00"},
		{"Russian day before", "позавчера в 10:11", "2016-05-30 10:11:00"},
		{"Ukrainian", "2 години тому", "2016-06-01 10:00:00"},
		{"Ukrainian yesterday", "учора, 10:11", "2016-05-31 10:11:00"},
		{"Ukrainian today", "Сьогодні о 10:11", "2016-06-01 10:11:00"},
		{"German", "vor 3 Tagen", "2016-05-29 12:00:00"},
		{"German one", "vor einer Stunde", "2016-06-01 11:00:00"},
		{"German yesterday", "gestern, 18:59 Uhr", "2016-05-31 18:59:00"},
		{"French", "il y a 2 jours", "2016-05-30 12:00:00"},
		{"French yesterday", "Hier à 18h05", "2016-05-31 18:05:00"},
		{"Spanish", "hace 2 semanas", "2016-05-18 12:00:00"},
		{"Italian", "3 ore fa", "2016-06-01 09:00:00"},
		{"Polish", "5 minut temu", "2016-06-01 11:55:00"},
		{"Japanese days", "3日前", "2016-05-29 12:00:00"},
		{"Japanese hours, full width", "２時間前", "2016-06-01 10:00:00"},
		{"Japanese yesterday", "昨日 18:59", "2016-05-31 18:59:00"},
		{"Chinese", "5分钟前", "2016-06-01 11:55:00"},
		{"Korean, one word", "3시간전", "2016-06-01 09:00:00"},
		{"Korean", "3시간 전", "2016-06-01 09:00:00"},
		{"clock only", "10:30", "2016-06-01 10:30:00"},
		{"clock later than now", "18:59", "2016-05-31 18:59:00"},
		{"today in the zone of the text", "23:30 +1400", "2016-06-01 23:30:00 +1400"},
	})
	check(t, Options{}, []row{
		{"without a clock: yesterday", "yesterday", ""},
		{"without a clock: hours", "3 hours ago", ""},
		{"without a clock: time", "18:59", ""},
		{"without a clock: no year", "Nov 3", ""},
		{"without a clock: a date", "Nov 3 2015", "2015-11-03 00:00:00"},
	})
	check(t, Options{Now: now}, []row{
		{"useCurrentYear 0: no year", "17 вересня", ""},
		{"useCurrentYear 0: numbers", "5/25", ""},
		{"useCurrentYear 0: Japanese", "4月22日", ""},
		{"useCurrentYear 0: today", "today", "2016-06-01 00:00:00"},
	})
}

func TestOrder(t *testing.T) {
	check(t, Options{Order: DayFirst}, []row{
		{"day first: slashes", "03/04/2015", "2015-04-03 00:00:00"},
		{"day first: impossible", "03/14/2015", "2015-03-14 00:00:00"},
		{"day first: ISO", "2015-03-04", "2015-03-04 00:00:00"},
	})
	check(t, Options{Order: MonthFirst}, []row{
		{"month first: dots", "03.04.2015", "2015-03-04 00:00:00"},
		{"month first: impossible", "23.04.2015", "2015-04-23 00:00:00"},
	})
}

func TestNoDates(t *testing.T) {
	for _, text := range []string{
		"", " ", "-", "now what", "2015", "99", "24/7 news", "1.2.3", "v1.02.15", "192.168.10.12", "10-12",
		"Call 044-12-4567", "+1 (555) 010-9999", "550e8400-e29b-41d4-a716-446655440000", "may", "Windows 10",
		"31.02.2015", "2015-13-41", "12:3", "16:9", "25:61", "99999999999999999999", "2 hours", "1.5", "4 of 5",
		"平成", "年月日", "5月", "A1B2C3D4", "17 foo 2015", "0000-00-00", "0000-00-00 00:00:00", "1800-01-01", "9999-12-31",
	} {
		if got := form(Parse(text, usual)); got != "" {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// Only the start of a text is read.
func TestHostileTexts(t *testing.T) {
	if n := len(splitTokens(strings.Repeat("1 ", maxText))); n != maxTokens {
		t.Errorf("%d tokens", n)
	}
	if n := len(splitTokens(strings.Repeat("\ufdfa", maxText))); n > maxTokens { // each becomes 18 letters
		t.Errorf("%d tokens", n)
	}
	if got := form(Parse(strings.Repeat("x", maxText)+" 2015-11-03", usual)); got != "" {
		t.Errorf("%s is behind the part that is read", got)
	}
	if got := form(Parse("2015-11-03 "+strings.Repeat("Jan 1 day ago ", 1<<16), Options{})); got != "2015-11-03 00:00:00" {
		t.Errorf("a long text: %q", got)
	}
}

// Each word of a table has one meaning.
func TestWordsAreUnambiguous(t *testing.T) {
	for name, lists := range map[string]map[int]string{"months": monthTable(), "days": shiftDays(dayWords), "units": unitTable()} {
		table := newTable(lists)
		for n, list := range lists {
			for w := range strings.FieldsSeq(foldText(list)) {
				if got := table.numberOf(strings.TrimSuffix(w, "*")); got != n {
					t.Errorf("%s: %q is %d and %d", name, w, n, got)
				}
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		strings.Repeat("1 day, ", 100) + "ago", strings.Repeat("Jan ", 300), "99999999 years ago", "2015-01-01T" + strings.Repeat("00:", 200),
		"令和999999999年9月9日", "\xff\xfe12:30\xc0", strings.Repeat("ﷺ", 170), "1-1-1-1-1-1-1-1 +15:59", "T T T 1 : 2 h 3 pm . m .",
	} {
		f.Add(s, uint8(0))
	}
	f.Fuzz(func(t *testing.T, text string, order uint8) {
		got, ok := Parse(text, Options{Now: now, CurrentYear: true, Order: Order(order % 3)})
		if !ok && !got.IsZero() || ok && (got.Year() < firstYear || got.Year() > lastYear) {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
		if z := Zone(got); z != "" && len(z) != 5 {
			t.Errorf("%q: zone %q", text, z)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{
		"markup": "2015-11-03T14:34:13+05:30", "English": "Published On: Nov 03 2015 02:34:13 PM CST", "Japanese": "２０１５年４月２２日　１０：４１",
		"long": strings.Repeat("Jan 1. a day - ", 40),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Parse(text, usual)
			}
		})
	}
}
