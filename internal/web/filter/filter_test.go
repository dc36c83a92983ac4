package filter

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

var noon = time.Date(2024, 3, 5, 12, 30, 45, 0, time.UTC)

// on returns r enabled.
func on(r Rule) Rule {
	r.State = 1
	return r
}

func include(pattern string) Rule { return on(Rule{Pattern: pattern, Action: 1, Stage: StageAll}) }
func exclude(pattern string) Rule { return on(Rule{Pattern: pattern, Action: -1, Stage: StageAll}) }

// in returns r at another stage.
func in(stage int, r Rule) Rule {
	r.Stage = stage
	return r
}

// grouped returns r in a group.
func grouped(id int, r Rule) Rule {
	r.Group = id
	return r
}

func mustCompile(t testing.TB, rules []Rule) *Set {
	t.Helper()
	set, errs := Compile(rules)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return set
}

// docs/spec/processing.md 1.8, 6.2 #2, #3.
func TestAccept(t *testing.T) {
	depth := on(Rule{Pattern: "%MAX_DEPTH%", Subject: "3", OpCode: OpGreaterEqual, Action: 1, Stage: StageAll})
	cases := []struct {
		name  string
		rules []Rule
		stage int
		url   string
		env   Env
		want  bool
	}{
		{"no rules", nil, StageLinks, "http://a/", Env{}, true},
		{"include matches", []Rule{include(`^http://a/`)}, StageLinks, "http://a/x", Env{}, true},
		{"include does not match", []Rule{include(`^http://a/`)}, StageLinks, "http://b/", Env{}, false},
		{"second include matches", []Rule{include(`a/`), include(`b/`)}, StageLinks, "http://b/", Env{}, true},
		{"exclude wins over include", []Rule{include(`(.*)`), exclude(`\.zip$`)}, StageLinks, "http://a/x.zip", Env{}, false},
		{"exclude before include", []Rule{exclude(`\.zip$`), include(`(.*)`)}, StageLinks, "http://a/x.zip", Env{}, false},
		{"only excludes, no match", []Rule{exclude(`\.zip$`)}, StageLinks, "http://a/x.html", Env{}, true},
		{"action 0 uses type: exclude", []Rule{on(Rule{Pattern: "zip", Stage: StageAll})}, StageLinks, "x.zip", Env{}, false},
		{"action 0 uses type: include", []Rule{on(Rule{Pattern: "zip", Stage: StageAll, Type: 1})}, StageLinks, "x.html", Env{}, false},
		{"action wins over type", []Rule{on(Rule{Pattern: "zip", Stage: StageAll, Action: 1, Type: 0})}, StageLinks, "x.zip", Env{}, true},
		{"disabled rule", []Rule{{Pattern: "^b", Action: 1, Stage: StageAll}}, StageLinks, "a", Env{}, true},
		{"pattern is searched for", []Rule{include(`news`)}, StageLinks, "http://a/news/1", Env{}, true},
		{"anchors match at lines", []Rule{include(`^b$`)}, StageLinks, "a\nb\nc", Env{}, true},
		{"alternatives", []Rule{include("^a\r\n^b\r\n")}, StageLinks, "bc", Env{}, true},
		{"no alternative matches, empty line ignored", []Rule{include("^a\r\n^b\r\n")}, StageLinks, "c", Env{}, false},

		{"links use stage 0", []Rule{in(StageLinks, exclude(`x`))}, StageLinks, "x", Env{}, false},
		{"links do not use stage 8", []Rule{in(StageRedirect, exclude(`x`))}, StageLinks, "x", Env{}, true},
		{"redirects use stage 8", []Rule{in(StageRedirect, exclude(`x`))}, StageRedirect, "x", Env{}, false},
		{"redirects use stage 0", []Rule{in(StageLinks, exclude(`x`))}, StageRedirect, "x", Env{}, false},
		{"redirects use stage 5", []Rule{exclude(`x`)}, StageRedirect, "x", Env{}, false},
		{"protocols use only stage 6", []Rule{include(`^http://a/`), in(StageProtocol, exclude(`^ftp$`))}, StageProtocol, "http", Env{}, true},
		{"before the processor uses stages 7 and 5", []Rule{exclude(`x`)}, StageBeforeProcessor, "x", Env{}, false},

		{"media rule and URL", []Rule{on(Rule{Pattern: "x", Action: -1, Stage: StageAll, Mode: 1})}, StageLinks, "x", Env{}, true},
		{"media rule and media", []Rule{on(Rule{Pattern: "x", Action: -1, Stage: StageAll, Mode: 1})}, StageLinks, "x", Env{Mode: 1}, false},

		{"group: both match", []Rule{grouped(2, include("a")), grouped(2, include("b"))}, StageLinks, "ab", Env{}, true},
		{"group: one matches", []Rule{grouped(2, include("a")), grouped(2, include("b"))}, StageLinks, "a", Env{}, false},
		{"two groups", []Rule{grouped(2, include("a")), grouped(2, include("b")), grouped(3, include("c"))}, StageLinks, "c", Env{}, true},
		{"group of excludes: one matches", []Rule{grouped(2, exclude("a")), grouped(2, exclude("b"))}, StageLinks, "a", Env{}, true},
		{"group of excludes: both match", []Rule{grouped(2, exclude("a")), grouped(2, exclude("b"))}, StageLinks, "ba", Env{}, false},
		{"group with include and exclude", []Rule{grouped(2, include("a")), grouped(2, exclude("b"))}, StageLinks, "ab", Env{}, false},

		{"depth below the limit", []Rule{depth}, StageLinks, "x", Env{Depth: 3}, true},
		{"depth above the limit", []Rule{depth}, StageLinks, "x", Env{Depth: 4}, false},
		{"depth and an include of everything", []Rule{include("(.*)"), depth}, StageLinks, "x", Env{Depth: 4}, false},
		{"depth includes nothing", []Rule{include("^a"), depth}, StageLinks, "x", Env{Depth: 1}, false},
		{"depth in a group", []Rule{grouped(1, include("^a")), grouped(1, depth), include("^b")}, StageLinks, "b", Env{Depth: 9}, true},
		{"value as number", []Rule{on(Rule{Pattern: "10", OpCode: OpLess, Action: -1, Stage: StageAll})}, StageLinks, " 9 ", Env{}, false},
		{"value is not a number", []Rule{on(Rule{Pattern: "10", OpCode: OpLess, Action: -1, Stage: StageAll})}, StageLinks, "nine", Env{}, true},
		{"one of several numbers", []Rule{on(Rule{Pattern: "1\r\n2", OpCode: OpEqual, Action: -1, Stage: StageAll})}, StageLinks, "2", Env{}, false},
		{"literal subject", []Rule{on(Rule{Pattern: "^abc", Subject: "abcdef", Action: -1, Stage: StageAll})}, StageLinks, "x", Env{}, false},

		{"current date", []Rule{include(`/%@CUR_YEAR_FULL%/%@CUR_MONTH%/%@CUR_DAY%/`)}, StageLinks, "http://a/2024/03/05/x", Env{Now: noon}, true},
		{"short year", []Rule{include(`/%@CUR_YEAR_SHORT%/`)}, StageLinks, "http://a/23/", Env{Now: noon}, false},
		{"utc plus hours", []Rule{include(`/%@DAY(+12)%-%@HOUR(-1)%-%@MINUTE(0)%$`)}, StageLinks, "/06-11-30", Env{Now: noon}, true},
		{"zone of now is ignored", []Rule{include(`^%@HOUR()%$`)}, StageLinks, "12", Env{Now: noon.In(time.FixedZone("", 7200))}, true},
		{"percent without macro", []Rule{include(`%20%41`)}, StageLinks, "a%20%41", Env{}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := mustCompile(t, c.rules).Accept(c.stage, c.url, c.env); got != c.want {
				t.Errorf("Accept(%d, %q) = %v", c.stage, c.url, got)
			}
		})
	}
}

