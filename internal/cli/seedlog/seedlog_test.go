package seedlog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/slogtest"

	"hce/dc/internal/testkit/testlog"
)

func TestFormat(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(New(&b, "hce-webserver", slog.LevelDebug))
	for _, c := range []struct {
		write func()
		want  string
	}{
		{func() { log.Info("started") }, `[PID]: INFO: started`},
		{func() { log.Debug("x", Thread(7), "path", "/a b") }, `[PID][7]: DEBUG: x path="/a b"`},
		{func() { log.With(Thread(3), "a", 1).Warn("x", "b", true) }, `[PID][3]: WARN: x a=1 b=true`},
		{func() { log.WithGroup("g").Error("x", "b", "") }, `[PID]: ERROR: x g.b=""`},
		{func() { log.Info("two\nlines", "k\n", "v\r\nINFO: forged") }, `[PID]: INFO: two\nlines k\n="v\r\nINFO: forged"`},
		{func() { log.Error("x", "error", &fs.PathError{Op: "open", Path: "p", Err: syscall.EACCES}) }, `[PID]: ERROR: x error="open p: permission denied" errno=13`},
		{func() { log.Info("x", "error", errors.New("plain")) }, `[PID]: INFO: x error=plain`},
	} {
		b.Reset()
		c.write()
		line := strings.Replace(b.String(), fmt.Sprint("[", os.Getpid(), "]"), "[PID]", 1)
		head := regexp.MustCompile(`^\[\d\d:\d\d:\d\d\.\d{3}\] hce-webserver `)
		if got := head.ReplaceAllString(line, ""); got != c.want+"\n" || got == line {
			t.Errorf("%q, want %q", line, c.want)
		}
	}
	quiet := slog.New(New(&b, "x", slog.LevelWarn))
	b.Reset()
	if quiet.Info("nothing"); b.Len() > 0 {
		t.Error(b.String())
	}
}

// The handler keeps the rules of package slog, as far as a line can show them.
func TestHandler(t *testing.T) {
	var b bytes.Buffer
	h := New(&b, "x", slog.LevelInfo)
	err := slogtest.TestHandler(h, func() (all []map[string]any) {
		for line := range strings.SplitSeq(strings.TrimSpace(b.String()), "\n") {
			all = append(all, parse(line))
		}
		return all
	})
	for e := range strings.SplitSeq(fmt.Sprint(err), "\n") {
		if err != nil && !strings.Contains(e, "a Handler should ignore a zero Record.Time") {
			t.Error(e)
		}
	}
}

// parse reads a line back to the form of slogtest.
func parse(line string) map[string]any {
	m := map[string]any{slog.TimeKey: "t"}
	_, rest, _ := strings.Cut(line, "]: ")
	level, data, _ := strings.Cut(rest, ": ")
	m[slog.LevelKey] = level
	words := strings.Split(data, " ")
	m[slog.MessageKey] = words[0]
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		at := m
		parts := strings.Split(key, ".")
		for _, p := range parts[:len(parts)-1] {
			inner, ok := at[p].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[p] = inner
			}
			at = inner
		}
		at[parts[len(parts)-1]] = value
	}
	return m
}

func TestManyWriters(t *testing.T) {
	var out testlog.Recorder
	log := slog.New(New(&out, "x", slog.LevelInfo))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				log.Info("line", Thread(int64(i)))
			}
		})
	}
	all.Wait()
	if n := len(regexp.MustCompile(`(?m)^\[[\d:.]+\] x \[\d+\]\[\d\]: INFO: line$`).FindAllString(out.String(), -1)); n != 400 {
		t.Errorf("%d whole lines", n)
	}
}
