package livescreen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/testkit/testgolden"
	"hce/dc/internal/testkit/testwait"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// stats are the answers, n seconds after noon, of a daemon that has run for a day.
func stats(t *testing.T, n int) []client.Stat {
	t.Helper()
	var all []client.Stat
	for _, text := range []string{
		`{"className":"AdminInterfaceServer","fields":{"START_DATE":"2026-11-21 12:00:00","state":"running","RAMR":125829120,"RAMV":1288490188,"THREADS":21,"CPUU":100.5,"CPUS":20,"schedules":{}}}`,
		`{"className":"SitesManager","fields":{"START_DATE":"2026-11-21 12:00:00","state":"running","common_threads":3,"common_queue":0,"schedules":{"recrawl":{"periodSeconds":60,"last":"2026-11-22 11:59:30","next":"2026-11-22 12:00:30"}}}}`,
		`{"className":"BatchTasksManager","fields":{"START_DATE":"2026-11-21 12:00:00","state":"suspended","batches_crawl_queue":4,"purge_batches":1,"batches_crawl_urls":1000,"batches_crawl_urls_fault":3,"batches_crawl_total":20,"batches_crawl_fault":1,"schedules":{"crawl":{"periodSeconds":2,"last":"2026-11-22 11:59:59","next":"2026-11-22 12:00:01"},"aging":{"periodSeconds":120,"last":null,"next":null},"return":{"periodSeconds":600,"last":null,"next":"2026-11-22 12:07:00"}}}}`,
		`{"className":"BatchTasksManagerProcess","fields":{"START_DATE":"2026-11-21 12:00:00","state":"running","batches_process_queue":2,"batches_process_urls":500,"batches_process_total":10}}`,
		`{"className":"ClientInterfaceService","fields":{"START_DATE":"2026-11-21 12:00:00","state":"running","requests":7,"serverConnection_recv_cnt":100}}`,
	} {
		var s struct {
			ClassName string
			Fields    map[string]any
		}
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		for name, perSecond := range map[string]float64{"batches_crawl_urls": 12, "batches_crawl_urls_fault": 0.5, "batches_process_urls": 6, "serverConnection_recv_cnt": 40, "CPUU": 0.25, "CPUS": 0.05, "batches_crawl_total": 0.5} {
			if was, ok := s.Fields[name].(float64); ok {
				s.Fields[name] = was + float64(n)*perSecond
			}
		}
		all = append(all, client.Stat{Class: s.ClassName, Fields: s.Fields})
	}
	return append(all, client.Stat{Class: "BatchTasksManagerRealTime", Err: errors.New("class BatchTasksManagerRealTime gave no answer within \x1b[2J10000 ms, whatever it does")})
}

func reading(t *testing.T, n int) Reading {
	return Reading{At: noon.Add(time.Duration(n) * time.Second), Managers: stats(t, n),
		Sites: &Totals{Sites: 12, Resources: 34567, Contents: 33000, New: 120, Errors: 5, Size: 3 << 30}}
}

func TestRates(t *testing.T) {
	restart := reading(t, 10)
	restart.Managers[2].Fields["START_DATE"] = "2026-11-22 12:00:05"
	unreachable := Reading{At: noon, Away: "no answer"}
	back := reading(t, 10)
	back.Managers[2].Fields["batches_crawl_urls"] = 1.0
	for name, c := range map[string]struct {
		before, now Reading
		want        *Rates
	}{
		"ten seconds":            {reading(t, 0), reading(t, 10), &Rates{URLs: 12, Pages: 6, Errors: 0.5, Batches: 0.5, Requests: 40, CPU: 0.3}},
		"first reading":          {Reading{}, reading(t, 10), nil},
		"no time between":        {reading(t, 0), reading(t, 0), nil},
		"clock was set back":     {reading(t, 10), reading(t, 0), nil},
		"no answer before":       {unreachable, reading(t, 10), nil},
		"no answer now":          {reading(t, 0), Reading{At: noon.Add(time.Minute), Away: "no answer"}, nil},
		"restarted":              {reading(t, 0), restart, nil},
		"counter decreased":      {reading(t, 0), back, &Rates{Pages: 6, Errors: 0.5, Batches: 0.5, Requests: 40, CPU: 0.3}},
		"manager did not answer": {Reading{At: noon, Managers: stats(t, 0)[:2]}, reading(t, 10), &Rates{CPU: 0.3}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Compare(c.before, c.now).Rates
			if (got == nil) != (c.want == nil) {
				t.Fatalf("%+v", got)
			}
			if got == nil {
				return
			}
			for what, d := range map[string]float64{"URLs": got.URLs - c.want.URLs, "pages": got.Pages - c.want.Pages, "errors": got.Errors - c.want.Errors,
				"batches": got.Batches - c.want.Batches, "requests": got.Requests - c.want.Requests, "CPU": got.CPU - c.want.CPU} {
				if d > 1e-9 || d < -1e-9 {
					t.Errorf("%s differ by %g: %+v", what, d, got)
				}
			}
		})
	}
}

