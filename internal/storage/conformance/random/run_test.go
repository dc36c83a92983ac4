package random_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"
)

// tally counts the answers of each operation.
type tally map[string]*struct{ asked, refused int }

func (c tally) add(op string, answer []byte) {
	if c == nil {
		return
	}
	if c[op] == nil {
		c[op] = &struct{ asked, refused int }{}
	}
	c[op].asked++
	var pair []json.RawMessage
	var refusal struct{ Refused bool }
	if json.Unmarshal(answer, &pair) == nil && len(pair) == 2 && json.Unmarshal(pair[1], &refusal) == nil && refusal.Refused {
		c[op].refused++
	}
}

// reading is the number of steps between comparisons of tables; 0: only at the end; below
// 0: never.
type reading int

const atEnd, never reading = 0, -1

func (r reading) after(i, n int) bool {
	return r >= 0 && i+1 == n || r > 0 && (i+1)%int(r) == 0
}

// run runs a script on two new nodes and returns the first difference, or nil.
func (p pair) run(t testing.TB, s script, read reading, counts tally) *difference {
	t.Helper()
	c := &clock{now: begin}
	a, b := p.a.open(t, c), p.b.open(t, c)
	defer func() {
		if err := errors.Join(a.close(), b.close()); err != nil {
			t.Error(err)
		}
	}()
	for i, st := range s.Steps {
		c.now = c.now.Add(time.Duration(st.Wait) * time.Second)
		answerA, failedA := answerOf(t.Context(), a, st.Request)
		answerB, failedB := answerOf(t.Context(), b, st.Request)
		counts.add(st.op(), answerA)
		if kind, detail := compareAnswers(st, answerA, answerB, failedA, failedB); kind != "" {
			return &difference{i, kind, detail}
		}
		if !read.after(i, len(s.Steps)) {
			continue
		}
		kind, detail, err := compareNodes(t, a, b)
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if kind != "" {
			return &difference{i, kind, detail}
		}
	}
	return nil
}

// compareNodes compares the tables of two nodes and checks the rules on each.
func compareNodes(t testing.TB, a, b node) (kind, detail string, err error) {
	dumps := make([]dump, 2)
	for i, n := range []node{a, b} {
		if dumps[i], err = settled(t, n); err != nil {
			return "", "", err
		}
	}
	if kind, detail := compareDumps(dumps[0], dumps[1]); kind != "" {
		return kind, detail, nil
	}
	for _, d := range dumps {
		if kind, detail := d.check(); kind != "" {
			return kind, detail, nil
		}
	}
	return "", "", nil
}

// settled is the dump of a node after a SITE_STATUS of each site, which updates the lazy
// counters.
func settled(t testing.TB, n node) (dump, error) {
	d, err := n.dump(t.Context())
	if err != nil {
		return nil, err
	}
	for _, site := range d["dc_sites.sites"] {
		request, err := plainJSON(list{"SITE_STATUS", object{"id": site.text("Id")}})
		if err != nil {
			return nil, err
		}
		if _, failure := answerOf(t.Context(), n, request); failure != "" {
			return nil, fmt.Errorf("read sites before the dump: %s: %s", request, failure)
		}
	}
	return n.dump(t.Context())
}
