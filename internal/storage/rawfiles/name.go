package rawfiles

import (
	"fmt"
	"path"
	"strings"
	"time"
)

// Kind says what a file holds. The numbers are those of contentType in URL_PUT
// and of typeId in answers. Source: docs/spec/objects.md 4.4, 5.4.
type Kind int

// The kinds. 10 is processed content, which is no file (kv).
const (
	Raw      Kind = 0  // the body
	Tidy     Kind = 1  // HTML, repaired
	Headers  Kind = 2  // response header lines
	Requests Kind = 3  // request lines
	Meta     Kind = 4  // whatever a client puts
	Cookies  Kind = 5  // cookies
	Dynamic  Kind = 9  // the page after rendering
	Chain    Kind = 11 // keys of the parts of a chain, one per line
)

// suffixes are the ends of names; the first of a kind is written, all are read.
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
}

func (k Kind) suffix() (string, bool) {
	for _, s := range suffixes {
		if s.kind == k {
			return s.suffix, true
		}
	}
	return "", false
}

// Valid tells whether k is a kind of file.
func (k Kind) Valid() bool {
	_, ok := k.suffix()
	return ok
}

// The times in names: ours, and that of cookie files of the first
// implementation (docs/spec/storage.md 2).
const (
	timeLayout    = "20060102T150405.000Z"
	oldTimeLayout = "20060102150405"
)

// siteDir returns the folder of a site below the root: its id, "0" for "".
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

// fileDir returns the folder that holds the files of a URL.
func (c *Cache) fileDir(site, md5 string) (string, error) {
	dir, err := urlDir(site, md5)
	if err == nil && c.o.Subdir != "" {
		dir = path.Join(dir, c.o.Subdir)
	}
	return dir, err
}

// labelOK tells whether label can be the fileStorageSuffix of URL_PUT.
func labelOK(label string) bool {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-."
	return label != "" && len(label) <= 64 && strings.Trim(label, letters) == ""
}

// parsed is what a file name says.
type parsed struct {
	kind  Kind
	base  string    // the name without the suffix of its kind
	label string    // between the key and the suffix, when it is no time
	time  time.Time // zero when the name has none
}

// parseName reads the name of a file of the URL md5; false for names that are
// not of the cache, temporary ones included.
func parseName(md5, name string) (parsed, bool) {
	rest, ok := strings.CutPrefix(name, md5)
	if !ok {
		return parsed{}, false
	}
	for _, s := range suffixes {
		middle, ok := strings.CutSuffix(rest, s.suffix)
		if !ok {
			continue
		}
		p := parsed{kind: s.kind, base: md5 + middle}
		if middle == "" {
			return p, true
		}
		if middle[0] != '_' {
			return parsed{}, false
		}
		p.label = middle[1:]
		for _, layout := range []string{timeLayout, oldTimeLayout} {
			if t, err := time.Parse(layout, p.label); err == nil {
				p.time, p.label = t, ""
				break
			}
		}
		return p, true
	}
	return parsed{}, false
}

// Temporary names begin and end so that no reader takes them for a file.
const (
	tempPrefix    = "."
	tempSuffix    = ".tmp"
	deletedPrefix = ".deleted-" // sites on their way out
)

func isTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}
