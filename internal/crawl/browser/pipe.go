package browser

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// wanted are the events of pages that this package handles. The pipe drops all others,
// so that a page cannot make the driver spend time and memory on them.
var wanted = map[cdproto.MethodType]bool{
	"Fetch.requestPaused":           true,
	"Fetch.authRequired":            true,
	"Page.frameStoppedLoading":      true,
	"Page.frameNavigated":           true,
	"Page.frameRequestedNavigation": true,
	"Page.frameStartedNavigating":   true,
	"Page.loadEventFired":           true,
	"Page.javascriptDialogOpening":  true,
	"Inspector.targetCrashed":       true,
}

// pipe carries the messages between the driver and Chromium.
type pipe struct {
	*chromedp.PipeConn

	mu    sync.Mutex
	muted map[target.SessionID]bool // sessions whose events are dropped
}

// newPipe returns the transport over two ends of pipes, which it closes. It drops
// messages from Chromium that are larger than limit, since a page can cause them, for
// example by a long data: URL. Every caller that waits for a reply has a deadline.
func newPipe(r io.ReadCloser, w io.WriteCloser, limit int) *pipe {
	return &pipe{
		PipeConn: chromedp.NewPipeConn(&messages{Closer: r, from: bufio.NewReaderSize(r, 64<<10), limit: limit}, w),
		muted:    map[target.SessionID]bool{},
	}
}

// muteSession drops further events of a session, but not replies to commands.
func (p *pipe) muteSession(session target.SessionID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.muted[session] = true
}

func (p *pipe) isMuted(session target.SessionID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.muted[session]
}

// Read reads the next reply, browser event or wanted page event.
func (p *pipe) Read(ctx context.Context, msg *cdproto.Message) error {
	for {
		*msg = cdproto.Message{}
		if err := p.PipeConn.Read(ctx, msg); err != nil {
			return err
		}
		if msg.ID != 0 || msg.SessionID == "" || wanted[msg.Method] && !p.isMuted(msg.SessionID) {
			return nil
		}
	}
}

// messages passes on the messages of a stream, each of which ends in a zero byte. It
// drops those above limit.
type messages struct {
	io.Closer
	from  *bufio.Reader
	limit int
	next  []byte // unread rest of the current message
}

func (m *messages) Read(p []byte) (int, error) {
	for len(m.next) == 0 {
		if err := m.readMessage(); err != nil {
			return 0, err
		}
	}
	n := copy(p, m.next)
	m.next = m.next[n:]
	return n, nil
}

// readMessage reads one message with its zero byte into next. It leaves next empty if the
// message is too large.
func (m *messages) readMessage() error {
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
