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

// Reader gives readings: a Source, or what a test says.
type Reader interface {
	Read(ctx context.Context) Reading
}

// Live shows the screen on a terminal until q, Ctrl-C or the end of ctx.
func Live(ctx context.Context, t Screen, r Reader, style Style, every time.Duration) error {
	style.Keys = true
	ctx, cancel := context.WithCancel(ctx)
	var joined sync.WaitGroup
	// A reading or a look for keys that is under way still uses what the caller closes.
	defer joined.Wait()
	defer cancel()
	keys, readings := make(chan byte), make(chan Reading)
	joined.Go(func() { typed(ctx, t, keys) })
	joined.Go(func() { look(ctx, r, every, readings) })

	var before, now Reading
	for {
		style.Width, style.Height = t.Size()
		page := "dc-admin top: asking " + clean(style.Title)
		if !now.At.IsZero() {
			page = Draw(Compare(before, now), style)
		}
		if err := t.Show(page); err != nil {
			return fmt.Errorf("top.Live: %w", err)
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

// Screen is what Live needs of a terminal: a Terminal, or a test's. Show and Size
// are called by one goroutine, Key by another.
type Screen interface {
	// Size is the columns and rows.
	Size() (width, height int)
	// Show puts a page in the place of the one before.
	Show(page string) error
	// Key waits a moment for a key; 0 when none was pressed, an error when none
	// can be pressed any more.
	Key() (byte, error)
}

// typed passes keys on until ctx is done, or no key can come.
func typed(ctx context.Context, t Screen, keys chan<- byte) {
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

// look reads once per period until ctx is done.
func look(ctx context.Context, r Reader, every time.Duration, readings chan<- Reading) {
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

// ErrAway says that the last reading found no daemon.
var ErrAway = errors.New("the daemon is away")

// Once writes one screen as text: two readings, one interval apart, so that
// there are rates. ErrAway when the daemon does not answer.
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
		return fmt.Errorf("top.Once: %w", err)
	}
	if now.Away != "" {
		return ErrAway
	}
	return nil
}

// JSON writes one Sample per interval, each on a line of its own, count of them,
// or until ctx is done when count is 0. ErrAway when the last one found no daemon.
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
			break // what was cut off says nothing
		}
		if err := e.Encode(Compare(before, now)); err != nil {
			return fmt.Errorf("top.JSON: %w", err)
		}
		before = now
	}
	if before.Away != "" {
		return ErrAway
	}
	return nil
}

// pause waits, and reports whether nobody cut it off.
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
