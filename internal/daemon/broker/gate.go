package broker

import (
	"encoding/base64"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"hce/dc/internal/daemon/bus"
)

const (
	// refusalDelay is how long a refused peer waits for its answer, so that it cannot try in a
	// tight loop.
	refusalDelay = time.Second
	// maxDelayed limits the refused peers that wait; more are refused at once.
	maxDelayed = 64
)

// gate decides who may connect, by the list of keys at that moment.
type gate struct {
	keys     *Keys
	log      *slog.Logger
	throttle bus.Throttle
	delayed  chan struct{}

	mu       sync.Mutex
	admitted map[uint64]string // connection to public key
	accounts *accounts
}

func newGate(keys *Keys, log *slog.Logger) *gate {
	return &gate{keys: keys, log: log, delayed: make(chan struct{}, maxDelayed), admitted: map[uint64]string{}}
}

// Check implements server.Authentication. It runs in the goroutine of the connection.
func (g *gate) Check(c server.ClientAuthentication) bool {
	name, why := g.identifyClient(c)
	if why == "" {
		account, err := g.accounts.findAccount(name)
		if err == nil {
			c.RegisterUser(&server.User{Username: name, Account: account, Permissions: toServer(PermissionsOf(name))})
			return true
		}
		g.log.Error("broker: cannot create the account of a node", "node", name, "error", err)
		return false
	}
	g.refusePeer(c.RemoteAddress(), why)
	return false
}

// refusePeer logs that a connection is refused, and slows its peer down. why is one of few texts.
func (g *gate) refusePeer(peer any, why string) {
	if suppressed, ok := g.throttle.Allow(why, time.Now()); ok {
		g.log.Warn("broker: connection refused", "peer", peer, "error", why, "suppressed", suppressed)
	}
	select {
	case g.delayed <- struct{}{}:
		time.Sleep(refusalDelay)
		<-g.delayed
	default:
	}
}

// identifyClient returns the name of the key that c proves to have, or why it is refused: one of few texts.
func (g *gate) identifyClient(c server.ClientAuthentication) (name, why string) {
	o := c.GetOpts()
	switch {
	case c.Kind() != server.CLIENT:
		return "", "not a client connection"
	case o.Nkey == "" || o.Sig == "":
		return "", "no key; a node needs a join file: dc-admin node add NAME"
	}
	sig, err := base64.RawURLEncoding.DecodeString(o.Sig)
	if err != nil {
		return "", "the signature is not base64"
	}
	key, err := nkeys.FromPublicKey(o.Nkey)
	if err != nil || key.Verify(c.GetNonce(), sig) != nil {
		return "", "the signature is wrong"
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	name, known, err := g.keys.nameOf(o.Nkey)
	switch {
	case err != nil:
		return "", "the list of keys cannot be read: " + err.Error()
	case !known:
		return "", "the key is unknown or removed; a node needs a new join file: dc-admin node add NAME"
	}
	g.admitted[c.GetID()] = o.Nkey
	return name, ""
}

// revokedConnections forgets connections that are not open, and returns those whose key is no longer in the
// list.
func (g *gate) revokedConnections(open func(id uint64) bool) (ids []uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, key := range g.admitted {
		if !open(id) {
			delete(g.admitted, id)
		} else if _, known, _ := g.keys.nameOf(key); !known {
			ids = append(ids, id)
		}
	}
	return ids
}

func toServer(p Permissions) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: p.Publish},
		Subscribe: &server.SubjectPermission{Allow: p.Subscribe},
	}
}
