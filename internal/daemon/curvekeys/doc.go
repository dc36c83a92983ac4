// Package curvekeys keeps the files of CURVE keys: the secret key of this side, the
// public key of the other one, and the list of the public keys that may come.
//
//	pair, err := curvekeys.Generate()
//	files, err := pair.Write("keys", "alice", false)  // keys/alice.key, keys/alice.pub
//
//	own, err := curvekeys.ReadSecret("keys/alice.key")     // own.Secret, own.Public
//	server, err := curvekeys.ReadPublic("keys/server.pub")
//	list, err := curvekeys.OpenList("allowed")             // a file, or a folder of *.pub
//	ok, err := list.Allowed(own.Public)
//
// A key is 32 bytes, written as 40 characters of Z85 (ZeroMQ RFC 32). A public
// line is the key and, if you like, a name behind it; a secret one is the word
// secret and the key. Lines that begin with # are comments, unless the first
// word has just the length of a key: # is a letter of Z85, too.
//
// A secret key is read from a file that nobody but its owner can read. A list is
// looked at again when it is asked, and what cannot be read lets nobody in.
//
// Neighbours: bus, which uses the texts of keys and knows no files; the mains.
// Source: docs/spec/DECISIONS.md 8.2.
package curvekeys
