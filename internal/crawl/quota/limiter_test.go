package quota

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var noon = time.Date(2024, 3, 5, 12, 0, 0, 0, time.UTC)

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, text, host, want string }{
		{"numbers", `{"a":{"max_freq":0.5,"max_delay":10,"randomized":1}}`, "a.com", "0.5 10 true"},
		{"in quotes", `{"a":{"max_freq":"2","max_delay":"10","randomized":"0"}}`, "a.com", "2 10 false"},
		{"nothing given", `{"a":{}}`, "a.com", "0 0 false"},
		{"the first wins", `{"a":{"max_freq":1},"a.com":{"max_freq":2},".*":{"max_freq":3}}`, "a.com", "1 0 false"},
		{"the order of the text", `{"z":{"max_freq":1},".*":{"max_freq":2},"a":{"max_freq":3}}`, "a.com", "2 0 false"},
		{"at the start only", `{"com":{"max_freq":1}}`, "a.com", "none"},
		{"each alternative at the start", `{"x|com":{"max_freq":1}}`, "a.com", "none"},
		{"not to the end", `{"a\\.c":{"max_freq":1}}`, "a.com", "1 0 false"},
		{"case", `{"A.COM":{"max_freq":1}}`, "a.com", "1 0 false"},
		{"path", `{"PATH_CONFIG":"x"}`, "PATH_CONFIG", "none"},
		{"no path", `{"PATH_CONFIG":null,"a":{}}`, "a", "0 0 false"},
		{"an hour", `{"a":{"max_delay":1e300}}`, "a.com", "0 3600 false"},
		{"null", `null`, "a.com", "none"},

		{"not an object", `[1]`, "", "is not a JSON object"},
		{"empty", ``, "", "is empty"},
		{"rule is a number", `{"a":5}`, "", `at "a" is a JSON number; expected an object`},
		{"no number", `{"a":{"max_freq":"x"}}`, "", `at "a" has "x"; expected a number`},
		{"below 0", `{"a":{"max_delay":-1}}`, "", `at "a" has a number below 0`},
		{"expression", `{"a(":{}}`, "", `at "a(" is not a regular expression`},
		{"look-around", `{"a(?=b)":{"max_freq":2}}`, "ab.com", "2 0 false"},
		{"from the start", `{"(?:com|a)":{"max_freq":2}}`, "b.com", "none"},
		{"path is a list", `{"PATH_CONFIG":[]}`, "", `at "PATH_CONFIG" has []; expected a text`},
	} {
		limits, err := Parse(c.text)
		got := "none"
		if err != nil {
			got = err.Error()
		} else if r, ok := limits.findRule(c.host); ok {
			got = fmt.Sprint(r.maxFreq, r.maxDelay, r.randomized)
		}
		if got != c.want && (err == nil || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

func open(t *testing.T, text, base string, o Options) *Limiter {
	t.Helper()
	limits, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(limits, base, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func ask(t *testing.T, l *Limiter, site, host string) string {
	t.Helper()
	a, err := l.Ask(t.Context(), site, host)
	if err != nil {
		t.Fatal(err)
	}
	if a.Stop {
		return "stop"
	}
	return a.Wait.String()
}

func TestAsk(t *testing.T) {
	type step struct {
		after time.Duration // since the step before
		want  string
	}
	for _, c := range []struct {
		name, rule string
		random     int
		steps      []step
	}{
		{"no limits", `{}`, 0, []step{{0, "0s"}, {0, "0s"}, {0, "0s"}}},
		{"frequency", `{"max_freq":2}`, 0, []step{{0, "0s"}, {0, "0s"}, {0, "0s"}, {0, "stop"}, {time.Second, "stop"}, {2 * time.Second, "0s"}}},
		{"put off requests count", `{"max_freq":1}`, 0, []step{{0, "0s"}, {0, "0s"}, {0, "stop"}, {2 * time.Second, "stop"}, {2 * time.Second, "0s"}}},
		{"delay less the average gap", `{"max_delay":10}`, 0, []step{{0, "0s"}, {4 * time.Second, "6s"}, {8 * time.Second, "4s"}, {time.Minute, "0s"}}},
		{"at once", `{"max_delay":10}`, 0, []step{{0, "0s"}, {0, "10s"}}},
		{"less than a second is dropped", `{"max_delay":10}`, 0, []step{{0, "0s"}, {9500 * time.Millisecond, "0s"}}},
		{"random", `{"max_delay":10,"randomized":1}`, 2, []step{{0, "0s"}, {4 * time.Second, "9s"}}},
		{"random above the delay", `{"max_delay":10,"randomized":1}`, 9, []step{{0, "0s"}, {4 * time.Second, "0s"}}},
		{"random of half a second", `{"max_delay":0.5,"randomized":1}`, 0, []step{{0, "0s"}, {0, "0s"}}},
		{"both", `{"max_freq":1,"max_delay":3}`, 0, []step{{0, "0s"}, {0, "3s"}, {0, "stop"}}},
		{"a burst is forgotten", `{"max_freq":0.0005}`, 0, []step{{0, "0s"}, {0, "stop"}, {0, "stop"}, {renewAfter - 1e6, "stop"}, {1e6, "0s"}}},
		{"clock put back", `{"max_freq":1}`, 0, []step{{0, "0s"}, {0, "0s"}, {0, "stop"}, {-time.Minute, "0s"}}},
	} {
		now := noon
		l := open(t, `{".*":`+c.rule+`}`, t.TempDir(), Options{Now: func() time.Time { return now }, Random: func(int) int { return c.random }})
		for i, s := range c.steps {
			now = now.Add(s.after)
			if got := ask(t, l, "s", "Example.com."); got != s.want {
				t.Errorf("%s: step %d: %s, want %s", c.name, i, got, s.want)
			}
		}
	}
}

func TestFile(t *testing.T) {
	base := t.TempDir()
	now := noon
	const text = `{"exa":{"max_freq":1},"PATH_CONFIG":"sub/x"}`
	l := open(t, text, base, Options{Now: func() time.Time { return now }})
	for _, host := range []string{"example.com", "example.com", "../exa", "other.com"} {
		ask(t, l, "s", host)
	}
	path := filepath.Join(base, "sub", "x", "example.com", "http_freq_limits_s.json")
	content, err := os.ReadFile(path)
	if want := `{"start":1709640000,"count":2}` + "\n"; err != nil || string(content) != want {
		t.Errorf("%s, %v", content, err)
	}
	if entries, _ := os.ReadDir(filepath.Join(base, "sub", "x")); len(entries) != 1 {
		t.Errorf("folders: %v", entries)
	}
	if got := ask(t, l, "other", "example.com"); got != "0s" {
		t.Errorf("another site: %s", got)
	}
	for content, want := range map[string]string{
		`{"start":"1709640000.0","count":"5"}`:             "stop",
		`{"start":1709640000,"count":1}`:                   "0s",
		`{"start":1709640000,"count":-9}`:                  "0s",
		`{"start":-1e308,"count":5}`:                       "0s",
		`{"start":1e308,"count":5}`:                        "0s",
		`{"start":1709640000,"count":9e15}`:                "stop",
		`{"start":1709640000,"count":9223372036854775807}`: "stop",
		`{"start":`: "0s",
		`[]`:        "0s",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, l, "s", "example.com"); got != want {
			t.Errorf("%s: %s", content, got)
		}
	}
}

func TestPathsOut(t *testing.T) {
	base := t.TempDir()
	for _, path := range []string{"/etc", "../x", "a/../../b"} {
		limits, err := Parse(`{".*":{"max_freq":1},"PATH_CONFIG":"` + path + `"}`)
		if err != nil {
			t.Fatal(err)
		}
		l, err := Open(limits, base, Options{})
		if err == nil || !strings.Contains(err.Error(), "has in PATH_CONFIG the path") || !strings.Contains(err.Error(), "leads out") {
			t.Errorf("%s: %v", path, err)
		}
		ask(t, l, "s", "a.com")
	}
	if _, err := os.Stat(filepath.Join(base, "a.com", "http_freq_limits_s.json")); err != nil {
		t.Error(err)
	}
	limits, _ := Parse(`{".*":{"max_freq":1}}`)
	l, _ := Open(limits, "", Options{})
	if _, err := l.Ask(t.Context(), "s", "a.com"); err == nil {
		t.Error("counted without a folder")
	}
}

func TestErrorLetsGo(t *testing.T) {
	base := t.TempDir()
	if err := os.WriteFile(filepath.Join(base, "a.com"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, `{".*":{"max_freq":1}}`, base, Options{})
	for range 3 {
		if a, err := l.Ask(context.Background(), "s", "a.com"); err == nil || a != (Answer{}) {
			t.Error(a, err)
		}
	}
}

func TestGoroutines(t *testing.T) {
	base := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		l := open(t, `{".*":{"max_freq":1}}`, base, Options{Now: func() time.Time { return noon }})
		wg.Go(func() {
			for range 25 {
				if _, err := l.Ask(t.Context(), "s", "a.com"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	text, _ := os.ReadFile(filepath.Join(base, "a.com", "http_freq_limits_s.json"))
	if !strings.Contains(string(text), `"count":100`) {
		t.Errorf("%s", text)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{`{"a":{"max_freq":1,"max_delay":2,"randomized":1},"PATH_CONFIG":"x"}`, `{"a":{"max_freq":"1"}}`, `{"(":{}}`, `[]`} {
		f.Add(text, "a.com", 3.5, 2.0)
	}
	f.Fuzz(func(t *testing.T, text, host string, elapsed, count float64) {
		limits, err := Parse(text)
		if err != nil {
			return
		}
		r, _ := limits.findRule(host)
		if a := r.decideAnswer(max(elapsed, 0), max(count, 0), func(n int) int { return n - 1 }); a.Wait < 0 || a.Wait > maxDelay {
			t.Errorf("%s waits %s", text, a.Wait)
		}
	})
}
