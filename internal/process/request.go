package process

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"errors"
	"io"
	"slices"

	"hce/dc/internal/process/reading"
	"hce/dc/internal/process/scraper"
)

// request asks a worker for the extraction of a page.
type request struct {
	Page  scraper.Page
	Rules uint64          // ID of the rules
	New   *scraper.Source // the rules, unless this worker has them

	Trial *Trial // a template to try, instead of all the above

	Question *reading.Question // about Page.Text, instead of all the above
}

// pipe is one end of the connection to a worker. A message is a gob, and then the large bytes
// of it as they are: the text of the page, or the content of the result. gob would copy them
// several times.
type pipe struct {
	in      *bufio.Reader
	decoder *gob.Decoder // reads no byte behind a message, because in is an io.ByteReader
	out     io.Writer
	encoder *gob.Encoder // to message
	message bytes.Buffer
	text    []byte // of the last request
}

// keptText is the largest buffer that a worker keeps for the next page.
const keptText = 1 << 20

func newPipe(in io.Reader, out io.Writer) *pipe {
	p := &pipe{in: bufio.NewReaderSize(in, 64<<10), out: out}
	p.decoder, p.encoder = gob.NewDecoder(p.in), gob.NewEncoder(&p.message)
	return p
}

// head is the first part of a message.
type head[T any] struct {
	Value T
	Large int // bytes that follow; -1: nil
}

// largest is more than any part of a message has.
const largest = 1 << 30

func writeMessage[T any](p *pipe, value T, large []byte) error {
	h := head[T]{value, len(large)}
	if large == nil {
		h.Large = -1
	}
	p.message.Reset()
	if err := p.encoder.Encode(&h); err != nil {
		return err
	}
	p.message.Write(large)
	_, err := p.out.Write(p.message.Bytes()) // a page is one message
	if p.message.Cap() > keptText {
		p.message = bytes.Buffer{}
	}
	return err
}

// readMessage returns a message. Its large part is in buffer, if there is room.
func readMessage[T any](p *pipe, buffer []byte) (value T, large []byte, err error) {
	var h head[T]
	if err := p.decoder.Decode(&h); err != nil || h.Large < 0 {
		return h.Value, nil, err
	}
	if h.Large > largest {
		return h.Value, nil, errors.New("a message of a worker is too long")
	}
	large = slices.Grow(buffer[:0], h.Large)[:h.Large]
	_, err = io.ReadFull(p.in, large)
	return h.Value, large, err
}

// sendRequest sends a request.
func (p *pipe) sendRequest(r *request) error {
	bare := *r
	bare.Page.Text = nil
	return writeMessage(p, bare, r.Page.Text)
}

// receiveRequest returns the next request. Its text is valid until the next call.
func (p *pipe) receiveRequest() (request, error) {
	r, text, err := readMessage[request](p, p.text)
	r.Page.Text = text
	if p.text = text; cap(text) > keptText {
		p.text = nil
	}
	return r, err
}

// sendResult sends the result of a request.
func (p *pipe) sendResult(x scraper.Output) error {
	content := x.Item.Content
	x.Item.Content = nil
	return writeMessage(p, x, content)
}

// receiveResult returns the result of the request that was sent last.
func (p *pipe) receiveResult() (scraper.Output, error) {
	x, content, err := readMessage[scraper.Output](p, nil)
	x.Item.Content = content
	return x, err
}

// maxRules is the most rules that a worker keeps. Workers and the process that asks them forget
// all of them at the same request, so that both know the same rules.
const maxRules = 64

// known are the rules that a worker has, by ID.
type known[T any] map[uint64]T

// addRules adds the rules of an ID.
func (k known[T]) addRules(id uint64, rules T) {
	if len(k) >= maxRules {
		clear(k)
	}
	k[id] = rules
}
