package browser

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/chromedp"
)

// wanted are the events that pages' sessions are heard for. All others end here,
// before the driver would spend time and memory on what a page makes of them.
var wanted = map[cdproto.MethodType]bool{
	"Fetch.requestPaused":           true,
	"Fetch.authRequired":            true,
	"Page.frameStoppedLoading":      true,
	"Page.frameNavigated":           true,
	"Page.frameRequestedNavigation": true,
	"Page.frameStartedNavigating":   true,
	"Page.loadEventFired":           true,
	"Page.domContentEventFired":     true,
	"Page.javascriptDialogOpening":  true,
	"Inspector.targetCrashed":       true,
}

// pipe carries the messages of the driver to Chromium and back.
type pipe struct {
	*chromedp.PipeConn
}

// newPipe returns the transport over two ends of pipes, which it closes. Messages
// from Chromium that are larger than limit are dropped: pages can stretch them
// (a URL of data: may be very long), and what waits for one has an end of its own.
func newPipe(r io.ReadCloser, w io.WriteCloser, limit int) *pipe {
	return &pipe{chromedp.NewPipeConn(&messages{Closer: r, from: bufio.NewReaderSize(r, 64<<10), limit: limit}, w)}
}

// Read reads the next message that is wanted.
func (p *pipe) Read(ctx context.Context, msg *cdproto.Message) error {
	for {
		*msg = cdproto.Message{}
		if err := p.PipeConn.Read(ctx, msg); err != nil {
			return err
		}
		if msg.ID != 0 || msg.SessionID == "" || wanted[msg.Method] {
			return nil
		}
	}
}

// messages passes on messages that end in a zero byte, but those above limit.
type messages struct {
	io.Closer
	from  *bufio.Reader
	limit int
	next  []byte // what is left of the message under way
}

func (m *messages) Read(p []byte) (int, error) {
	for len(m.next) == 0 {
		if err := m.fetch(); err != nil {
			return 0, err
		}
	}
	n := copy(p, m.next)
	m.next = m.next[n:]
	return n, nil
}

// fetch reads one message with its zero byte into next, or nothing if it is too
// large.
func (m *messages) fetch() error {
	var whole []byte
	skip := false
	for {
		part, err := m.from.ReadSlice(0)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if skip = skip || len(whole)+len(part) > m.limit; skip {
			whole = nil
		} else {
			whole = append(whole, part...)
		}
		if bytes.HasSuffix(part, []byte{0}) {
			m.next = whole
			return nil
		}
	}
}
