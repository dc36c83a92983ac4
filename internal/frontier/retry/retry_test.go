package retry

import (
	"strings"
	"testing"
	"time"
)

func TestWait(t *testing.T) {
	table := Default(time.Second)
	for _, tt := range []struct {
		name        string
		cause       Cause
		n           int
		asked       time.Duration
		least, most time.Duration
	}{
		{"first", "503", 1, 0, 750 * time.Millisecond, 1250 * time.Millisecond},
		{"third", "503", 3, 0, 3 * time.Second, 5 * time.Second},
		{"bounded", "503", 12, 0, 48 * time.Second, 80 * time.Second},
		{"far beyond the bound", "503", 1 << 40, 0, 48 * time.Second, 80 * time.Second},
		{"another first pause", DNS, 2, 0, 3 * time.Second, 5 * time.Second},
		{"Retry-After is never shorter", "429", 1, 90 * time.Second, 90 * time.Second, 99 * time.Second},
		{"Retry-After is bounded", "429", 1, 1 << 60, LongestAsked, LongestAsked},
	} {
		rule := table[tt.cause]
		low, high := rule.Wait(tt.n, tt.asked, 0), rule.Wait(tt.n, tt.asked, 0.999999)
		if low < tt.least || high > tt.most || high < low {
			t.Errorf("%s: %v to %v, want %v to %v", tt.name, low, high, tt.least, tt.most)
		}
	}
}

func TestHoldsHost(t *testing.T) {
	table := Default(time.Second)
	for _, tt := range []struct {
		cause Cause
		n     int
		want  bool
	}{
		{"503", 1, true}, {"502", 3, false}, {"502", 4, true}, {"500", 100, false}, {Cut, 100, false},
	} {
		if got := table[tt.cause].HoldsHost(tt.n); got != tt.want {
			t.Errorf("%s, answer %d: %t", tt.cause, tt.n, got)
		}
	}
}

func TestOfCode(t *testing.T) {
	table := Default(time.Second)
	for code, want := range map[int]Cause{
		200: "", 301: "", 404: "", 408: "408", 425: "", 429: "429", 500: "500", 501: "", 502: "502", 503: "503", 504: "504", 505: "", 521: "52x", 530: "",
	} {
		got := OfCode(code)
		if got != want {
			t.Errorf("%d: cause %q, want %q", code, got, want)
		}
		if _, known := table[got]; known != (got != "") {
			t.Errorf("%d: cause %q has no rule", code, got)
		}
	}
}

func TestParse(t *testing.T) {
	def := Default(time.Second)
	for _, tt := range []struct {
		name, text string
		cause      Cause
		want       Rule
	}{
		{"absent", "", "503", def["503"]},
		{"on", "1", "503", def["503"]},
		{"off: asked once, with the pause of the host", "0", "503", Rule{1, time.Second, 64 * time.Second, LongestAsked, 1}},
		{"off: no rule", "0", Cut, Rule{}},
		{"one rule", `{"503": {"attempts": 9, "pause": 0.5, "longest": 30, "retryAfter": 60, "host": 3}}`, "503", Rule{9, 500 * time.Millisecond, 30 * time.Second, time.Minute, 3}},
		{"the others stay", `{"503": {"attempts": 9}}`, "502", def["502"]},
		{"all", `{"*": {"attempts": 2}}`, "502", Rule{2, time.Second, 64 * time.Second, LongestAsked, 4}},
		{"all, and one", `{"502": {"attempts": 5}, "*": {"attempts": 2}}`, "502", Rule{5, time.Second, 64 * time.Second, LongestAsked, 4}},
	} {
		table, err := def.Parse(tt.text)
		if err != nil || table[tt.cause] != tt.want {
			t.Errorf("%s: %+v, %v, want %+v", tt.name, table[tt.cause], err, tt.want)
		}
	}
	for text, part := range map[string]string{
		"yes": "expected 0, 1", "2": "expected 0, 1", "[]": "expected 0, 1", `{"404": {}}`: `cause "404"`, `{"503": 5}`: "expected members",
		`{"503": {"tries": 5}}`: "expected members", `{"503": {"attempts": 0}}`: "attempts 0", `{"*": {"pause": -1}}`: "pause -1", `{"*": {"retryAfter": 1e9}}`: "retryAfter",
	} {
		if _, err := def.Parse(text); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error %v, want %q in it", text, err, part)
		}
	}
	if def["503"].Attempts != 6 {
		t.Error("Parse has changed the default table")
	}
}
