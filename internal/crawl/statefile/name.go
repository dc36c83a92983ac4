package statefile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// maxName is the longest name in bytes. It leaves room for prefixes and
// suffixes below the 255 bytes of file systems.
const maxName = 128

// Name makes one path element of any text, such as a host or a site's id. Letters
// and digits of ASCII, and `.`, `-` and `_`, stay; a text of these alone is its own name. Any
// other text gets `_` for what cannot stay and `~` with a hash of the whole, so
// that different texts have different names. A name is never empty, "." or "..",
// begins with no dot, and has at most 128 bytes. The name of a text never
// changes between releases: files are found by it.
func Name(text string) string {
	if len(text) > 0 && len(text) <= maxName && text[0] != '.' && strings.IndexFunc(text, unsafe) < 0 {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	suffix := "~" + hex.EncodeToString(sum[:12])
	readable := strings.Map(func(r rune) rune {
		if unsafe(r) {
			return '_'
		}
		return r
	}, text[:min(len(text), maxName-len(suffix))])
	if strings.HasPrefix(readable, ".") {
		readable = "_" + readable[1:]
	}
	return readable + suffix
}

func unsafe(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '.' && r != '-' && r != '_'
}

// Below returns the place of path, which comes from outside, below the folder
// base: a relative path without "..", or an absolute one that lies in base. Empty
// path is base itself. The error reads well after "property NAME has the path ".
// Links within base are followed: only the operator can make them.
func Below(base, path string) (string, error) {
	if base == "" {
		return "", fmt.Errorf("%q, but no folder for such files is configured", clip(path))
	}
	relative := path
	if filepath.IsAbs(path) {
		var err error
		if relative, err = filepath.Rel(base, path); err != nil {
			relative = ".." // base is relative: nothing can be said to lie in it
		}
	}
	switch {
	case strings.ContainsRune(path, 0):
		return "", errors.New("with a NUL byte, which no path can have")
	case len(path) > 1024:
		return "", fmt.Errorf("%q of %d bytes, where at most 1024 are accepted", clip(path), len(path))
	case relative != "" && !filepath.IsLocal(relative):
		return "", fmt.Errorf("%q, which leads out of the folder for such files: give it relative to that, without \"..\"", clip(path))
	}
	return filepath.Join(base, relative), nil
}

func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "..."
	}
	return s
}
