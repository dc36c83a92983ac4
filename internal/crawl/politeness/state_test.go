package politeness

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return noon.Add(d) }

func TestWait(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name  string
		state State
		now   time.Time
		delay time.Duration
		want  time.Duration
	}{
		{"first request", State{}, at(0), s, 0},
		{"right after the end", State{Start: at(-s), End: at(0)}, at(0), s, s},
		{"half way", State{Start: at(-s), End: at(0)}, at(s / 2), s, s / 2},
		{"gap just over", State{Start: at(-s), End: at(0)}, at(s), s, 0},
		{"long over", State{Start: at(-s), End: at(0)}, at(time.Hour), s, 0},
		{"stored delay is longer", State{End: at(0), Delay: 5 * s}, at(s), s, 4 * s},
		{"new delay is longer", State{End: at(0), Delay: s}, at(s), 5 * s, 4 * s},
		{"no delay", State{End: at(0)}, at(0), 0, 0},
		{"negative delay", State{End: at(0)}, at(0), -s, 0},
		{"holder died", State{Start: at(-time.Hour), InFlight: true}, at(0), s, s},
		{"holder died, its delay counts", State{Start: at(-time.Hour), Delay: 3 * s, InFlight: true}, at(0), s, 3 * s},
		{"clock set back an hour", State{End: at(time.Hour)}, at(0), s, s},
		{"clock set back past the start too", State{Start: at(2 * s), End: at(3 * s)}, at(0), s, s},
		{"absurd delay", State{End: at(0)}, at(0), math.MaxInt64, MaxDelay},
		{"damaged delay", State{End: at(0), Delay: math.MaxInt64}, at(0), s, MaxDelay},
		{"negative stored delay", State{End: at(0), Delay: math.MinInt64}, at(0), s, s},
		{"end centuries ago", State{End: time.Unix(0, math.MinInt64)}, at(0), s, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.state.Settle(tt.now).Wait(tt.now, tt.delay); got != tt.want {
				t.Errorf("Wait = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestWaitStart(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name  string
		state State
		want  time.Duration
	}{
		{"first request", State{}, 0},
		{"request in flight", State{Start: at(-s / 4), InFlight: true}, s * 3 / 4},
		{"request has ended", State{Start: at(-s / 4), End: at(0)}, s * 3 / 4},
		{"gap over", State{Start: at(-s), InFlight: true}, 0},
		{"stored delay", State{Start: at(-s), Delay: 3 * s}, 2 * s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.state.WaitStart(at(0), s); got != tt.want {
				t.Errorf("WaitStart = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestStates(t *testing.T) {
	began := State{End: at(0), Delay: time.Hour}.Begin(at(1), time.Second)
	if want := (State{Start: at(1), End: at(0), Delay: KeptDelay, InFlight: true}); began != want {
		t.Errorf("Begin = %+v, want %+v", began, want)
	}
	ended := began.Finish(at(2), -1)
	if want := (State{Start: at(1), End: at(2)}); ended != want {
		t.Errorf("Finish = %+v, want %+v", ended, want)
	}
	if again := ended.Settle(at(3)); again != ended {
		t.Errorf("Settle changed a settled state to %+v", again)
	}
}

// Requests of random length go to one host. Each holder waits as computed and a little
// longer, may die, and may see its clock set back. Requests neither overlap nor come closer
// than the gap, and no wait exceeds a gap.
func TestRandomSchedules(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d) + 1)) }
		var (
			state  State
			run    time.Duration // real time
			skew   time.Duration // how much the wall clock is behind
			end    time.Duration // real end of the last request
			stored time.Duration
			first  = true
		)
		now := func() time.Time { return at(run - skew) }
		for step := range 50 {
			if r.IntN(10) == 0 {
				skew += upTo(time.Hour)
			}
			delay := upTo(3 * time.Second)
			gap := max(delay, stored)

			state = state.Settle(now())
			wait := state.Wait(now(), delay)
			if wait < 0 || wait > gap {
				t.Fatalf("seed %d step %d: wait %v exceeds the gap %v", seed, step, wait, gap)
			}
			run += wait + upTo(10*time.Millisecond)
			if !first && run-end < gap {
				t.Fatalf("seed %d step %d: starts %v after the last end, gap %v", seed, step, run-end, gap)
			}
			state = state.Begin(now(), delay)
			run += upTo(2 * time.Second)
			end, first = run, false
			if r.IntN(5) == 0 { // died: the end is never written
				stored = gap
			} else {
				stored = upTo(3 * time.Second)
				state = state.Finish(now(), stored)
			}
			run += upTo(4 * time.Second)
		}
	}
}

func BenchmarkWait(b *testing.B) {
	s := State{Start: at(0), End: at(time.Second), Delay: time.Second}
	now := at(1500 * time.Millisecond)
	for b.Loop() {
		s.Settle(now).Wait(now, time.Second)
	}
}
