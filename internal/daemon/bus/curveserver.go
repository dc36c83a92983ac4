package bus

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/binary"

	zmq "github.com/pebbe/zmq4"
	nacl "golang.org/x/crypto/nacl/box"
)

// box encrypts the frames of one connection (ZeroMQ RFC 26, MESSAGE). The reader uses open,
// the writer seal.
type box struct {
	key      [32]byte
	sent     uint64 // our last nonce
	received uint64 // the peer's last nonce
}

const (
	messageName = "\x07MESSAGE"
	// boxOverhead is what a MESSAGE has in addition to its body: name, nonce, box and flags.
	boxOverhead = len(messageName) + 8 + nacl.Overhead + 1

	boxMore    = 1 // flags inside of a MESSAGE
	boxCommand = 2
)

func (b *box) seal(flags byte, body []byte) []byte {
	plain := make([]byte, 1, 1+len(body))
	switch {
	case flags&flagCommand != 0:
		plain[0] = boxCommand
	case flags&flagMore != 0:
		plain[0] = boxMore
	}
	plain = append(plain, body...)
	b.sent++
	out := append(make([]byte, 0, boxOverhead+len(body)), messageName...)
	out = binary.BigEndian.AppendUint64(out, b.sent)
	return nacl.SealAfterPrecomputation(out, plain, nonceFor("CurveZMQMESSAGES", b.sent), &b.key)
}

func (b *box) open(raw []byte) (flags byte, body []byte, ok bool) {
	if len(raw) < boxOverhead || string(raw[:len(messageName)]) != messageName {
		return 0, nil, false
	}
	raw = raw[len(messageName):]
	n := binary.BigEndian.Uint64(raw)
	if n <= b.received { // a repeated message
		return 0, nil, false
	}
	plain, ok := nacl.OpenAfterPrecomputation(nil, raw[8:], nonceFor("CurveZMQMESSAGEC", n), &b.key)
	if !ok {
		return 0, nil, false
	}
	b.received = n
	if plain[0]&boxCommand != 0 {
		flags = flagCommand
	}
	return flags | plain[0]&boxMore, plain[1:], true
}

// nonceFor returns the nonce of a prefix of 16 characters and a number.
func nonceFor(prefix string, n uint64) *[24]byte {
	var nonce [24]byte
	copy(nonce[:], prefix)
	binary.BigEndian.PutUint64(nonce[16:], n)
	return &nonce
}

func key32(raw []byte) *[32]byte {
	var key [32]byte
	copy(key[:], raw)
	return &key
}

// performCurveHandshake runs the server's side of the handshake of CURVE (ZeroMQ RFC 26) and returns the
// client's public key. allowed decides about the key; a refused client is told so.
func (s *stream) performCurveHandshake(serverKey *ecdh.PrivateKey, allowed func(public string) bool) (public string, err error) {
	own := key32(serverKey.Bytes())
	hello, err := s.readCommand("HELLO")
	if err != nil {
		return "", err
	}
	if len(hello) != 194 || hello[0] != 1 {
		return "", errProtocol
	}
	client := key32(hello[74:106])
	n := binary.BigEndian.Uint64(hello[106:])
	if _, ok := nacl.Open(nil, hello[114:], nonceFor("CurveZMQHELLO---", n), client, own); !ok {
		return "", errOtherKey
	}

	// The keys stay in this goroutine, so the cookie needs no content: the client returns it.
	public1, secret1, err := nacl.GenerateKey(rand.Reader)
	if err != nil {
		return "", err
	}
	var cookie [96]byte
	var nonce [24]byte
	copy(nonce[:], "WELCOME-")
	_, _ = rand.Read(nonce[8:]) // crypto/rand never returns an error
	_, _ = rand.Read(cookie[:])
	welcome := append([]byte("\x07WELCOME"), nonce[8:]...)
	welcome = nacl.Seal(welcome, append(public1[:], cookie[:]...), &nonce, client, own)
	if err := s.writeFrame(flagCommand, welcome); err != nil {
		return "", errLeftEarly
	}

	initiate, err := s.readCommand("INITIATE")
	if err != nil {
		return "", err
	}
	if len(initiate) < 96+8+nacl.Overhead+128 || string(initiate[:96]) != string(cookie[:]) {
		return "", errProtocol
	}
	b := &box{received: binary.BigEndian.Uint64(initiate[96:])}
	nacl.Precompute(&b.key, client, secret1)
	plain, ok := nacl.OpenAfterPrecomputation(nil, initiate[104:], nonceFor("CurveZMQINITIATE", b.received), &b.key)
	if !ok {
		return "", errProtocol
	}
	long, vouchNonce := key32(plain[:32]), [24]byte{}
	copy(vouchNonce[:], "VOUCH---")
	copy(vouchNonce[8:], plain[32:48])
	vouch, ok := nacl.Open(nil, plain[48:128], &vouchNonce, long, secret1)
	if !ok || string(vouch) != string(client[:])+string(serverKey.PublicKey().Bytes()) {
		return "", errOtherKey // its public key does not belong to its secret one
	}
	if !usablePeer(plain[128:]) {
		return "", errProtocol
	}
	public = zmq.Z85encode(string(long[:]))
	if !allowed(public) {
		_ = s.writeFrame(flagCommand, []byte("\x05ERROR\x03400"))
		return public, errUnlisted
	}
	b.sent = 1
	ready := binary.BigEndian.AppendUint64([]byte("\x05READY"), b.sent)
	ready = nacl.SealAfterPrecomputation(ready, ownProperties, nonceFor("CurveZMQREADY---", b.sent), &b.key)
	if err := s.writeFrame(flagCommand, ready); err != nil {
		return "", errLeftEarly
	}
	s.box = b
	return public, nil
}
