package curvekeys

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// maxFile bounds a file of keys, in bytes.
const maxFile = 1 << 20

// secretWord stands before a secret key, so that nobody takes one for the other.
const secretWord = "secret"

var (
	errNoKey  = errors.New("no key: a key is 40 characters of Z85")
	errSecret = errors.New("a secret key where a public one belongs (the .pub file); keep it to its owner")
)

// ReadSecret reads the secret key of this side. The file must be an ordinary one
// that only its owner can read (mode 0600 or 0400) and hold that one key.
func ReadSecret(path string) (Pair, error) {
	text, mode, err := readFile(path)
	if err != nil {
		return Pair{}, fmt.Errorf("secret key: %w", err)
	}
	if mode.Perm()&0o077 != 0 {
		return Pair{}, fmt.Errorf("secret key: others than the owner have rights on %s (mode %04o): chmod 600 it, and make a new key if somebody may have read it", path, mode.Perm())
	}
	var found []string
	for n, words := range lines(text) {
		switch {
		case words[0] == secretWord && len(words) == 2:
			found = append(found, words[1])
		case len(words) == 1:
			found = append(found, words[0]) // as other tools write it
		case Valid(words[0]):
			return Pair{}, fmt.Errorf("secret key: line %d of %s is a public key; the secret one is in the .key file", n, path)
		default:
			return Pair{}, fmt.Errorf("secret key: line %d of %s: %w", n, path, errNoKey)
		}
	}
	if len(found) != 1 {
		return Pair{}, fmt.Errorf("secret key: %s holds %d keys instead of one", path, len(found))
	}
	pair, err := fromSecret(found[0])
	if err != nil {
		return Pair{}, fmt.Errorf("secret key: %s: %w", path, err)
	}
	return pair, nil
}

// ReadPublic reads the public key of the other side from a file that holds that
// one key.
func ReadPublic(path string) (string, error) {
	text, mode, err := readFile(path)
	if err != nil {
		return "", fmt.Errorf("public key: %w", err)
	}
	found, err := publicKeys(path, text, mode)
	if err != nil {
		return "", fmt.Errorf("public key: %w", err)
	}
	if len(found) != 1 {
		return "", fmt.Errorf("public key: %s holds %d keys instead of one", path, len(found))
	}
	return found[0], nil
}

// publicKeys are the keys of a file of public ones. The error joins what is wrong
// with single lines; the keys of the others are given all the same.
func publicKeys(path, text string, mode os.FileMode) (found []string, err error) {
	if mode.Perm()&0o002 != 0 {
		return nil, fmt.Errorf("everybody may write to %s (mode %04o), and so let in whom they want", path, mode.Perm())
	}
	var wrong []error
	for n, words := range lines(text) {
		switch {
		case words[0] == secretWord:
			wrong = append(wrong, fmt.Errorf("line %d of %s: %w", n, path, errSecret))
		case !Valid(words[0]):
			wrong = append(wrong, fmt.Errorf("line %d of %s: %w", n, path, errNoKey))
		default:
			found = append(found, words[0])
			continue
		}
		if len(wrong) >= maxComplaints {
			break
		}
	}
	return found, errors.Join(wrong...)
}

// maxComplaints bounds what is said about one file.
const maxComplaints = 3

// lines gives the words of each line that is neither empty nor a comment, with
// its number.
func lines(text string) func(yield func(int, []string) bool) {
	return func(yield func(int, []string) bool) {
		n := 0
		for line := range strings.Lines(text) {
			n++
			words := strings.Fields(line)
			if len(words) == 0 || words[0][0] == '#' && len(words[0]) != textSize {
				continue
			}
			if !yield(n, words) {
				return
			}
		}
	}
}

// readFile reads an ordinary file within maxFile. It never waits, as a pipe
// would make it.
func readFile(path string) (text string, mode os.FileMode, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", 0, err
	case !info.Mode().IsRegular():
		return "", 0, fmt.Errorf("%s is not an ordinary file", path)
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return "", 0, err
	case len(raw) > maxFile:
		return "", 0, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return string(raw), info.Mode(), nil
}