var colours = regexp.MustCompile("\x1b\\[[0-9]+m")

// Screens of fixed answers equal the golden files and fit the terminal.
func TestScreens(t *testing.T) {
	sample := Compare(reading(t, 0), reading(t, 10))
	for name, c := range map[string]struct {
		sample ManagersSample
		style  Style
	}{
		"plain":       {sample, Style{Program: "dc-admin top", Title: "127.0.0.1:5503", Plain: true, Keys: true}},
		"colours":     {sample, Style{Program: "dc-admin top", Title: "127.0.0.1:5503", Width: 80, Height: 24, Keys: true}},
		"first":       {Compare(Reading{}, reading(t, 0)), Style{Program: "dc-admin top", Title: "127.0.0.1:5503", Plain: true}},
		"paused":      {sample, Style{Program: "dc-admin top", Title: "127.0.0.1:5503", Plain: true, Paused: true, Keys: true}},
		"small":       {sample, Style{Program: "dc-admin top", Title: "127.0.0.1:5503", Width: 30, Height: 10, Plain: true, Keys: true}},
		"unreachable": {Compare(reading(t, 0), Reading{At: noon.Add(time.Second), Away: "no answer from 127.0.0.1:5503"}), Style{Program: "dc-admin top", Title: "127.0.0.1:5503", Plain: true, Keys: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.sample.Draw(&c.style)
			checkScreen(t, got, c.style)
			testgolden.Equal(t, filepath.Join("testdata", name+".txt"), got+"\n")
		})
	}
}

// checkScreen checks that a screen fits its style.
func checkScreen(t *testing.T, page string, style Style) {
	t.Helper()
	width, height := style.Width, style.Height
	if width == 0 {
		width, height = 80, 24
	}
	lines := strings.Split(page, "\n")
	if len(lines) > height {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		bare := colours.ReplaceAllString(line, "")
		if utf8.RuneCountInString(bare) > width || strings.ContainsFunc(bare, unicode.IsControl) {
			t.Errorf("line %q", line)
		}
		if style.Plain && strings.ContainsFunc(line, func(r rune) bool { return r > 126 || r < 32 }) {
			t.Errorf("not ASCII: %q", line)
		}
	}
}