func TestAcceptOfAContentStage(t *testing.T) {
	set := mustCompile(t, []Rule{include(`^http://a/`), in(StageRaw, on(Rule{Pattern: "login", Subject: "RAW_CONTENT", Action: -1}))})
	if !set.Accept(StageRaw, "<p>news</p>", Env{}) || set.Accept(StageRaw, "<p>login</p>", Env{}) {
		t.Error("Accept does not use exactly the rules of its stage")
	}
	if !set.Has(StageRaw) || set.Has(StageProtocol) {
		t.Error("Has is wrong")
	}
	var empty *Set
	if empty.Has(StageRaw) || !empty.Accept(StageLinks, "x", Env{}) {
		t.Error("the nil Set has rules")
	}
}

func TestComparisons(t *testing.T) {
	for op, want := range map[int]string{OpEqual: "010", OpNotEqual: "101", OpLessEqual: "110", OpGreaterEqual: "011", OpLess: "100", OpGreater: "001"} {
		got := ""
		for _, left := range []string{"1", "2", "3"} {
			got += map[bool]string{true: "1", false: "0"}[compareNumbers(op, left, "2")]
		}
		if got != want {
			t.Errorf("operation %d of 1, 2, 3 and 2: %s, want %s", op, got, want)
		}
	}
}

