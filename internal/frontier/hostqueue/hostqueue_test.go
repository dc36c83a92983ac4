package hostqueue

import (
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/frontier/slots"
)

// names lists the hosts of starts, one letter each.
func names(starts []*Host[int]) string {
	var b strings.Builder
	for _, h := range starts {
		b.WriteString(h.Name[:1])
	}
	return b.String()
}

// paceOfName returns the pace that the name of a host says.
func paceOfName(name string) slots.Pace {
	switch {
	case strings.HasSuffix(name, "slow"):
		return slots.PaceSlow
	case strings.HasSuffix(name, "quick"):
		return slots.PaceQuick
	}
	return slots.PaceNew
}

// Of the hosts that wait, quick ones follow first, then new ones, then slow ones.
func TestOrder(t *testing.T) {
	q := New[int](1, paceOfName)
	first := q.Add("a", 1, 1)
	for i, name := range []string{"b-slow", "c", "d-quick", "e", "f-quick"} {
		if starts := q.Add(name, 1, i); len(starts) > 0 {
			t.Fatalf("%s starts while another host is active", name)
		}
	}
	if q.CountHosts() != 6 {
		t.Errorf("%d hosts", q.CountHosts())
	}
	order := names(first)
	for starts := first; len(starts) > 0; order += names(starts) {
		h := starts[0]
		for ok := true; ok; {
			_, ok, starts = q.Next(h)
		}
	}
	if order != "adfce" { // the slow host would take more than three quarters
		t.Errorf("order %s", order)
	}
}

// The items of a host are requested in their order, by as many workers as the highest limit.
func TestWorkers(t *testing.T) {
	q := New[int](8, paceOfName)
	if got := names(q.Add("a", 1, 1)); got != "a" {
		t.Fatalf("starts %q", got)
	}
	if got := names(q.Add("a", 1, 2)); got != "" {
		t.Fatalf("a second worker with the limit 1: %q", got)
	}
	starts := q.Add("a", 2, 3)
	if names(starts) != "a" {
		t.Fatalf("starts %q with the limit 2", names(starts))
	}
	h := starts[0]
	var got []int
	for range 3 {
		one, _, _ := q.Next(h)
		got = append(got, one)
	}
	if !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("items %v", got)
	}
	for range 2 { // both workers end
		if _, ok, _ := q.Next(h); ok {
			t.Error("an item that was not added")
		}
	}
	if q.CountHosts() != 0 {
		t.Errorf("%d hosts without items", q.CountHosts())
	}
}

// A host whose items were removed stays active until its worker ends.
func TestRemoveItems(t *testing.T) {
	q := New[int](1, paceOfName)
	h := q.Add("a", 1, 1)[0]
	q.Add("a", 1, 2)
	q.Add("b", 1, 3)
	if got := q.RemoveItems("a"); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("removed %v", got)
	}
	if got := q.RemoveItems("x"); got != nil {
		t.Errorf("an unknown host has %v", got)
	}
	if _, ok, starts := q.Next(h); ok || names(starts) != "b" {
		t.Errorf("an item %t, then %q", ok, names(starts))
	}
}

// Slow hosts are at most three quarters of the active ones.
func TestSlowHostsLeaveRoom(t *testing.T) {
	q := New[int](4, paceOfName)
	started := ""
	for i, name := range []string{"a-slow", "b-slow", "c-slow", "d-slow", "e"} {
		started += names(q.Add(name, 1, i))
	}
	if started != "abce" {
		t.Errorf("started %s", started)
	}
}
