package bus

import (
	"errors"
	"fmt"

	zmq "github.com/pebbe/zmq4"
)

// Curve holds the keys of one side, Z85 text of 40 characters each. Binding needs Secret
// and Allowed; connecting needs the three keys. Printing it omits the secret key.
type Curve struct {
	Public string
	Secret string `json:"-"`
	// ServerPublic is the expected public key of the server; for connecting only.
	ServerPublic string
	// Allowed lists the clients; for binding only. It is checked at each handshake and at
	// each message, so that removing a client also ends its open connections.
	Allowed Allower
}

// Allower checks clients. Allowed reports whether the client with that public key may
// connect; an error is logged and does not change the result. It is called often and
// concurrently, so it must be quick.
type Allower interface {
	Allowed(public string) (bool, error)
}

// String returns the public keys.
func (c Curve) String() string { return fmt.Sprintf("keys %q for %q", c.Public, c.ServerPublic) }

// GoString is String; it keeps the secret key out of %#v.
func (c Curve) GoString() string { return c.String() }

// hasCurve reports whether libzmq supports CURVE; tests replace it.
var hasCurve = zmq.HasCurve

var errNoCurve = errors.New("keys are configured, but this libzmq was built without CURVE (libsodium)")

// setClientKeys sets the keys of a connecting socket.
func (c *Curve) setClientKeys(s *zmq.Socket) error {
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
