package livescreen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Reader reads the daemon: a Source or a fake of a test.
type Reader interface {
	Read(ctx context.Context) Reading
}

// Live shows the screen on a terminal until q, Ctrl-C, the end of its input or of ctx.
func Live(ctx context.Context, t Screen, r Reader, style Style, every time.Duration) error {
	style.Keys = true
	ctx, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	// The workers use the screen and the reader, which the caller closes.
	defer workers.Wait()
	defer cancel()
	keys, readings := make(chan byte), make(chan Reading)
	workers.Go(func() { readKeys(ctx, t, keys) })
	workers.Go(func() { readDaemon(ctx, r, every, readings) })

	var before, now Reading
	for {
		style.Width, style.Height = t.Size()
		page := "dc-admin top: asking " + clean(style.Title)
		if !now.At.IsZero() {
			page = Draw(Compare(before, now), style)
		}
		if err := t.Show(page); err != nil {
			return fmt.Errorf("show the screen: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case key, open := <-keys:
			switch {
			case !open, key == 'q', key == ctrlC:
				return nil
			case key == 'p':
				style.Paused = !style.Paused
			}
		case r := <-readings:
			if !style.Paused {
				before, now = now, r
			}
		}
	}
}

const ctrlC = 3

// Screen is a Terminal or a fake of a test. Live calls Show and Size from one goroutine and
// Key from another.
type Screen interface {
	// Size returns the columns and rows.
	Size() (width, height int)
	// Show replaces the current page.
	Show(page string) error
	// Key waits a moment for a key. It returns 0 if no key was pressed and an error at
	// the end of the input.
	Key() (byte, error)
}

// readKeys sends keys until ctx is done or the input ends; then it closes keys.
func readKeys(ctx context.Context, t Screen, keys chan<- byte) {
	for ctx.Err() == nil {
		key, err := t.Key()
		if err != nil {
			close(keys)
			return
		}
		if key == 0 {
			continue
		}
		select {
		case keys <- key:
		case <-ctx.Done():
		}
	}
}

// readDaemon sends a reading per interval until ctx is done.
func readDaemon(ctx context.Context, r Reader, every time.Duration, readings chan<- Reading) {
	for {
		select {
		case readings <- r.Read(ctx):
		case <-ctx.Done():
			return
		}
		if !pause(ctx, every) {
			return
		}
	}
}

// ErrUnreachable means that the last reading did not reach the daemon.
var ErrUnreachable = errors.New("cannot reach the daemon")

// Once writes one screen as text. It takes two readings, one interval apart, to compute
// rates. It returns ErrUnreachable if the daemon does not answer.
func Once(ctx context.Context, w io.Writer, r Reader, style Style, every time.Duration) error {
	before := r.Read(ctx)
	now := before
	if before.Away == "" && pause(ctx, every) {
		now = r.Read(ctx)
	}
	if now.At.Equal(before.At) {
		before = Reading{}
	}
	style.Plain, style.Height = true, 1000
	if _, err := fmt.Fprintln(w, Draw(Compare(before, now), style)); err != nil {
		return fmt.Errorf("write the screen: %w", err)
	}
	if now.Away != "" {
		return ErrUnreachable
	}
	return nil
}

// JSON writes count Samples, one line per interval, or until ctx is done if count is 0. It
// returns ErrUnreachable if the last reading did not reach the daemon.
func JSON(ctx context.Context, w io.Writer, r Reader, every time.Duration, count int) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	var before Reading
	for n := 0; count == 0 || n < count; n++ {
		if n > 0 && !pause(ctx, every) {
			break
		}
		now := r.Read(ctx)
		if ctx.Err() != nil {
			break // the reading is incomplete
		}
		if err := e.Encode(Compare(before, now)); err != nil {
			return fmt.Errorf("write a sample: %w", err)
		}
		before = now
	}
	if before.Away != "" {
		return ErrUnreachable
	}
	return nil
}

// pause waits for d. It returns false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
