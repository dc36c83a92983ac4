package livescreen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"
)

// Reader reads the daemon once: the Read of a Source.
type Reader func(ctx context.Context) Reading

// readings reads the daemon at once and then once per interval until ctx is done. It yields
// each reading with the one before, which is zero at first.
func (read Reader) readings(ctx context.Context, every time.Duration) iter.Seq2[Reading, Reading] {
	return func(yield func(before, now Reading) bool) {
		var before Reading
		for {
			now := read(ctx)
			if !yield(before, now) {
				return
			}
			before = now
			select {
			case <-ctx.Done():
				return
			case <-time.After(every):
			}
		}
	}
}

// Screen is a Terminal or a fake of a test. Live calls Show and Size from one goroutine and
// Key from another.
type Screen interface {
	// Size returns the columns and rows.
	Size() (width, height int)
	// Show replaces the current page.
	Show(page string) error
	// Key waits for a key. It returns an error at the end of the input.
	Key() (byte, error)
}

const ctrlC = 3

// Live shows the screen on a terminal until q, Ctrl-C, the end of its input or of ctx. A
// goroutine may still wait for a key when it returns.
func Live(ctx context.Context, t Screen, read Reader, style Style, every time.Duration) error {
	style.Keys = true
	ctx, cancel := context.WithCancel(ctx)
	var reader sync.WaitGroup
	defer reader.Wait() // the caller closes the source
	defer cancel()
	keys, readings := make(chan byte), make(chan Reading)
	go sendKeys(ctx, t, keys)
	reader.Go(func() {
		for _, now := range read.readings(ctx, every) {
			select {
			case readings <- now:
			case <-ctx.Done():
			}
		}
	})

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

// sendKeys sends keys until ctx is done or the input ends; then it closes keys.
func sendKeys(ctx context.Context, t Screen, keys chan<- byte) {
	defer close(keys)
	for {
		key, err := t.Key()
		if err != nil {
			return
		}
		select {
		case keys <- key:
		case <-ctx.Done():
			return
		}
	}
}

// ErrUnreachable means that the last reading did not reach the daemon.
var ErrUnreachable = errors.New("cannot reach the daemon")

// Once writes one screen as text. It takes two readings, one interval apart, to compute
// rates. It returns ErrUnreachable if the daemon does not answer.
func Once(ctx context.Context, w io.Writer, read Reader, style Style, every time.Duration) error {
	var before, now Reading
	for before, now = range read.readings(ctx, every) {
		if now.Away != "" || !before.At.IsZero() {
			break
		}
	}
	style.Plain, style.Height = true, 1000
	if _, err := fmt.Fprintln(w, Draw(Compare(before, now), style)); err != nil {
		return fmt.Errorf("write the screen: %w", err)
	}
	return now.reached()
}

// JSON writes count Samples, one line per interval, or until ctx is done if count is 0. It
// returns ErrUnreachable if the last reading did not reach the daemon.
func JSON(ctx context.Context, w io.Writer, read Reader, every time.Duration, count int) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	var last Reading
	for before, now := range read.readings(ctx, every) {
		if ctx.Err() != nil {
			break // the reading is incomplete
		}
		if err := e.Encode(Compare(before, now)); err != nil {
			return fmt.Errorf("write a sample: %w", err)
		}
		last = now
		if count--; count == 0 {
			break
		}
	}
	return last.reached()
}

// reached returns ErrUnreachable if the daemon did not answer.
func (r Reading) reached() error {
	if r.Away != "" {
		return ErrUnreachable
	}
	return nil
}
