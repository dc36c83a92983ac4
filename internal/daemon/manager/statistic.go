package manager

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"hce/dc/internal/files"
	"hce/dc/internal/wire/counting"
)

const (
	startDateLayout = "2006-01-02 15:04:05" // of START_DATE, UTC
	savePeriod      = time.Minute
)

// statistics are the named values of STAT.
type statistics struct {
	kept  map[string]any        // pointers to counters and tallies
	shown map[string]func() any // all
	quiet map[string]bool       // of kept: see Quiet
	saved string                // the others, as they were saved
}

// Counter declares a counter. The manager increments it in place; it is kept over restarts
// if Config.StatDir is set.
func (l *Loop) Counter(name string, p *int64) {
	l.Gauge(name, func() any { return *p })
	l.stats.kept[name] = p
}

// Tally declares counters that have names of their own: STAT shows them as an object. They are
// kept like a counter.
func (l *Loop) Tally(name string, p *counting.Tally) {
	l.Gauge(name, func() any { return counting.Tally{}.Plus(*p) })
	l.stats.kept[name] = p
}

// Quiet names counters, and sockets for their counters, that change also while nothing happens.
// They are saved when another counter has changed, and at the end: an idle manager writes nothing.
func (l *Loop) Quiet(names ...string) {
	for _, name := range names {
		if l.byName[name] == nil {
			l.stats.quiet[name] = true
			continue
		}
		for _, what := range []string{"_send_cnt", "_recv_cnt", "_send_bytes", "_recv_bytes"} {
			l.stats.quiet[name+what] = true
		}
	}
}

// Changed makes the next turn of the timer save all counters, quiet ones included.
func (l *Loop) Changed() { l.stats.saved = "" }

// Gauge declares a value that is computed for each STAT: a number, a text, a list.
func (l *Loop) Gauge(name string, value func() any) {
	if l.stats.shown[name] != nil {
		panic(fmt.Sprintf("manager %s: statistic %s is declared twice", l.cfg.Name, name))
	}
	l.stats.shown[name] = value
}

// declareCommon declares the variables and statistics of every manager (docs/spec/daemon.md 4.4).
func (l *Loop) declareCommon() {
	l.Var(
		Span("POLL_TIMEOUT", &l.cfg.PollTimeout, time.Millisecond, time.Millisecond, time.Hour),
		levelVariable(l.cfg.Level),
	)
	l.Gauge("START_DATE", func() any { return l.started.UTC().Format(startDateLayout) })
	l.Gauge("state", func() any { return l.SuspendedText() })
	l.Gauge("schedules", func() any { return l.timers.listSchedules(l.Now(), l.Suspended()) })
	l.Gauge("turns", func() any { return l.turns })
	l.Gauge("workers", func() any { return len(l.workers.running) }) // includes the watches of the executor
	l.Maintain("save statistics", func() time.Duration { return savePeriod }, func(time.Time) {
		if loud := l.stats.loudCounters(); loud != l.stats.saved {
			l.saveStats()
		}
	})
}

// loudCounters returns the counters that are not quiet.
func (st *statistics) loudCounters() string {
	loud := maps.Clone(st.kept)
	maps.DeleteFunc(loud, func(name string, _ any) bool { return st.quiet[name] })
	text, _ := json.Marshal(loud) // numbers
	return string(text)
}

// selectValues returns the named statistics, or all without names, and always the usage of the process.
func (st *statistics) selectValues(names map[string]any) map[string]any {
	out := selectValues(names, st.shown, func(value func() any) any { return value() })
	maps.Copy(out, processUsage())
	return out
}

// selectValues returns the named values, or all if names is empty or has "*". An unknown name is
// null.
func selectValues[T any](names map[string]any, known map[string]T, get func(T) any) map[string]any {
	values := map[string]any{}
	_, all := names["*"]
	for name, one := range known {
		if _, named := names[name]; named || all || len(names) == 0 {
			values[name] = get(one)
		}
	}
	for name := range names {
		if _, ok := values[name]; !ok && name != "*" {
			values[name] = nil
		}
	}
	return values
}

func (l *Loop) statFile() string {
	return filepath.Join(l.cfg.StatDir, l.cfg.Name+"_stat_vars.json")
}

// loadStats restores the counters of the last run. Without a readable file they start at 0.
func (l *Loop) loadStats() {
	if l.cfg.StatDir == "" {
		return
	}
	defer func() { l.stats.saved = l.stats.loudCounters() }()
	saved := map[string]json.RawMessage{}
	b, err := os.ReadFile(l.statFile())
	if err == nil {
		err = json.Unmarshal(b, &saved)
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			l.log.Warn("cannot read saved statistics", "error", err)
		}
		return
	}
	for name, p := range l.stats.kept {
		if value, ok := saved[name]; ok {
			if err := json.Unmarshal(value, p); err != nil {
				l.log.Warn("cannot read a saved statistic", "name", name, "error", err)
			}
		}
	}
}

func (l *Loop) saveStats() {
	if l.cfg.StatDir == "" {
		return
	}
	b, err := json.MarshalIndent(l.stats.kept, "", "\t")
	if err == nil {
		err = os.MkdirAll(l.cfg.StatDir, 0o755)
	}
	if err == nil {
		err = files.WriteUnsynced(l.statFile(), append(b, '\n'), 0o644)
	}
	if err != nil {
		l.log.Warn("cannot save statistics", "error", err)
		return
	}
	l.stats.saved = l.stats.loudCounters()
}
