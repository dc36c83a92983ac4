package curvekeys

import (
	"crypto/ecdh"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"regexp"
)

// Pair is a secret key and the public one that belongs to it, as texts of 40
// characters. It prints as the public key alone, so that no log tells the secret.
type Pair struct {
	Public, Secret string
}

// String is the public key.
func (p Pair) String() string { return p.Public }

// GoString is String, for %#v.
func (p Pair) GoString() string { return p.Public }

// Generate makes a new pair. CURVE computes on Curve25519, so that the keys of
// X25519 are its keys.
func Generate() (Pair, error) {
	secret, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("keys.Generate: %w", err)
	}
	return Pair{Public: encode(secret.PublicKey().Bytes()), Secret: encode(secret.Bytes())}, nil
}

// fromSecret is the pair of a secret key.
func fromSecret(text string) (Pair, error) {
	raw, ok := decode(text)
	if !ok {
		return Pair{}, errNoKey
	}
	secret, err := ecdh.X25519().NewPrivateKey(raw)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Public: encode(secret.PublicKey().Bytes()), Secret: text}, nil
}

// Files are where a pair has been written.
type Files struct {
	Secret, Public string
}

// usableName is a name that is also a file name, and no hidden one.
var usableName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$`)

// Write writes <name>.key, for the owner's eyes, and <name>.pub into a folder,
// which is made if missing. Both are on the disk when it returns. Files that
// exist are left alone, with an error that errors.Is fs.ErrExist, unless force
// says to replace them. A kill leaves each file whole, old or new; the public
// one can always be made again from the secret one.
func (p Pair) Write(folder, name string, force bool) (Files, error) {
	if !usableName.MatchString(name) {
		return Files{}, fmt.Errorf("keys.Write: the name %q is not 1 to 64 letters, digits, '.', '_' or '-' that begin with a letter or digit", name)
	}
	files := Files{Secret: filepath.Join(folder, name+".key"), Public: filepath.Join(folder, name+".pub")}
	secret := "# The secret key of " + name + ". Whoever reads it can come as " + name + ".\n" + secretWord + " " + p.Secret + "\n"
	if err := writeBoth(folder, files, secret, p.Public+" "+name+"\n", force); err != nil {
		return Files{}, fmt.Errorf("keys.Write: %w", err)
	}
	return files, nil
}
