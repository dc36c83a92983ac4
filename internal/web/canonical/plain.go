package canonical

import "strings"

// A URL is plain when its text is its own canonical form, but for a fragment:
// http or https, a lower-case host that is neither international nor odd, no
// user, a port that is not the default one, and a path and query of characters
// that nobody encodes, without empty or dot segments. Being plain is narrower
// than being canonical: when in doubt the scan says no, and the parser decides.

// What a byte may be in a plain URL.
const (
	inPath  = 1 << iota // path and query
	inQuery             // query only
	inHost              // host labels
	inFrag              // fragment that is dropped unread
)

// classes holds the classes of each byte. Brackets, "\", "^", "|", quotes,
// braces, controls and bytes above ASCII are in none but inFrag, where the
// printable ones are harmless.
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

// plain is a plain absolute URL with the places where its parts end.
type plain struct {
	raw    string
	origin int // length of scheme://host:port
	path   int // where the path ends
	end    int // where the query ends; a fragment follows
}

func (p plain) text() string { return p.raw[:p.end] }

func (p plain) scheme() string {
	if p.raw[4] == ':' {
		return "http"
	}
	return "https"
}

// scanAbsolute tells whether raw is plain, and where its parts are.
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

// scanHost returns the length of the host that text begins with. A name has
// labels of a-z, 0-9 and inner "-"; its last label begins with a letter, so
// that it is no number in any notation. Labels with "--" in third place (the
// mark of international names) are left to the parser. An IPv4 address stands
// in its usual form.
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
			return i, isIPv4(text[:i])
		}
		return i, true
	}
}

// isIPv4 tells whether host is four numbers up to 255 without leading zeros.
func isIPv4(host string) bool {
	for part := range 4 {
		n, i := 0, 0
		for i < len(host) && i < 3 && '0' <= host[i] && host[i] <= '9' {
			n = n*10 + int(host[i]-'0')
			i++
		}
		if i == 0 || n > 255 || i > 1 && host[0] == '0' {
			return false
		}
		host = host[i:]
		if part == 3 {
			return host == ""
		}
		if host == "" || host[0] != '.' {
			return false
		}
		host = host[1:]
	}
	return false
}

// scanPort returns the length of ":port" at the start of text, 0 when there is
// none. The port has no leading zero and is not the scheme's own.
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

// scanPath returns the length of the path at the start of text, which begins
// with "/". No segment is empty but the last, and none begins with "." or with
// an escape of it.
func scanPath(text string) (int, bool) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if classes[c]&inPath == 0 {
			return i, c == '?' || c == '#'
		}
		if c == '/' && i+1 < len(text) && (text[i+1] == '/' || oddSegment(text[i+1:])) {
			return 0, false
		}
	}
	return len(text), true
}

// oddSegment tells whether a segment begins with a dot, escaped or not: only
// such a one can be a dot segment.
func oddSegment(text string) bool {
	return text[0] == '.' || strings.HasPrefix(text, "%2")
}

// scanQuery returns the length of "?query" at the start of text, 0 when there
// is none. An empty query is not plain.
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

// scanFragment tells whether text is empty or a fragment that is dropped: it
// begins with "#", is not the bare one, and no "#!".
func scanFragment(text string) bool {
	if text == "" {
		return true
	}
	if len(text) == 1 || text[1] == '!' {
		return false
	}
	for i := range len(text) {
		if classes[text[i]]&inFrag == 0 {
			return false
		}
	}
	return true
}

// resolvePlain is Resolve for a plain link on a plain base, or says no.
func (s Schemes) resolvePlain(base, ref string) (string, bool) {
	if p, ok := scanAbsolute(ref); ok {
		return p.text(), s.allow(p.scheme())
	}
	b, ok := scanAbsolute(base)
	if !ok || !s.allow(b.scheme()) || len(ref) > MaxLength {
		return "", false
	}
	head, tail := "", ref // the answer is head + tail, plain or not at all
	switch {
	case ref == "":
		return b.text(), true
	case ref[0] == '#':
		return b.text(), ref == "#" || scanFragment(ref)
	case ref[0] == '?':
		n, ok := scanQuery(ref)
		if !ok || !scanFragment(ref[n:]) {
			return "", false
		}
		return b.cut(base[:b.path], ref[:n])
	case strings.HasPrefix(ref, "//"):
		p, ok := scanAbsolute(b.scheme() + ":" + ref)
		return p.text(), ok
	case ref[0] == '/':
		head = base[:b.origin]
	default:
		colon := strings.IndexByte(ref, ':')
		if colon >= 0 && colon < strings.IndexAny(ref+"/", "/?#") {
			return "", false // a scheme, perhaps
		}
		head, tail = ascend(base[:b.path], b.origin, ref)
		if tail == "" || tail[0] == '/' || oddSegment(tail) {
			return "", false
		}
	}
	n, ok := scanPath(tail)
	if !ok {
		return "", false
	}
	m, ok := scanQuery(tail[n:])
	if !ok || !scanFragment(tail[n+m:]) {
		return "", false
	}
	return b.cut(head, tail[:n+m])
}

// cut joins the parts of an answer, unless it is too long.
func (plain) cut(head, tail string) (string, bool) {
	if len(head)+len(tail) > MaxLength {
		return "", false
	}
	return head + tail, true
}

// ascend takes the last segment off the path of base, which has origin bytes
// before its path, and one more for each "../" that ref begins with; it passes
// over "./". It returns the folder, with its final slash, and the rest of ref.
func ascend(base string, origin int, ref string) (folder, rest string) {
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
