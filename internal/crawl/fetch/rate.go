package fetch

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// rateWindow is the time over which Config.MinRate is measured.
const rateWindow = 10 * time.Second

var errSlow = errors.New("the body arrives too slowly")

// rateReader ends a request whose body arrives too slowly. Time outside of Read does not count:
// there the caller waits for memory.
type rateReader struct {
	r       io.Reader
	end     func(error)
	least   int64 // bytes in a window
	window  time.Duration
	timer   *time.Timer
	bytes   atomic.Int64
	away    atomic.Bool // the window has time outside of Read
	reading atomic.Bool
}

// newRateReader reads r. It calls end when r gives less than rate bytes a second in a window.
func newRateReader(r io.Reader, rate int64, window time.Duration, end func(error)) *rateReader {
	b := &rateReader{r: r, end: end, least: max(rate*window.Milliseconds()/1000, 1), window: window}
	b.timer = time.AfterFunc(window, func() { b.checkRate(rate) })
	return b
}

func (b *rateReader) checkRate(rate int64) {
	got, away := b.bytes.Swap(0), b.away.Swap(!b.reading.Load())
	if !away && b.reading.Load() && got < b.least {
		b.end(fmt.Errorf("%w: less than %d bytes a second", errSlow, rate))
		return
	}
	b.timer.Reset(b.window)
}

func (b *rateReader) Read(p []byte) (int, error) {
	b.reading.Store(true)
	n, err := b.r.Read(p)
	b.bytes.Add(int64(n))
	b.reading.Store(false)
	return n, err
}

// pauseReading says that the reader waits for something else.
func (b *rateReader) pauseReading() { b.away.Store(true) }

func (b *rateReader) stop() { b.timer.Stop() }
