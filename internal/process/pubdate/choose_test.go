package pubdate

import (
	"testing"
	"time"
)

var fetched = Page{Now: time.Date(2024, 8, 1, 12, 0, 0, 0, time.UTC)}

func TestChoose(t *testing.T) {
	for _, tt := range []struct {
		name                string
		all                 []Candidate
		published, modified string
	}{
		{name: "no candidate"},
		{"an instant keeps its zone", []Candidate{{Source: Meta, Name: "article:published_time", Text: "2024-07-01T23:30:00+09:00"}}, "2024-07-01T23:30:00+09:00", ""},
		{"a day stays a day", []Candidate{{Source: Meta, Name: "DC.date", Text: "2024-07-01"}}, "2024-07-01", ""},
		{"a month is no date", []Candidate{{Source: Meta, Name: "date", Text: "2024-07"}}, "", ""},
		{"the article before the video", []Candidate{
			{Source: JSONLD, Type: "VideoObject", Name: "uploadDate", Text: "2020-01-01"},
			{Source: Meta, Name: "article:published_time", Text: "2024-05-06T07:08:09Z"},
		}, "2024-05-06T07:08:09Z", ""},
		{"a video alone", []Candidate{{Source: JSONLD, Type: "VideoObject", Name: "uploadDate", Text: "2020-01-01"}}, "2020-01-01", ""},
		{"a comment is not the page", []Candidate{
			{Source: JSONLD, Type: "Comment", Role: "comment", Name: "datePublished", Text: "2024-07-02"},
			{Source: Time, Name: "comment-date", Text: "2024-07-03"},
		}, "", ""},
		{"an organization, a site and an event are not the page", []Candidate{
			{Source: JSONLD, Type: "WebSite", Name: "datePublished", Text: "2001-07-02"},
			{Source: JSONLD, Type: "Organization", Name: "foundingDate", Text: "1999-07-03"},
			{Source: JSONLD, Type: "Event", Name: "startDate", Text: "2024-07-03"},
		}, "", ""},
		{"nothing after the fetch", []Candidate{
			{Source: Meta, Name: "article:published_time", Text: "2024-08-01T12:00:01Z"},
			{Source: Time, Text: "2024-07-03"},
		}, "2024-07-03", ""},
		{"modified apart from published", []Candidate{
			{Source: JSONLD, Type: "NewsArticle", Name: "dateModified", Text: "2024-07-03T10:00:00Z"},
			{Source: JSONLD, Type: "NewsArticle", Name: "datePublished", Text: "2024-07-01"},
		}, "2024-07-01", "2024-07-03T10:00:00Z"},
		{"an update alone", []Candidate{{Source: Meta, Name: "article:modified_time", Text: "2024-07-03"}}, "", "2024-07-03"},
		{"the day in the address", []Candidate{{Source: URL, Text: "https://news.example/2024/05/17/a"}}, "2024-05-17", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Choose(tt.all, fetched)
			if c.Published.String() != tt.published || c.Modified.String() != tt.modified {
				t.Errorf("%q, modified %q", c.Published, c.Modified)
			}
		})
	}
}
