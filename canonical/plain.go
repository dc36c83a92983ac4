package canonical

import (
	"net/netip"
	"strings"
)

// A URL is plain if its text without the fragment is already canonical: http or https, a
// lower-case ASCII host, no user, no default port, and a path and query without dot segments
// and without characters that need encoding. If the scan is in doubt it answers no, and the
// parser decides.

// Classes of bytes in a plain URL.
const (
	inPath  = 1 << iota // path and query
	inQuery             // query only
	inHost              // host labels
	inFrag              // dropped fragment
)

// classes maps each byte to its classes.
var classes = func() (t [256]uint8) {
	for c := '!'; c <= '~'; c++ {
		t[c] |= inFrag
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c] |= inPath | inQuery | inHost
		t[c-0x20] |= inPath | inQuery
	}
	for c := '0'; c <= '9'; c++ {
		t[c] |= inPath | inQuery | inHost
	}
	for _, c := range "/-_.~!$&()*+,;=:@%" {
		t[c] |= inPath | inQuery
	}
	t['\''] |= inPath
	t['?'] |= inQuery
	t['-'] |= inHost
	return t
}()

// plain is a plain absolute URL and the offsets of its parts.
type plain struct {
	raw    string
	origin int // length of scheme://host:port
	path   int // end of the path
	end    int // end of the query; a fragment may follow
}

func (p plain) text() string { return p.raw[:p.end] }

func (p plain) scheme() string {
	if p.raw[4] == ':' {
		return "http"
	}
	return "https"
}

// scanAbsolute reports whether raw is plain, and the offsets of its parts.
func scanAbsolute(raw string) (plain, bool) {
	p := plain{raw: raw}
	if len(raw) > MaxLength {
		return p, false
	}
	host, https := len("http://"), false
	if !strings.HasPrefix(raw, "http://") {
		if !strings.HasPrefix(raw, "https://") {
			return p, false
		}
		host, https = len("https://"), true
	}
	n, ok := scanHost(raw[host:])
	if !ok {
		return p, false
	}
	p.origin = host + n
	if n, ok = scanPort(raw[p.origin:], https); !ok {
		return p, false
	}
	p.origin += n
	if p.origin == len(raw) || raw[p.origin] != '/' {
		return p, false
	}
	if n, ok = scanPath(raw[p.origin:]); !ok {
		return p, false
	}
	p.path = p.origin + n
	if n, ok = scanQuery(raw[p.path:]); !ok {
		return p, false
	}
	p.end = p.path + n
	return p, scanFragment(raw[p.end:])
}

// scanHost returns the length of the host at the start of text: labels of a-z, 0-9 and
// inner "-", or an IPv4 address in dotted decimal form. A label "xx--" may be an
// international name and is not plain.
func scanHost(text string) (int, bool) {
	label := 0
	for i := 0; ; i++ {
		if i < len(text) && classes[text[i]]&inHost != 0 {
			continue
		}
		n := i - label
		if n == 0 || n > 63 || i > 253 || text[label] == '-' || text[i-1] == '-' {
			return 0, false
		}
		if n > 3 && text[label+2] == '-' && text[label+3] == '-' {
			return 0, false
		}
		if i < len(text) && text[i] == '.' {
			label = i + 1
			continue
		}
		if '0' <= text[label] && text[label] <= '9' {
			_, err := netip.ParseAddr(text[:i])
			return i, err == nil
		}
		return i, true
	}
}

// scanPort returns the length of ":port" at the start of text, 0 without one. A leading
// zero and the scheme's default port are not plain.
func scanPort(text string, https bool) (int, bool) {
	if text == "" || text[0] != ':' {
		return 0, true
	}
	n, i := 0, 1
	for i < len(text) && i <= 5 && '0' <= text[i] && text[i] <= '9' {
		n = n*10 + int(text[i]-'0')
		i++
	}
	if i == 1 || text[1] == '0' || n > 65535 || !https && n == 80 || https && n == 443 {
		return 0, false
	}
	return i, true
}

// scanPath returns the length of the path at the start of text, which begins with "/". No
// segment may be a possible dot segment.
func scanPath(text string) (int, bool) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if classes[c]&inPath == 0 {
			return i, c == '?' || c == '#'
		}
		if c == '/' && i+1 < len(text) && oddSegment(text[i+1:]) {
			return 0, false
		}
	}
	return len(text), true
}

// oddSegment reports whether a segment begins with a dot, escaped or not.
func oddSegment(text string) bool {
	return text[0] == '.' || strings.HasPrefix(text, "%2")
}

// scanQuery returns the length of "?query" at the start of text, 0 without one. An empty
// query is not plain.
func scanQuery(text string) (int, bool) {
	if text == "" || text[0] == '#' {
		return 0, true
	}
	i := 1
	for i < len(text) && classes[text[i]]&inQuery != 0 {
		i++
	}
	return i, i > 1 && (i == len(text) || text[i] == '#')
}

// scanFragment reports whether text is empty or a fragment to drop: not "#" alone.
func scanFragment(text string) bool {
	if text == "" {
		return true
	}
	if len(text) == 1 {
		return false
	}
	for i := range len(text) {
		if classes[text[i]]&inFrag == 0 {
			return false
		}
	}
	return true
}

// resolvePlain is Resolve for a plain link on a plain base. It returns false for all
// others.
func (s Schemes) resolvePlain(base, ref string) (string, bool) {
	if p, ok := scanAbsolute(ref); ok {
		return p.text(), s.allowsScheme(p.scheme())
	}
	b, ok := scanAbsolute(base)
	if !ok || !s.allowsScheme(b.scheme()) || len(ref) > MaxLength {
		return "", false
	}
	head, tail := "", ref // the result is head + tail
	switch {
	case ref == "":
		return b.text(), true
	case ref[0] == '#':
		return b.text(), ref == "#" || scanFragment(ref)
	case ref[0] == '?':
		head = base[:b.path]
	case strings.HasPrefix(ref, "//"):
		p, ok := scanAbsolute(b.scheme() + ":" + ref)
		return p.text(), ok
	case ref[0] == '/':
		head = base[:b.origin]
	default:
		colon := strings.IndexByte(ref, ':')
		if colon >= 0 && colon < strings.IndexAny(ref+"/", "/?#") {
			return "", false // may be a scheme
		}
		head, tail = ascendPath(base[:b.path], b.origin, ref)
		if tail == "" || tail[0] == '/' || oddSegment(tail) {
			return "", false
		}
	}
	n, ok := scanPath(tail)
	if !ok {
		return "", false
	}
	m, ok := scanQuery(tail[n:])
	if !ok || !scanFragment(tail[n+m:]) || len(head)+n+m > MaxLength {
		return "", false
	}
	return head + tail[:n+m], true
}

// ascendPath removes the last segment from the path of base, and one more for each "../" at the
// start of ref. It skips "./". origin is the length of base before its path. It returns the
// folder, with its final slash, and the rest of ref.
func ascendPath(base string, origin int, ref string) (folder, rest string) {
	folder = base[:strings.LastIndexByte(base, '/')+1]
	for {
		if after, ok := strings.CutPrefix(ref, "./"); ok {
			ref = after
			continue
		}
		after, ok := strings.CutPrefix(ref, "../")
		if !ok {
			return folder, ref
		}
		ref = after
		if len(folder) > origin+1 {
			folder = folder[:strings.LastIndexByte(folder[:len(folder)-1], '/')+1]
		}
	}
}
