package livescreen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime/debug"
	"sync"
	"time"
)

// Sample is one look at what runs. Its JSON is a line of --json.
type Sample interface {
	// Draw renders the page of style as at most Height lines of at most Width columns, separated
	// by newlines, without control characters of the daemon or of sites. It reduces an Offset
	// beyond the end of the page's list, and may set Pages.
	Draw(style *Style) string
	// Reached returns ErrUnreachable if the daemon did not answer.
	Reached() error
}

// ErrUnreachable means that the last sample did not reach the daemon.
var ErrUnreachable = errors.New("cannot reach the daemon")

// Reader takes a sample. It is called by one goroutine at a time, and remembers what it needs to
// compute rates.
type Reader func(ctx context.Context) Sample

// takeSamples takes a sample at once and then once per interval until ctx is done.
func (read Reader) takeSamples(ctx context.Context, every time.Duration) iter.Seq[Sample] {
	return func(yield func(Sample) bool) {
		for {
			if !yield(read(ctx)) {
				return
			}
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
	// Key waits for a byte of a key. It returns an error at the end of the input.
	Key() (byte, error)
}

// Live shows the screen on a terminal until q, Ctrl-C, the end of its input or of ctx. A
// goroutine may still wait for a key when it returns. A panic of read continues in the caller,
// which restores the terminal.
func Live(ctx context.Context, t Screen, read Reader, style Style, every time.Duration) error {
	style.Keys = true
	ctx, cancel := context.WithCancel(ctx)
	var reader sync.WaitGroup
	defer reader.Wait() // the caller closes the source
	defer cancel()
	keys, samples, broken := make(chan byte), make(chan Sample), make(chan string, 1)
	go sendKeys(ctx, t, keys)
	reader.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				broken <- fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
		}()
		for s := range read.takeSamples(ctx, every) {
			select {
			case samples <- s:
			case <-ctx.Done():
			}
		}
	})

	var now Sample
	for {
		style.Width, style.Height = t.Size()
		page := style.Program + ": asking " + cleanText(style.Title)
		if now != nil {
			page = now.Draw(&style)
		}
		if err := t.Show(page); err != nil {
			return fmt.Errorf("show the screen: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case p := <-broken:
			panic(p)
		case key, open := <-keys:
			if !open || key == 'q' || key == ctrlC {
				return nil
			}
			style.handleKey(key)
		case s := <-samples:
			if !style.Paused {
				now = s
			}
		}
	}
}

// Once writes one screen as text. It takes two samples, one interval apart, because the first
// one has no rates. It returns ErrUnreachable if the daemon does not answer.
func Once(ctx context.Context, w io.Writer, read Reader, style Style, every time.Duration) error {
	now := read.secondSample(ctx, every)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	style.Plain, style.Height = true, mostLines
	if _, err := fmt.Fprintln(w, now.Draw(&style)); err != nil {
		return fmt.Errorf("write the screen: %w", err)
	}
	return now.Reached()
}

// mostLines is the height of a screen that is written as text.
const mostLines = 1000

// secondSample returns the second sample, or the first one if it did not reach the daemon.
func (read Reader) secondSample(ctx context.Context, every time.Duration) (now Sample) {
	n := 0
	for now = range read.takeSamples(ctx, every) {
		if n++; n == 2 || now.Reached() != nil {
			break
		}
	}
	return now
}

// JSON writes count samples, one line per interval, or until ctx is done if count is 0. It
// returns ErrUnreachable if the last sample did not reach the daemon.
func JSON(ctx context.Context, w io.Writer, read Reader, every time.Duration, count int) (err error) {
	for s := range read.takeSamples(ctx, every) {
		if ctx.Err() != nil {
			break // the sample is incomplete
		}
		if err := encodeSample(w, s); err != nil {
			return err
		}
		err = s.Reached()
		if count--; count == 0 {
			break
		}
	}
	return err
}

// OnceJSON writes one sample with rates, as Once does.
func OnceJSON(ctx context.Context, w io.Writer, read Reader, every time.Duration) error {
	now := read.secondSample(ctx, every)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := encodeSample(w, now); err != nil {
		return err
	}
	return now.Reached()
}

func encodeSample(w io.Writer, s Sample) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return fmt.Errorf("write a sample: %w", err)
	}
	return nil
}
