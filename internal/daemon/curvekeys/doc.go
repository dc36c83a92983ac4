// Package curvekeys reads and writes files of CURVE keys: the secret key of this side, the
// public key of the other side, and the list of allowed public keys.
//
//	pair, err := curvekeys.Generate()
//	files, err := pair.Write("keys", "alice", false)  // keys/alice.key, keys/alice.pub
//
//	own, err := curvekeys.ReadSecret("keys/alice.key")     // own.Secret, own.Public
//	server, err := curvekeys.ReadPublic("keys/server.pub")
//	list, err := curvekeys.OpenList("allowed")             // a file, or a folder of *.pub
//	ok, err := list.Allowed(own.Public)
//
// A key is 32 bytes, written as 40 characters of Z85 (ZeroMQ RFC 32). A line of a public key is
// the key and optionally a name; a line of a secret key is the word "secret" and the key. Lines
// that begin with # are comments, unless the first word has the length of a key, because # is
// a digit of Z85.
//
// Only the owner may be able to read a secret key. A list follows changes of its files; an
// unreadable file allows no client. Source: docs/spec/DECISIONS.md 8.2.
package curvekeys