func TestJSONLine(t *testing.T) {
	var out bytes.Buffer
	script := &script{readings: []Reading{reading(t, 0), reading(t, 10), {At: noon.Add(20 * time.Second), Away: "no answer from 127.0.0.1:5503"}}}
	if err := JSON(t.Context(), &out, script.Read, time.Nanosecond, 3); !errors.Is(err, ErrUnreachable) {
		t.Error(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 3 {
		t.Errorf("%d lines", n)
	}
	testgolden.Equal(t, filepath.Join("testdata", "lines.json"), out.String())
}

func TestOnce(t *testing.T) {
	var out bytes.Buffer
	if err := Once(t.Context(), &out, (&script{readings: []Reading{reading(t, 0), reading(t, 10)}}).Read, Style{Title: "x"}, time.Nanosecond); err != nil || !strings.Contains(out.String(), "URLs 12.0") {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.Reset()
	if err := Once(t.Context(), &out, (&script{readings: []Reading{{At: noon, Away: "no answer"}}}).Read, Style{}, time.Hour); !errors.Is(err, ErrUnreachable) || !strings.Contains(out.String(), "Cannot reach the daemon: no answer") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// script gives samples of its readings one after the other and repeats the last one.
type script struct {
	mu       sync.Mutex
	readings []Reading
	given    int
	before   Reading
}

func (s *script) Read(context.Context) Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given++
	now := s.readings[min(s.given, len(s.readings))-1]
	sample := Compare(s.before, now)
	s.before = now
	return sample
}

// fakeScreen records pages and returns the keys of a channel.
type fakeScreen struct {
	mu    sync.Mutex
	pages []string
	keys  chan byte
	over  chan struct{} // ends Key
}

func (g *fakeScreen) Size() (int, int) { return 80, 24 }

func (g *fakeScreen) Show(page string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pages = append(g.pages, page)
	return nil
}

func (g *fakeScreen) Key() (byte, error) {
	select {
	case key, open := <-g.keys:
		if open {
			return key, nil
		}
	case <-g.over:
	}
	return 0, io.EOF
}

// waitFor waits until the current page contains text.
func (g *fakeScreen) waitFor(t *testing.T, text string) {
	t.Helper()
	testwait.Until(t, "the screen shows "+text, func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.pages) > 0 && strings.Contains(g.pages[len(g.pages)-1], text)
	})
}

// Live shows new readings and an unreachable daemon; p pauses, q ends.
func TestLive(t *testing.T) {
	for name, end := range map[string]func(*fakeScreen, context.CancelFunc){
		"q":               func(g *fakeScreen, _ context.CancelFunc) { g.keys <- 'q' },
		"Ctrl-C":          func(g *fakeScreen, _ context.CancelFunc) { g.keys <- ctrlC },
		"end of input":    func(g *fakeScreen, _ context.CancelFunc) { close(g.keys) },
		"context is done": func(_ *fakeScreen, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			managertest.NoLeaks(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			g := &fakeScreen{keys: make(chan byte), over: make(chan struct{})}
			defer close(g.over)
			next := make(chan Reading)
			done := make(chan error, 1)
			var before Reading
			go func() {
				done <- Live(ctx, g, func(ctx context.Context) Sample {
					select {
					case now := <-next:
						sample := Compare(before, now)
						before = now
						return sample
					case <-ctx.Done():
						return ManagersSample{Away: "cancelled"}
					}
				}, Style{Program: "dc-admin top", Title: "here", Plain: true}, time.Nanosecond)
			}()
			g.waitFor(t, "asking here")
			next <- reading(t, 0)
			g.waitFor(t, "per second -")
			next <- reading(t, 10)
			g.waitFor(t, "URLs 12.0")
			next <- Reading{At: noon.Add(20 * time.Second), Away: "no answer from here"}
			g.waitFor(t, "Cannot reach the daemon: no answer from here")
			next <- reading(t, 30)
			g.waitFor(t, "12:00:30")
			g.keys <- 'p'
			g.waitFor(t, "paused")
			next <- reading(t, 40)
			next <- reading(t, 50) // after which the one before has been received
			g.waitFor(t, "12:00:30")
			g.keys <- 'x'
			g.keys <- 'p'
			g.waitFor(t, "UTC  up")
			next <- reading(t, 60)
			g.waitFor(t, "12:01:00")
			end(g, cancel)
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// A panic while a sample is taken continues in the caller of Live.
func TestPanic(t *testing.T) {
	g := &fakeScreen{keys: make(chan byte), over: make(chan struct{})}
	defer close(g.over)
	defer func() {
		if p := recover(); p == nil || !strings.Contains(p.(string), "a defect") || !strings.Contains(p.(string), "livescreen_test.go") {
			t.Errorf("recovered %v", p)
		}
	}()
	err := Live(t.Context(), g, func(context.Context) Sample { panic("a defect") }, Style{}, time.Hour)
	t.Error("Live returned", err)
}

// Keys choose pages and scroll; unknown keys and sequences change nothing.
func TestKeys(t *testing.T) {
	for typed, want := range map[string]Style{
		"2":              {Page: 1},
		"\t":             {Page: 1},
		"\t\t":           {Page: 0},
		"3":              {},
		"p":              {Paused: true},
		"pp":             {},
		"jj":             {Offset: 2},
		"jjk":            {Offset: 1},
		"k":              {},
		"\x1b[B\x1b[B":   {Offset: 2},
		"\x1bOB":         {Offset: 1},
		"jj\x1b[A":       {Offset: 1},
		"\x1b[6~":        {Offset: pageRows},
		"\x1b[6~\x1b[5~": {},
		"\x1b[1;5Cj":     {Offset: 1},
		"\x1bj":          {Offset: 1},
		"\x1b\x1b[B":     {Offset: 1},
		"jj2":            {Page: 1},
		"xyz":            {},
	} {
		got := Style{Pages: SitesPages}
		var d decoder
		for _, b := range []byte(typed) {
			if key, whole := d.decodeKey(b); whole {
				got.handleKey(key)
			}
		}
		if got.Page != want.Page || got.Offset != want.Offset || got.Paused != want.Paused {
			t.Errorf("%q: page %d, offset %d, paused %t", typed, got.Page, got.Offset, got.Paused)
		}
	}
}
