package item

import (
	"net/http"
	"slices"
	"testing"

	"hce/dc/internal/crawl/fetch"
)

// The URLs of a chain are those that links to them would have, which net/url cannot always hold.
func TestAddresses(t *testing.T) {
	to := func(location string) *fetch.Exchange {
		return &fetch.Exchange{Header: http.Header{"Location": {location}}}
	}
	const host = "http://a.example"
	for _, c := range []struct {
		name, first string
		response    fetch.Response
		want        []string
	}{
		{"no redirect", host + "/100%", fetch.Response{FinalURL: host + "/100%25"}, []string{host + "/100%"}},
		{"bare percent signs", host + "/1%", fetch.Response{FinalURL: host + "/3%25#x", Redirects: []fetch.Hop{
			{URL: host + "/1%25", Exchange: to("/2%")}, {URL: host + "/2%25", Exchange: to("3%#x")}}}, []string{host + "/1%", host + "/2%", host + "/3%"}},
		{"an escape stays", host + "/1", fetch.Response{FinalURL: host + "/2%25", Redirects: []fetch.Hop{{URL: host + "/1", Exchange: to("/2%25")}}}, []string{host + "/1", host + "/2%25"}},
		{"a script leads on", host + "/1", fetch.Response{FinalURL: host + "/2?a|b", Redirects: []fetch.Hop{{URL: host + "/1"}}}, []string{host + "/1", host + "/2?a%7Cb"}},
		{"another request than the row", host + "/1", fetch.Response{FinalURL: host + "/9"}, []string{host + "/9"}},
	} {
		if got := HopURLs(c.first, &c.response); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
