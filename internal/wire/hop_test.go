package wire

import (
	"reflect"
	"strings"
	"testing"

	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

func TestHops(t *testing.T) {
	long := Hop{Code: 302, URL: "https://h.test/" + strings.Repeat("a", 4000)}
	for _, c := range []struct {
		name string
		in   []Hop
		want []Hop
	}{
		{"none", nil, nil},
		{"one", []Hop{{301, "https://h.test/b?x=1&y=<2>"}}, []Hop{{301, "https://h.test/b?x=1&y=<2>"}}},
		{"in HTML", []Hop{{302, "https://h.test/b"}, {0, "https://h.test/c"}}, []Hop{{302, "https://h.test/b"}, {0, "https://h.test/c"}}},
		{"too long for the column", append([]Hop{{301, "https://h.test/first"}}, repeat(long, 17)...), repeat(long, 16)},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := URL{Redirects: RedirectsOf(c.in)}
			column, _ := schema.FindColumn(URLColumns, "Redirects")
			if got := u.Hops(); !reflect.DeepEqual(got, c.want) || column.Fit(u.Redirects) != u.Redirects {
				t.Errorf("%d hops, %d bytes", len(got), len(u.Redirects))
			}
		})
	}
	if u := (&URL{Redirects: "no JSON"}); u.Hops() != nil {
		t.Error(u.Hops())
	}
}

func repeat(h Hop, n int) (list []Hop) {
	for range n {
		list = append(list, h)
	}
	return list
}

func TestCodesOfAnswers(t *testing.T) {
	moved := RedirectsOf([]Hop{{301, "https://h.test/b"}, {302, "https://h.test/c"}})
	for _, c := range []struct {
		name            string
		row             URL
		answered, first int64
		final           string
	}{
		{"page", URL{HTTPCode: 200}, 200, 200, "https://h.test/a"},
		{"redirected", URL{HTTPCode: 200, Redirects: moved}, 200, 301, "https://h.test/c"},
		{"400 of a server", URL{HTTPCode: 400, ErrorMask: errormask.HTTP}, 400, 400, "https://h.test/a"},
		{"time-out", URL{HTTPCode: 400, ErrorMask: errormask.Timeout}, 0, 0, "https://h.test/a"},
		{"loop", URL{HTTPCode: 400, ErrorMask: errormask.MaxHTTPRedirects, Redirects: moved}, 0, 301, "https://h.test/c"},
		{"not found", URL{HTTPCode: 404, ErrorMask: errormask.HTTP}, 404, 404, "https://h.test/a"},
		{"not fetched", URL{}, 0, 0, "https://h.test/a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.row.URL = "https://h.test/a"
			if a, f, u := c.row.AnsweredCode(), c.row.FirstCode(), c.row.FinalURL(); a != c.answered || f != c.first || u != c.final {
				t.Errorf("answered %d, first %d, final %s", a, f, u)
			}
		})
	}
}
