package article

import (
	"testing"

	"hce/dc/internal/web/datetext"
)

// The text of a date on a page, and what it means.
func TestDatesInText(t *testing.T) {
	for text, want := range map[string]string{
		"公開日：2024年3月5日(火) 10時20分 社会部": "2024-03-05 10:20",
		"2024年3月5日（火曜日）午後1時5分":        "2024-03-05 13:05",
		"令和6年3月5日":                         "2024-03-05 00:00",
		"平成元年1月8日 掲載":                      "1989-01-08 00:00",
		"昭和64年1月7日":                        "1989-01-07 00:00",
		"２０２４年３月５日 午後１時５分":                 "2024-03-05 13:05",
		"２０２４／０３／０５ １０：２０":                 "2024-03-05 10:20",
		"2024.3.5 10:20":                   "2024-03-05 10:20",
		"2024年3月5日 下午3:05":                 "2024-03-05 15:05",
		"입력 2024년 3월 5일 오후 1시 5분":          "2024-03-05 13:05",
		"Posted 5 March 2024 at 6:07 p.m.": "2024-03-05 18:07",
		"Updated March 5th, 2024, 18:07":   "2024-03-05 18:07",
		"05.03.2024 18:07":                 "2024-03-05 18:07",
		"5 марта 2024, 10:20":              "2024-03-05 10:20",
		"le 1er décembre 2023 à 10h20":     "2023-12-01 10:20",
		"2024-03-05T10:20:30+01:00":        "2024-03-05 10:20",
		"10時20分に開始":                        "",
		"Chapter 3.5 of 2024":              "",
	} {
		found := dateInText.FindString(text)
		got := ""
		if at, ok := datetext.Parse(found, datetext.Options{}); ok {
			got = at.Format("2006-01-02 15:04")
		}
		if got != want {
			t.Errorf("%s: %q means %q, want %q", text, found, got, want)
		}
	}
}
