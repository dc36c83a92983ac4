package task

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// InputError says why bytes of the input are no request. It is the error that
// ErrorAnswer gets together with a nil request.
type InputError struct {
	Offset int64 // of the offending byte, from the start of the input
	Err    error
}

// Error names the offset and the reason.
func (e *InputError) Error() string { return fmt.Sprintf("input byte %d: %v", e.Offset, e.Err) }

// Unwrap gives the reason.
func (e *InputError) Unwrap() error { return e.Err }

var (
	errTooLarge  = errors.New("request is larger than the limit")
	errTruncated = errors.New("input ends inside a value")
)

// values cuts a byte stream into JSON values. They may follow one another
// directly or after white space, and may span lines. It never reads further
// than it must to see the end of a value, so that a value can be answered
// before the next one is sent.
type values struct {
	in  *allowance    // what the decoder reads; survives a change of decoder
	dec *json.Decoder // nil after the input could not be continued
	max int64         // bytes of one value with the white space before it

	base int64 // offset in the input at which dec began
	read int64 // bytes dec has taken, so read-InputOffset are waiting in it
}

// allowance is a reader that ends with errTooLarge after left bytes.
type allowance struct {
	r    io.Reader
	left int64
	read *int64
}

func (a *allowance) Read(p []byte) (int, error) {
	if a.left <= 0 {
		return 0, errTooLarge
	}
	n, err := a.r.Read(p[:min(int64(len(p)), a.left)])
	a.left -= int64(n)
	*a.read += int64(n)
	return n, err
}

func newValues(r io.Reader, max int64) *values {
	v := &values{max: max}
	v.in = &allowance{r: bufio.NewReaderSize(r, 64<<10), read: &v.read}
	v.dec = json.NewDecoder(v.in)
	return v
}

// next returns the next value, io.EOF at the clean end of the input, or an
// *InputError. After an InputError the following call goes on behind the next
// newline; when that cannot be done (the input failed, or a value passed the
// limit and its end is unknown) the following call returns io.EOF.
func (v *values) next() (json.RawMessage, error) {
	if v.dec == nil {
		return nil, io.EOF
	}
	start := v.dec.InputOffset()
	// One byte more than the limit, so that a value of exactly max bytes can
	// still see the white space that ends a number.
	v.in.left = v.max + 1 - (v.read - start)
	var value json.RawMessage
	err := v.dec.Decode(&value)

	var syntax *json.SyntaxError
	switch {
	case err == nil && int64(len(value)) > v.max:
		return nil, v.end(v.base+start, errTooLarge)
	case err == nil:
		return value, nil
	case errors.As(err, &syntax):
		// Offset counts the bytes up to and with the offending one.
		bad := syntax.Offset - 1
		at := v.base + bad
		v.skipLine(bad - v.dec.InputOffset())
		return nil, &InputError{Offset: at, Err: err}
	case err == io.EOF:
		v.dec = nil
		return nil, io.EOF
	case err == io.ErrUnexpectedEOF:
		return nil, v.end(v.base+v.read, errTruncated)
	case err == errTooLarge:
		return nil, v.end(v.base+start, errTooLarge)
	}
	return nil, v.end(v.base+v.read, err)
}

// end gives up the input for the reason err.
func (v *values) end(offset int64, err error) error {
	v.dec = nil
	return &InputError{Offset: offset, Err: err}
}

// skipLine drops the input up to and with the first newline at or behind the
// byte that lies skip bytes into the decoder's buffer, and begins a new
// decoder there: an old one keeps its error for ever.
func (v *values) skipLine(skip int64) {
	waiting, _ := io.ReadAll(v.dec.Buffered()) // a bytes.Reader cannot fail
	pos := v.base + v.dec.InputOffset() + skip
	rest := waiting[skip:]
	src := v.in.r
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		pos += int64(i + 1)
		// MultiReader unfolds nested ones as their heads run dry, so a long
		// row of bad lines does not build a long chain.
		src = io.MultiReader(bytes.NewReader(rest[i+1:]), src)
	} else {
		n, ok := dropLine(&src)
		pos += int64(len(rest)) + n
		if !ok {
			v.dec = nil
			return
		}
	}
	v.base, v.read = pos, 0
	v.in.r = src
	v.dec = json.NewDecoder(v.in)
}

// dropLine reads *r up to and with a newline and counts the bytes dropped. What
// it read beyond is put back in front of *r. It is false when the input ends,
// or fails, before a newline.
func dropLine(r *io.Reader) (dropped int64, ok bool) {
	buf := make([]byte, 4<<10)
	for {
		n, err := (*r).Read(buf)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			*r = io.MultiReader(bytes.NewReader(buf[i+1:n]), *r)
			return dropped + int64(i+1), true
		}
		dropped += int64(n)
		if err != nil {
			return dropped, false
		}
	}
}
