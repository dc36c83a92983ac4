package random_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/wire"
)

// Environment variables of TestRandom.
const (
	seedVariable       = "DC_RANDOM_SEED"       // default: 1; 0: from the clock
	operationsVariable = "DC_RANDOM_OPERATIONS" // default: defaultOperations
)

const (
	readEvery  = 500              // steps between comparisons of tables
	shrinkTime = 60 * time.Second // time limit to cut a difference
	enough     = 5000             // steps with about 40 requests of the rarest operation
)

func fromEnvironment(t *testing.T, name string, def uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return def
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// One random sequence gives equal answers and equal tables on both backends.
func TestRandom(t *testing.T) {
	seed := fromEnvironment(t, seedVariable, 1)
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1e9
	}
	n := int(fromEnvironment(t, operationsVariable, defaultOperations))
	s, err := generate(seed, n)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pairs {
		t.Run(p.name(), func(t *testing.T) {
			t.Logf("%s=%d %s=%d", seedVariable, seed, operationsVariable, n)
			began, counts := time.Now(), tally{}
			d := p.run(t, s, readEvery, counts)
			t.Logf("%v for %d operations\n%s", time.Since(began).Round(time.Millisecond), n, counts)
			if d == nil {
				if n >= enough {
					counts.check(t)
				}
				return
			}
			t.Errorf("step %d: %s\n%s\nrequest: %s", d.step, d.kind, d.detail, clipped(string(s.Steps[d.step].Request)))
			p.keepShrunk(t, s, d, "testdata", fmt.Sprintf("found-%d", seed), shrinkTime)
		})
	}
}

// keepShrunk cuts a failed script and writes it to a folder.
func (p pair) keepShrunk(t testing.TB, s script, d *difference, folder, name string, limit time.Duration) script {
	t.Helper()
	short := p.shrink(t, s, d, limit)
	path, err := short.keep(folder, name)
	text, _ := short.text()
	t.Logf("cut from %d to %d steps; kept as %s (%v)\n%s", len(s.Steps), len(short.Steps), path, err, clipped(string(text)))
	return short
}

// shrink cuts a script that failed with d.
func (p pair) shrink(t testing.TB, s script, d *difference, limit time.Duration) script {
	t.Helper()
	read := atEnd
	if d.ofStep() {
		read = never
	}
	until := time.Now().Add(limit)
	k := shrinker{
		spent: func() bool { return time.Now().After(until) },
		fails: func(s script) bool {
			found := p.run(t, s, read, nil)
			return found != nil && found.kind == d.kind
		},
	}
	s.Steps = s.Steps[:d.step+1]
	s.Note = fmt.Sprintf("%s; %s: %s", s.Note, p.name(), d.kind)
	return k.shrink(s)
}

// ofStep reports whether the answer of a step shows the difference, not only the tables.
func (d *difference) ofStep() bool {
	return !strings.HasPrefix(d.kind, "table ") && !strings.HasPrefix(d.kind, "counter ") && !strings.HasPrefix(d.kind, "orphan ") && d.kind != "trash"
}

// String has a line for each operation.
func (c tally) String() string {
	var lines []string
	for op, n := range c {
		lines = append(lines, fmt.Sprintf("  %-18s %5d, refused %5d", op, n.asked, n.refused))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// check fails if the generator makes no request of an operation, or only refused ones for a
// served operation.
func (c tally) check(t *testing.T) {
	t.Helper()
	for _, o := range operations {
		n := c[o.op.String()]
		switch {
		case n == nil:
			t.Errorf("the generator made no request of %s", o.op)
		case n.asked == n.refused && served(t, o.op):
			t.Errorf("all %d requests of %s were refused", n.asked, o.op)
		}
	}
}

// served reports whether db-task knows the operation.
func served(t *testing.T, op wire.Op) bool {
	t.Helper()
	n := sqlite.open(t, &clock{now: begin})
	defer n.close()
	request, err := plainJSON(list{op.String(), nil})
	if err != nil {
		t.Fatal(err)
	}
	answer, failure := answerOf(t.Context(), n, request)
	return failure != "" || !strings.Contains(string(answer), "is not served yet")
}

// Test cases: sequences that failed before, and examples.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d scripts: %v", len(paths), err)
	}
	for _, path := range paths {
		s, err := readScript(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pairs {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".json")+" on "+p.name(), func(t *testing.T) {
				if d := p.run(t, s, 1, nil); d != nil {
					t.Errorf("%s\nstep %d: %s\n%s\nrequest: %s", s.Note, d.step, d.kind, d.detail, s.Steps[d.step].Request)
				}
			})
		}
	}
}
