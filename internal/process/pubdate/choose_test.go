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
		{"published and updated in one line", []Candidate{{Source: Visible, Text: "Updated: 3 July 2024 | Published: 1 July 2024, 10:30"}}, "2024-07-01T10:30:00", "2024-07-03"},
		{"the update behind the date", []Candidate{{Source: Visible, Text: "By Ann Bell, 1 July 2024. Zuletzt aktualisiert 3.7.2024"}}, "2024-07-01", "2024-07-03"},
		{"a label before an element", []Candidate{{Source: Time, Before: "Last updated on", Text: "2024-07-03"}}, "", "2024-07-03"},
		{"a class of an update", []Candidate{{Source: Time, Name: "entry-dateModified", Text: "2024-07-03"}}, "", "2024-07-03"},
		{"a class of both is the publication", []Candidate{{Source: Time, Name: "entry-date published updated", Text: "2024-07-03"}}, "2024-07-03", ""},
		{"a label counts more than the distance", []Candidate{
			{Source: Time, Text: "2024-07-04"}, {Source: Time, Before: "Posted:", Line: 5, Text: "2024-07-03"},
		}, "2024-07-03", ""},
		{"the place next to the title", []Candidate{{Source: Time, Line: -5, Text: "2024-07-04"}, {Source: Time, Line: 1, Text: "2024-07-03"}}, "2024-07-03", ""},
		{"far from the title and the article", []Candidate{{Source: Time, Line: 80, Text: "2024-07-04"}}, "", ""},
		{"at the end of the article", []Candidate{{Source: Time, Line: 80, Inside: true, Text: "2024-07-04"}}, "2024-07-04", ""},
		{"a related page", []Candidate{{Source: Element, Name: "related-card__date", Text: "2024-07-04"}}, "", ""},
		{"a deadline", []Candidate{{Source: Visible, Text: "Deadline to apply: July 4, 2024"}}, "", ""},
		{"the release of a product", []Candidate{{Source: Visible, Text: "Release date: 4 July 2024"}}, "", ""},
		{"a period", []Candidate{{Source: Visible, Text: "1/27/2024 - 3/24/2024"}}, "", ""},
		{"a sentence with a date", []Candidate{{Source: Visible, Text: "The end of the season for most of us is April 15, 2024, and if you are late then you still have some choices."}}, "", ""},
		{"no year", []Candidate{{Source: Visible, Text: "4 July"}}, "", ""},
		{"a name with publi and date", []Candidate{{Source: Meta, Name: "w-published-date", Text: "2024-07-04"}}, "2024-07-04", ""},
		{"another meta element", []Candidate{{Source: Meta, Name: "expiration_date", Text: "2024-07-04"}}, "", ""},
		{"milliseconds", []Candidate{{Source: Meta, Name: "date", Text: "1719999999000"}}, "2024-07-03T09:46:39Z", ""},
		{"the zero of a program", []Candidate{{Source: Meta, Name: "date", Text: "1970-01-01T00:00:00Z"}}, "", ""},
		{"a video in an article", []Candidate{{Source: JSONLD, Type: "VideoObject", Role: "video", Name: "uploadDate", Text: "2024-07-04"}}, "", ""},
		{"types with addresses", []Candidate{{Source: Microdata, Type: "http://schema.org/BlogPosting", Name: "datePublished", Text: "2024-07-04"}}, "2024-07-04", ""},
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

func TestChooseOnList(t *testing.T) {
	all := []Candidate{{Source: Time, Text: "2024-07-03"}, {Source: Visible, Text: "3 July 2024"}}
	if c := Choose(all, Page{List: true}); !c.Published.IsZero() {
		t.Errorf("the date of a teaser: %v", c.Published)
	}
}

func TestChooseReadsTheLanguage(t *testing.T) {
	all := []Candidate{{Source: Visible, Text: "03/07/2024"}}
	for language, want := range map[string]string{"en": "2024-03-07", "en-GB": "2024-07-03", "fr": "2024-07-03"} {
		if c := Choose(all, Page{Language: language}); c.Published.String() != want || c.Text != "03/07/2024" || c.Source != Visible {
			t.Errorf("%s: %+v", language, c)
		}
	}
}

func FuzzChoose(f *testing.F) {
	f.Add(uint8(5), "updated", "Article", "Published 3 July 2024 updated", "Posted")
	f.Fuzz(func(t *testing.T, source uint8, name, kind, text, before string) {
		c := Choose([]Candidate{{Source: Source(source % 7), Name: name, Type: kind, Text: text, Before: before}}, fetched)
		if c.Published.After(fetched.Now) || c.Modified.After(fetched.Now) {
			t.Errorf("%q: %v, %v", text, c.Published, c.Modified)
		}
	})
}

func BenchmarkChoose(b *testing.B) {
	all := []Candidate{
		{Source: JSONLD, Type: "WebPage", Name: "datePublished", Text: "2024-07-01T10:00:00+00:00"},
		{Source: Meta, Name: "article:published_time", Text: "2024-07-01T10:00:00+00:00"},
		{Source: Time, Name: "entry-date published", Text: "2024-07-01T10:00:00+00:00"},
		{Source: Visible, Text: "By Ann Bell, 1 July 2024"},
		{Source: URL, Text: "https://news.example/2024/07/01/a"},
	}
	b.ReportAllocs()
	for b.Loop() {
		Choose(all, fetched)
	}
}
