package manager

import (
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"
)

// A refused variable keeps its value; the others are set. The reason names the variable, the
// value and the allowed range.
func TestSetOfSeveral(t *testing.T) {
	var urls int64 = 5
	period, mode := 20*time.Second, true
	level := new(slog.LevelVar)
	vs := variables{}
	for _, v := range []Variable{
		Int("BatchDefaultMaxURLs", &urls, 1, 100), Program("BatchDefaultMaxTasks", "2"),
		Span("RegularCrawlingPeriod", &period, time.Second, 0, time.Hour), Switch("RegularCrawlingMode", &mode), levelVariable(level),
	} {
		vs[v.Name] = v
	}
	for name, c := range map[string]struct {
		wanted map[string]any
		values map[string]any
		words  map[string][]string // of each refusal
	}{
		"one of three is out of range": {
			map[string]any{"BatchDefaultMaxURLs": "101", "RegularCrawlingPeriod": 7.0, "RegularCrawlingMode": "0"},
			map[string]any{"BatchDefaultMaxURLs": nil, "RegularCrawlingPeriod": int64(7), "RegularCrawlingMode": 0},
			map[string][]string{"BatchDefaultMaxURLs": {"BatchDefaultMaxURLs is 101", "1 to 100"}},
		},
		"not a number": {
			map[string]any{"BatchDefaultMaxURLs": "many", "RegularCrawlingPeriod": nil},
			map[string]any{"BatchDefaultMaxURLs": nil, "RegularCrawlingPeriod": nil},
			map[string][]string{"BatchDefaultMaxURLs": {`is "many"`, "1 to 100"}, "RegularCrawlingPeriod": {"is null", "0 to 3600"}},
		},
		"fixed": {
			map[string]any{"BatchDefaultMaxTasks": 3.0}, map[string]any{"BatchDefaultMaxTasks": nil},
			map[string][]string{"BatchDefaultMaxTasks": {"cannot be changed while"}},
		},
		"misspelled name": {
			map[string]any{"BatchDefaultMaxURL": 3.0}, map[string]any{"BatchDefaultMaxURL": nil},
			map[string][]string{"BatchDefaultMaxURL": {"is not a variable", "did you mean BatchDefaultMaxURLs?"}},
		},
		"wrong case": {
			map[string]any{"log_level": 10.0}, map[string]any{"log_level": nil},
			map[string][]string{"log_level": {"did you mean LOG_LEVEL?"}},
		},
		"no similar name": {
			map[string]any{strings.Repeat("x", 100000): 3.0}, map[string]any{strings.Repeat("x", 100000): nil},
			map[string][]string{strings.Repeat("x", 100000): {"is not a variable of this class"}},
		},
		"level by name":   {map[string]any{"LOG_LEVEL": " Warning "}, map[string]any{"LOG_LEVEL": int64(30)}, nil},
		"level by number": {map[string]any{"LOG_LEVEL": "40"}, map[string]any{"LOG_LEVEL": int64(40)}, nil},
		"unknown level": {
			map[string]any{"LOG_LEVEL": "loud"}, map[string]any{"LOG_LEVEL": nil},
			map[string][]string{"LOG_LEVEL": {`LOG_LEVEL is "loud"`, "10, 20, 30, 40, 50", "debug, info, warning"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			urls, period, mode = 5, 20*time.Second, true
			values, refused := vs.setVariables(c.wanted)
			if !reflect.DeepEqual(values, c.values) || len(refused) != len(c.words) {
				t.Errorf("values %v, refused %v", values, refused)
			}
			for variable, words := range c.words {
				for _, w := range words {
					if !strings.Contains(refused[variable], w) {
						t.Errorf("%q does not contain %q", refused[variable], w)
					}
				}
			}
			if urls != 5 {
				t.Errorf("a refused value was set: %d", urls)
			}
		})
	}
}
