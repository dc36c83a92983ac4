package objectstore

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// scheme begins the address of an object.
const scheme = "s3://"

// longestKey is the limit of a key, in bytes.
const longestKey = 1024

// IsAddress reports whether a name that a person typed means an object, also if it is not valid.
func IsAddress(text string) bool { return strings.HasPrefix(strings.ToLower(text), scheme) }

// Address is the place of an object.
type Address struct{ Bucket, Key string }

func (a Address) String() string { return scheme + a.Bucket + "/" + a.Key }

var bucketForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// ParseAddress reads s3://BUCKET/KEY. The key is taken literally, without percent signs to decode. Servers that store
// objects as files cannot have keys with empty parts, "." or "..", so these are refused.
func ParseAddress(text string) (Address, error) {
	if !IsAddress(text) {
		return Address{}, fmt.Errorf("%q does not begin with %s", text, scheme)
	}
	bucket, key, _ := strings.Cut(text[len(scheme):], "/")
	a := Address{bucket, key}
	switch {
	case strings.Contains(bucket, "@"):
		return a, errors.New("an address s3://BUCKET/KEY has no credentials; give them as docs/objectstore.md says")
	case !bucketForm.MatchString(bucket):
		return a, fmt.Errorf("%s: %q is no name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens", text, bucket)
	case key == "":
		return a, fmt.Errorf("%s names no object; write %s%s/KEY", text, scheme, bucket)
	case len(key) > longestKey || !utf8.ValidString(key) || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return a, fmt.Errorf("%q: a key has at most %d bytes of UTF-8, without control characters", text, longestKey)
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(key, "/"), "/") {
		if part == "" || part == "." || part == ".." {
			return a, fmt.Errorf("%s: a key with an empty part, \".\" or \"..\" is refused, because not all servers can store it", text)
		}
	}
	return a, nil
}
