package curvekeys

import (
	"crypto/ecdh"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
)

// Pair is a secret key and its public key, as texts of 40 characters. It prints as the public
// key, to keep the secret out of logs.
type Pair struct {
	Public, Secret string
}

// String returns the public key.
func (p Pair) String() string { return p.Public }

// GoString is String; it keeps the secret key out of %#v.
func (p Pair) GoString() string { return p.Public }

// Generate returns a new pair. CURVE uses Curve25519, so keys of X25519 are its keys.
func Generate() (Pair, error) {
	secret, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("generate key pair: %w", err)
	}
	return Pair{Public: encodeKey(secret.PublicKey().Bytes()), Secret: encodeKey(secret.Bytes())}, nil
}

// fromSecret returns the pair of a secret key.
func fromSecret(text string) (Pair, error) {
	raw, ok := decodeKey(text)
	if !ok {
		return Pair{}, errNoKey
	}
	secret, err := ecdh.X25519().NewPrivateKey(raw)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Public: encodeKey(secret.PublicKey().Bytes()), Secret: text}, nil
}

// Ensure returns the pair of <folder>/<name>.key, and creates what is missing: the pair, or its
// public file. created reports a new secret key. Only one process may call it for a folder.
func Ensure(folder, name string) (p Pair, created bool, err error) {
	files := Files{Secret: filepath.Join(folder, name+".key"), Public: filepath.Join(folder, name+".pub")}
	p, err = ReadSecret(files.Secret)
	switch {
	case err == nil:
		if public, err := ReadPublic(files.Public); err == nil && public == p.Public {
			return p, false, nil
		}
		// A kill between the two files leaves only the first.
		return p, false, createFile(folder, files.Public, p.Public+" "+name+"\n", 0o644, true)
	case !errors.Is(err, fs.ErrNotExist):
		return Pair{}, false, err
	}
	if p, err = Generate(); err == nil {
		_, err = p.Write(folder, name, true)
	}
	return p, err == nil, err
}

// Files are the paths of a written pair.
type Files struct {
	Secret, Public string
}

// usableName matches names that are visible file names.
var usableName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$`)

// Write writes <name>.key, readable by the owner only, and <name>.pub into a folder, which it
// creates if missing. Both are synced when it returns. An existing file is an error that wraps
// fs.ErrExist, unless force is true. After a kill each file is complete, old or new.
func (p Pair) Write(folder, name string, force bool) (Files, error) {
	if !usableName.MatchString(name) {
		return Files{}, fmt.Errorf("write key pair: the name %q is not 1 to 64 letters, digits, '.', '_' or '-' that begin with a letter or digit", name)
	}
	files := Files{Secret: filepath.Join(folder, name+".key"), Public: filepath.Join(folder, name+".pub")}
	secret := "# The secret key of " + name + ". A user who can read it can connect as " + name + ".\n" + secretWord + " " + p.Secret + "\n"
	if err := writeBoth(folder, files, secret, p.Public+" "+name+"\n", force); err != nil {
		return Files{}, fmt.Errorf("write key pair: %w", err)
	}
	return files, nil
}