func TestBrokenRules(t *testing.T) {
	set, errs := Compile([]Rule{include(`^http://(a`), include(`^http://b/`), exclude(`[`), on(Rule{OpCode: 9, Stage: StageAll, Action: -1})})
	if len(errs) != 3 || !strings.Contains(errs[0].Error(), "invalid pattern") || !strings.Contains(errs[1].Error(), "invalid pattern") || !strings.Contains(errs[2].Error(), "unknown operation") {
		t.Fatalf("errors = %v", errs)
	}
	if !strings.Contains(errs[0].Error(), "rule 0") || !strings.Contains(errs[1].Error(), "rule 2") {
		t.Errorf("the errors do not name the rules: %v", errs)
	}
	if !set.Accept(StageLinks, "http://b/", Env{}) || set.Accept(StageLinks, "http://c/", Env{}) {
		t.Error("a broken rule disables other rules")
	}
	if set, _ := Compile([]Rule{include(`(`)}); set.Accept(StageLinks, "http://anywhere/", Env{}) {
		t.Error("a broken include rule lets everything pass")
	}
}

func TestSQL(t *testing.T) {
	rule := on(Rule{Pattern: "%PDATE% > '%@CUR_YEAR_FULL%-01-01'", OpCode: OpSQL, Action: 1, Stage: StageLinks})
	set := mustCompile(t, []Rule{rule})
	if !set.Accept(StageLinks, "x", Env{}) {
		t.Error("an SQL rule applies without an evaluator")
	}
	var expression string
	for _, c := range []struct {
		ok   bool
		err  error
		want bool
	}{{true, nil, true}, {false, nil, false}, {true, errors.New("no such function"), false}} {
		env := Env{Now: noon, SQL: func(text string) (bool, error) { expression = text; return c.ok, c.err }}
		if got := set.Accept(StageLinks, "x", env); got != c.want {
			t.Errorf("%v, %v: %v", c.ok, c.err, got)
		}
	}
	if want := "%PDATE% > '2024-01-01'"; expression != want {
		t.Errorf("expression = %q, want %q", expression, want)
	}
}

