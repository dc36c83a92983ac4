package hce

import (
	"fmt"
	"testing"
	"time"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// Each URL counts once, in the first run and after a recrawl: 13 URLs of a site, 8 of them failed, and one more that
// robots.txt forbids.
func TestOutcomesOfForbiddenURLs(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name string
		run  runStart
		want string
	}{
		{"first run", runStart{at: at, first: true}, "5 new, 0 changed, 0 unchanged, 0 gone, 8 failed, 1 left out, 1 forbidden"},
		{"recrawl", runStart{at: at}, "0 new, 0 changed, 5 unchanged, 0 gone, 8 failed, 1 left out, 1 forbidden"},
	} {
		r := summary{Causes: map[string]int64{}, GivenUp: map[string]int64{}}
		run := outcomes{run: tt.run, asked: 13}
		for i := range 9 {
			u := wire.URL{Status: wire.StatusCrawled, Crawled: 1, HTTPCode: 404, ErrorMask: errormask.HTTP, UDate: schema.DateOf(at)}
			if i == 8 {
				u.Crawled, u.HTTPCode, u.ErrorMask = 0, 400, errormask.Robots
			}
			r.countURL(&pages.Page{URL: u}, &run)
		}
		run.countRest(&r)
		got := fmt.Sprintf("%d new, %d changed, %d unchanged, %d gone, %d failed, %d left out, %d forbidden", r.New, r.Changed, r.Unchanged, r.Gone, r.Failed, r.LeftOut, r.Forbidden)
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
