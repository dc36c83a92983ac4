package bus

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// Flags of a frame (ZeroMQ RFC 23, framing).
const (
	flagMore    = 1
	flagLong    = 2
	flagCommand = 4
)

const (
	maxCommandFrame = 1 << 10 // bytes of a command: handshake and PING
	maxRouteFrame   = 255     // bytes of a routing frame

	nullMechanism  = "NULL"
	curveMechanism = "CURVE"
)

// refusedPeer is why a handshake failed. The reasons are a few constants, for the log.
type refusedPeer struct{ reason string }

func (r *refusedPeer) Error() string { return r.reason }

var (
	errProtocol = &refusedPeer{"it does not speak the protocol"}
	errNoKeys   = &refusedPeer{"it has no keys"}
	errOtherKey = &refusedPeer{"it has another public key for this server"}
	errUnlisted = &refusedPeer{"its public key is not listed"}
	// A client without keys can notice the mismatch before the server does.
	errLeftEarly = &refusedPeer{"it disconnected in the handshake, or was too slow"}
)

// stream is the server's end of a ZMTP 3 connection. One goroutine reads and one writes.
type stream struct {
	*net.TCPConn
	r        *bufio.Reader
	box      *box         // nil without keys
	progress atomic.Int64 // when the peer took a part of an answer, in Unix nanoseconds
}

// exchangeGreetings exchanges the greetings. mechanism is ours; a peer with another one is refused.
func (s *stream) exchangeGreetings(mechanism string) error {
	// The version first: older peers wait for it before they send the rest.
	if _, err := s.Write([]byte{0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3}); err != nil {
		return errLeftEarly
	}
	var head [11]byte
	for i := range head { // byte by byte: another protocol may end before
		b, err := s.r.ReadByte()
		if err != nil {
			return errLeftEarly
		}
		head[i] = b
		if i == 0 && b != 0xff || i == 9 && b&1 == 0 || i == 10 && b < 3 {
			return errProtocol
		}
	}
	rest := make([]byte, 53) // minor version, mechanism (20), as-server, filler
	copy(rest[1:], mechanism)
	if mechanism == curveMechanism {
		rest[21] = 1
	}
	if _, err := s.Write(rest); err != nil {
		return errLeftEarly
	}
	if _, err := io.ReadFull(s.r, rest); err != nil {
		return errLeftEarly
	}
	theirs := string(rest[1:21])
	switch padded := func(name string) string { return name + string(make([]byte, 20-len(name))) }; {
	case theirs == padded(mechanism):
		return nil
	case theirs == padded(nullMechanism):
		return errNoKeys
	}
	return errProtocol
}

// exchangeReady exchanges the READY commands of the mechanism NULL.
func (s *stream) exchangeReady() error {
	body, err := s.readCommand("READY")
	if err != nil {
		return err
	}
	if !usablePeer(body) {
		return errProtocol
	}
	return s.writeFrame(flagCommand, append([]byte("\x05READY"), ownProperties...))
}

// ownProperties are the metadata of a ROUTER socket.
var ownProperties = []byte("\x0bSocket-Type\x00\x00\x00\x06ROUTER\x08Identity\x00\x00\x00\x00")

// usablePeer reports whether metadata are those of a socket that may talk to a ROUTER.
func usablePeer(properties []byte) bool {
	for len(properties) > 0 {
		n := int(properties[0])
		if len(properties) < 1+n+4 {
			return false
		}
		name := string(properties[1 : 1+n])
		size := binary.BigEndian.Uint32(properties[1+n:])
		properties = properties[1+n+4:]
		if uint64(size) > uint64(len(properties)) {
			return false
		}
		value := string(properties[:size])
		properties = properties[size:]
		if name == "Socket-Type" {
			return value == "DEALER" || value == "REQ" || value == "ROUTER"
		}
	}
	return false
}

// readCommand reads a command of the handshake and returns what follows its name.
func (s *stream) readCommand(name string) ([]byte, error) {
	flags, size, err := s.readHeader()
	switch {
	case err != nil:
		return nil, errLeftEarly
	case flags&flagCommand == 0, size > maxCommandFrame:
		return nil, errProtocol
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(s.r, body); err != nil {
		return nil, errLeftEarly
	}
	got, rest, ok := cutCommand(body)
	if !ok || got != name {
		return nil, errProtocol
	}
	return rest, nil
}

// cutCommand splits the body of a command into its name and its data.
func cutCommand(body []byte) (name string, data []byte, ok bool) {
	if len(body) == 0 || len(body) < 1+int(body[0]) {
		return "", nil, false
	}
	n := 1 + int(body[0])
	return string(body[1:n]), body[n:], true
}

// readHeader reads the flags and the size of the next frame.
func (s *stream) readHeader() (flags byte, size int64, err error) {
	flags, err = s.r.ReadByte()
	if err != nil {
		return 0, 0, err
	}
	if flags&^(flagMore|flagLong|flagCommand) != 0 {
		return 0, 0, fmt.Errorf("%w: flags %#x", errProtocol, flags)
	}
	// The rest of the header follows at once.
	_ = s.SetReadDeadline(time.Now().Add(stallLimit))
	var raw [8]byte
	length := raw[7:]
	if flags&flagLong != 0 {
		length = raw[:]
	}
	if _, err := io.ReadFull(s.r, length); err != nil {
		return 0, 0, err
	}
	n := binary.BigEndian.Uint64(raw[:])
	if n > 1<<62 {
		return 0, 0, fmt.Errorf("%w: a frame of %d bytes", errProtocol, n)
	}
	return flags, int64(n), nil
}

// progressLimit limits the time of a peer to read any part of an answer.
const progressLimit = 30 * time.Second

// writeFrame writes one frame as it is. A peer that reads nothing for progressLimit is an error.
func (s *stream) writeFrame(flags byte, body []byte) error {
	head := []byte{flags, byte(len(body))}
	if len(body) > 255 {
		head = binary.BigEndian.AppendUint64([]byte{flags | flagLong}, uint64(len(body)))
	}
	for _, part := range [][]byte{head, body} {
		for len(part) > 0 {
			n := min(len(part), 64<<10)
			_ = s.SetWriteDeadline(time.Now().Add(progressLimit))
			if _, err := s.Write(part[:n]); err != nil {
				return err
			}
			s.progress.Store(time.Now().UnixNano())
			part = part[n:]
		}
	}
	return nil
}

// sendFrame writes one frame of a message, or a command, encrypted if the connection has keys.
func (s *stream) sendFrame(flags byte, body []byte) error {
	if s.box == nil {
		return s.writeFrame(flags, body)
	}
	return s.writeFrame(0, s.box.seal(flags, body))
}

// decodeFrame returns the flags and the body of a received frame.
func (s *stream) decodeFrame(flags byte, body []byte) (byte, []byte, error) {
	if s.box == nil {
		return flags, body, nil
	}
	flags, body, ok := s.box.open(body)
	if !ok {
		return 0, nil, errors.New("a message that its key does not open")
	}
	return flags, body, nil
}

// pongFor returns the answer to PING, and nil for other commands, which are ignored.
func pongFor(body []byte) []byte {
	name, data, ok := cutCommand(body)
	if !ok || name != "PING" || len(data) < 2 || len(data) > 2+16 {
		return nil
	}
	return append([]byte("\x04PONG"), data[2:]...) // the time to live is not used
}
