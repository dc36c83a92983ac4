package cluster

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/placement"
)

// A URL leaves its owner once, in the step of its group, to the owner of the end.
func TestHostsMoveTarget(t *testing.T) {
	previous, members, groups := []string{"a", "b"}, []string{"b", "c", "d"}, 5
	begun := placement.Placement{Members: previous}.Begun(2, members, groups)
	end, went := placement.Placement{Members: members}, 0
	for i := range 500 {
		url := fmt.Sprintf("http://host%d.test/page", i)
		from, to := (placement.Placement{Members: previous}).OwnerOfURL(url), end.OwnerOfURL(url)
		for moved := range groups {
			for _, self := range []string{"a", "b", "c", "d"} {
				m := HostsMove{begun.After(moved)}
				m.Self = self
				want := ""
				if m.GroupOfURL(url) == moved && self == from && to != from {
					want, went = to, went+1
				}
				if got := m.Target(url); got != want {
					t.Fatalf("%s in step %d on %s goes to %q, want %q", url, moved, self, got, want)
				}
				if next := m.Next(); next.Self != self || want != "" && next.OwnerOfURL(url) != want {
					t.Fatalf("%s after step %d: %+v", url, moved, next)
				}
			}
		}
	}
	if went < 250 {
		t.Errorf("%d of 500 URLs moved", went)
	}
}

func TestHostsRequestsCheck(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"move":{"epoch":2,"self":"a","members":["a","b"],"previous":["a"],"groups":2,"moved":1}}`: true,
		`{"move":{"epoch":2,"self":"a","members":["a","b"],"previous":["a"],"groups":2,"moved":2}}`: false,
		`{"move":{"epoch":2,"self":"a","members":["a","b"]}}`:                                       false,
		`{"move":{"epoch":2,"members":["a","b"],"previous":["a"],"groups":2}}`:                      false,
		`{}`: false,
	} {
		var r HostsPackRequest
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		if err := r.Check("HostsPack"); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
	for file, ok := range map[string]bool{"7-0-a-b.pack": true, "": true, ".": false, "..": false, ".hidden": false, "../x": false, "a/b": false} {
		if err := (HostsUnpackRequest{Epoch: 7, From: "a", File: file}).Check("HostsUnpack"); (err == nil) != ok {
			t.Errorf("file %q: %v", file, err)
		}
	}
	if (HostsUnpackRequest{File: "x"}).Check("HostsUnpack") == nil {
		t.Error("a sender is missing, and Check accepts it")
	}
	if (HostsAdoptRequest{}).Check("HostsAdopt") == nil || (HostsAdoptRequest{placement.Placement{Self: "a", Members: []string{"b"}}}).Check("HostsAdopt") != nil {
		t.Error("HOSTS_ADOPT checks another placement")
	}
	for _, op := range []wire.Op{wire.HostsPack, wire.HostsUnpack, wire.HostsDrop, wire.HostsAdopt} {
		if op.Client() || slices.Contains([]wire.Op{wire.LinksTake, wire.LinksSent, wire.LinksStore}, op) {
			t.Errorf("%d: a client can call it, or it has two meanings", op)
		}
	}
}
