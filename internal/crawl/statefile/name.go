package statefile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"hce/dc/internal/wire/prop"
)

// maxName is the longest name in bytes. It leaves room for prefixes and suffixes below the
// 255 bytes of file systems.
const maxName = 128

// Name returns a path element for any text, such as a host or a site id. ASCII letters,
// digits, `.`, `-` and `_` stay unchanged; a text of only these is its own name. In other
// texts `_` replaces each other character, and `~` with a hash of the text follows, so that
// different texts have different names. A name is never empty, does not start with a dot,
// and has at most 128 bytes. The name of a text never changes between releases, since files
// are found by it.
func Name(text string) string {
	if len(text) > 0 && len(text) <= maxName && text[0] != '.' && strings.IndexFunc(text, isUnsafe) < 0 {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	suffix := "~" + hex.EncodeToString(sum[:12])
	readable := strings.Map(func(r rune) rune {
		if isUnsafe(r) {
			return '_'
		}
		return r
	}, text[:min(len(text), maxName-len(suffix))])
	if strings.HasPrefix(readable, ".") {
		readable = "_" + readable[1:]
	}
	return readable + suffix
}

func isUnsafe(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '.' && r != '-' && r != '_'
}

// Below returns path below the folder base. path comes from outside: it is relative without
// "..", or absolute and inside base. An empty path is base itself. The error is meant to
// follow "property NAME has the path ". Below follows links within base, since only the
// operator can create them.
func Below(base, path string) (string, error) {
	if base == "" {
		return "", fmt.Errorf("%q, but no folder for such files is configured", prop.Clip(path))
	}
	relative := path
	if filepath.IsAbs(path) {
		var err error
		if relative, err = filepath.Rel(base, path); err != nil {
			relative = ".." // base is relative: no absolute path is inside
		}
	}
	switch {
	case strings.ContainsRune(path, 0):
		return "", errors.New("with a NUL byte, which no path can have")
	case len(path) > 1024:
		return "", fmt.Errorf("%q of %d bytes; expected at most 1024", prop.Clip(path), len(path))
	case relative != "" && !filepath.IsLocal(relative):
		return "", fmt.Errorf("%q, which leads out of the folder for such files: give it relative to that, without \"..\"", prop.Clip(path))
	}
	return filepath.Join(base, relative), nil
}
