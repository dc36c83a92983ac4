package curvekeys

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// maxFile limits a file of keys, in bytes.
const maxFile = 1 << 20

// secretWord marks a line with a secret key.
const secretWord = "secret"

var (
	errNoKey  = errors.New("not a key: a key is 40 characters of Z85")
	errSecret = errors.New("a secret key instead of a public one (the .pub file); only its owner may have it")
)

// ReadSecret reads the secret key of this side. The file must be a regular file, readable by
// its owner only (mode 0600 or 0400), with exactly one key.
func ReadSecret(path string) (Pair, error) {
	text, mode, err := readFile(path)
	if err != nil {
		return Pair{}, fmt.Errorf("secret key: %w", err)
	}
	if mode.Perm()&0o077 != 0 {
		return Pair{}, fmt.Errorf("secret key: others than the owner may access %s (mode %04o): run chmod 600, and create a new key if another user may have read it", path, mode.Perm())
	}
	var found []string
	for n, words := range configLines(text) {
		switch {
		case words[0] == secretWord && len(words) == 2:
			found = append(found, words[1])
		case len(words) == 1:
			found = append(found, words[0]) // the format of other tools
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

// ReadPublic reads the public key of the other side from a file with exactly one key.
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

// publicKeys returns the public keys of a file. The error joins the faults of single lines; the
// keys of other lines are returned.
func publicKeys(path, text string, mode os.FileMode) (found []string, err error) {
	if mode.Perm()&0o002 != 0 {
		return nil, fmt.Errorf("everybody may write to %s (mode %04o) and could add clients", path, mode.Perm())
	}
	var wrong []error
	for n, words := range configLines(text) {
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

// maxComplaints limits the reported faults of a file.
const maxComplaints = 3

// configLines iterates over the words of each line that is not empty or a comment, with its number.
func configLines(text string) func(yield func(int, []string) bool) {
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

// readFile reads a regular file of at most maxFile bytes. It does not block on a named pipe.
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
		return "", 0, fmt.Errorf("%s is not a regular file", path)
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
