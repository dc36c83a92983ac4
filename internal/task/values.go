package task

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// InputError reports input that is not valid JSON. ErrorAnswer gets it with a nil request.
type InputError struct {
	Offset int64 // of the invalid byte, from the start of the input
	Err    error
}

// Error names the offset and the reason.
func (e *InputError) Error() string { return fmt.Sprintf("input byte %d: %v", e.Offset, e.Err) }

// Unwrap returns the reason.
func (e *InputError) Unwrap() error { return e.Err }

var (
	errTooLarge  = errors.New("request is larger than the limit")
	errTruncated = errors.New("input ends inside a value")
)

// values splits a byte stream into JSON values, with or without white space between them.
// A value may span lines. values does not wait for bytes behind the end of a value, so that
// the value can be answered before the next one is sent.
type values struct {
	in  *allowance    // the input of dec; survives a change of dec
	dec *json.Decoder // nil: the input has ended
	max int64         // most bytes of a value with the white space before it

	base int64 // offset of dec in the input
	read int64 // bytes that dec has read; read-InputOffset of them are buffered in dec
}

// allowance is a reader that fails with errTooLarge after left bytes.
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

// nextValue returns the next value, io.EOF at the end of the input, or an *InputError. After
// invalid JSON the following call continues behind the next newline. After a failed read or
// a value above the limit it returns io.EOF.
func (v *values) nextValue() (json.RawMessage, error) {
	if v.dec == nil {
		return nil, io.EOF
	}
	start := v.dec.InputOffset()
	// One byte above the limit: a number of max bytes ends with the next byte.
	v.in.left = v.max + 1 - (v.read - start)
	var value json.RawMessage
	err := v.dec.Decode(&value)

	var syntax *json.SyntaxError
	switch {
	case err == nil && int64(len(value)) > v.max:
		return nil, v.endInput(v.base+start, errTooLarge)
	case err == nil:
		return value, nil
	case errors.As(err, &syntax):
		bad := syntax.Offset - 1 // Offset counts the invalid byte
		at := v.base + bad
		v.skipLine(bad - v.dec.InputOffset())
		return nil, &InputError{Offset: at, Err: err}
	case err == io.EOF:
		v.dec = nil
		return nil, io.EOF
	case err == io.ErrUnexpectedEOF:
		return nil, v.endInput(v.base+v.read, errTruncated)
	case err == errTooLarge:
		return nil, v.endInput(v.base+start, errTooLarge)
	}
	return nil, v.endInput(v.base+v.read, err)
}

// endInput ends the input and returns err as an InputError.
func (v *values) endInput(offset int64, err error) error {
	v.dec = nil
	return &InputError{Offset: offset, Err: err}
}

// skipLine drops the input up to the first newline at or behind byte skip of the decoder's
// buffer. It continues with a new decoder, because a decoder keeps its error.
func (v *values) skipLine(skip int64) {
	waiting, _ := io.ReadAll(v.dec.Buffered()) // a bytes.Reader cannot fail
	pos := v.base + v.dec.InputOffset() + skip
	rest := waiting[skip:]
	src := v.in.r
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		pos += int64(i + 1)
		// MultiReader flattens nested readers, so many invalid lines build no long chain.
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

// dropLine drops the bytes of *r up to the first newline and returns their number. It puts
// the bytes behind the newline back. ok is false if there is no newline.
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
