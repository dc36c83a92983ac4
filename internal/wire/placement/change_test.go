package placement_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"hce/dc/internal/wire/placement"
)

// changes are changes of members: one joins, one leaves, one is replaced, many, none.
var changes = []struct {
	name              string
	previous, members []string
	groups            int
}{
	{"one joins", []string{"a", "b"}, []string{"a", "b", "c"}, 4},
	{"one leaves", []string{"a", "b", "c"}, []string{"b", "c"}, 4},
	{"one is replaced", []string{"a", "b"}, []string{"c", "b"}, 7},
	{"all hosts in one group", []string{"a"}, []string{"a", "b"}, 1},
	{"the same members", []string{"a", "b"}, []string{"b", "a"}, 2},
	{"the most groups", []string{"a", "b"}, []string{"a", "b", "c"}, placement.MaxGroups},
}

// Each host has the owner of before until its group moves, and that of the end afterwards. It moves once.
func TestChange(t *testing.T) {
	list := hosts(2000)
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			before := placement.Placement{Epoch: 4, Self: "b", Members: c.previous}
			end := placement.Placement{Epoch: 5, Self: "b", Members: c.members}
			begun := before.Begun(5, c.members, c.groups)
			for moved := 0; moved <= c.groups; moved += max(1, c.groups/8) {
				p := begun.After(moved)
				if err := p.Check(); err != nil {
					t.Fatal(err)
				}
				for _, host := range list {
					want := before
					if begun.GroupOfURL("http://"+host+"/x") < moved {
						want = end
					}
					if got := p.Owner(host); got != want.Owner(host) || p.OwnerOfURL("https://"+host+":8080/") != got || p.Mine("http://"+host+"/") != (got == "b") {
						t.Fatalf("%d of %d groups: %s belongs to %s, want %s", moved, c.groups, host, got, want.Owner(host))
					}
				}
				raw, _ := json.Marshal(p)
				if read, err := placement.Parse(raw); err != nil || fmt.Sprint(read) != fmt.Sprint(p) {
					t.Errorf("%s reads back as %+v, %v", raw, read, err)
				}
			}
			if over := begun.After(c.groups); fmt.Sprint(over) != fmt.Sprint(end) {
				t.Errorf("after the last group: %+v; want %+v", over, end)
			}
		})
	}
}

// A group has its share of the hosts of each member, and does not depend on the step.
func TestGroups(t *testing.T) {
	const groups, each = 8, 1000
	begun := of(3).Begun(2, []string{"node1", "node2", "node3", "node4"}, groups)
	count := map[string]int{}
	for _, host := range hosts(groups * each * 3) {
		url := "http://" + host + "/"
		g := begun.GroupOfURL(url)
		if g < 0 || g >= groups || g != begun.After(5).GroupOfURL(url) || g != begun.GroupOfURL("HTTPS://"+host+".:99/a?b") {
			t.Fatalf("%s is in group %d", host, g)
		}
		count[fmt.Sprint(g, " ", begun.Owner(host))]++
	}
	for key, n := range count {
		if math.Abs(float64(n-each)) > 5*math.Sqrt(each) {
			t.Errorf("group and owner %s have %d hosts, about %d are their share", key, n, each)
		}
	}
	if len(count) != groups*3 {
		t.Errorf("%d groups of owners", len(count))
	}
	if g := of(3).GroupOfURL("http://a.example/"); g != 0 {
		t.Errorf("group %d without a change", g)
	}
}

func TestCheckChange(t *testing.T) {
	a := []string{"a"}
	for _, c := range []struct {
		name string
		p    placement.Placement
		ok   bool
	}{
		{"begin", placement.Placement{Self: "a", Members: a, Previous: a, Groups: 2}, true},
		{"all groups moved", placement.Placement{Self: "a", Members: a, Previous: a, Groups: 2, Moved: 2}, true},
		{"too many moved", placement.Placement{Self: "a", Members: a, Previous: a, Groups: 2, Moved: 3}, false},
		{"negative", placement.Placement{Self: "a", Members: a, Previous: a, Groups: 2, Moved: -1}, false},
		{"moved without groups", placement.Placement{Self: "a", Members: a, Moved: 1}, false},
		{"groups without previous", placement.Placement{Self: "a", Members: a, Groups: 2}, false},
		{"previous without groups", placement.Placement{Self: "a", Members: a, Previous: a}, false},
		{"negative groups", placement.Placement{Self: "a", Members: a, Previous: a, Groups: -1}, false},
		{"too many groups", placement.Placement{Self: "a", Members: a, Previous: a, Groups: placement.MaxGroups + 1}, false},
		{"a previous name twice", placement.Placement{Self: "a", Members: a, Previous: []string{"b", "b"}, Groups: 2}, false},
		{"a previous name is empty", placement.Placement{Self: "a", Members: a, Previous: []string{""}, Groups: 2}, false},
		{"too many previous", placement.Placement{Self: "a", Members: a, Previous: slices.Repeat(a, placement.MaxMembers+1), Groups: 2}, false},
	} {
		if err := c.p.Check(); (err == nil) != c.ok || err != nil && !errors.Is(err, placement.ErrInvalid) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
