package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/wire"
)

// script is one file of testdata, or a text in a test.
type script struct {
	before []step
	cases  []scriptCase
}

type scriptCase struct {
	name  string
	keys  map[string]string // of [TasksManager]
	steps []step
}

// step is one request with what is expected of it, or one move of the clock.
type step struct {
	line    int
	op      string
	object  string
	want    string   // "" if any success is expected
	anyway  bool     // want is a list in any order
	refused []string // phrases of a refusal
	move    func(n *Node)
}

// parse reads a script. Steps before the first case are a case without a name.
func parse(text string) (script, error) {
	var s script
	now := scriptCase{}
	steps := func() *[]step { return &now.steps }
	close := func() {
		switch {
		case now.name == "before":
			s.before = now.steps
		case now.name != "" || len(now.steps) > 0:
			s.cases = append(s.cases, now)
		}
	}
	var last *string // the text that a continuation line extends
	for i, line := range strings.Split(text, "\n") {
		number := i + 1
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			continue
		case line[0] == ' ' || line[0] == '\t':
			if last == nil {
				return s, fmt.Errorf("line %d continues no line", number)
			}
			*last += "\n" + line
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		list := steps()
		switch word {
		case "==":
			close()
			now, last = scriptCase{name: strings.TrimSpace(rest), keys: map[string]string{}}, nil
		case ">":
			op, object, _ := strings.Cut(rest, " ")
			*list = append(*list, step{line: number, op: op, object: object})
			last = &(*list)[len(*list)-1].object
		case "<", "<~", "!":
			if len(*list) == 0 || (*list)[len(*list)-1].op == "" || (*list)[len(*list)-1].want != "" {
				return s, fmt.Errorf("line %d follows no request", number)
			}
			st := &(*list)[len(*list)-1]
			if word == "!" {
				for phrase := range strings.SplitSeq(rest, "|") {
					st.refused = append(st.refused, strings.TrimSpace(phrase))
				}
				last = nil
				continue
			}
			st.want, st.anyway = rest, word == "<~"
			last = &st.want
		case "at":
			moment, err := time.Parse(time.DateTime, rest)
			if err != nil {
				return s, fmt.Errorf("line %d: %w", number, err)
			}
			*list = append(*list, step{line: number, move: func(n *Node) { n.at(moment) }})
		case "later":
			d, err := time.ParseDuration(rest)
			if err != nil {
				return s, fmt.Errorf("line %d: %w", number, err)
			}
			*list = append(*list, step{line: number, move: func(n *Node) { n.later(d) }})
		case "with":
			key, value, _ := strings.Cut(rest, "=")
			if now.keys == nil || len(now.steps) > 0 {
				return s, fmt.Errorf("line %d: with comes after == and before the first step", number)
			}
			now.keys[key] = value
		default:
			return s, fmt.Errorf("line %d does not begin with >, <, !, at, later, with or ==: %s", number, line)
		}
	}
	close()
	return s, nil
}

// run executes a script without cases on this node.
func (n *Node) run(text string) {
	n.t.Helper()
	s, err := parse(text)
	n.must(err)
	for _, c := range s.cases {
		for _, st := range c.steps {
			n.must(st.wellFormed())
		}
	}
	for _, c := range s.cases {
		n.steps("script", c.steps)
	}
}

// wellFormed returns an error if a step is invalid.
func (st step) wellFormed() error {
	if st.move != nil {
		return nil
	}
	if _, known := wire.ParseOp(st.op); !known {
		return fmt.Errorf("line %d: no operation %q", st.line, st.op)
	}
	if _, err := decode(expand(st.object)); err != nil {
		return fmt.Errorf("line %d: the request: %w", st.line, err)
	}
	if st.want == "" {
		return nil
	}
	if _, err := wanted(st.want); err != nil {
		return fmt.Errorf("line %d: the answer: %w", st.line, err)
	}
	return nil
}

// steps executes steps. The first failure ends the test.
func (n *Node) steps(file string, list []step) {
	n.t.Helper()
	for _, st := range list {
		if st.move != nil {
			st.move(n)
			continue
		}
		object := expand(st.object)
		answer := n.call(st.op, object)
		if complaint := st.judge(answer); complaint != "" {
			n.t.Fatalf("%s:%d: %s\n> %s %.2000s\n< %.3000s", file, st.line, complaint, st.op, object, answer)
		}
	}
}

