package placement

import (
	"slices"
	"testing"
)

// The steps of a change follow each other, and the first one is that of the time before.
func TestStep(t *testing.T) {
	before := Placement{Epoch: 4, Self: "a", Members: []string{"a", "b"}}
	change := before.Begun(5, []string{"b", "c"}, 3)
	if change.Step() != before.Step() {
		t.Errorf("a change that has moved nothing is step %d, want %d", change.Step(), before.Step())
	}
	for moved := 1; moved <= 3; moved++ {
		if at, last := change.After(moved).Step(), change.After(moved-1).Step(); at <= last {
			t.Errorf("step %d after %d", at, last)
		}
	}
	if got := change.Holders(); !slices.Equal(got, []string{"b", "c", "a"}) {
		t.Errorf("holders %v", got)
	}
	if got := change.After(3).Holders(); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("holders after the change %v", got)
	}
}
