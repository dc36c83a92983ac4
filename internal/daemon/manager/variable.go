package manager

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/config"
)

// Variable is a configuration variable of a manager. Its value belongs to the loop.
type Variable struct {
	Name string
	Get  func() any // returns a JSON value: a number, a text, a list, an object
	// Set takes a decoded JSON value (float64, string, bool, nil, []any, map[string]any) or
	// refuses it with the reason. Nil: the variable is read-only while the daemon runs.
	Set func(v any) error
}

var errFixed = errors.New("cannot be changed while the daemon runs")

// Object is a JSON object. SET accepts an object or its text; set parses the text.
func Object(name string, get func() any, set func(text string) error) Variable {
	return Variable{
		Name: name,
		Get:  get,
		Set: func(v any) error {
			text, ok := v.(string)
			if !ok {
				raw, err := json.Marshal(v)
				if err != nil {
					return err
				}
				text = string(raw)
			}
			return set(text)
		},
	}
}

// Program is a program with its arguments, as in the ini file. It is read-only: otherwise
// everyone who reaches the operators' port could choose what runs here.
func Program(name, program string, args ...string) Variable {
	line := strings.Join(append([]string{program}, args...), " ")
	return Variable{Name: name, Get: func() any { return line }}
}

// variables are the declared variables by name.
type variables map[string]Variable

// Var declares variables.
func (l *Loop) Var(vars ...Variable) {
	for _, v := range vars {
		if _, twice := l.vars[v.Name]; twice {
			panic(fmt.Sprintf("manager %s: variable %s is declared twice", l.cfg.Name, v.Name))
		}
		l.vars[v.Name] = v
	}
}

// Int is a whole number from lowest to highest.
func Int[T ~int | ~int64](name string, p *T, lowest, highest int64) Variable {
	return Variable{
		Name: name,
		Get:  func() any { return int64(*p) },
		Set: func(v any) error {
			n, err := parseWholeWithin(v, lowest, highest)
			if err != nil {
				return err
			}
			*p = T(n)
			return nil
		},
	}
}

// Span is a duration, on the wire a whole number of units (time.Millisecond, time.Second,
// time.Minute) from lowest to highest.
func Span(name string, p *time.Duration, unit, lowest, highest time.Duration) Variable {
	return Variable{
		Name: name,
		Get:  func() any { return int64(*p / unit) },
		Set: func(v any) error {
			n, err := parseWholeWithin(v, int64(lowest/unit), int64(highest/unit))
			if err != nil {
				return err
			}
			*p = time.Duration(n) * unit
			return nil
		},
	}
}

// Switch is a bool, on the wire 0 or 1.
func Switch(name string, p *bool) Variable {
	return Variable{
		Name: name,
		Get: func() any {
			if *p {
				return 1
			}
			return 0
		},
		Set: func(v any) error {
			if b, ok := v.(bool); ok {
				*p = b
				return nil
			}
			n, err := parseWhole(v)
			if err != nil || n < 0 || n > 1 {
				return fmt.Errorf("is %s, must be 0 or 1", shortenValue(v))
			}
			*p = n == 1
			return nil
		},
	}
}

// Text is a text. check may be nil; otherwise it refuses invalid texts.
func Text(name string, p *string, check func(string) error) Variable {
	return Variable{
		Name: name,
		Get:  func() any { return *p },
		Set: func(v any) error {
			s, ok := v.(string)
			if !ok {
				return fmt.Errorf("is %s, must be a text", shortenValue(v))
			}
			if check != nil {
				if err := check(s); err != nil {
					return err
				}
			}
			*p = s
			return nil
		},
	}
}

// parseWhole reads a whole number: a JSON number, or decimal digits as text from an operator's
// name:value pair.
func parseWhole(v any) (int64, error) {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= 1<<53 {
			return int64(v), nil
		}
	case string:
		if n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("is %s, must be a whole number", shortenValue(v))
}

// parseWholeWithin reads a whole number from lowest to highest; the error names both.
func parseWholeWithin(v any, lowest, highest int64) (int64, error) {
	n, err := parseWhole(v)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w of %d to %d", err, lowest, highest)
	case n < lowest || n > highest:
		return 0, fmt.Errorf("is %d, must be %d to %d", n, lowest, highest)
	}
	return n, nil
}

// shortenValue returns v for a message, cut to 60 bytes.
func shortenValue(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("of type %T", v)
	}
	if len(b) > 60 {
		return string(b[:57]) + "..."
	}
	return string(b)
}

// setVariables changes variables independently, in the order of their names, and returns the new
// values. A refused variable keeps its value; its answer is null with the reason.
func (vs variables) setVariables(wanted map[string]any) (values map[string]any, refused map[string]string) {
	values, refused = map[string]any{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		to := wanted[name]
		v, ok := vs[name]
		err := errFixed
		switch {
		case !ok:
			err = fmt.Errorf("is not a variable of this class%s", config.Suggestion(config.Nearest(name, slices.Collect(maps.Keys(vs)))))
		case v.Set != nil:
			err = v.Set(to)
		}
		if err != nil {
			values[name], refused[name] = nil, name+" "+err.Error()
			continue
		}
		values[name] = v.Get()
	}
	return values, refused
}

// levels maps the numbers of LOG_LEVEL (docs/spec/daemon.md 3.1) to slog levels.
var levels = map[int64]slog.Level{
	10: slog.LevelDebug, 20: slog.LevelInfo, 30: slog.LevelWarn, 40: slog.LevelError, 50: slog.LevelError + 4,
}

// levelNames are the names that SET of LOG_LEVEL accepts, in any case.
var levelNames = map[string]int64{"debug": 10, "info": 20, "warning": 30, "warn": 30, "error": 40, "critical": 50}

func levelVariable(level *slog.LevelVar) Variable {
	return Variable{
		Name: "LOG_LEVEL",
		Get: func() any {
			for number, l := range levels {
				if l == level.Level() {
					return number
				}
			}
			return 20 + 10*int64(level.Level())/4
		},
		Set: func(v any) error {
			word, _ := v.(string)
			n, named := levelNames[strings.ToLower(strings.TrimSpace(word))]
			if !named {
				n, _ = parseWhole(v) // 0, which is not a level, for other values
			}
			l, ok := levels[n]
			if !ok {
				return fmt.Errorf("is %s, must be 10, 20, 30, 40, 50 or debug, info, warning, error, critical", shortenValue(v))
			}
			level.Set(l)
			return nil
		},
	}
}