// judge returns a complaint about an answer, or "".
func (st step) judge(answer string) string {
	r, isRefused := refused(answer)
	if strings.Contains(r.ErrorMessage, "is not served yet") {
		return st.op + " is not served yet"
	}
	if st.refused != nil {
		if !isRefused || r.ErrorCode == 0 {
			return "a refusal is expected"
		}
		for _, phrase := range st.refused {
			if !strings.Contains(r.ErrorMessage, phrase) {
				return fmt.Sprintf("the refusal does not say %q", phrase)
			}
		}
		return ""
	}
	if st.want == "" {
		if isRefused || r.ErrorCode != 0 {
			return "the request failed"
		}
		return ""
	}
	want, err := wanted(st.want)
	if err != nil {
		return "the script: " + err.Error()
	}
	got, err := decode(answer)
	if err != nil {
		return err.Error()
	}
	differences := match(want, got)
	if st.anyway {
		differences = matchSet(want, got)
	}
	return strings.Join(differences, "\n")
}

// A test of judge itself.
func TestJudge(t *testing.T) {
	const refusal = `{"errorCode":1,"errorMessage":"Site.id is missing","statuses":[],"refused":true}`
	for _, c := range []struct {
		name, script, answer string
		complaint            string // part of it, "" for none
	}{
		{"succeeded", `> SITE_NEW {}`, `{"errorCode":0,"errorMessage":"","statuses":[]}`, ""},
		{"failed", `> SITE_NEW {}`, `{"errorCode":2020,"errorMessage":"","statuses":[]}`, "failed"},
		{"refused", "> SITE_NEW {}\n! Site.id | is missing", refusal, ""},
		{"refused with other words", "> SITE_NEW {}\n! Site.url", refusal, "does not say"},
		{"not refused", "> SITE_NEW {}\n! Site.id", `{"errorCode":0,"errorMessage":"Site.id","statuses":[]}`, "a refusal is expected"},
		{"not served", "> SITE_NEW {}\n! SITE_NEW", `{"errorCode":1,"errorMessage":"SITE_NEW is not served yet","statuses":[],"refused":true}`, "not served"},
		{"refused, yet an answer is expected", "> SITE_NEW {}\n< []", refusal, "the answer is"},
		{"another order", "> URL_FETCH []\n<~ [1,2]", `[2,1]`, ""},
		{"an order", "> URL_FETCH []\n< [1,2]", `[2,1]`, "[0] is 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := parse(c.script)
			if err != nil || len(s.cases) != 1 || len(s.cases[0].steps) != 1 {
				t.Fatalf("%+v %v", s, err)
			}
			if got := s.cases[0].steps[0].judge(c.answer); (got == "") != (c.complaint == "") || !strings.Contains(got, c.complaint) {
				t.Errorf("complaint %q, want %q", got, c.complaint)
			}
		})
	}
}

// Every step of every script is valid, also behind a failing step.
func TestScriptsAreWellFormed(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parse(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		names := map[string]bool{}
		for _, c := range append(s.cases, scriptCase{name: "before", steps: s.before}) {
			if names[c.name] {
				t.Errorf("%s: two cases have the name %q", file, c.name)
			}
			names[c.name] = true
			for _, st := range c.steps {
				if err := st.wellFormed(); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
		}
	}
}

// TestScripts runs every file of testdata on every backend.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parse(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(s.cases) == 0 {
			t.Fatalf("%s has no case", file)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			for _, c := range s.cases {
				t.Run(c.name, func(t *testing.T) {
					forEachBackendWith(t, c.keys, func(t *testing.T, n *Node) {
						n.steps(file, s.before)
						n.steps(file, c.steps)
					})
				})
			}
		})
	}
}

// Every operation except BATCH has cases in the scripts.
func TestEveryOperationHasCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parse(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, c := range s.cases {
			for _, st := range c.steps {
				if st.want != "" || st.refused != nil {
					asked[st.op] = true
				}
			}
		}
	}
	for code := range 100 {
		op := wire.Op(code)
		if op.Client() && op != wire.BatchRun && !asked[op.String()] {
			t.Errorf("no case expects an answer of %s", op)
		}
	}
}
