package pdate

import (
	"testing"
)

func TestChoose(t *testing.T) {
	all := map[int64]int{}
	for i, bit := range order {
		all[bit] = 2001 + i
	}
	only := func(bits ...int64) map[int64]int {
		some := map[int64]int{}
		for _, bit := range bits {
			some[bit] = all[bit]
		}
		return some
	}
	tests := []struct {
		name   string
		masks  Masks
		years  map[int64]int
		source int64
	}{
		{"defaults: the page replaces the feed, now and the expression do not replace the page", Default, all, Page},
		{"defaults: now without any other date", Default, only(Now, Expression), Now},
		{"defaults: the feed without a date of the page", Default, only(Feed, Now), Feed},
		{"mask 0", Masks{0, 0}, all, 0},
		{"one source", Masks{Feed, 0}, all, Feed},
		{"overwrite 0: the last source", Masks{255, 0}, all, Expression},
		{"overwrite 255: the first source", Masks{255, 255}, all, URL},
		{"a source without a date replaces nothing", Masks{255, 0}, only(URL, Page), Page},
		{"overwrite bit of Dublin Core", Masks{Feed | DublinCore, DublinCore}, all, Feed},
		{"overwrite bit of Dublin Core, no feed", Masks{Feed | DublinCore, DublinCore}, only(DublinCore), DublinCore},
		{"unknown bits", Masks{1 << 20, 0}, all, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := 0
			from := tt.masks.Choose(func(bit int64) bool {
				if tt.years[bit] == 0 {
					return false
				}
				got = tt.years[bit]
				return true
			})
			if from != tt.source || got != tt.years[from] {
				t.Errorf("source %d, %d; want %d", from, got, tt.source)
			}
		})
	}
}

func TestParseMask(t *testing.T) {
	if mask, err := ParseMask(` "255" `); mask != 255 || err != nil {
		t.Errorf("%d, %v", mask, err)
	}
	for _, text := range []string{"", "-1", "x", "null", "1.5"} {
		if _, err := ParseMask(text); err == nil {
			t.Errorf("ParseMask(%q): no error", text)
		}
	}
}
