package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
)

// Join is all that one machine needs to connect to the broker of its cluster. It prints without
// its seed.
type Join struct {
	Name       string   `json:"name"`
	URLs       []string `json:"urls"`                 // "tls://10.0.0.5:4222", or "nats://127.0.0.1:4222" without TLS on loopback
	CA         string   `json:"ca,omitempty"`         // certificates in PEM; empty: the system's, for tls addresses
	ServerName string   `json:"serverName,omitempty"` // in the certificate of the server; empty: the host of the URL
	TLSFirst   bool     `json:"tlsFirst,omitempty"`   // the server begins with TLS; as embedded servers do
	Seed       string   `json:"seed"`                 // the secret
}

// String returns j without its secret.
func (j Join) String() string { return fmt.Sprintf("join of %s at %v", j.Name, j.URLs) }

// GoString is String; it keeps its secret out of %#v.
func (j Join) GoString() string { return j.String() }

// ReadJoin reads a join file. Only its owner may be able to read it.
func ReadJoin(path string) (Join, error) {
	raw, err := readSecret(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Join{}, fmt.Errorf("there is no join file %s: make one with \"dc-admin node add NAME\" on the head, and copy it here", path)
	case errors.Is(err, fs.ErrPermission):
		return Join{}, fmt.Errorf("join file: %w: it must belong to the user of this program, with mode 0600", err)
	case err != nil:
		return Join{}, fmt.Errorf("join file: %w", err)
	}
	var j Join
	if err = json.Unmarshal(raw, &j); err == nil {
		err = j.check()
	}
	if err != nil {
		return Join{}, fmt.Errorf("%s is not a join file of \"dc-admin node add NAME\", or is damaged: %w", path, err)
	}
	return j, nil
}

func (j Join) check() error {
	if j.Name != Head {
		if err := CheckName(j.Name); err != nil {
			return err
		}
	}
	if len(j.URLs) == 0 {
		return errors.New("it names no address of a broker")
	}
	_, err := publicOf([]byte(j.Seed))
	return err
}
