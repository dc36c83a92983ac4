package rawfiles

import (
	"fmt"
	"path"
	"strings"
	"time"
)

// Kind is the content of a file. Its values are those of contentType in URL_PUT and of typeId
// in answers. Source: docs/spec/objects.md 4.4, 5.4.
type Kind int

// The kinds. Kind 10, processed content, is in package keyvalue.
const (
	Raw      Kind = 0  // the body
	Tidy     Kind = 1  // repaired HTML
	Headers  Kind = 2  // response header lines
	Requests Kind = 3  // request lines
	Meta     Kind = 4  // any content of a client
	Cookies  Kind = 5  // cookies
	Dynamic  Kind = 9  // the page after rendering
	Chain    Kind = 11 // keys of the parts of a chain, one per line
	Hops     Kind = 12 // redirects on the way to the page: JSON (wire.HopAnswer)
)

// suffixes are the ends of file names. Writers use the first suffix of a kind.
var suffixes = []struct {
	kind   Kind
	suffix string
}{
	{Raw, ".bin"},
	{Tidy, ".tidy"},
	{Headers, ".headers.txt"},
	{Requests, ".request.txt"},
	{Requests, ".requests.txt"},
	{Meta, ".meta.txt"},
	{Cookies, ".cookies.txt"},
	{Dynamic, ".dyn"},
	{Chain, ".chain"},
	{Hops, ".hops.json"},
}

func (k Kind) suffix() (string, bool) {
	for _, s := range suffixes {
		if s.kind == k {
			return s.suffix, true
		}
	}
	return "", false
}

// Valid reports whether k is a kind of file.
func (k Kind) Valid() bool {
	_, ok := k.suffix()
	return ok
}

// Layouts of times in names. The first implementation used oldTimeLayout for cookie files
// (docs/spec/storage.md 2).
const (
	timeLayout    = "20060102T150405.000Z"
	oldTimeLayout = "20060102150405"
)

// siteDir returns the folder of a site below the root: its id, or "0" for "".
func siteDir(site string) (string, error) {
	if site == "" {
		return "0", nil
	}
	if len(site) > 32 {
		return "", fmt.Errorf("%w: site %.100q", ErrName, site)
	}
	for i := range len(site) {
		c := site[i]
		if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '-') {
			return "", fmt.Errorf("%w: site %.100q", ErrName, site)
		}
	}
	return site, nil
}

// urlDir returns the folder of a URL below the root, without Options.Subdir.
func urlDir(site, md5 string) (string, error) {
	dir, err := siteDir(site)
	if err != nil {
		return "", err
	}
	if len(md5) != 32 || strings.Trim(md5, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%w: key %.100q", ErrName, md5)
	}
	return dir + "/" + md5[:2] + "/" + md5[2:], nil
}

// fileDir returns the folder of the files of a URL.
func (c *Cache) fileDir(site, md5 string) (string, error) {
	dir, err := urlDir(site, md5)
	if err == nil && c.o.Subdir != "" {
		dir = path.Join(dir, c.o.Subdir)
	}
	return dir, err
}

// labelOK reports whether label is a valid fileStorageSuffix of URL_PUT.
func labelOK(label string) bool {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-."
	return label != "" && len(label) <= 64 && strings.Trim(label, letters) == ""
}

// TimeName returns the name of the versions of a fetch at at, rounded down to milliseconds.
func TimeName(at time.Time) string { return at.UTC().Format(timeLayout) }

// NameTime returns the time of a name, or zero for a label.
func NameTime(name string) time.Time {
	for _, layout := range []string{timeLayout, oldTimeLayout} {
		if t, err := time.Parse(layout, name); err == nil {
			return t
		}
	}
	return time.Time{}
}

// CheckName returns the folder name of a site, which is "0" for "". The error wraps ErrName
// if a site, key, label or kind cannot be part of a file name.
func CheckName(site, md5, label string, kind Kind) (string, error) {
	if label != "" && !labelOK(label) {
		return "", fmt.Errorf("%w: label %.100q", ErrName, label)
	}
	if !kind.Valid() {
		return "", fmt.Errorf("%w: kind %d", ErrName, kind)
	}
	if _, err := urlDir(site, md5); err != nil {
		return "", err
	}
	return siteDir(site)
}

// parsed holds the parts of a file name.
type parsed struct {
	kind Kind
	name string // Version.Name
}

// parseName parses the name of a file of the URL md5. It returns false for temporary names and
// names of other programs.
func parseName(md5, name string) (parsed, bool) {
	rest, ok := strings.CutPrefix(name, md5)
	if !ok {
		return parsed{}, false
	}
	for _, s := range suffixes {
		middle, ok := strings.CutSuffix(rest, s.suffix)
		switch {
		case !ok:
		case middle == "":
			return parsed{kind: s.kind}, true
		case middle[0] == '_' && middle != "_":
			return parsed{kind: s.kind, name: middle[1:]}, true
		default:
			return parsed{}, false
		}
	}
	return parsed{}, false
}

// deletedPrefix begins the names of the folders of deleted sites.
const deletedPrefix = ".deleted-"
