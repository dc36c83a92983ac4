package manager

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hce/dc/internal/files"
)

const (
	startDateLayout = "2006-01-02 15:04:05" // of START_DATE, UTC
	savePeriod      = time.Minute
)

// statistics are the named values of STAT.
type statistics struct {
	counters map[string]*int64     // kept over restarts
	gauges   map[string]func() any // computed for each STAT
}

// Counter declares a counter. The manager increments it in place; it is kept over restarts
// if Config.StatDir is set.
func (l *Loop) Counter(name string, p *int64) {
	l.freeStat(name)
	l.stats.counters[name] = p
}

// Gauge declares a value that is computed for each STAT: a number, a text, a list.
func (l *Loop) Gauge(name string, value func() any) {
	l.freeStat(name)
	l.stats.gauges[name] = value
}

func (l *Loop) freeStat(name string) {
	st := &l.stats
	if st.counters == nil {
		st.counters, st.gauges = map[string]*int64{}, map[string]func() any{}
	}
	if st.counters[name] != nil || st.gauges[name] != nil {
		panic(fmt.Sprintf("manager %s: statistic %s is declared twice", l.cfg.Name, name))
	}
}

// declareCommon declares the variables and statistics of every manager (docs/spec/daemon.md 4.4).
func (l *Loop) declareCommon() {
	l.Var(
		Span("POLL_TIMEOUT", &l.cfg.PollTimeout, time.Millisecond, time.Millisecond, time.Hour),
		levelVariable(l.cfg.Level),
	)
	l.Gauge("START_DATE", func() any { return l.started.UTC().Format(startDateLayout) })
	l.Gauge("state", func() any { return l.SuspendedText() })
	l.Gauge("schedules", func() any { return l.schedules() })
	l.Gauge("workers", func() any { return len(l.workers.running) }) // includes the watches of the executor
	l.Maintain("save statistics", func() time.Duration { return savePeriod }, func(time.Time) { l.saveStats() })
}

// values returns the named statistics, or all if names is empty or has "*". An unknown name
// is null. The usage of the process is always included.
func (st *statistics) values(names map[string]any) map[string]any {
	_, all := names["*"]
	out := map[string]any{}
	if all || len(names) == 0 {
		for name, p := range st.counters {
			out[name] = *p
		}
		for name, value := range st.gauges {
			out[name] = value()
		}
	}
	for name := range names {
		switch {
		case name == "*":
		case st.counters[name] != nil:
			out[name] = *st.counters[name]
		case st.gauges[name] != nil:
			out[name] = st.gauges[name]()
		default:
			out[name] = nil
		}
	}
	for name, v := range processUsage() {
		out[name] = v
	}
	return out
}

func (l *Loop) statFile() string {
	return filepath.Join(l.cfg.StatDir, l.cfg.Name+"_stat_vars.json")
}

// loadStats restores the counters of the last run. Without a readable file they start at 0.
func (l *Loop) loadStats() {
	if l.cfg.StatDir == "" {
		return
	}
	saved := map[string]int64{}
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
	for name, p := range l.stats.counters {
		*p = saved[name]
	}
}

func (l *Loop) saveStats() {
	if l.cfg.StatDir == "" {
		return
	}
	b, err := json.MarshalIndent(l.stats.counters, "", "\t")
	if err == nil {
		err = os.MkdirAll(l.cfg.StatDir, 0o755)
	}
	if err == nil {
		err = files.WriteUnsynced(l.statFile(), append(b, '\n'), 0o644)
	}
	if err != nil {
		l.log.Warn("cannot save statistics", "error", err)
	}
}
