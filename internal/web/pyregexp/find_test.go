package pyregexp

import (
	"slices"
	"testing"
)

func TestFindAll(t *testing.T) {
	for _, c := range []struct {
		pattern, value string
		limit          int
		want           []string
		whole          bool
	}{
		{`[0-9]+`, "a1b22c", 9, []string{"1", "22"}, true},
		{`([0-9]+)`, "a1b22c", 9, []string{"1", "22"}, true},
		{`(\w)=(\d*)(x)?`, "a=1 b= c=3x", 9, []string{"a", "1", "b", "c", "3", "x"}, true},
		{`(?<=№)(\d+)`, "№7 №8 9", 9, []string{"7", "8"}, true},
		{`x*`, "ab", 9, nil, true},
		{`z`, "ab", 9, nil, true},
		{`\d`, "123456", 3, []string{"1", "2", "3"}, false},
		{`(?=.)(\d)`, "123456", 3, []string{"1", "2", "3"}, false},
	} {
		got, whole := mustCompile(t, c.pattern).FindAll(c.value, c.limit)
		if !slices.Equal(got, c.want) || whole != c.whole {
			t.Errorf("%s in %q: %q, %v", c.pattern, c.value, got, whole)
		}
	}
}
