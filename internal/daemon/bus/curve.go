package bus

import (
	"errors"
	"fmt"

	zmq "github.com/pebbe/zmq4"
)

// Curve holds the keys of one side, Z85 text of 40 characters each. A binding
// socket needs Secret and Allowed; a connecting one the three keys. It prints
// without the secret one, so that whoever shows a configuration does not tell it.
type Curve struct {
	Public string
	Secret string `json:"-"`
	// ServerPublic is the key that the server must have, for connecting.
	ServerPublic string
	// Allowed is who may come in, for binding. It is asked at each handshake and
	// at each message, so that a client that is taken off the list is out at once,
	// however long its connection has been open.
	Allowed Allower
}

// Allower knows the clients. Allowed reports whether the one with that public
// key may come in; an error goes to the log beside the answer. Several goroutines
// ask it, often: it must be quick.
type Allower interface {
	Allowed(public string) (bool, error)
}

// String names the public keys that there are.
func (c Curve) String() string { return fmt.Sprintf("keys %q for %q", c.Public, c.ServerPublic) }

// GoString is String, for %#v.
func (c Curve) GoString() string { return c.String() }

// hasCurve tells whether libzmq can encrypt; tests replace it.
var hasCurve = zmq.HasCurve

var errNoCurve = errors.New("keys are given, but this libzmq was built without CURVE; it needs libsodium")

// server sets the keys of a binding socket in that domain of the door.
func (c *Curve) server(s *zmq.Socket, domain string) error {
	err := errors.Join(s.SetCurveServer(1), s.SetCurveSecretkey(c.Secret), s.SetZapDomain(domain))
	if err != nil {
		return fmt.Errorf("the secret key is not accepted: %w", err)
	}
	return nil
}

// client sets the keys of a connecting socket.
func (c *Curve) client(s *zmq.Socket) error {
	err := errors.Join(
		s.SetCurveServerkey(c.ServerPublic),
		s.SetCurvePublickey(c.Public),
		s.SetCurveSecretkey(c.Secret),
	)
	if err != nil {
		return fmt.Errorf("the keys are not accepted: %w", err)
	}
	return nil
}