func TestConcurrentUse(t *testing.T) {
	set := mustCompile(t, []Rule{include(`/%@SECOND()%/%MAX_DEPTH%$`), exclude(`(?<!x)y`)})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				env := Env{Now: noon.Add(time.Duration(i%3) * time.Second), Depth: g}
				url := fmt.Sprintf("/%02d/%d", env.Now.Second(), g)
				if !set.Accept(StageLinks, url, env) {
					t.Errorf("Accept(%s) = false", url)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzCompile(f *testing.F) {
	for _, p := range []string{`^http://a/(.*)`, `[\w\S]`, `(?u)\Z{,3}`, `(?=a)\1`, "%@DAY(+9)%\r\n[", `\`} {
		f.Add(p, "http://a/")
	}
	f.Fuzz(func(t *testing.T, pattern, value string) {
		set, errs := Compile([]Rule{include(pattern)})
		accepted := set.Accept(StageLinks, value, Env{Now: noon})
		if len(errs) > 0 && accepted {
			t.Errorf("broken %q accepts %q", pattern, value)
		}
	})
}

func BenchmarkAccept(b *testing.B) {
	set := mustCompile(b, []Rule{include(`^http://site\.example(/.*)?`), exclude(`\.(jpg|png|zip)$`), exclude(`[?&]print=`)})
	b.ReportAllocs()
	for b.Loop() {
		set.Accept(StageLinks, "http://site.example/news/2024/03/05/market-hall.html?page=2", Env{Now: noon})
	}
}

func TestExplain(t *testing.T) {
	rules := []Rule{
		{Pattern: "a", Stage: StageAll, Action: 1, State: 1},
		{Pattern: "b", Stage: StageLinks, Action: -1, State: 1},
		{Pattern: "c", Stage: StageRaw, Action: -1, State: 1},
		{Pattern: "off", Stage: StageAll, Action: -1},
		{Pattern: "(", Stage: StageAll, Action: -1, State: 1},
		{Pattern: "%MAX_DEPTH%", Subject: "3", OpCode: OpGreaterEqual, Stage: StageAll, Action: 1, State: 1},
	}
	set, _ := Compile(rules)
	for url, want := range map[string]string{
		"http://a/":  "include:true exclude:false -exclude:false broken:false condition:true accepted:true",
		"http://ab/": "include:true exclude:true -exclude:false broken:false condition:true accepted:false",
	} {
		verdicts, ok := set.Explain(StageLinks, url, Env{Depth: 2})
		got := ""
		for _, v := range verdicts {
			if !v.Applies {
				got += "-"
			}
			got += fmt.Sprintf("%s:%t ", v.Effect, v.Matches)
		}
		if got += fmt.Sprintf("accepted:%t", ok); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", url, got, want)
		}
	}
	if verdicts, ok := (*Set)(nil).Explain(StageLinks, "x", Env{}); verdicts != nil || !ok {
		t.Error("the nil Set rejects a URL")
	}
}

func TestAcceptSubject(t *testing.T) {
	set, errs := Compile([]Rule{
		{Pattern: "spam", Stage: StageRaw, Action: -1, State: 1},
		{Pattern: "X-Bad: 1", Subject: HeadersAll, Stage: StageRaw, Action: -1, State: 1},
		{Pattern: "^2020", Subject: LastModified, Stage: StageRaw, Action: -1, State: 1},
		{Pattern: "body", Subject: RawContent, Stage: StageRaw, Action: 1, State: 1},
		{Pattern: ".*", Stage: StageAll, Action: -1, State: 1},
	})
	if errs != nil {
		t.Fatal(errs)
	}
	tests := []struct {
		subject, value string
		want           bool
	}{
		{RawContent, "a body", true},
		{RawContent, "else", false},
		{RawContent, "body with spam", false},
		{RawContent, "body X-Bad: 1", true},
		{HeadersAll, "X-Bad: 1", false},
		{HeadersAll, "spam", true},
		{LastModified, "2020-01-01 00:00:00", false},
		{LastModified, "2021-01-01 00:00:00", true},
	}
	for _, tt := range tests {
		if got := set.AcceptSubject(StageRaw, tt.subject, tt.value, Env{}); got != tt.want {
			t.Errorf("%s %q: %t", tt.subject, tt.value, got)
		}
	}
}

func TestExcludes(t *testing.T) {
	cases := []struct {
		name  string
		rules []Rule
		want  bool
	}{
		{"no rules", nil, false},
		{"exclude matches", []Rule{exclude(`\.gif$`)}, true},
		{"exclude does not match", []Rule{exclude(`\.png$`)}, false},
		{"include does not match", []Rule{include(`^http://b/`)}, false},
		{"include and exclude match", []Rule{include(`^http://a/`), exclude(`gif`)}, true},
		{"another stage", []Rule{in(StageRaw, exclude(`gif`))}, false},
		{"another mode", []Rule{on(Rule{Pattern: "gif", Action: -1, Stage: StageAll, Mode: 1})}, false},
		{"group: one matches", []Rule{grouped(2, exclude("gif")), grouped(2, exclude("b"))}, false},
		{"group: both match", []Rule{grouped(2, exclude("gif")), grouped(2, exclude("a"))}, true},
	}
	for _, c := range cases {
		if got := mustCompile(t, c.rules).Excludes(StageLinks, "http://a/x.gif", Env{}); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if (*Set)(nil).Excludes(StageLinks, "x", Env{}) {
		t.Error("a nil set excludes")
	}
}
